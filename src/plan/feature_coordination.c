/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coordination between targets, and with other machines: -lockstep, triggers, -syncio, -starttime,
 * -timeserver, -deskew.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

static enum xdd_status read_target(const struct plan *plan, const struct setting *s,
				   const struct word *w, uint32_t *number)
{
	uint64_t v;

	if (units_parse_u64(w->text, &v))
		return parse_error(XDD_BAD_ARGUMENT, s, w, "expected the number of a target");
	if (v >= plan->n_targets)
		return parse_no_target(plan, s, w);
	*number = (uint32_t)v;
	return XDD_OK;
}

/* Two targets: the second waits for the first. */
static enum xdd_status read_pair(const struct plan *plan, const struct setting *s, uint32_t *first,
				 uint32_t *second)
{
	enum xdd_status status = read_target(plan, s, &s->args[0], first);

	if (!status)
		status = read_target(plan, s, &s->args[1], second);
	if (!status && *first == *second)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[1],
				   "must be another target: a target cannot wait for itself");
	return status;
}

static const char *word_at(const void *words, size_t i)
{
	return ((const char *const *)words)[i];
}

/* One of two words; `*second` is true for the second. */
static enum xdd_status read_either(const struct setting *s, const struct word *w, const char *a,
				   const char *b, bool *second)
{
	const char *const words[] = { a, b, NULL };

	*second = strcmp(w->text, b) == 0;
	if (*second || strcmp(w->text, a) == 0)
		return XDD_OK;
	return parse_error_words(s, w, word_at, words);
}

static enum xdd_status apply_lockstep(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	struct lockstep_plan l = { .on = true };
	uint32_t slave;
	bool wait = false;
	enum xdd_status status = read_pair(plan, s, &l.master, &slave);

	if (!status)
		status = measure_read(s, &s->args[2], &l.when);
	if (!status)
		status = measure_read(s, &s->args[4], &l.what);
	if (!status)
		status = read_either(s, &s->args[6], "run", "wait", &wait);
	if (!status)
		status = read_either(s, &s->args[7], "complete", "stop", &l.stop);
	if (status)
		return status;
	l.run = !wait;
	if (plan->targets[slave].lockstep.on && plan->targets[slave].lockstep.master != l.master)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[1],
				   "target %u is a slave of target %u already, and has one master",
				   slave, plan->targets[slave].lockstep.master);
	plan->targets[slave].lockstep = l;
	return XDD_OK;
}

enum trigger {
	START,
	STOP
};

/* -starttrigger and -stoptrigger; the row's `value` says which. */
static enum xdd_status apply_trigger(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	struct trigger_plan t = { .on = true }, *slot;
	uint32_t target;
	enum xdd_status status = read_pair(plan, s, &t.by, &target);

	if (!status)
		status = measure_read(s, &s->args[2], &t.when);
	if (status)
		return status;
	slot = s->opt->value == START ? &plan->targets[target].start_trigger :
					&plan->targets[target].stop_trigger;
	if (slot->on && slot->by != t.by)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[1],
			"target %u waits for target %u already; one such trigger is allowed for a "
			"target",
			target, slot->by);
	*slot = t;
	return XDD_OK;
}

