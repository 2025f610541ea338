/*
 * Refusals of end-to-end copies: options and work that a side of a copy cannot have. Called while a
 * plan is resolved and checked.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/endtoend.h"
#include "plan/errors.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/option.h"

#define KEY_VARIABLE "XDD_E2E_KEY"

/* True if `s` gives an option that belongs to a copy. */
static bool is_of_copy(const struct setting *s)
{
	static const char *const names[] = { "endtoend", "restart", "congestion", "cookie" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(s->opt->name, names[i]) == 0)
			return true;
	}
	return false;
}

enum xdd_status endtoend_check_named(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_settings; i++) {
		const struct setting *s = &plan->settings[i];
		bool any = !is_of_copy(s);

		/* An option for all targets may mean those of them that are sides of a copy. */
		for (uint64_t n = s->first; !any && n <= s->last; n++)
			any = plan->targets[n].endtoend.role != E2E_NONE;
		if (any)
			continue;
		if (strcmp(s->opt->name, "endtoend") == 0)
			return parse_error(XDD_BAD_ARGUMENT, s, NULL,
					   "needs a side of the copy: say -e2e issource or -e2e "
					   "isdestination as well");
		return parse_error(XDD_BAD_ARGUMENT, s, NULL,
				   "is for a copy between hosts, and -endtoend is not given");
	}
	return XDD_OK;
}

/* The option of `t` that asks for another order of the writes than that of the source, or NULL. */
static const char *seek_option(const struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;

	if (seek->pattern != SEEK_SEQUENTIAL)
		return "-seek";
	if (seek->range_blocks)
		return "-seek range";
	if (seek->save_file)
		return "-seek save";
	if (seek->disthist)
		return "-seek disthist";
	if (seek->seekhist)
		return "-seek seekhist";
	return t->randomize ? "-randomize" : NULL;
}

/* The option of `t` by which it would wait for another target, or NULL. */
static const char *waiting_option(const struct target_plan *t)
{
	if (t->lockstep.on)
		return "-lockstep";
	if (t->start_trigger.on)
		return "-starttrigger";
	return t->stop_trigger.on ? "-stoptrigger" : NULL;
}

static enum xdd_status check_destination(const struct target_plan *t)
{
	const char *seek = seek_option(t), *waits = waiting_option(t);
	bool amount = t->numreqs || t->amount_bytes;

	if (t->op != OP_WRITE)
		return plan_refuse(t,
				   "-e2e isdestination: a destination only writes; say -op write, "
				   "or leave -op and -rwratio out");
	if (seek)
		return plan_refuse(
			t, "%s: the source decides the order of a copy; say it on the source",
			seek);
	if (waits)
		return plan_refuse(t,
				   "%s: a destination cannot wait for another target: its source "
				   "would wait too; say it on the source",
				   waits);
	if (t->pattern.given)
		return plan_refuse(t,
				   "-datapattern: the data of a destination is that of its source");
	if (!amount && plan_engine_caps(t) & (ENGINE_MAPS | ENGINE_SCSI))
		return plan_refuse(t,
				   "-ioengine %s: needs to know how much a destination gets; say "
				   "-bytes or -numreqs, as on the source",
				   plan_engine(t)->name);
	return XDD_OK;
}

static enum xdd_status check_source(const struct target_plan *t)
{
	if (t->seek.pattern == SEEK_LOAD)
		return plan_refuse(t,
				   "-seek load: the operations of a copy have one size, and those "
				   "of a list may differ; use another pattern");
	if (t->op != OP_READ)
		return plan_refuse(t, "-e2e issource: a source only reads; say -op read, or leave "
				      "-op and -rwratio out");
	return XDD_OK;
}

static enum xdd_status check_key(const struct endtoend_options *e, const struct target_plan *t)
{
	const char *variable = getenv(KEY_VARIABLE);

