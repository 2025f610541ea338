/*
 * Time stamps of each operation, and their reports: -timestamps. The user guide, 4.13.
 */
#include "plan/feature.h"

#include <inttypes.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/resources.h"
#include "plan/value.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/*
 * Entries that a QThread takes at a time: many, but so few that partly filled chunks do not matter.
 */
#define CHUNK_MIN 16u
#define CHUNK_MAX 1024u

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
	  .help = "operations that the table holds (all of the run; at most 1048576 with -runtime, "
		  "or where only time ends a pass)" },
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

static const struct option rows[] = {
	{ .name = "timestamps",
	  .aliases = "ts timestamp",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<suboption>",
	  .subs = trace_rows,
	  .help = "keep when each operation began and ended",
	  .detail =
		  "Each operation is entered into a table of its target in memory, which is "
		  "allocated before the first pass, 64 bytes for each operation; reports and dumps "
		  "are written when the run has ended, however it ended. The table has room for "
		  "all operations of all passes. When size makes it smaller, or when only a time "
		  "limit ends the run, it wraps: the newest operations are kept. Entries that are "
		  "overwritten or not made are counted and reported. output alone writes both "
		  "reports. The columns are explained in output.md, the format of a dump in "
		  "tsdump.md; xdd tsread prints dumps as reports, as CSV and as JSON for a trace "
		  "viewer, several of them merged by the global clock. That is the wall clock of "
		  "the machine.",
	  .example = "xdd -op read -targets 1 /dev/sdx -mbytes 64 -ts detailed output run1" },
	{ .name = "timerinfo",
	  .aliases = "ti",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(timer_info),
	  .help = "say what clock is read, its resolution, and what a reading and a time stamp "
		  "cost" },
	{ 0 },
};

static enum xdd_status file_name(const struct plan *plan, const struct target_plan *t,
				 const char *prefix, const char *suffix, const char **path)
{
	if (!prefix)
		return XDD_OK;
	*path = arena_printf(plan->arena, "%s.target.%04" PRIu32 ".%s", prefix, t->number, suffix);
	if (*path)
		return XDD_OK;
	return plan_no_memory();
}

/* Operations of all passes; UINT64_MAX when only time ends the run. */
static uint64_t all_ops(const struct plan *plan, const struct target_plan *t)
{
	uint64_t ops;

	if (t->pass_ops == PLAN_UNLIMITED ||
	    __builtin_mul_overflow(t->pass_ops, plan->passes, &ops))
		return UINT64_MAX;
	return ops - t->trace.trigger_op;
}

/*
 * Each QThread has a chunk of the table to itself and takes another when it is full. The report has
 * size_ops entries without a gap. Extra chunks hold those that are partly filled and, where chunks
 * are reused, those with older entries than the one overwritten last; entries that were completed
 * together with its last one, as many as may be outstanding, do not count either.
 */
static void resolve_table(const struct plan *plan, struct target_plan *t)
{
	struct trace_options *ts = &t->trace;
	uint64_t ops = all_ops(plan, t), share, spare;
	/* With -runtime the amount of work is a limit that need not be reached. */
	const bool most = ops == UINT64_MAX || plan->run_time_ns;

	ts->size_by_default = !ts->size_ops;
	if (!ts->size_ops)
		ts->size_ops = most && ops > PLAN_TRACE_DEFAULT_OPS ? PLAN_TRACE_DEFAULT_OPS : ops;
	ts->cut = ts->size_ops < ops;
	if (!ts->cut)
		ts->size_ops = ops;
	if (ts->cut && !ts->oneshot)
		ts->wrap = true;
	share = ts->size_ops / (4ull * t->qthreads);
	ts->chunk_ops = CHUNK_MIN;
	while (ts->chunk_ops < CHUNK_MAX && ts->chunk_ops * 2 <= share)
		ts->chunk_ops *= 2;
	spare = t->qthreads;
	if (ts->cut && ts->wrap)
		spare += t->qthreads + 1 + t->queue_depth / ts->chunk_ops + 1;
	ts->chunks = ts->size_ops / ts->chunk_ops + 1 + spare;
}