static const struct option rows[] = {
	{ .name = "lockstep",
	  .aliases = "ls",
	  OPTION_CUSTOM("<master> <slave> <when> <howlong> <what> <howmuch> <startup> <end>",
			apply_lockstep),
	  .n_args = 8,
	  .collects = true,
	  .help = "have one target work at the request of another",
	  .detail =
		  "Each time the master has done <howlong> more, it requests a task of the slave, "
		  "which does <howmuch> and then waits for the next request. Requests add up; none "
		  "is lost. <when> and <what> are time (seconds), op (operations), percent (of the "
		  "operations of a pass), mbytes or kbytes. <startup> is wait, or run: the slave "
		  "does one task before the first request. <end> says what the slave does when the "
		  "master has ended: complete: the rest of its pass, alone; stop: what was "
		  "requested, and no more. A master that has a request to make while the slave has "
		  "not done the one before is held until it has, so the slave never lags by more "
		  "than one task; where <when> or <what> is time, the master is never held. A "
		  "slave has one master, a master any number of slaves, and a slave may be a "
		  "master too. A target may read a file that another target of the run creates: "
		  "the file is opened once it exists, and read to the end of what the other target "
		  "writes unless an amount is given.",
	  .example = "xdd -op read -targets 2 a b -lockstep 0 1 op 1 op 1 wait complete" },
	{ .name = "starttrigger",
	  .aliases = "st",
	  OPTION_CUSTOM("<target A> <target B> <when> <howmuch>", apply_trigger),
	  .n_args = 4,
	  .value = START,
	  .collects = true,
	  .help = "start a target's pass when another has done so much of its own",
	  .detail =
		  "Target B issues its first operation of each pass once target A has run for a "
		  "time (seconds), or has completed that many operations (op), that share of them "
		  "(percent), or that much data (mbytes, kbytes). If target A ends its pass "
		  "earlier, B does nothing in that pass. The wait counts in -timelimit, but in no "
		  "rate.",
	  .example = "xdd -op read -targets 2 /dev/sdx /dev/sdy -starttrigger 0 1 percent 50" },
	{ .name = "stoptrigger",
	  .aliases = "et",
	  OPTION_CUSTOM("<target A> <target B> <when> <howmuch>", apply_trigger),
	  .n_args = 4,
	  .value = STOP,
	  .collects = true,
	  .help = "end a target's pass when another has done so much of its own",
	  .detail =
		  "Target B issues no more operations in a pass once target A has done that much, "
		  "in the words of -starttrigger; outstanding operations complete. If target A "
		  "ends its pass earlier, B continues to its own end.",
	  .example = "xdd -op read -targets 2 /dev/sdx /dev/sdy -stoptrigger 0 1 op 512" },
	{ .name = "syncio",
	  .aliases = "sio",
	  OPTION_NUMBER("<#operations>", 0, INT64_MAX),
	  .unit = "operations",
	  PLAN_FIELD(syncio_ops),
	  .help = "have all targets meet after every so many operations",
	  .detail =
		  "No target passes a multiple of this number before all have completed that many "
		  "operations. Targets that have ended their pass are not waited for. 0: targets "
		  "do not meet, as without the option." },
	{ .name = "starttime",
	  .aliases = "stime",
	  OPTION_TIME("<global time>", 1, PLAN_CENTURY_NS),
	  PLAN_FIELD(start_time_ns),
	  .help = "start the first pass at this time",
	  .detail = "Seconds since 1970, with decimals if need be: of the clock of -timeserver, or "
		    "without one of the machine's own. The run is set up first, and then waits. A "
		    "time in the past, or more than a week in the future, is refused. A line after "
		    "the results has the achieved start, and its error with -timeserver.",
	  .example = "xdd -op read -targets 1 /dev/sdx -starttime $(($(date +%s) + 20))" },
	{ .name = "timeserver",
	  .aliases = "tsvr",
	  OPTION_SUB("<word> <value>", timeserver_rows),
	  .other = &timeserver_rows[0],
	  .help = "use the clock of a time server, as other hosts do",
	  .detail =
		  "The times of -starttime, of -ts normalize, of dumps and of -jsonout then are "
		  "the times of the global clock, which the command xdd timeserver on that host "
		  "keeps. Before anything is opened, messages are exchanged with it, and during "
		  "the run the drift between the clocks is followed. The difference of the clocks "
		  "is known within a bound, which is in the document of -jsonout. A server that "
		  "cannot be reached, or that leaves the bound above maxerror, is an error; "
		  "during the run it is a warning, and the bound grows.",
	  .example = "xdd -op read -targets 1 /dev/sdx -timeserver host clock -verbose" },
	{ .name = "deskew",
	  PLAN_FLAG(deskew),
	  .help = "show the bandwidth and the IOPS while all targets were transferring",
	  .detail =
		  "For each pass and for all of them: the window from the last target's first "
		  "operation to the first target's last one, beside the whole, the time before it "
		  "and the time after it; and how the slowest target compares with the fastest. "
		  "These are lines and columns (DESKEWBANDWIDTH, DESKEWIOPS) of their own; "
		  "COMBINED, which has all bytes and the whole time, does not change.",
	  .example = "xdd -op read -targets 3 s1 s2 s3 -mbytes 1024 -deskew" },
	{ 0 },
};

/* The target that must do something before this one may continue; false: none. */
static bool waits_for(const struct target_plan *t, unsigned which, uint32_t *other)
{
	if (which == 0) {
		*other = t->lockstep.master;
		return t->lockstep.on;
	}
	*other = t->start_trigger.by;
	return t->start_trigger.on;
}

/*
 * Depth-first search over the targets that a target waits for, at most two each: `state` is 0 for a
 * target not seen, 1 for one on the way, 2 for one that is clear. `stack` has room for all. True if
 * a target waits for itself: `*found`, and `*by` is the target that it waits for.
 */
