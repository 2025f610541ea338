/*
 * Rows of the option table: what is kept of each operation, and what is made of it. The user guide, 4.13.
 */
#include <string.h>

#include "plan/parse.h"

#define T(field) .off = offsetof(struct target_plan, field)

/* What asks for a report or a dump switches time stamping on. */
static enum xdd_status apply_on(struct parse *p, const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)p;
	(void)s;
	t->trace.on = true;
	return XDD_OK;
}

static enum xdd_status apply_report(struct parse *p, const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	t->trace.summary = true;
	t->trace.detailed |= s->sub->value != 0;
	return apply_on(p, s, dst);
}

/* All suboptions so far are forgotten. */
static enum xdd_status apply_off(struct parse *p, const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)p;
	(void)s;
	memset(&t->trace, 0, sizeof(t->trace));
	return XDD_OK;
}

static enum xdd_status apply_trigger_time(struct parse *p, const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)p;
	(void)s;
	t->trace.triggered_by_time = true;
	return XDD_OK;
}

#define WORD(name_, value_, apply_, help_)                                                      \
	{                                                                                       \
		.name = name_, .type = OPT_CUSTOM, .arity = option_arity_none, .value = value_, \
		.apply = apply_, .help = help_,                                                 \
	}

#define FLAG(name_, field_, help_)                                                              \
	{                                                                                       \
		.name = name_, .type = OPT_FLAG, .value = true, T(trace.field_), .help = help_, \
	}

static const struct option trace_rows[] = {
	WORD("summary", 0, apply_report, "write a summary of the operations"),
	WORD("detailed", 1, apply_report, "write a line for each operation, and the summary"),
	{ .name = "output",
	  .type = OPT_TEXT,
	  .arg = "<prefix>",
	  T(trace.output),
	  .apply = apply_on,
	  .help = "write the reports to <prefix>.target.<number>.csv instead of with the results" },
	FLAG("append", append, "add the reports to that file instead of replacing it"),
	{ .name = "dump",
	  .type = OPT_TEXT,
	  .arg = "<prefix>",
	  T(trace.dump),
	  .apply = apply_on,
	  .help = "write all that is known to <prefix>.target.<number>.bin, for xdd tsread" },
	FLAG("wrap", wrap, "when the table is full, keep the newest operations"),
	FLAG("oneshot", oneshot, "when the table is full, stop: keep the oldest operations"),
	{ .name = "size",
	  .type = OPT_U64,
	  .arg = "<#operations>",
	  .min = 1,
	  .max = 1ull << 40,
	  .unit = "operations",
	  T(trace.size_ops),
	  .help = "operations that the table holds (all of the run; at most 1048576 with -runtime, or where only time ends a pass)" },
	{ .name = "triggertime",
	  .aliases = "tt",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .max = PLAN_CENTURY_NS,
	  T(trace.trigger_time_ns),
	  .apply = apply_trigger_time,
	  .help = "start at this time of the global clock, in seconds since 1970" },
	{ .name = "triggerop",
	  .aliases = "to",
	  .type = OPT_U64,
	  .arg = "<operation>",
	  .min = 0,
	  .max = INT64_MAX,
	  T(trace.trigger_op),
	  .help = "start with this operation of the first pass" },
	FLAG("normalize", normalize, "show times of the global clock in the reports"),
	WORD("on", 0, apply_on, "stamp; without any report or dump asked for, the same as summary"),
	WORD("off", 0, apply_off, "do not stamp, and forget the suboptions so far"),
	{ 0 },
};

const struct option options_trace[] = {
	{ .name = "timestamps",
	  .aliases = "ts timestamp",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<suboption>",
	  .subs = trace_rows,
	  .help = "keep when each operation began and ended",
	  .detail =
		  "Each operation is entered into a table of its target in memory, which is taken before "
		  "the first pass, 64 bytes for each; reports and dumps are written when the run has "
		  "ended, however it ended. The table has room for all operations of all passes. When "
		  "size makes it smaller, or when only a time limit ends the run, it wraps: the newest "
		  "operations are kept. What is overwritten or not entered is counted and reported. "
		  "output alone writes both reports. The columns are explained in output.md, the "
		  "format of a dump in tsdump.md; xdd tsread prints dumps as reports, as CSV and as JSON "
		  "for a trace viewer, several of them merged by the global clock. That is the wall "
		  "clock of the machine.",
	  .example = "xdd -op read -targets 1 /dev/sdx -mbytes 64 -ts detailed output run1" },
	{ .name = "timerinfo",
	  .aliases = "ti",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  .off = offsetof(struct plan, timer_info),
	  .help = "say what clock is read, its resolution, and what a reading and a time stamp cost" },
	{ 0 },
};
