/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outputs of a run and their formats, progress while it lasts, and reports of latencies:
 * -heartbeat, -latency, -intervals.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/stat/histogram.h"

#define RUN_ID_MAX 64 /* as PLAN_RUN_ID_EXPECTED says */

/* Several -id are joined with a blank. */
static enum xdd_status apply_id(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char *text = s->args[0].text;

	if (!*text)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "<text> cannot be empty");
	if (strcmp(text, "commandline") == 0)
		text = plan->command_line;
	plan->id = plan->id ? xarena_printf(s->arena, "%s %s", plan->id, text) : text;
	return XDD_OK;
}

/* A name for machines to compare: short, and the same in every locale. */
bool plan_run_id_fits(const char *text)
{
	const size_t len = strlen(text);
	bool fits = len > 0 && len <= RUN_ID_MAX;

	for (size_t i = 0; i < len && fits; i++)
		fits = text[i] > ' ' && text[i] <= '~';
	return fits;
}

static enum xdd_status apply_runid(const struct setting *s, void *dst)
{
	struct plan *plan = dst;

	if (!plan_run_id_fits(s->args[0].text))
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], PLAN_RUN_ID_EXPECTED);
	plan->run_id = s->args[0].text;
	return XDD_OK;
}

/* "add" or "new" (or a misspelt one) and a list, or a list alone. */
static size_t arity_outputformat(const struct word *args, size_t avail)
{
	if (!avail || strcmp(args[0].text, "add") == 0 || strcmp(args[0].text, "new") == 0)
		return 2;
	return args[0].text[0] != '+' && avail > 1 && args[1].text[0] == '+' ? 2 : 1;
}

/* Keep a complete list: "add" appends to the list so far, which is the default at first. */
static enum xdd_status apply_outputformat(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char *how = s->n_args == 2 ? s->args[0].text : "new";
	const struct word *list = &s->args[s->n_args - 1];

	if (strcmp(how, "add") != 0 && strcmp(how, "new") != 0)
		return parse_error(XDD_BAD_OPTION, s, &s->args[0],
				   "expected add or new, then a list such as +WHAT+OPS");
	if (list->text[0] != '+' || list->text[1] == '\0')
		return parse_error(
			XDD_BAD_ARGUMENT, s, list,
			"expected a list of identifiers, each with a plus sign before it, as in "
			"+WHAT+OPS");
	plan->columns_chosen |= strcmp(how, "new") == 0;
	if (strcmp(how, "new") == 0)
		plan->output_format = list->text;
	else
		plan->output_format = xarena_printf(s->arena, "%s%s",
						    plan->output_format ? plan->output_format :
									  PLAN_DEFAULT_COLUMNS,
						    list->text);
	return XDD_OK;
}

static const struct choice percentcpu_choices[] = {
	{ "absolute", "abs", PERCENT_CPU_ABSOLUTE },
	{ "relative", "rel", PERCENT_CPU_RELATIVE },
	{ 0 },
};

static const struct choice report_choices[] = {
	{ "auto", NULL, REPORT_AUTO },
	{ "person", NULL, REPORT_PERSON },
	{ "table", NULL, REPORT_TABLE },
	{ 0 },
};

/*
 * Choose the form of the results. The file of -output has the guide's table, so without -report
 * person nothing goes to the terminal beside it.
 */
static enum xdd_status resolve_report(struct plan *plan)
{
	const bool json = plan->json_file && output_standard(plan->json_file) == STDOUT_FILENO;

	if (plan->report_form == REPORT_PERSON && json)
		return log_refuse("-report person: -jsonout %s has standard output to itself",
				  plan->json_file);
	if (plan->report_form == REPORT_PERSON && plan->quiet)
		return log_refuse(
			"-report person: cannot be used with -quiet, which leaves it out");
	plan->person = plan->report_form == REPORT_PERSON ||
		       (plan->report_form == REPORT_AUTO && !json && !plan->output_file &&
			!plan->quiet && isatty(STDOUT_FILENO));
	plan->person = plan->person && !plan->dry_run;
	return XDD_OK;
}

static enum xdd_status apply_unverbose(const struct setting *s, void *dst)
{
	struct plan *plan = dst;

	(void)s;
	plan->verbose = false;
	plan->really_verbose = false;
	return XDD_OK;
}

#define OUTPUT_FILE(name_, alias_, field_, help_, detail_)                                   \
	{                                                                                    \
		.name = name_, .aliases = alias_, OPTION_TEXT("<file>"), PLAN_FIELD(field_), \
		.is_output = true, .help = help_, .detail = detail_,                         \
	}

