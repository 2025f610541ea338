/*
 * Rows of the option table: what is kept of each operation, and what is made of it. The user guide, 4.13.
 */
#include <string.h>

#include "plan/parse.h"

/* All suboptions so far are forgotten. */
static enum xdd_status apply_off(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	memset(&t->trace, 0, sizeof(t->trace));
	return XDD_OK;
}

#define ON .sets = offsetof(struct target_plan, trace.on)

/* A word that asks for time stamps. */
#define WORD(name_, field_, help_)                                                             \
	{                                                                                      \
		.name = name_, .type = OPT_SET, .value = true, TARGET_FIELD(trace.field_), ON, \
		.help = help_,                                                                 \
	}

#define FLAG(name_, field_, help_)                                                          \
	{                                                                                   \
		.name = name_, .type = OPT_FLAG, .value = true, TARGET_FIELD(trace.field_), \
		.help = help_,                                                              \
	}

static const struct option trace_rows[] = {
	WORD("summary", summary, "write a summary of the operations"),
	WORD("detailed", detailed, "write a line for each operation, and the summary"),
	{ .name = "output",
	  .type = OPT_TEXT,
	  .arg = "<prefix>",
	  TARGET_FIELD(trace.output),
	  ON,
	  .help = "write the reports to <prefix>.target.<number>.csv instead of with the results" },
	FLAG("append", append, "add the reports to that file instead of replacing it"),
	{ .name = "dump",
	  .type = OPT_TEXT,
	  .arg = "<prefix>",
	  TARGET_FIELD(trace.dump),
	  ON,
	  .help = "write all that is known to <prefix>.target.<number>.bin, for xdd tsread" },
	FLAG("wrap", wrap, "when the table is full, keep the newest operations"),
	FLAG("oneshot", oneshot, "when the table is full, stop: keep the oldest operations"),
	{ .name = "size",
	  .type = OPT_U64,
	  .arg = "<#operations>",
	  .min = 1,
	  .max = 1ull << 40,
	  .unit = "operations",
	  TARGET_FIELD(trace.size_ops),
	  .help = "operations that the table holds (all of the run; at most 1048576 with -runtime, or where only time ends a pass)" },
	{ .name = "triggertime",
	  .aliases = "tt",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .max = PLAN_CENTURY_NS,
	  TARGET_FIELD(trace.trigger_time_ns),
	  .sets = offsetof(struct target_plan, trace.triggered_by_time),
	  .help = "start at this time of the global clock, in seconds since 1970" },
	{ .name = "triggerop",
	  .aliases = "to",
	  .type = OPT_U64,
	  .arg = "<operation>",
	  .min = 0,
	  .max = INT64_MAX,
	  TARGET_FIELD(trace.trigger_op),
	  .help = "start with this operation of the first pass" },
	FLAG("normalize", normalize, "show times of the global clock in the reports"),
	WORD("on", on, "stamp; without any report or dump asked for, the same as summary"),
	{ .name = "off",
	  .type = OPT_CUSTOM,
	  .apply = apply_off,
	  .help = "do not stamp, and forget the suboptions so far" },
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
	  PLAN_FIELD(timer_info),
	  .help = "say what clock is read, its resolution, and what a reading and a time stamp cost" },
	{ 0 },
};
