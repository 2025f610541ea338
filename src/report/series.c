/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -intervals: rows of progress over time, also as text on 60 columns. Called by the results
 * manager, and by report.c and check.c for the header of the CSV file.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "report/latency.h"
#include "report/report_internal.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"

#define TARGETS_MAX 8	 /* with more, only the rows of all targets are shown */
#define FINE_NS 10000000 /* shorter intervals need milliseconds */
#define FINE_MAX_S 100	 /* as long as they fit */
#define HUNDREDTHS_MAX_S 1000
#define TENTHS_MAX_S 10000

static bool series_screen_shows(const struct plan *plan, const struct series_row *row)
{
	return row->all == (plan->n_targets > TARGETS_MAX) || (row->all && plan->n_targets > 1);
}

static void series_screen_header(FILE *f, const struct plan *plan)
{
	fputs("Up to each time in seconds; * marks a short interval\n", f);
	fprintf(f, "%6s %s%-5s", "time", plan->n_targets > 1 ? "     " : "", "");
	for (int i = 0; i < FIGURES_SHOWN; i++)
		fprintf(f, " %*s", figure_width(figures_shown[i]),
			figure_heading(figures_shown[i]));
	fputc('\n', f);
}

char *series_time_text(uint64_t ns, bool fine, char buf[SCALED_SIZE])
{
	const double s = (double)ns / (double)NS_PER_SEC;
	int decimals = s < HUNDREDTHS_MAX_S ? 2 : s < TENTHS_MAX_S ? 1 : 0;

	if (fine && s < FINE_MAX_S)
		decimals = 3;
	snprintf(buf, SCALED_SIZE, "%.*f", decimals, s);
	return buf;
}

/*
 * As series_table_row(), for the terminal, on 60 columns (series.c): with many targets only
 * the rows of all of them are shown.
 */
static void series_screen_row(FILE *f, const struct plan *plan, const struct series_row *row)
{
	char time[SCALED_SIZE], target[SCALED_SIZE], text[SCALED_SIZE];

	fprintf(f, "%6s", series_time_text(row->to_ns, plan->intervals.length_ns < FINE_NS, time));
	fputc(row->partial ? '*' : ' ', f);
	snprintf(target, sizeof(target), "#%" PRIu64, row->target);
	if (plan->n_targets > 1)
		fprintf(f, "%-4s ", row->all ? "all" : target);
	fprintf(f, "%-5s", row->dir_name);
	for (int i = 0; i < FIGURES_SHOWN; i++)
		fprintf(f, " %*s", figure_width(figures_shown[i]),
			figure_text(figures_shown[i], row->figures[figures_shown[i]], text));
	fputc('\n', f);
	if (row->errors)
		fprintf(f, "%7s%" PRIu64 " errors\n", "", row->errors);
}

/* ---- CSV, document, table ---- */

/* How a field is written. */
enum series_type {
	SERIES_TIME,   /* uint64_t, since the first pass began */
	SERIES_COUNT,  /* uint64_t */
	SERIES_TARGET, /* uint64_t; row->all: "all" in CSV files, null in documents */
	SERIES_PASS,   /* uint64_t; 0: none */
	SERIES_TEXT,   /* const char * */
	SERIES_FIGURE, /* in ms, MB/s or operations per second; in documents in its unit */
	SERIES_FLAG,   /* bool */
};