static bool find_cycle(const struct plan *plan, size_t from, uint8_t *state, uint32_t *stack,
		       uint32_t *found, uint32_t *by)
{
	size_t depth = 0;

	if (state[from])
		return false;
	stack[depth++] = (uint32_t)from;
	state[from] = 1;
	while (depth) {
		uint32_t at = stack[depth - 1], other;
		unsigned which = 0;

		while (which < 2 &&
		       (!waits_for(&plan->targets[at], which, &other) || state[other] == 2))
			which++;
		if (which == 2) {
			state[at] = 2;
			depth--;
		} else if (state[other] == 1) {
			*found = at;
			*by = other;
			return true;
		} else {
			state[other] = 1;
			stack[depth++] = other;
		}
	}
	return false;
}

static enum xdd_status check_cycles(const struct plan *plan)
{
	uint8_t *state = xarena_alloc(plan->arena, plan->n_targets);
	uint32_t *stack = xarena_alloc(plan->arena, plan->n_targets * sizeof(*stack));

	for (size_t i = 0; i < plan->n_targets; i++) {
		uint32_t found, by;

		if (find_cycle(plan, i, state, stack, &found, &by))
			return plan_refuse(
				&plan->targets[found],
				"-lockstep, -starttrigger: cannot wait for itself (by way of "
				"target %u)",
				by);
	}
	return XDD_OK;
}

/* Refuse a measure that a target does not have. */
static enum xdd_status check_measure(const struct target_plan *t, const char *option,
				     const struct measure *m)
{
	if (m->unit != MEASURE_PERCENT || t->pass_ops != PLAN_UNLIMITED)
		return XDD_OK;
	return plan_refuse(
		t,
		"-%s percent: cannot compute a share (its pass has no number of operations); say "
		"-numreqs or -bytes",
		option);
}

/* Refuse bytes of a target whose requests differ in size. */
static enum xdd_status check_one_size(const struct target_plan *t)
{
	if (!t->rows && !t->mix)
		return XDD_OK;
	return plan_refuse(t, "-lockstep: the requests of %s differ in size; say op",
			   t->rows ? "-seek load" : "-reqsize mix");
}

static enum xdd_status check_lockstep(const struct plan *plan, const struct target_plan *t)
{
	const struct lockstep_plan *l = &t->lockstep;
	const struct target_plan *master = &plan->targets[l->master];
	enum xdd_status status;

	if (!l->on)
		return XDD_OK;
	status = check_measure(master, "lockstep", &l->when);
	if (!status)
		status = check_measure(t, "lockstep", &l->what);
	if (!status && l->when.unit == MEASURE_BYTES)
		status = check_one_size(master);
	if (!status && l->what.unit == MEASURE_BYTES)
		status = check_one_size(t);
	return status;
}

/* Refuse a trigger that its target cannot reach, unless only time ends the pass. */
static enum xdd_status check_trigger(const struct plan *plan, const char *option,
				     const struct trigger_plan *g)
{
	const struct target_plan *by = &plan->targets[g->by];
	uint64_t have = g->when.unit == MEASURE_OPS ? by->pass_ops : by->pass_bytes;
	enum xdd_status status;

	if (!g->on)
		return XDD_OK;
	status = check_measure(by, option, &g->when);
	if (status || (g->when.unit != MEASURE_OPS && g->when.unit != MEASURE_BYTES) ||
	    g->when.value <= have)
		return status;
	return plan_refuse(by, "-%s: never fires: needs %" PRIu64 " %s, a pass has %" PRIu64,
			   option, g->when.value,
			   g->when.unit == MEASURE_OPS ? "operations" : "bytes", have);
}

/* Refuse options that need the targets in the same pass, with options that separate them. */
static enum xdd_status check_together(const struct plan *plan)
{
	const char *waits = NULL;
	const char *option = plan->deskew ? "deskew" : plan->syncio_ops ? "syncio" : NULL;

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (t->stop_trigger.on)
			option = "stoptrigger";
		if (t->lockstep.on || t->start_trigger.on)
			option = waits = t->lockstep.on ? "lockstep" : "starttrigger";
	}
	if (plan->no_barrier && option && (plan->passes > 1 || plan->deskew))
		return log_refuse(
			"-nobarrier: -%s needs the targets to be in the same pass; leave one out",
			option);
	if (waits && plan->syncio_ops)
		return log_refuse(
			"-syncio: with -%s, targets would wait for each other for ever; leave one "
			"out",
			waits);
	return XDD_OK;
}