static const struct option feature_output_rows[] = {
	{ .name = "verbose",
	  PLAN_FLAG(verbose),
	  .help = "show every pass of every target, and all options and system information" },
	{ .name = "unverbose",
	  .aliases = "unv",
	  .type = OPT_CUSTOM,
	  .apply = apply_unverbose,
	  .help = "cancel -verbose and -reallyverbose" },
	{ .name = "reallyverbose",
	  .aliases = "rv",
	  .type = OPT_SET,
	  .value = true,
	  PLAN_FIELD(really_verbose),
	  .sets = offsetof(struct plan, verbose),
	  .help = "as -verbose, with the sizes of internal structures" },
	{ .name = "quiet",
	  .aliases = "q",
	  PLAN_FLAG(quiet),
	  .help = "print no results; messages, and the files of other options, stay",
	  .detail =
		  "Standard output has only what an option with - for a file writes there, such as "
		  "-csvout - or -jsonout -. A terminal shows no progress unless -heartbeat asks for "
		  "it.",
	  .example = "xdd -op read -target data -csvout - -outputformat new +BANDWIDTH -q" },
	{ .name = "qthreadinfo",
	  PLAN_FLAG(qthread_info),
	  .help = "show every QThread of every pass (QUEUE_PASS lines)" },
	{ .name = "report",
	  OPTION_CHOICE("person|table|auto", report_choices),
	  .def = "auto",
	  PLAN_FIELD(report_form),
	  .help = "write the result block with its verdict, or the table",
	  .detail =
		  "person is a block of a few lines: rate, operations per second and latencies of each "
		  "target in scaled units, and a verdict in words. table is the result lines. auto, the "
		  "default, is person where standard output is a terminal, and otherwise table. The "
		  "table follows the block with -outputformat or -qthreadinfo; with -verbose its lines "
		  "appear during the run, and the block follows them. A file of -output gets the table.",
	  .example = "xdd -op read -target data -report person" },
	{ .name = "id",
	  .aliases = "identifier",
	  OPTION_CUSTOM("<text>|commandline", apply_id),
	  .collects = true,
	  .help = "text that identifies the run in its output",
	  .detail = "The word commandline stands for the command line itself. Several -id are "
		    "joined." },
	{ .name = "runid",
	  OPTION_CUSTOM("<text>", apply_runid),
	  .help = "name of a run of several hosts, for xdd combine",
	  .detail =
		  "Give all hosts the same name, and each run another one: xdd combine refuses "
		  "documents of -jsonout with different names. Up to 64 printable ASCII characters, "
		  "without blanks.",
	  .example = "xdd -op read -targets 1 data -runid nightly-17 -jsonout node1.json" },
	OUTPUT_FILE("output", "o", output_file,
		    "append the results to a file instead of printing them",
		    "The file always gets the full information sections. - is standard output, for "
		    "this "
		    "and all other options that name one output file."),
	{ .name = "errout",
	  .aliases = "eo",
	  OPTION_TEXT("<file>"),
	  PLAN_FIELD(errout_file),
	  .help = "write messages to a file, which is replaced",
	  .detail =
		  "Warnings before the run and the reason why a target is refused are in the file "
		  "too. "
		  "A command line that is refused (status 2 or 3) and -dryrun change no file, so "
		  "their "
		  "messages go to standard error." },
	OUTPUT_FILE(
		"csvout", "csvo", csv_file, "append the result lines to a file as CSV as well",
		"The first line of the file names the columns; it is written when the file is new "
		"or "
		"empty. A file with other columns is refused."),
	OUTPUT_FILE("combinedout", "combo", combined_file,
		    "append the COMBINED line of the run to a file as CSV as well",
		    "Collects the results of several runs in one file. Its first line names the "
		    "columns."),
	OUTPUT_FILE(
		"jsonout", "jsono", json_file,
		"write all about the run and its results to a file as JSON",
		"The file is replaced once the run has ended, however it ended; "
		"doc/jsonout.schema.json "
		"says what is in it. With - it goes to standard output, and the text results only "
		"to "
		"the file of -output, if there is one."),
	{ .name = "outputformat",
	  .aliases = "ofmt",
	  OPTION_CUSTOM("add|new <+ID+ID...>", apply_outputformat),
	  .arity = arity_outputformat,
	  .collects = true,
	  .help = "choose the columns of the result lines",
	  .detail = "new replaces the columns, add appends further ones. A list alone means new.",
	  .example = "xdd -op read -targets 1 data -outputformat new +WHAT+OPS+IOPS" },
	{ .name = "percentcpu",
	  .aliases = "pcpu",
	  OPTION_CHOICE("absolute|relative", percentcpu_choices),
	  .def = "absolute",
	  PLAN_FIELD(percent_cpu),
	  .help = "CPU percentages of one processor, or of all of the machine's" },
	{ 0 },
};