static enum xdd_status resolve(struct plan *plan, struct target_plan *t)
{
	struct trace_options *ts = &t->trace;
	enum xdd_status status;

	if (!ts->on)
		return XDD_OK;
	if (ts->wrap && ts->oneshot)
		return plan_refuse(t, "-ts wrap and -ts oneshot: when the table is full either the "
				      "newest operations are kept or the oldest; say one of them");
	if (ts->trigger_op && t->pass_ops != PLAN_UNLIMITED && ts->trigger_op >= t->pass_ops)
		return plan_refuse(t,
				   "-ts triggerop %" PRIu64 ": a pass has %" PRIu64
				   " operations, 0 to %" PRIu64,
				   ts->trigger_op, t->pass_ops, t->pass_ops - 1);
	ts->summary |= ts->detailed;
	if (!ts->summary && (ts->output || !ts->dump)) {
		ts->summary = true;
		ts->detailed = ts->output != NULL;
	}
	status = file_name(plan, t, ts->output, "csv", &ts->report_path);
	if (!status)
		status = file_name(plan, t, ts->dump, "bin", &ts->dump_path);
	resolve_table(plan, t);
	return status;
}

static uint64_t table_bytes(const struct target_plan *t)
{
	uint64_t bytes;

	if (!t->trace.on)
		return 0;
	if (__builtin_mul_overflow(t->trace.chunks, t->trace.chunk_ops * plan_trace_bytes(t),
				   &bytes))
		return UINT64_MAX;
	return bytes;
}

/* Half of the memory: the reports need some as well, and so does the rest of the machine. */
static enum xdd_status check_tables(struct plan *plan)
{
	uint64_t have = plan_machine_bytes(), want = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		if (__builtin_add_overflow(want, table_bytes(&plan->targets[i]), &want))
			want = UINT64_MAX;
	}
	if (want <= have / 2)
		return XDD_OK;
	log_error(
		"-ts: the tables of time stamps would take %.1f GiB, and this machine has %.1f GiB "
		"of "
		"memory, of which they may have half; -ts size <#operations> makes them smaller",
		(double)want / GIB, (double)have / GIB);
	return XDD_BAD_ARGUMENT;
}

static void warn(const struct target_plan *t)
{
	const struct trace_options *ts = &t->trace;

	if (!ts->on && (ts->append || ts->wrap || ts->oneshot || ts->size_ops || ts->normalize ||
			ts->triggered_by_time || ts->trigger_op))
		log_warning("target %u, %s: -ts: nothing is stamped; say summary, detailed, output "
			    "<prefix> or dump <prefix>",
			    t->number, t->path);
	if (!ts->on)
		return;
	if (ts->append && !ts->output)
		log_warning("target %u, %s: -ts append: there is no file to append to; -ts output "
			    "<prefix> names one",
			    t->number, t->path);
}

void plan_warn_trigger_times(const struct plan *plan, uint64_t now_ns)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		const struct trace_options *ts = &t->trace;

		if (ts->on && ts->triggered_by_time && ts->trigger_time_ns < now_ns)
			log_warning("target %u, %s: -ts triggertime: that time is past; time "
				    "stamping starts at once (the time now is %.3f)",
				    t->number, t->path, (double)now_ns / NS_PER_SEC);
	}
}

static void warn_plan(const struct plan *plan)
{
	/* The clock of a time server is asked later. */
	if (!plan->timeserver.host)
		plan_warn_trigger_times(plan, clock_wall_ns());
}

const struct plan_feature feature_trace = {
	.group = { "Time stamps", rows },
	.target = { [TARGET_SIZE] = resolve },
	.plan = { [PLAN_CHECK] = check_tables },
	.warn_target = warn,
	.warn = warn_plan,
};
