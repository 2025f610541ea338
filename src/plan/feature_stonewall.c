/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The suboptions of -stonewall, which is a row of feature_layout.c, and its record.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/plan/mix.h"
#include "xdd/plan/stonewall_record.h"

/*
 * The record: its lines, and the limits that it sets for targets that read. Also called by the
 * results manager at the end of a run.
 *
 * A line ends with all that offsets depend on. A reader computes the line of its owner and
 * compares the text, so that only the number is left to parse.
 */

#define MAX_BYTES (8u << 20)
#define LINE_SIZE (256 + MIX_TEXT_SIZE)

char *stonewall_record_name(const char *file, uint64_t rank)
{
	char *name;

	return asprintf(&name, "%s.R%" PRIu64 ".txt", file, rank) < 0 ? NULL : name;
}

static void first_line(char *line, uint64_t rank, uint64_t ranks, uint64_t targets)
{
	snprintf(line, LINE_SIZE,
		 "xdd stonewall 1, rank %" PRIu64 " of %" PRIu64 ", targets %" PRIu64, rank, ranks,
		 targets);
}

/* The end of a line. A sequence of offsets depends on its range and seed only if it is random. */
static void work_of(char *text, const struct target_plan *t)
{
	const bool random = seek_is_random(t->seek.pattern) || t->mix;
	char mix[MIX_TEXT_SIZE] = "";

	if (t->mix)
		mix_text(t->mix, mix, sizeof(mix));
	snprintf(text, LINE_SIZE,
		 ", request %" PRIu64 "%s%s, start %" PRIu64 ", block %" PRIu64
		 ", %s, range %" PRIu64 ", seed %" PRIu64,
		 t->req_bytes, t->mix ? " of " : "", mix, t->start_bytes, t->layout.block_bytes,
		 plan_seek_name(t->seek.pattern), random ? t->range_bytes : 0,
		 random ? t->seek.seed : 0);
}

void stonewall_record_begin(FILE *f, const struct plan *plan)
{
	char line[LINE_SIZE];

	first_line(line, plan->rank, plan->n_ranks, plan->n_targets);
	fprintf(f, "%s\n", line);
}

void stonewall_record_put(FILE *f, const struct target_plan *t, uint64_t ops)
{
	uint64_t slots = plan_lap_ops(t);
	char work[LINE_SIZE];

	/* A pass that started over has written all of its range. */
	if (t->seek.pattern == SEEK_SEQUENTIAL && slots && ops > slots)
		ops = slots;
	work_of(work, t);
	fprintf(f, "target %" PRIu32 ", operations %" PRIu64 "%s\n", t->number, ops, work);
}

/* A file that is to be read, and the target. */
struct record {
	const char *name;
	const struct target_plan *target;
};

static enum xdd_status stonewall_record_refuse(const struct record *r, const char *why)
{
	return plan_refuse(r->target, "-stonewall load: %s: %s", r->name, why);
}

/* The operations in the line of target `number`. */
static enum xdd_status stonewall_record_find(const struct record *r, char *lines, uint32_t number,
					     uint64_t *ops)
{
	char start[48], work[LINE_SIZE], *rest, *line;

	snprintf(start, sizeof(start), "target %" PRIu32 ", operations ", number);
	while ((line = strsep(&lines, "\n"))) {
		if (strncmp(line, start, strlen(start)) != 0)
			continue;
		line += strlen(start);
		rest = strchr(line, ',');
		work_of(work, r->target);
		if (!rest || strcmp(rest, work) != 0)
			return plan_refuse(
				r->target,
				"-stonewall load: %s: target %" PRIu32
				" was written with other options: its line must end with "
				"\"%s\"",
				r->name, number, work + 2);
		*rest = '\0';
		return units_parse_u64(line, ops) ?
			       stonewall_record_refuse(r, "is no record of a stonewall") :
			       XDD_OK;
	}
	return plan_refuse(r->target,
			   "-stonewall load: %s: has no line for target %" PRIu32
			   ", which wrote nothing or had errors",
			   r->name, number);
}

/* Until an earlier run has saved its record, it counts as the record of a whole pass. */
static enum xdd_status read_file(const struct plan *plan, const struct record *r, char **data)
{
	size_t size;
	int err, fd;

	*data = plan_earlier_record(plan, r->name);
	if (*data)
		return XDD_OK;
	fd = open(r->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	err = fd < 0 ? -errno : readfile(fd, MAX_BYTES, data, &size);
	if (fd >= 0)
		close(fd);
	return err ? stonewall_record_refuse(r, strerror(-err)) : XDD_OK;
}

static enum xdd_status find_ops(const struct plan *plan, const struct record *r, uint64_t rank,
				uint32_t number, uint64_t *ops)
{
	enum xdd_status status;
	char *data, first[LINE_SIZE], *lines;

	status = read_file(plan, r, &data);
	if (status)
		return status;
	first_line(first, rank, plan->n_ranks, plan->n_targets);
	lines = data;
	if (strcmp(strsep(&lines, "\n"), first) != 0)
		status = plan_refuse(r->target,
				     "-stonewall load: %s: its first line must be \"%s\", as of a "
				     "run with the same ranks and targets",
				     r->name, first);
	else
		status = stonewall_record_find(r, lines, number, ops);
	free(data);
	return status;
}

/*
 * Let a pass of `t`, whose amount is known, read no more than its owner has written, by the file of
 * -stonewall load. Returns XDD_OK, or another status with one line given to log_error().
 */
static enum xdd_status stonewall_limit(const struct plan *plan, struct target_plan *t)
{
	const bool shared = t->layout.block_bytes;
	uint64_t rank = shared ? t->layout.owner / plan->n_targets : plan->rank, ops;
	char *name = xneed(stonewall_record_name(plan->stonewall.load_file, rank));
	struct record r = { .name = name, .target = t };
	enum xdd_status status;