static enum xdd_status coordination_check(struct plan *plan)
{
	enum xdd_status status = check_together(plan);

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];

		status = check_lockstep(plan, t);
		if (!status)
			status = check_trigger(plan, "starttrigger", &t->start_trigger);
		if (!status)
			status = check_trigger(plan, "stoptrigger", &t->stop_trigger);
	}
	if (!status)
		status = check_cycles(plan);
	return status;
}

const struct plan_feature feature_coordination = {
	.group = { "Coordination between targets", rows },
	.plan = { [PLAN_CHECK] = coordination_check },
};

/*
 * The global clock: the suboptions of -timeserver, and the check of -starttime. The user guide,
 * 4.6.
 */

#define S(field) PLAN_FIELD(timeserver.field)
#define MAX_ERROR_NS (3600 * NS_PER_SEC)
#define MAX_WAIT_NS (24 * 3600 * NS_PER_SEC)
#define MAX_NUMBER 32
#define WEEK_NS (7 * 24 * 3600 * NS_PER_SEC)

/* A number alone is milliseconds, as the smallest useful errors are parts of them. */
static enum xdd_status apply_max_error(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char *text = s->args[0].text;
	size_t len = strlen(text);
	bool bare = len && strspn(text, "0123456789.") == len;
	char word[MAX_NUMBER + sizeof("ms")];
	uint64_t ns;

	if (len <= MAX_NUMBER)
		snprintf(word, sizeof(word), "%s%s", text, bare ? "ms" : "");
	if (len > MAX_NUMBER || units_parse_seconds(word, &ns) || !ns || ns > MAX_ERROR_NS)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected milliseconds, or a time with a suffix such as 50us, "
				   "up to 1h");
	plan->timeserver.max_error_ns = ns;
	return XDD_OK;
}

const struct option timeserver_rows[] = {
	{ .name = "host",
	  OPTION_TEXT("<name>"),
	  S(host),
	  .help = "the host that xdd timeserver runs on: a name or an address" },
	{ .name = "port",
	  OPTION_NUMBER("<#>", 1, UINT16_MAX),
	  .def = "2000",
	  S(port),
	  .help = "its port" },
	{ .name = "bounce",
	  OPTION_NUMBER("<#messages>", 1, TIMESERVER_MAX_BOUNCE),
	  .unit = "messages",
	  .def = "100",
	  S(bounce),
	  .help = "messages that are exchanged before the run: more make the error smaller" },
	{ .name = "maxerror",
	  OPTION_CUSTOM("<milliseconds>", apply_max_error),
	  .help = "refuse to run if the global clock is not known as exactly as this" },
	{ .name = "wait",
	  OPTION_TIME("<seconds>", 0, MAX_WAIT_NS),
	  .def = "0",
	  S(wait_ns),
	  .help = "keep trying for so long to reach the server, and maxerror; 0: one attempt" },
	{ 0 },
};

enum xdd_status plan_check_start_time(const struct plan *plan, uint64_t now_ns, const char *clock)
{
	uint64_t at = plan->start_time_ns;
	bool ahead = at > now_ns;

	if (!at || (ahead && at - now_ns <= WEEK_NS))
		return XDD_OK;
	return log_refuse(
		"-starttime %.3f: is %.3f seconds in the %s: the clock of %s shows %.3f%s",
		(double)at / 1e9, (double)(ahead ? at - now_ns : now_ns - at) / 1e9,
		ahead ? "future" : "past", clock, (double)now_ns / 1e9,
		ahead ? ", and a week is the most" : "");
}

static enum xdd_status timeserver_check(struct plan *plan)
{
	const struct timeserver_options *s = &plan->timeserver;
	const char *word = s->max_error_ns		  ? "maxerror" :
			   s->wait_ns			  ? "wait" :
			   s->port != TIMESERVER_PORT	  ? "port" :
			   s->bounce != TIMESERVER_BOUNCE ? "bounce" :
							    NULL;

	/* Of the server's clock, once it is known. */
	if (s->host)
		return XDD_OK;
	if (word)
		return log_refuse("-timeserver %s: expected -timeserver host <name> as well", word);
	return plan_check_start_time(plan, clock_wall_ns(), "this machine");
}

const struct plan_feature feature_timeserver = {
	.plan = { [PLAN_CHECK] = timeserver_check },
};