const struct plan_feature feature_output = {
	.group = { "Output", feature_output_rows },
	.plan = { [PLAN_CHECK] = resolve_report },
};

/*
 * Progress of a run while it lasts: -heartbeat. The user guide, 5.2.
 */

#define T(field) TARGET_FIELD(heartbeat.field)
#define DAY_NS (24ull * 3600 * NS_PER_SEC)

/* A word asks for the heartbeat as well. */
static enum xdd_status apply_word(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->heartbeat.off = false;
	return XDD_OK;
}

static enum xdd_status apply_interval(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->heartbeat.off = t->heartbeat.interval_ns == 0;
	return XDD_OK;
}

#define FIELD(name_, aliases_, value_, help_)                                                     \
	{                                                                                         \
		.name = name_, .aliases = aliases_, .type = OPT_BIT, .value = HEARTBEAT_##value_, \
		T(fields), .apply = apply_word, .help = help_,                                    \
	}

static const struct option heartbeat_rows[] = {
	{ .name = "seconds",
	  OPTION_TIME("<seconds>", 0, DAY_NS),
	  .bare = option_is_number,
	  T(interval_ns),
	  .apply = apply_interval,
	  .help = "how often; the word seconds may be left out; 0: never" },
	FIELD("ops", "operations", OPS, "operations completed in this pass"),
	FIELD("bytes", "b", BYTES, "bytes transferred in this pass"),
	FIELD("kbytes", "kb", KBYTES, "the same in KiB of 1024 bytes"),
	FIELD("mbytes", "mb", MBYTES, "the same in MiB"),
	FIELD("gbytes", "gb", GBYTES, "the same in GiB"),
	FIELD("bw", "bandwidth", BW, "10^6 bytes per second since the last line"),
	FIELD("iops", NULL, IOPS, "operations per second since the last line"),
	FIELD("pct", "percent", PCT, "how much of the pass is done"),
	FIELD("etc", "eta et", ETC, "estimated time to completion of the run"),
	FIELD("latency", "lat", LATENCY,
	      "median, 99th percentile and longest time of operations since the last line"),
	FIELD("target", "tgt", TARGET, "the target's number before its values"),
	FIELD("tod", "time", TOD, "the time of day at the beginning of the line"),
	FIELD("elapsed", "sec", ELAPSED,
	      "seconds since the run began, at the beginning of the line"),
	FIELD("hostname", "host", HOSTNAME,
	      "the name of this computer, at the beginning of the line"),
	FIELD("lf", "cr nl", LF, "each line stays, on a terminal too"),
	{ .name = "output",
	  .aliases = "out",
	  OPTION_TEXT("<prefix>"),
	  T(output),
	  .help = "lines go to <prefix>.T0000.csv, by number of the target" },
	{ .name = "append",
	  .type = OPT_SET,
	  .value = true,
	  T(append),
	  .apply = apply_word,
	  .help = "append to such a file, instead of replacing it" },
	{ 0 },
};

static const struct option feature_heartbeat_rows[] = {
	{ .name = "heartbeat",
	  .aliases = "hb",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<seconds>|<word> ...", heartbeat_rows),
	  .help = "show how far each target is while it runs",
	  .detail = "A line to standard error every second, or as often as <seconds> says, and at "
		    "the end of "
		    "each pass, with the fields that are named; a number alone shows ops, bw, pct "
		    "and etc. "
		    "Rates and latencies are those since the last line. On a terminal the line is "
		    "drawn over "
		    "the one before. Without this option a run that takes longer than two seconds "
		    "shows its "
		    "progress on a terminal; -heartbeat 0 turns that off. The signal SIGUSR1 asks "
		    "for a line "
		    "at any time; while the program is still loaded, in the first milliseconds, it "
		    "ends it.",
	  .example = "xdd -op read -targets 1 /dev/sdx -timelimit 60 -heartbeat 5 ops bw pct" },
	{ 0 },
};

/* A number alone selects the default fields; with any word, only named fields are shown. */
static enum xdd_status heartbeat_resolve(struct plan *plan, struct target_plan *t)
{
	struct heartbeat_options *h = &t->heartbeat;
	const bool named = h->fields || h->output;

	(void)plan;
	h->on = (named || h->interval_ns) && !h->off;
	if (!named && h->on)
		h->fields = HEARTBEAT_DEFAULT;
	return XDD_OK;
}

