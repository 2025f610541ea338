/*
 * Rows of the option table: what targets do about each other, and about other machines.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "plan/parse.h"
#include "xdd/base/units.h"

#define PERCENT (PLAN_RATIO_ONE / 100)

static enum xdd_status read_target(const struct plan *plan, const struct setting *s,
				   const struct word *w, uint32_t *number)
{
	size_t n = plan->n_targets;
	uint64_t v;

	if (units_parse_u64(w->text, &v))
		return parse_error(XDD_BAD_ARGUMENT, s, w, "the number of a target is wanted");
	if (v >= n && n == 1)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "no such target: there is one, number 0");
	if (v >= n)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "no such target: there are %zu, 0 to %zu", n, n - 1);
	*number = (uint32_t)v;
	return XDD_OK;
}

/* Two targets, of which the second is to do something when the first is ready for it. */
static enum xdd_status read_pair(const struct plan *plan, const struct setting *s, uint32_t *first,
				 uint32_t *second)
{
	enum xdd_status status = read_target(plan, s, &s->args[0], first);

	if (!status)
		status = read_target(plan, s, &s->args[1], second);
	if (!status && *first == *second)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[1],
				   "two different targets are wanted: one cannot wait for itself");
	return status;
}

static const struct {
	const char *word;
	enum measure_unit unit;
	uint64_t scale;
} measures[] = {
	{ "time", MEASURE_TIME, 1 },	       { "op", MEASURE_OPS, 1 },
	{ "percent", MEASURE_PERCENT, 1 },     { "mbytes", MEASURE_BYTES, 1u << 20 },
	{ "kbytes", MEASURE_BYTES, 1u << 10 },
};

static const char *measure_at(const void *unused, size_t i)
{
	(void)unused;
	return i < sizeof(measures) / sizeof(measures[0]) ? measures[i].word : NULL;
}

static enum xdd_status read_percent(const struct setting *s, const struct word *w, uint64_t *value)
{
	double percent;

	if (units_parse_real(w->text, &percent) || percent > 100 || percent * PERCENT < 1)
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"a percentage is wanted, above 0 and up to 100, with decimals if need be");
	*value = (uint64_t)(percent * PERCENT + 0.5);
	return XDD_OK;
}

static enum xdd_status read_count(const struct setting *s, const struct word *w, uint64_t scale,
				  uint64_t *value)
{
	uint64_t max = (uint64_t)INT64_MAX / scale;

	if (units_parse_u64(w->text, value) || !*value || *value > max)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "a whole number is wanted, 1 to %" PRIu64, max);
	*value *= scale;
	return XDD_OK;
}

/* A kind of measure, and how much. */
static enum xdd_status read_measure(const struct setting *s, const struct word *w,
				    struct measure *m)
{
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		if (strcmp(w[0].text, measures[i].word) != 0)
			continue;
		m->unit = measures[i].unit;
		if (m->unit == MEASURE_PERCENT)
			return read_percent(s, &w[1], &m->value);
		if (m->unit == MEASURE_TIME)
			return parse_time(s, &w[1], 1, PLAN_CENTURY_NS, &m->value);
		return read_count(s, &w[1], measures[i].scale, &m->value);
	}
	return parse_error_words(s, w, measure_at, NULL);
}

static const char *word_at(const void *words, size_t i)
{
	return ((const char *const *)words)[i];
}

/* One of two words; `*second` says whether it is the second. */
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
		status = read_measure(s, &s->args[2], &l.when);
	if (!status)
		status = read_measure(s, &s->args[4], &l.what);
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
		status = read_measure(s, &s->args[2], &t.when);
	if (status)
		return status;
	slot = s->opt->value == START ? &plan->targets[target].start_trigger :
					&plan->targets[target].stop_trigger;
	if (slot->on && slot->by != t.by)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[1],
			"target %u waits for target %u already; one such trigger is allowed for a target",
			target, slot->by);
	*slot = t;
	return XDD_OK;
}

