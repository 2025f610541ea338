/*
 * Outputs of a run and their formats.
 */
#include "plan/feature.h"

#include <string.h>
#include <unistd.h>

#include "plan/errors.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"

#define RUN_ID_MAX 64

/* Several -id are joined with a blank. */
static enum xdd_status apply_id(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char *text = s->args[0].text;

	if (!*text)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "<text> cannot be empty");
	if (strcmp(text, "commandline") == 0)
		text = plan->command_line;
	plan->id = plan->id ? arena_printf(s->arena, "%s %s", plan->id, text) : text;
	return plan->id ? XDD_OK : plan_no_memory();
}

/* A name for machines to compare: short, and the same in every locale. */
static enum xdd_status apply_runid(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char *text = s->args[0].text;
	size_t len = strlen(text);
	bool fits = len > 0 && len <= RUN_ID_MAX;

	for (size_t i = 0; i < len && fits; i++)
		fits = text[i] > ' ' && text[i] <= '~';
	if (!fits)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected 1 to %d printable ASCII characters, without blanks",
				   RUN_ID_MAX);
	plan->run_id = text;
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
		plan->output_format = arena_printf(s->arena, "%s%s",
						   plan->output_format ? plan->output_format :
									 PLAN_DEFAULT_COLUMNS,
						   list->text);
	return plan->output_format ? XDD_OK : plan_no_memory();
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

	if (plan->report_form == REPORT_PERSON && json) {
		log_error("-report person: -jsonout %s has standard output to itself",
			  plan->json_file);
		return XDD_BAD_ARGUMENT;
	}
	plan->person = plan->report_form == REPORT_PERSON ||
		       (plan->report_form == REPORT_AUTO && !json && !plan->output_file &&
			isatty(STDOUT_FILENO));
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

#define OUTPUT_FILE(name_, alias_, field_, help_, detail_)                                 \
	{                                                                                  \
		.name = name_, .aliases = alias_, .scope = SCOPE_GLOBAL, .type = OPT_TEXT, \
		.arg = "<file>", PLAN_FIELD(field_), .is_output = true, .help = help_,     \
		.detail = detail_,                                                         \
	}

static const struct option rows[] = {
	{ .name = "verbose",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(verbose),
	  .help = "show every pass of every target, and all options and system information" },
	{ .name = "unverbose",
	  .aliases = "unv",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .apply = apply_unverbose,
	  .help = "cancel -verbose and -reallyverbose" },
	{ .name = "reallyverbose",
	  .aliases = "rv",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SET,
	  .value = true,
	  PLAN_FIELD(really_verbose),
	  .sets = offsetof(struct plan, verbose),
	  .help = "as -verbose, with the sizes of internal structures" },
	{ .name = "qthreadinfo",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(qthread_info),
	  .help = "show every QThread of every pass (QUEUE_PASS lines)" },
	{ .name = "report",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CHOICE,
	  .arg = "person|table|auto",
	  .choices = report_choices,
	  .def = "auto",
	  PLAN_FIELD(report_form),
	  .help = "write results for people, or the table",
	  .detail =
		  "person is a block of a few lines: rate, operations per second and latencies of each "
		  "target in scaled units, and a verdict in words. table is the result lines. auto, the "
		  "default, is person where standard output is a terminal, and otherwise table. The "
		  "table follows the block with -outputformat or -qthreadinfo; with -verbose its lines "
		  "appear during the run, and the block follows them. A file of -output gets the table.",
	  .example = "xdd -op read -target data -report person" },
	{ .name = "id",
	  .aliases = "identifier",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<text>|commandline",
	  .collects = true,
	  .apply = apply_id,
	  .help = "text that identifies the run in its output",
	  .detail = "The word commandline stands for the command line itself. Several -id are "
		    "joined." },
	{ .name = "runid",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<text>",
	  .apply = apply_runid,
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
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_TEXT,
	  .arg = "<file>",
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
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "add|new <+ID+ID...>",
	  .arity = arity_outputformat,
	  .collects = true,
	  .apply = apply_outputformat,
	  .help = "choose the columns of the result lines",
	  .detail = "new replaces the columns, add appends further ones. A list alone means new.",
	  .example = "xdd -op read -targets 1 data -outputformat new +WHAT+OPS+IOPS" },
	{ .name = "percentcpu",
	  .aliases = "pcpu",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CHOICE,
	  .arg = "absolute|relative",
	  .choices = percentcpu_choices,
	  .def = "absolute",
	  PLAN_FIELD(percent_cpu),
	  .help = "CPU percentages of one processor, or of all of the machine's" },
	{ 0 },
};

const struct plan_feature feature_output = {
	.group = { "Output", rows },
	.plan = { [PLAN_CHECK] = resolve_report },
};