/* Words such as lf and output alone select no field. */
static void heartbeat_warn(const struct target_plan *t)
{
	const struct heartbeat_options *h = &t->heartbeat;

	if (h->append && !h->output)
		target_warning(t, "-heartbeat append: there is no file to append to; -heartbeat "
				  "output <prefix> names one");
	if (h->on && !(h->fields & ~(unsigned)HEARTBEAT_LF))
		target_warning(t, "-heartbeat: no field is named, and its lines show none; name "
				  "some, such as ops bw pct etc");
}

const struct plan_feature feature_heartbeat = {
	.group = { "Heartbeat", feature_heartbeat_rows },
	.target = { [TARGET_SIZE] = heartbeat_resolve },
	.warn_target = heartbeat_warn,
};

/*
 * Reports of latencies, and of progress over time: -latency, -intervals.
 */

#define P(field) PLAN_FIELD(latency.field)
#define SHOWN .sets = offsetof(struct plan, latency.shown)
#define MAX_PERCENTS 32
#define PERCENT_DIGITS 6
#define MIN_INTERVAL_NS 10000000
#define MIN_SERIES_NS 1000000

/*
 * One item of the list, `len` characters: above 0 and up to 100, with at most six digits after the
 * point; perhaps with a p before it.
 */
static int parse_percent(const char *item, size_t len, uint32_t *percent)
{
	char word[32];
	const char *point;
	uint64_t millionths;

	if (len > 1 && tolower((unsigned char)*item) == 'p') {
		item++;
		len--;
	}
	if (!len || len >= sizeof(word))
		return -EINVAL;
	memcpy(word, item, len);
	word[len] = '\0';
	/* Finer values would be rounded, in the end to 100. */
	point = strchr(word, '.');
	if (point && strspn(point + 1, "0123456789") > PERCENT_DIGITS)
		return -EINVAL;
	if (units_parse_percent(word, &millionths))
		return -EINVAL;
	*percent = (uint32_t)millionths;
	return *percent ? 0 : -EINVAL;
}

