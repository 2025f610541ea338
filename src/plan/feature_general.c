/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Setup files, help, trying out, and details of a run: -extendedstats, -debug, -timestamps.
 */
#include <inttypes.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"
#include "xdd/sys/clock.h"

/* All words that follow, up to one with a dash that names no option. */
static size_t arity_help(const struct word *args, size_t avail)
{
	size_t n = avail ? 1 : 0;

	while (n && n < avail &&
	       (args[n].text[0] != '-' || option_is_word(&run_options, args[n].text)))
		n++;
	return n;
}

/* The commands print it: they know the columns and one another as well. */
static enum xdd_status do_help(struct parse *p, const struct setting *s)
{
	struct setting *help = xarena_alloc(p->arena, sizeof(*help));

	*help = *s;
	p->plan->help = help;
	p->done = true;
	return XDD_OK;
}

static enum xdd_status do_fullhelp(struct parse *p, const struct setting *s)
{
	(void)s;
	p->done = true;
	help_full(p->table);
	return XDD_OK;
}

/*
 * -v and -V are "verbose" to users of other tools: beside other words they are refused, as a run
 * that is lost without a message looks like one that went well.
 */
static enum xdd_status do_version(struct parse *p, const struct setting *s)
{
	const char *letter = s->name.text + strspn(s->name.text, "-");

	if (p->n_words > 1 && !letter[1])
		return parse_error(XDD_BAD_ARGUMENT, s, &s->name,
				   "prints the version, and nothing would run; say -verbose for "
				   "more output, or -version");
	p->done = true;
	help_version();
	return XDD_OK;
}

/* Names, up to the next word with a dash. */
static size_t arity_section(const struct word *args, size_t avail)
{
	size_t n = 0;

	while (n < avail && args[n].text[0] != '-')
		n++;
	return n ? n : 1;
}

/* -keepgoing of a single run would have no effect. */
static enum xdd_status general_check(struct plan *plan)
{
	if (!plan->keep_going || plan->run_name)
		return XDD_OK;
	return log_refuse(
		"-keepgoing: is for several runs, and this is the only one; sections of a setup "
		"file or -readback make several");
}

static const struct option general_rows[] = {
	{ .name = "setup",
	  .type = OPT_ACTION,
	  .arg = "<file>",
	  .act = parse_setup,
	  .help = "read options from a file, as if they stood here",
	  .detail =
		  "Blanks and newlines separate words; single and double quotes and the backslash "
		  "work as in a shell; # starts a comment. Setup files may name further setup "
		  "files. Options after -setup override the file's. A line with nothing but "
		  "[name] begins a section: what stands before the first one, and the other words "
		  "of the command line, are for all sections, each of which is a run of its own. "
		  "All are checked before the first one begins; the results of each have its name, "
		  "which -id gets as well. In names of output files %s is that name, and %% a "
		  "percent sign. A run that fails ends the others (-keepgoing). A word in brackets "
		  "that is alone on its line is quoted, as in '[ab]'.",
	  .example = "xdd -setup tests.xdd -csvout results.csv" },
	{ .name = "section",
	  .type = OPT_ACTION,
	  .arg = "<name> ...",
	  .arity = arity_section,
	  .act = parse_choice,
	  .help = "run these sections of the setup files only, in the order of the files",
	  .detail = "May be given several times, on the command line only.",
	  .example = "xdd -setup tests.xdd -section write read" },
	{ .name = "keepgoing",
	  PLAN_FLAG(keep_going),
	  .help = "begin the next section although this one has failed",
	  .detail =
		  "Without it a run that ends with another status than 0 is the last one. A signal "
		  "ends all runs. The exit status is the greatest of all.",
	  .example = "xdd -setup tests.xdd -keepgoing" },
	{ .name = "dryrun",
	  .aliases = "dry",
	  PLAN_FLAG(dry_run),
	  .help = "check everything, show what would be done, and stop",
	  .detail = "Nothing is opened, created or changed." },
	{ .name = "help",
	  .aliases = "h",
	  .type = OPT_ACTION,
	  .arg = "[<word> ...]",
	  .arity = arity_help,
	  .act = do_help,
	  .help = "list the options, or explain options, commands and columns",
	  .detail =
		  "A word that is none of these is searched for in names, texts and words of other "
		  "tools, such as fio and dd. -help columns lists the columns of -outputformat.",
	  .example = "xdd -help iodepth percentiles columns" },
	{ .name = "fullhelp",
	  .aliases = "exthelp",
	  .type = OPT_ACTION,
	  .act = do_fullhelp,
	  .help = "explain every option" },
	{ .name = "version",
	  .aliases = "ver V v",
	  .type = OPT_ACTION,
	  .act = do_version,
	  .help = "print the version",
	  .detail = "-v and -V stand alone: beside other words they are refused, as they mean "
		    "-verbose to users of other tools." },
	{ 0 },
};