	if (e->cookie && e->key_file)
		return plan_refuse(t, "-cookie: is a key, and -e2e key names another; leave one "
				      "out");
	if (!e->encrypt || e->key_file || e->cookie || (variable && *variable))
		return XDD_OK;
	return plan_refuse(t,
			   "-e2e encrypt: needs a key; say -e2e key <file>, or set " KEY_VARIABLE);
}

enum xdd_status endtoend_check_side(const struct target_plan *t)
{
	const struct endtoend_options *e = &t->endtoend;
	enum xdd_status status;

	if (!e->n_addresses)
		return plan_refuse(t,
				   "-e2e %s: needs the address of the destination; say -e2e "
				   "destination <host>",
				   e->role == E2E_SOURCE ? "issource" : "isdestination");
	status = check_key(e, t);
	if (status)
		return status;
	if (t->kind != TARGET_NULL && plan_engine_caps(t) & (ENGINE_NO_DATA | ENGINE_NO_PATTERN))
		return plan_refuse(t,
				   "-ioengine %s, with these keywords, transfers no data; a copy "
				   "without a file is that of the target null",
				   plan_engine(t)->name);
	return e->role == E2E_SOURCE ? check_source(t) : check_destination(t);
}

/* True if a file whose size is 0 has data all the same, as those of procfs have. */
static bool has_data(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	char c;

	if (fd < 0)
		return false;
	n = read(fd, &c, 1);
	close(fd);
	return n > 0;
}

enum xdd_status endtoend_check_work(const struct target_plan *t)
{
	char reach[32], amount[32];

	if (t->endtoend.role != E2E_SOURCE || t->pass_ops == PLAN_UNLIMITED)
		return XDD_OK;
	if (!t->pass_ops && !t->size_bytes && has_data(t->path))
		return plan_refuse(t, "its size is 0, and yet it has data; say how much to copy, "
				      "with -bytes");
	if (t->extent_bytes <= t->pass_bytes)
		return XDD_OK;
	return plan_refuse(t,
			   "-seek: the operations reach over %s, and a copy has %s: they must stay "
			   "inside of what is copied",
			   units_size_text(t->extent_bytes, reach, sizeof(reach)),
			   units_size_text(t->pass_bytes, amount, sizeof(amount)));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The option in which two destinations differ, and cannot, as they share sockets; or NULL. */
static const char *different(const struct endtoend_options *a, const struct endtoend_options *b)
{
	if (!same_text(a->key_file, b->key_file))
		return "-e2e key";
	if (!same_text(a->cookie, b->cookie))
		return "-cookie";
	if (a->role == E2E_SOURCE)
		return NULL;
	if (!same_text(a->congestion, b->congestion))
		return "-e2e congestion";
	if (a->send_buffer_bytes != b->send_buffer_bytes)
		return "-e2e sendbuffer";
	return a->receive_buffer_bytes != b->receive_buffer_bytes ? "-e2e receivebuffer" : NULL;
}

static enum xdd_status check_pair(const struct target_plan *a, const struct target_plan *b)
{
	const char *option = different(&a->endtoend, &b->endtoend);

	if (a->endtoend.role != b->endtoend.role)
		return plan_refuse(b,
				   "-e2e: is the %s of a copy, and target %u the %s of another: a "
				   "run is one side for all of its targets; start one run for each",
				   endtoend_role_name(b->endtoend.role), a->number,
				   endtoend_role_name(a->endtoend.role));
	if (option)
		return plan_refuse(b,
				   "%s: must be the same for all targets of a run; target %u "
				   "has another",
				   option, a->number);
	return XDD_OK;
}

enum xdd_status endtoend_check_together(const struct plan *plan)
{
	const struct target_plan *first = NULL;
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->endtoend.role == E2E_NONE)
			continue;
		if (first)
			status = check_pair(first, t);
		else
			first = t;
	}
	if (status || !first || first->endtoend.role != E2E_DESTINATION || !plan->syncio_ops)
		return status;
	log_error("-syncio: a destination cannot wait for another target: its source would wait "
		  "too; say it on the source");
	return XDD_BAD_ARGUMENT;
}