const struct option options_coordinate[] = {
	{ .name = "lockstep",
	  .aliases = "ls",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<master> <slave> <when> <howlong> <what> <howmuch> <startup> <end>",
	  .n_args = 8,
	  .apply = apply_lockstep,
	  .help = "have one target work at the request of another",
	  .detail =
		  "Each time the master has done <howlong> more, it requests a task of the slave, which "
		  "does <howmuch> and then waits for the next request. Requests add up; none is lost. "
		  "<when> and <what> are time (seconds), op (operations), percent (of the operations of a "
		  "pass), mbytes or kbytes. <startup> is wait, or run: the slave does one task before the "
		  "first request. <end> says what the slave does when the master has ended: "
		  "complete: the rest of its pass, alone; stop: what was requested, and no more. A master "
		  "that has a request to make while the slave has not done the one before is held until "
		  "it has, so the slave is never more than one task behind; where <when> or <what> is "
		  "time, the master is never held. A slave has one master, a master any number of slaves, "
		  "and a slave may be a master too. A target may read a file that another target of the run "
		  "creates: it is opened once that one has created it, and read to where that one writes "
		  "unless an amount is given.",
	  .example = "xdd -op read -targets 2 a b -lockstep 0 1 op 1 op 1 wait complete" },
	{ .name = "starttrigger",
	  .aliases = "st",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<target A> <target B> <when> <howmuch>",
	  .n_args = 4,
	  .value = START,
	  .apply = apply_trigger,
	  .help = "start a target's pass when another has done so much of its own",
	  .detail =
		  "Target B issues its first operation of each pass once target A has been at it for a time "
		  "(seconds), or has completed that many operations (op), that share of them (percent), or "
		  "that much data (mbytes, kbytes). If target A ends its pass before, B does nothing in "
		  "that pass. The wait counts in no rate, but in -timelimit.",
	  .example = "xdd -op read -targets 2 /dev/sdx /dev/sdy -starttrigger 0 1 percent 50" },
	{ .name = "stoptrigger",
	  .aliases = "et",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<target A> <target B> <when> <howmuch>",
	  .n_args = 4,
	  .value = STOP,
	  .apply = apply_trigger,
	  .help = "end a target's pass when another has done so much of its own",
	  .detail =
		  "Target B issues no more operations in a pass once target A has come that far, in the "
		  "words of -starttrigger; those outstanding are waited for. If target A ends its pass "
		  "before, B goes on to its own end.",
	  .example = "xdd -op read -targets 2 /dev/sdx /dev/sdy -stoptrigger 0 1 op 512" },
	{ .name = "syncio",
	  .aliases = "sio",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_U64,
	  .arg = "<#operations>",
	  .min = 0,
	  .max = INT64_MAX,
	  .unit = "operations",
	  PLAN_FIELD(syncio_ops),
	  .help = "have all targets meet after every so many operations",
	  .detail =
		  "No target goes past a multiple of this number before all have completed as many "
		  "operations. One that has ended its pass is not waited for. 0: they do not meet, as without "
		  "the option." },
	{ .name = "starttime",
	  .aliases = "stime",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SECONDS,
	  .arg = "<global time>",
	  .min = 1,
	  .max = PLAN_CENTURY_NS,
	  PLAN_FIELD(start_time_ns),
	  .help = "start the first pass at this time",
	  .detail =
		  "Seconds since 1970, with decimals if need be; the clock is that of the machine. "
		  "Everything is set up before, and then waits. A time that has passed is refused, as is "
		  "one more than a week ahead.",
	  .example = "xdd -op read -targets 1 /dev/sdx -starttime $(($(date +%s) + 20))" },
	{ .name = "deskew",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(deskew),
	  .help = "show the bandwidth and the IOPS while all targets were transferring",
	  .detail =
		  "For each pass and for all of them: the window from the last target's first operation to "
		  "the first target's last one, beside the whole, what came before and what came after; and "
		  "how the slowest target compares with the fastest. These are lines and columns "
		  "(DESKEWBANDWIDTH, DESKEWIOPS) of their own; COMBINED, which has all bytes and the whole "
		  "time, does not change.",
	  .example = "xdd -op read -targets 3 s1 s2 s3 -mbytes 1024 -deskew" },
	{ 0 },
};