const struct plan_feature feature_general = {
	.group = { "General", general_rows },
	.plan = { [PLAN_CHECK] = general_check },
};

/*
 * Details of a run: -extendedstats, -debug.
 */

static const char *kind_at(const void *unused, size_t i)
{
	const struct debug_row *row = debug_row_at(i);

	(void)unused;
	return row ? row->name : NULL;
}

static bool is_kind(const char *text)
{
	return debug_row_find(text) || (*text != '-' && suggest_nearest(text, kind_at, NULL));
}

/* All adjacent kinds, misspelt ones too; the first word is always taken as one. */
static size_t arity_debug(const struct word *args, size_t avail)
{
	size_t n = 0;

	while (n < avail && is_kind(args[n].text))
		n++;
	return n ? n : 1;
}

static enum xdd_status apply_debug(const struct setting *s, void *dst)
{
	struct plan *plan = dst;

	for (size_t i = 0; i < s->n_args; i++) {
		const struct debug_row *row = debug_row_find(s->args[i].text);

		if (!row)
			return parse_error_words(s, &s->args[i], kind_at, NULL);
		plan->debug_kinds |= row->kinds;
	}
	return XDD_OK;
}

static const struct option debug_rows[] = {
	{ .name = "extendedstats",
	  .aliases = "extstats",
	  PLAN_FLAG(extended_stats),
	  .help = "show the longest and the shortest operation",
	  .detail =
		  "Of each target and of the run: how long it took, its pass and number, whether "
		  "it read "
		  "or wrote, and where. With -verbose of each pass too. Operations that failed do "
		  "not "
		  "count. The columns LONGEST and SHORTEST of -outputformat, and those whose names "
		  "begin with them, have the same in result lines." },
	{ .name = "debug",
	  OPTION_CUSTOM("<kind> [<kind> ...]", apply_debug),
	  .arity = arity_debug,
	  .collects = true,
	  .help = "write lines that begin with DEBUG_ about what happens in a run",
	  .detail =
		  "To standard error, or to the file of -errout. Each line has the seconds since "
		  "the start of the run. The kinds: e2e (end2end), each message of an end-to-end "
		  "copy when it is sent and when it has arrived; io, each operation when it is issued and when "
		  "it is complete; lockstep (ls), operations that wait for other targets, by "
		  "-lockstep, a trigger or -syncio; open, each opening and closing of a target; "
		  "task, threads, when they start and when they end; throttle (throt), how late "
		  "operations are that -throttle paces; timelimit (tl), limits of time that end a "
		  "pass; tot, whose turn it is in an -ordering; ts, chunks of the table of "
		  "-timestamps that QThreads take; user1, at SIGUSR1, how far each QThread is; all "
		  "(a). The lines take time, and results differ from the run without them.",
	  .example = "xdd -op read -targets 1 data -numreqs 10 -debug io open" },
	{ 0 },
};

const struct plan_feature feature_debug = {
	.group = { "Looking closer", debug_rows },
};

/*
 * Time stamps of each operation, and their reports: -timestamps. The user guide, 4.13.
 */

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

#define FLAG(name_, field_, help_)                                       \
	{                                                                \
		.name = name_, TARGET_FLAG(trace.field_), .help = help_, \
	}