	status = find_ops(plan, &r, rank, shared ? t->layout.owner_number : t->number, &ops);
	if (!status && !ops)
		status = stonewall_record_refuse(
			&r, "the target whose data is read has written nothing");
	free(name);
	if (!status)
		plan_limit_ops(t, ops);
	return status;
}

#define ON .sets = offsetof(struct plan, stonewall.on)

const struct option stonewall_rows[] = {
	{ .name = "first",
	  .type = OPT_SET,
	  .value = true,
	  PLAN_FIELD(stonewall.on),
	  .help = "when the first target has ended the pass (the default)" },
	{ .name = "seconds",
	  OPTION_TIME("<seconds>", 1, PLAN_CENTURY_NS),
	  .bare = option_is_number,
	  PLAN_FIELD(stonewall.after_ns),
	  ON,
	  .help = "after this time too, from the start of the pass; the word seconds may be left "
		  "out" },
	{ .name = "wearout",
	  .type = OPT_SET,
	  .value = true,
	  PLAN_FIELD(stonewall.wear_out),
	  ON,
	  .help = "no target stops there: each goes on to the greatest number of operations that "
		  "one had issued by then, or to its own amount" },
	{ .name = "save",
	  OPTION_TEXT("<file>"),
	  PLAN_FIELD(stonewall.save_file),
	  ON,
	  .help = "write how many operations each target has written to <file>.R<rank>.txt" },
	{ .name = "load",
	  OPTION_TEXT("<file>"),
	  PLAN_FIELD(stonewall.load_file),
	  .help = "read no more than was written when such a file was saved" },
	{ 0 },
};

static enum xdd_status check_passes(struct plan *plan)
{
	if (!plan->stonewall.on || !plan->no_barrier)
		return XDD_OK;
	return log_refuse(
		"-stonewall: with -nobarrier the targets have no passes together that could end "
		"together; leave one of them out");
}

/* The number of operations must say which offsets were written. */
static enum xdd_status check_saved(const struct plan *plan, const struct target_plan *t)
{
	const char *option = t->create_new_files  ? "createnewfiles" :
			     t->recreate_files	  ? "recreatefiles" :
			     t->pass_offset_bytes ? "passoffset" :
						    NULL;

	if (t->seek.pattern != SEEK_SEQUENTIAL && t->seek.pattern != SEEK_RANDOM &&
	    t->seek.pattern != SEEK_ONCE)
		return plan_refuse(
			t,
			"-stonewall %s: must be with sequential or random requests; -seek "
			"is %s",
			plan->stonewall.save_file ? "save" : "load",
			plan_seek_name(t->seek.pattern));
	if (!plan->stonewall.save_file || !option)
		return XDD_OK;
	return plan_refuse(t, "-stonewall save: cannot be combined with -%s", option);
}

static enum xdd_status check_target(struct plan *plan, struct target_plan *t)
{
	bool records = (plan->stonewall.save_file && t->op == OP_WRITE) ||
		       (plan->stonewall.load_file && t->op == OP_READ);

	if (plan->stonewall.on && t->endtoend.role != E2E_NONE)
		return plan_refuse(t, "-stonewall: cannot be combined with -endtoend, whose copy "
				      "would lack what was not sent");
	return records ? check_saved(plan, t) : XDD_OK;
}

static enum xdd_status limit(struct plan *plan, struct target_plan *t)
{
	return plan->stonewall.load_file && t->op == OP_READ ? stonewall_limit(plan, t) : XDD_OK;
}

/* The record is created beside its name, and then renamed. */
static enum xdd_status check_file(const struct plan *plan)
{
	char *name = xneed(stonewall_record_name(plan->stonewall.save_file, plan->rank));
	char why[OUTPUT_WHY_SIZE];
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++)
		if (strcmp(name, plan->targets[i].path) == 0)
			status = plan_refuse(&plan->targets[i],
					     "-stonewall save %s would replace this target",
					     plan->stonewall.save_file);
	if (!status && output_check_new(name, why)) {
		log_error("-stonewall save %s: %s: %s", plan->stonewall.save_file, name, why);
		status = XDD_BAD_ARGUMENT;
	}
	free(name);
	return status;
}

static enum xdd_status check_files(struct plan *plan)
{
	bool writes = false, reads = false;

	for (size_t i = 0; i < plan->n_targets; i++) {
		writes |= plan->targets[i].op == OP_WRITE;
		reads |= plan->targets[i].op == OP_READ;
	}
	if ((plan->stonewall.save_file && !writes) || (plan->stonewall.load_file && !reads))
		return log_refuse("-stonewall %s: needs a target that is only %s",
				  plan->stonewall.save_file && !writes ? "save" : "load",
				  plan->stonewall.save_file && !writes ? "written to" : "read");
	return plan->stonewall.save_file ? check_file(plan) : XDD_OK;
}

const struct plan_feature feature_stonewall = {
	.plan = { [PLAN_BEGIN] = check_passes, [PLAN_CHECK] = check_files },
	.target = { [TARGET_SIZE] = limit, [TARGET_CHECK] = check_target },
};