/* A column: its name in CSV files, in documents, and in the table unless `width` is 0. */
static const struct series_column {
	const char *csv, *member, *heading, *unit;
	int width; /* below 0: to the left */
	enum series_type type;
	size_t off; /* in struct series_row; of figures the enum pass_figure */
} columns[] = {
#define FIELD(type_, field_) SERIES_##type_, offsetof(struct series_row, field_)
	{ "START", "start_ns", "Start", "seconds", 12, FIELD(TIME, from_ns) },
	{ "END", "end_ns", "End", "seconds", 12, FIELD(TIME, to_ns) },
	{ "TARGET", "target", "Target", "Number", 7, FIELD(TARGET, target) },
	{ "NAME", "name", NULL, NULL, 0, FIELD(TEXT, name) },
	{ "PASS", "pass", "Pass", "Number", 7, FIELD(PASS, pass) },
	{ "DIRECTION", "direction", "Op", "text", -5, FIELD(TEXT, dir_name) },
	{ "OPS", "ops", "Ops", "#ops", 12, FIELD(COUNT, ops) },
	{ "BYTES", "bytes", "Bytes", "bytes", 15, FIELD(COUNT, bytes) },
	{ "ERRORS", "errors", "Errors", "#ops", 7, FIELD(COUNT, errors) },
	{ "IOPS", "iops", "IOPS", "Ops/s", 12, SERIES_FIGURE, FIGURE_IOPS },
	{ "BANDWIDTH", "bandwidth", "Bandwidth", "MB/s", 12, SERIES_FIGURE, FIGURE_BANDWIDTH },
	{ "P50", "p50_ns", "P50", "millisec", 13, SERIES_FIGURE, FIGURE_P50 },
	{ "P99", "p99_ns", "P99", "millisec", 13, SERIES_FIGURE, FIGURE_P99 },
	{ "MAX", "max_ns", "Max", "millisec", 13, SERIES_FIGURE, FIGURE_MAX },
	{ "PARTIAL", "partial", "Partial", "text", 7, FIELD(FLAG, partial) },
#undef FIELD
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static const void *field(const struct series_row *row, const struct series_column *c)
{
	return (const char *)row + c->off;
}

static uint64_t count_of(const struct series_row *row, const struct series_column *c)
{
	return *(const uint64_t *)field(row, c);
}

void series_csv_header(FILE *f)
{
	for (size_t i = 0; i < N_COLUMNS; i++)
		fprintf(f, "%s%s", i ? "," : "", columns[i].csv);
	fputc('\n', f);
}

#define CELL_SIZE 64

static const char *figure_cell(double value, enum pass_figure figure, bool csv, char buf[CELL_SIZE])
{
	const bool time = pass_figures[figure].stat;
	const double unit = time || figure == FIGURE_BANDWIDTH ? 1e6 : 1;

	if (isnan(value))
		return csv ? "" : "-";
	snprintf(buf, CELL_SIZE, "%.*f", csv || time ? 6 : 3, value / unit);
	return buf;
}

/* The text of a field, for CSV files or the table; static, of the row, or `buf`. */
static const char *cell_text(const struct series_row *row, const struct series_column *c, bool csv,
			     char buf[CELL_SIZE])
{
	const char *unknown = csv ? "" : "-";

	switch (c->type) {
	case SERIES_TIME:
		if (!csv) {
			snprintf(buf, CELL_SIZE, "%.6f", (double)count_of(row, c) / 1e9);
			return buf;
		}
		snprintf(buf, CELL_SIZE, "%" PRIu64 ".%09" PRIu64,
			 count_of(row, c) / (uint64_t)NS_PER_SEC,
			 count_of(row, c) % (uint64_t)NS_PER_SEC);
		return buf;
	case SERIES_FIGURE:
		return figure_cell(row->figures[c->off], (enum pass_figure)c->off, csv, buf);
	case SERIES_TEXT:
		return *(const char *const *)field(row, c);
	case SERIES_FLAG:
		return *(const bool *)field(row, c) ? "yes" : "no";
	case SERIES_TARGET:
		if (csv && row->all)
			return row->name;
		break;
	case SERIES_PASS:
		if (!count_of(row, c))
			return unknown;
		break;
	case SERIES_COUNT:
		break;
	}
	snprintf(buf, CELL_SIZE, "%" PRIu64, count_of(row, c));
	return buf;
}

static void series_csv_row(FILE *f, const struct series_row *row)
{
	char buf[CELL_SIZE];

	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (i)
			fputc(',', f);
		csvtext_write(f, cell_text(row, &columns[i], true, buf));
	}
	fputc('\n', f);
}

static json_t *member_value(const struct series_row *row, const struct series_column *c)
{
	switch (c->type) {
	case SERIES_TIME:
	case SERIES_COUNT:
		return jvalue_count(count_of(row, c));
	case SERIES_TARGET:
		return jvalue_known(!row->all, count_of(row, c));
	case SERIES_PASS:
		return jvalue_given(count_of(row, c));
	case SERIES_TEXT:
		return jvalue_text(*(const char *const *)field(row, c));
	case SERIES_FIGURE:
		return pass_figures[c->off].stat ? jvalue_ns(row->figures[c->off]) :
						   jvalue_real(row->figures[c->off]);
	case SERIES_FLAG:
		break;
	}
	return json_boolean(*(const bool *)field(row, c));
}

json_t *series_value(const struct series_row *row)
{
	json_t *o = json_object();

	for (size_t i = 0; i < N_COLUMNS; i++)
		jvalue_put(o, columns[i].member, member_value(row, &columns[i]));
	return o;
}

static void series_table_header(FILE *f)
{
	fprintf(f, "%-12s", "Interval");
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (columns[i].width)
			fprintf(f, " %*s", columns[i].width, columns[i].heading);
	fprintf(f, "\n%-12s", "    UNITS>>");
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (columns[i].width)
			fprintf(f, " %*s", columns[i].width, columns[i].unit);
	fputc('\n', f);
}

static void series_table_row(FILE *f, const struct series_row *row)
{
	char buf[CELL_SIZE];

	fprintf(f, "%-12s", row->all ? "INTERVAL_ALL" : "INTERVAL");
	for (size_t i = 0; i < N_COLUMNS; i++)
		if (columns[i].width)
			fprintf(f, " %*s", columns[i].width,
				cell_text(row, &columns[i], false, buf));
	fputc('\n', f);
}