static const struct option trace_rows[] = {
	WORD("summary", summary, "write a summary of the operations"),
	WORD("detailed", detailed, "write a line for each operation, and the summary"),
	{ .name = "output",
	  OPTION_TEXT("<prefix>"),
	  TARGET_FIELD(trace.output),
	  ON,
	  .help = "write the reports to <prefix>.target.<number>.csv instead of with the results" },
	FLAG("append", append, "add the reports to that file instead of replacing it"),
	{ .name = "dump",
	  OPTION_TEXT("<prefix>"),
	  TARGET_FIELD(trace.dump),
	  ON,
	  .help = "write all that is known to <prefix>.target.<number>.bin, for xdd tsread" },
	FLAG("wrap", wrap, "when the table is full, keep the newest operations"),
	FLAG("oneshot", oneshot, "when the table is full, stop: keep the oldest operations"),
	{ .name = "size",
	  OPTION_NUMBER("<#operations>", 1, 1ull << 40),
	  .unit = "operations",
	  TARGET_FIELD(trace.size_ops),
	  .help = "operations that the table holds (all of the run; at most 1048576 with -runtime, "
		  "or where only time ends a pass)" },
	{ .name = "triggertime",
	  .aliases = "tt",
	  OPTION_TIME("<seconds>", 0, PLAN_CENTURY_NS),
	  TARGET_FIELD(trace.trigger_time_ns),
	  .sets = offsetof(struct target_plan, trace.triggered_by_time),
	  .help = "start at this time of the global clock, in seconds since 1970" },
	{ .name = "triggerop",
	  .aliases = "to",
	  OPTION_NUMBER("<operation>", 0, INT64_MAX),
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

static const struct option feature_trace_rows[] = {
	{ .name = "timestamps",
	  .aliases = "ts timestamp",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<suboption>", trace_rows),
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
	  PLAN_FLAG(timer_info),
	  .help = "say what clock is read, its resolution, and what a reading and a time stamp "
		  "cost" },
	{ 0 },
};

static const char *file_name(const struct plan *plan, const struct target_plan *t,
			     const char *prefix, const char *suffix)
{
	return prefix ? xarena_printf(plan->arena, "%s.target.%04" PRIu32 ".%s", prefix, t->number,
				      suffix) :
			NULL;
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

static enum xdd_status trace_resolve(struct plan *plan, struct target_plan *t)
{
	struct trace_options *ts = &t->trace;

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
	ts->report_path = file_name(plan, t, ts->output, "csv");
	ts->dump_path = file_name(plan, t, ts->dump, "bin");
	resolve_table(plan, t);
	return XDD_OK;
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
	return log_refuse(
		"-ts: the tables of time stamps would take %.1f GiB, and this machine has %.1f GiB "
		"of "
		"memory, of which they may have half; -ts size <#operations> makes them smaller",
		(double)want / GIB, (double)have / GIB);
}

static void trace_warn(const struct target_plan *t)
{
	const struct trace_options *ts = &t->trace;

	if (!ts->on && (ts->append || ts->wrap || ts->oneshot || ts->size_ops || ts->normalize ||
			ts->triggered_by_time || ts->trigger_op))
		target_warning(t, "-ts: nothing is stamped; say summary, detailed, output <prefix> "
				  "or dump <prefix>");
	if (!ts->on)
		return;
	if (ts->append && !ts->output)
		target_warning(
			t,
			"-ts append: there is no file to append to; -ts output <prefix> names one");
}

void plan_warn_trigger_times(const struct plan *plan, uint64_t now_ns)
{
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		const struct trace_options *ts = &t->trace;

		if (ts->on && ts->triggered_by_time && ts->trigger_time_ns < now_ns)
			target_warning(t,
				       "-ts triggertime: that time is past; time stamping starts "
				       "at once (the time now is %.3f)",
				       (double)now_ns / NS_PER_SEC);
	}
}

static void warn_plan(const struct plan *plan)
{
	/* The clock of a time server is asked later. */
	if (!plan->timeserver.host)
		plan_warn_trigger_times(plan, clock_wall_ns());
}

const struct plan_feature feature_trace = {
	.group = { "Time stamps", feature_trace_rows },
	.target = { [TARGET_SIZE] = trace_resolve },
	.plan = { [PLAN_CHECK] = check_tables },
	.warn_target = trace_warn,
	.warn = warn_plan,
};