static int by_percent(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * In ascending order, each once: columns are found by their names. Returns the number of distinct
 * ones.
 */
static size_t sort_percents(uint32_t *percents, size_t n)
{
	size_t left = 0;

	qsort(percents, n, sizeof(*percents), by_percent);
	for (size_t i = 0; i < n; i++) {
		if (!left || percents[left - 1] != percents[i])
			percents[left++] = percents[i];
	}
	return left;
}

/* A number, or one with the letter of a percentile: 99.9, p99. */
static bool is_percentile(const char *word)
{
	return option_is_number(word + (tolower((unsigned char)word[0]) == 'p'));
}

/* Lists, unless the next word is another option or suboption. */
static size_t arity_percentiles(const struct word *args, size_t avail)
{
	const struct option *latency = option_find(&run_options, "latency");
	size_t n = avail && !option_is_word(&run_options, args[0].text) &&
		   !option_find_sub(latency, args[0].text);

	while (n && n < avail && is_percentile(args[n].text))
		n++;
	return n;
}

/* The percentages of one list; `*n` of `percents` are there already. */
static enum xdd_status add_percents(const struct setting *s, const struct word *list,
				    uint32_t *percents, size_t *n)
{
	for (const char *item = list->text;; item++) {
		size_t len = strcspn(item, ",");

		if (*n == MAX_PERCENTS || parse_percent(item, len, &percents[*n]))
			return parse_error(
				XDD_BAD_ARGUMENT, s, list,
				"expected up to %d percentages above 0 and up to 100, with at most "
				"%d digits after the point, separated by commas, as in 50,99,99.9",
				MAX_PERCENTS, PERCENT_DIGITS);
		++*n;
		item += len;
		if (!*item)
			return XDD_OK;
	}
}

static enum xdd_status apply_percentiles(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	enum xdd_status status = XDD_OK;
	uint32_t *percents;
	size_t n = 0;

	plan->latency.percents = NULL;
	plan->latency.n_percents = 0;
	if (!s->n_args)
		return XDD_OK;
	percents = xarena_alloc(s->arena, MAX_PERCENTS * sizeof(*percents));
	for (size_t i = 0; i < s->n_args && !status; i++)
		status = add_percents(s, &s->args[i], percents, &n);
	if (status)
		return status;
	plan->latency.percents = percents;
	plan->latency.n_percents = sort_percents(percents, n);
	return XDD_OK;
}

static const struct option latency_options[] = {
	{ .name = "percentiles",
	  OPTION_CUSTOM("[<%,%,...>]", apply_percentiles),
	  .arity = arity_percentiles,
	  .bare = is_percentile,
	  SHOWN,
	  .help = "which percentiles to show (50,90,95,99,99.9,99.99,99.999); the word "
		  "percentiles may be left out" },
	{ .name = "histogram",
	  .type = OPT_SET,
	  .value = true,
	  P(histogram),
	  SHOWN,
	  .help = "show how the latencies are distributed over powers of two" },
	{ .name = "intervals",
	  OPTION_TIME("<seconds>", MIN_INTERVAL_NS, PLAN_CENTURY_NS),
	  P(interval_ns),
	  SHOWN,
	  .help = "show the figures of each such interval of time as well, 10ms at least" },
	{ .name = "output",
	  OPTION_TEXT("<file>"),
	  P(file),
	  .is_output = true,
	  SHOWN,
	  .help = "append the figures to a file as CSV as well" },
	{ 0 },
};

#define I(field) PLAN_FIELD(intervals.field)
#define I_SHOWN .sets = offsetof(struct plan, intervals.shown)

static const struct option interval_options[] = {
	{ .name = "seconds",
	  OPTION_TIME("<seconds>", MIN_SERIES_NS, PLAN_CENTURY_NS),
	  .bare = option_is_number,
	  I(length_ns),
	  I_SHOWN,
	  .help = "length of an interval, 1ms at least (1); the word seconds may be left out" },
	{ .name = "output",
	  OPTION_TEXT("<file>"),
	  I(file),
	  .is_output = true,
	  I_SHOWN,
	  .help = "append the rows to a file as CSV, instead of a table in the text output; - is "
		  "standard output" },
	{ .name = "prometheus",
	  OPTION_TEXT("<file>"),
	  I(prometheus),
	  .is_output = true,
	  I_SHOWN,
	  .help = "keep the counts of the run so far in a file, as OpenMetrics text, instead of a "
		  "table in the text output; a name that ends with .prom, for the textfile "
		  "collector of node_exporter" },
	{ 0 },
};

static const struct option latency_rows[] = {
	{ .name = "latency",
	  OPTION_SUB("[<suboption>]", latency_options),
	  .alone = &latency_options[0],
	  .help = "show figures of the latencies after the results",
	  .detail =
		  "Every suboption enables a table with the number of operations, the shortest, "
		  "mean, standard deviation, weighted average, percentiles and longest of their "
		  "times in milliseconds, for each direction; with -verbose for each target and "
		  "pass. Service time is from issue to completion; with -throttle response time, "
		  "from when the operation was due, is beside it. Percentiles are accurate to 0.4 "
		  "%, the other figures are exact. The same figures exist as columns: see +LATP99 "
		  "and the like in -outputformat. Several suboptions may follow one -latency; "
		  "without any it is -latency percentiles. On a terminal the table fits it: a "
		  "line for each figure, in scaled units; -report table, files and pipes have "
		  "the exact one.",
	  .example = "xdd -op read -targets 1 data -latency percentiles 50,99.9 histogram" },
	{ .name = "intervals",
	  OPTION_SUB("<seconds> [output <file>] [prometheus <file>]", interval_options),
	  .help = "show rates and latencies of each interval of time while the run lasts",
	  .detail =
		  "A row for each target and direction, and for all targets together: start and "
		  "end in seconds since the first pass began, operations, bytes, errors, IOPS, "
		  "bandwidth (10^6 bytes per second), median, 99th percentile and longest service "
		  "time. An operation belongs to the interval in which it completes. The rows of a "
		  "pass have no gaps, and their operations and bytes add up to the sum of its "
		  "results; an interval without completions has a row with 0. A row that is short "
		  "because the pass begins or ends in it is marked as partial; a remainder of less "
		  "than a tenth of an interval is part of the row before it. The document of "
		  "-jsonout has the same rows. The file of prometheus is replaced as a whole at "
		  "the start, after each interval and at the end; each rank and host needs a name "
		  "of its own, as in run.%h.%r.prom.",
	  .example = "xdd -op read -targets 1 data -runtime 60 -intervals 1 output series.csv" },
	{ 0 },
};

/* -intervals output without a length. */
static enum xdd_status latency_resolve(struct plan *plan)
{
	if (plan->intervals.shown && !plan->intervals.length_ns)
		plan->intervals.length_ns = NS_PER_SEC;
	return XDD_OK;
}

const struct plan_feature feature_latency = {
	.group = { "Latency", latency_rows },
	.plan = { [PLAN_CHECK] = latency_resolve },
};