/* ---- the report ---- */

bool series_has_direction(const struct target_plan *t, unsigned dir)
{
	switch (dir) {
	case DIR_READ:
		return plan_reads(t);
	case DIR_WRITE:
		return plan_writes(t);
	case DIR_NOOP:
		return t->op == OP_NOOP;
	case DIR_DISCARD:
		return t->op == OP_DISCARD;
	case LATENCY_FLUSHES:
		return t->flush_writes && plan_changes(t);
	default:
		return false;
	}
}

/* True if there is such a row: all intervals have the rows of the plan, also without operations. */
static bool is_due(const struct plan *plan, const struct series_row *row)
{
	bool due = row->ops || row->bytes || row->errors;

	for (size_t k = 0; k < plan->n_targets && !due; k++)
		due = (row->all || k == row->target) &&
		      series_has_direction(&plan->targets[k], row->dir);
	return due;
}

static void series_count(struct series_row *row, const struct tally *tally, uint64_t in_histogram)
{
	if (row->dir == LATENCY_FLUSHES) {
		row->ops = in_histogram;
		return;
	}
	row->ops = tally->ops[row->dir];
	row->bytes = tally->bytes[row->dir];
	row->errors = tally->failed_ops[row->dir];
}

static double series_figure(const struct series_row *row, enum pass_figure figure,
			    const struct histogram_view *v, double seconds)
{
	const uint64_t n = figure == FIGURE_BANDWIDTH ? row->bytes : row->ops;

	if (pass_figures[figure].stat)
		return row->ops ? latency_stat_ns(v, pass_figures[figure].stat) : NAN;
	if (figure == FIGURE_BANDWIDTH && row->dir == LATENCY_FLUSHES)
		return NAN;
	return seconds > 0 ? (double)n / seconds : NAN;
}

static struct series_row row_of(const struct plan *plan, const struct interval_result *i,
				unsigned dir)
{
	const struct histogram_view v = latency_view(&i->figures->latency, LATENCY_SERVICE, dir);
	const double seconds = (double)(i->to_ns - i->from_ns) / (double)NS_PER_SEC;
	struct series_row row = {
		.from_ns = i->from_ns,
		.to_ns = i->to_ns,
		.target = i->target,
		.all = i->target == plan->n_targets,
		.pass = i->pass,
		.dir = dir,
		.dir_name = latency_dir_name(dir),
		.partial = i->partial,
	};

	row.name = row.all ? "all" : plan->targets[i->target].path;
	series_count(&row, &i->figures->tally, histogram_count(&v));
	for (size_t k = 0; k < N_COLUMNS; k++) {
		const enum pass_figure figure = (enum pass_figure)columns[k].off;

		if (columns[k].type == SERIES_FIGURE)
			row.figures[figure] = series_figure(&row, figure, &v, seconds);
	}
	return row;
}

static void write_row(struct report *r, const struct series_row *row, struct memstream *csv,
		      struct memstream *table)
{
	if (csv->f)
		series_csv_row(csv->f, row);
	if (table->f && !report_fits(r))
		series_table_row(table->f, row);
	else if (table->f && series_screen_shows(r->plan, row))
		series_screen_row(table->f, r->plan, row);
	if (r->json)
		jsonout_interval(r->json, row);
}

static void write_rows(struct report *r, const struct interval_result *i, struct memstream *csv,
		       struct memstream *table)
{
	for (unsigned dir = 0; dir < LATENCY_SUBJECTS; dir++) {
		struct series_row row;

		if (dir == LATENCY_ALL_DIRS)
			continue;
		row = row_of(r->plan, i, dir);
		if (is_due(r->plan, &row))
			write_row(r, &row, csv, table);
	}
}

void report_interval(struct report *r, const struct interval_result *i)
{
	struct memstream csv = { 0 }, table = { 0 };
	struct interval_result all = *i;

	if (r->sink)
		return;
	if (r->prometheus)
		prometheus_interval(r->prometheus, i);
	if (r->plan->intervals.file)
		memstream_open(&csv);
	else if (!r->prometheus)
		memstream_open(&table);
	if (table.f && !r->series_begun && report_fits(r))
		series_screen_header(table.f, r->plan);
	else if (table.f && !r->series_begun)
		series_table_header(table.f);
	r->series_begun = true;
	write_rows(r, i, &csv, &table);
	/* A text table does not repeat the only target; programs find the same rows in each. */
	all.target = r->plan->n_targets;
	if (r->plan->n_targets == 1)
		write_rows(r, &all, &csv, &(struct memstream){ 0 });
	if (r->plan->intervals.file)
		report_write_lines(r, &r->series, &csv);
	else if (!r->prometheus)
		report_write_lines(r, &r->text, &table);
}
