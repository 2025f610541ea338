/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd report: a page of HTML of documents of runs and sweeps, or their figures as CSV. Called by
 * main.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/commands/command.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/report/compare.h"

struct report_line {
	const char *output;    /* NULL: standard output */
	const char *directory; /* of -plots; or NULL */
	const char *axis;      /* of the lines of sweeps; NULL: the longest list */
	bool no_plots;
	bool csv;
	const char *columns; /* of -csv; NULL: none */
	struct compare_run *runs;
	size_t n;
};

#define LINE_FIELD(field) OPTION_FIELD(struct report_line, field)

/* With its dash or without. */
static enum xdd_status set_axis(const struct setting *s, void *dst)
{
	const char *name = s->args[0].text;

	((struct report_line *)dst)->axis = name + (*name == '-');
	return XDD_OK;
}

static const struct option rows[] = {
	{ .name = "output",
	  .aliases = "o",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(output),
	  .help = "write the page, or CSV, to <file>, which is replaced when it is complete; "
		  "otherwise to standard output" },
	{ .name = "csv",
	  OPTION_FLAG(struct report_line, csv),
	  .help = "write the figures of all documents as CSV in place of the page: a row for each "
		  "result of a run, point of a sweep, or load of a curve" },
	{ .name = "columns",
	  OPTION_TEXT("+<id>+<id>..."),
	  LINE_FIELD(columns),
	  .help = "of runs, with -csv: further columns, as +LATP50+LATP99. xdd -help columns lists "
		  "them" },
	{ .name = "plots",
	  OPTION_TEXT("<directory>"),
	  LINE_FIELD(directory),
	  .help = "leave data, gnuplot script and SVG of each plot in <directory>, which is created "
		  "where it is missing" },
	{ .name = "axis",
	  OPTION_CUSTOM("<option>", set_axis),
	  .help = "of sweeps: show lines and grids by the values of this option, with the name that "
		  "its column has; by default by the values of the longest list" },
	{ .name = "noplots",
	  OPTION_FLAG(struct report_line, no_plots),
	  .help = "draw no plots: the page has tables only" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table options = { OPTION_GROUPS(OPTION_GROUP("Options", rows)) };

/* ---- the command line ---- */

static enum xdd_status take_file(struct line *line, const char *word)
{
	struct report_line *l = line->to;

	l->runs[l->n++].doc.name = word;
	return XDD_OK;
}

static enum xdd_status check_count(const struct report_line *l)
{
	const size_t most = l->csv ? CSV_MAX_DOCUMENTS : PAGE_MAX_DOCUMENTS;

	if (l->n && l->n <= most)
		return XDD_OK;
	if (l->n)
		log_error("report: %zu documents are too many; expected up to %zu", l->n, most);
	else
		log_error("report: expected files of -jsonout; see xdd report -help");
	return XDD_BAD_ARGUMENT;
}

/* A document that is read is not replaced. */
static bool check_output(const struct report_line *l)
{
	char why[OUTPUT_WHY_SIZE];

	if (!l->output || output_standard(l->output) >= 0)
		return true;
	if (output_check_new(l->output, why))
		return log_fail(false, "report -output %s: %s", l->output, why);
	for (size_t i = 0; i < l->n; i++) {
		if (!command_same_file(l->output, l->runs[i].doc.name))
			continue;
		return log_fail(false, "report -output %s: is a document to read; use another file",
				l->output);
	}
	return true;
}

/* ---- work ---- */

/* "a" to "z", then "d27" and so on. */
static void name_run(struct compare_run *run, size_t i)
{
	if (i < 26)
		snprintf(run->name, sizeof(run->name), "%c", (char)('a' + i));
	else
		snprintf(run->name, sizeof(run->name), "d%zu", i + 1);
}

static bool load(struct report_line *l)
{
	for (size_t i = 0; i < l->n; i++) {
		name_run(&l->runs[i], i);
		if (!document_load(&l->runs[i].doc, "report", l->runs[i].doc.name, NULL))
			return false;
	}
	return true;
}

static bool check_axis(const struct report_line *l)
{
	for (size_t i = 0; l->axis && i < l->n; i++) {
		if (page_has_axis(&l->runs[i], l->axis))
			return true;
	}
	if (l->axis)
		log_error("report -axis %.128s: expected an option that a sweep of the documents "
			  "varies, as its column is called",
			  l->axis);
	return !l->axis;
}

/* Write the page, or CSV with the columns of `arg`. Returns 0 or -errno. */
typedef int report_writer(FILE *f, const struct report_line *l, const void *arg);

static int write_page(FILE *f, const struct report_line *l, const void *arg)
{
	(void)l;
	return page_write(arg, f);
}

static int write_csv(FILE *f, const struct report_line *l, const void *arg)
{
	return documents_write_csv(f, l->runs, l->n, arg);
}

/* A reader that has gone away has read enough. */
static enum xdd_status write_stdout(const struct report_line *l, report_writer *write,
				    const void *arg)
{
	const int err = write(stdout, l, arg);

	if (!err || err == -EPIPE)
		return XDD_OK;
	return log_fail(XDD_IO_ERROR, "report: standard output: %s", strerror(-err));
}

/* The plots replace neither a document nor the page. */
static bool check_plots(const struct report_line *l, const struct page *page)
{
	if (!l->directory)
		return true;
	if (l->output && page_plots_replace(page, l->directory, l->output))
		return log_fail(false, "report -output %s: is a file of -plots; use another name",
				l->output);
	for (size_t i = 0; i < l->n; i++) {
		if (!page_plots_replace(page, l->directory, l->runs[i].doc.name))
			continue;
		return log_fail(
			false,
			"report -plots %s: would replace %s, a document to read; use another "
			"directory",
			l->directory, l->runs[i].doc.name);
	}
	return true;
}

static enum xdd_status write_report(const struct report_line *l, report_writer *write,
				    const void *arg)
{
	struct newfile f;
	int err;

	if (!l->output || output_standard(l->output) >= 0)
		return write_stdout(l, write, arg);
	err = newfile_open(&f, l->output);
	if (!err)
		err = newfile_close(&f, write(f.f, l, arg));
	if (!err)
		return XDD_OK;
	return log_fail(XDD_IO_ERROR, "report -output %s: %s", l->output, output_strerror(err));
}

/* Options of the page or of CSV have no use in the other. */
static bool check_form(const struct report_line *l)
{
	const char *page = l->directory ? "plots" :
			   l->axis	? "axis" :
			   l->no_plots	? "noplots" :
					  NULL;

	if (l->csv && page)
		log_error("report -%s: is for the page, and -csv is given; leave one out", page);
	if (!l->csv && l->columns)
		log_error("report -columns %.128s: is for CSV; use -csv", l->columns);
	return l->csv ? !page : !l->columns;
}

/* The columns of runs: as in -csvout, and the ones of -columns. */
static bool read_columns(const struct report_line *l, struct arena *arena, struct column_list *list)
{
	const char *bad;
	size_t length;

	if (l->columns) {
		const int err = column_list_parse(list, l->columns, &bad, &length);

		if (err == -EINVAL)
			column_list_refuse("report -columns", l->columns, "+LATP50+LATP99", bad,
					   length);
		else if (err)
			memory_end();
		column_list_free(list);
		if (err)
			return false;
	}
	if (column_list_parse(list,
			      xarena_printf(arena, "%s%s", COLUMN_DEFAULTS COLUMN_CSV_DEFAULTS,
					    l->columns ? l->columns : ""),
			      &bad, &length))
		memory_end();
	return true;
}

static enum xdd_status make_csv(struct report_line *l)
{
	struct arena *arena = xarena_new();
	enum xdd_status status = XDD_BAD_ARGUMENT;
	struct column_list list = { 0 };

	if (read_columns(l, arena, &list) && check_output(l) && load(l))
		status = write_report(l, write_csv, &list);
	column_list_free(&list);
	arena_free(arena);
	return status;
}

static enum xdd_status make_report(struct report_line *l)
{
	enum xdd_status status = XDD_BAD_ARGUMENT;
	struct page *page;

	if (!check_output(l) || !load(l) || !check_axis(l))
		return XDD_BAD_ARGUMENT;
	page = page_make(l->runs, l->n, l->axis, !l->no_plots);
	if (check_plots(l, page))
		status = l->directory && page_save_plots(page, l->directory) ?
				 XDD_IO_ERROR :
				 write_report(l, write_page, page);
	page_free(page);
	return status;
}

static int report_main(int argc, char **argv)
{
	struct report_line l = { .runs = xcalloc((size_t)argc, sizeof(*l.runs)) };
	struct line line = { .name = "report", .options = &options, .to = &l, .operand = take_file };
	enum xdd_status status = line_read(&line, argc, argv);

	if (!status && line.shows)
		status = command_show(&command_report, line.shows);
	else if (!status && !(status = check_count(&l)))
		status = !check_form(&l) ? XDD_BAD_ARGUMENT :
			 l.csv		 ? make_csv(&l) :
					   make_report(&l);
	for (size_t i = 0; i < l.n; i++)
		document_free(&l.runs[i].doc);
	free(l.runs);
	/* An error of standard output is reported already. */
	return status == XDD_IO_ERROR || command_flush() ? (int)status : XDD_IO_ERROR;
}

const struct command command_report = {
	.name = "report",
	.summary = "make a page of HTML, or CSV, of runs and sweeps",
	.usage = "usage: xdd report [<option> ...] <file.json>... > page.html\n"
		 "\n"
		 "Makes one page of HTML of documents of -jsonout and of xdd sweep: a summary in\n"
		 "words, rates and latencies over time, their distribution, targets side by side,\n"
		 "the points of a sweep, the environment; of two documents the difference. The\n"
		 "page is one file, needs no network and no other program, and works without\n"
		 "scripts.\n"
		 "With -csv the figures are one table of CSV instead.\n",
	.options = &options,
	.footer = "Exit status: 0 the page or CSV was written, 2 a document cannot be read, 3 an\n"
		  "option is wrong, 6 a file cannot be written.\n",
	.main = report_main,
};
