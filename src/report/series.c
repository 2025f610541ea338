/*
 * -intervals: rows of progress over time, also for people, on 60 columns. Called by the results
 * manager, and by report.c and check.c for the header of the CSV file.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/latency.h"
#include "report/report_internal.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
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
	fprintf(f, "%6s %s%-5s %9s %8s %7s %7s %7s\n", "time", plan->n_targets > 1 ? "     " : "",
		"", "rate", "IOPS", "p50", "p99", "max");
}

/* In six characters up to 11 days. */
static void put_time(FILE *f, const struct plan *plan, uint64_t ns)
{
	double s = (double)ns / (double)NS_PER_SEC;
	int decimals = s < HUNDREDTHS_MAX_S ? 2 : s < TENTHS_MAX_S ? 1 : 0;

	if (plan->intervals.length_ns < FINE_NS && s < FINE_MAX_S)
		decimals = 3;
	fprintf(f, "%6.*f", decimals, s);
}

static void put_latency(FILE *f, bool known, double ns)
{
	char text[SCALED_SIZE];

	fprintf(f, " %7s", known ? scaled_time(ns, text) : "-");
}

/*
 * As series_table_row(), for the terminal, on 60 columns (series.c): with many targets only
 * the rows of all of them are shown.
 */
static void series_screen_row(FILE *f, const struct plan *plan, const struct series_row *row)
{
	char target[SCALED_SIZE], rate[SCALED_SIZE], ops[SCALED_SIZE];

	put_time(f, plan, row->interval->to_ns);
	fputc(row->interval->partial ? '*' : ' ', f);
	snprintf(target, sizeof(target), "#%" PRIu64, row->interval->target);
	if (plan->n_targets > 1)
		fprintf(f, "%-4s ", row->all ? "all" : target);
	fprintf(f, "%-5s %9s %8s", latency_dir_name(row->dir),
		row->dir == LATENCY_FLUSHES ? "-" : scaled_rate(series_mb_per_s(row) * 1e6, rate),
		scaled_ops(series_iops(row), ops));
	put_latency(f, row->known, row->p50_ns);
	put_latency(f, row->known, row->p99_ns);
	put_latency(f, row->known, (double)row->max_ns);
	fputc('\n', f);
	if (row->errors)
		fprintf(f, "%7s%" PRIu64 " errors\n", "", row->errors);
}

double series_iops(const struct series_row *row)
{
	return row->seconds > 0 ? (double)row->ops / row->seconds : (double)NAN;
}

double series_mb_per_s(const struct series_row *row)
{
	return row->seconds > 0 && row->dir != LATENCY_FLUSHES ?
		       (double)row->bytes / row->seconds / 1e6 :
		       (double)NAN;
}

/* ---- CSV ---- */

void series_csv_header(FILE *f)
{
	fputs("START,END,TARGET,NAME,PASS,DIRECTION,OPS,BYTES,ERRORS,IOPS,BANDWIDTH,P50,P99,MAX,"
	      "PARTIAL\n",
	      f);
}

static void put_seconds(FILE *f, uint64_t ns)
{
	fprintf(f, "%" PRIu64 ".%09" PRIu64 ",", ns / (uint64_t)NS_PER_SEC,
		ns % (uint64_t)NS_PER_SEC);
}

/* A rate that is not measured is an empty field. */
static void put_csv_rate(FILE *f, double value)
{
	if (isnan(value))
		fputc(',', f);
	else
		fprintf(f, "%.6f,", value);
}

static void put_csv_ms(FILE *f, bool known, double ns)
{
	if (known && !isnan(ns))
		fprintf(f, "%.6f", ns / (double)NS_PER_MS);
	fputc(',', f);
}

static void series_csv_row(FILE *f, const struct series_row *row)
{
	const struct interval_result *i = row->interval;

	put_seconds(f, i->from_ns);
	put_seconds(f, i->to_ns);
	if (row->all)
		fputs("all,", f);
	else
		fprintf(f, "%" PRIu64 ",", i->target);
	csvtext_write(f, row->name);
	fputc(',', f);
	if (i->pass)
		fprintf(f, "%" PRIu64, i->pass);
	fprintf(f, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", latency_dir_name(row->dir), row->ops,
		row->bytes, row->errors);
	put_csv_rate(f, series_iops(row));
	put_csv_rate(f, series_mb_per_s(row));
	put_csv_ms(f, row->known, row->p50_ns);
	put_csv_ms(f, row->known, row->p99_ns);
	put_csv_ms(f, row->known, (double)row->max_ns);
	fprintf(f, "%s\n", i->partial ? "yes" : "no");
}

/* ---- table ---- */

static void series_table_header(FILE *f)
{
	static const struct {
		const char *heading;
		const char *unit;
		int width;
	} columns[] = {
		{ "Start", "seconds", 12 },  { "End", "seconds", 12 },	{ "Target", "Number", 7 },
		{ "Pass", "Number", 7 },     { "Op", "text", -5 },	{ "Ops", "#ops", 12 },
		{ "Bytes", "bytes", 15 },    { "Errors", "#ops", 7 },	{ "IOPS", "Ops/s", 12 },
		{ "Bandwidth", "MB/s", 12 }, { "P50", "millisec", 13 }, { "P99", "millisec", 13 },
		{ "Max", "millisec", 13 },   { "Partial", "text", 7 },
	};
	const size_t n = sizeof(columns) / sizeof(columns[0]);

	fprintf(f, "%-12s", "Interval");
	for (size_t i = 0; i < n; i++)
		fprintf(f, " %*s", columns[i].width, columns[i].heading);
	fprintf(f, "\n%-12s", "    UNITS>>");
	for (size_t i = 0; i < n; i++)
		fprintf(f, " %*s", columns[i].width, columns[i].unit);
	fputc('\n', f);
}

/* A rate that is not measured is a dash. */
static void put_rate(FILE *f, double value)
{
	if (isnan(value))
		fprintf(f, " %12s", "-");
	else
		fprintf(f, " %12.3f", value);
}

static void put_ms(FILE *f, bool known, double ns)
{
	if (known && !isnan(ns))
		fprintf(f, " %13.6f", ns / (double)NS_PER_MS);
	else
		fprintf(f, " %13s", "-");
}

/* The two header lines of the table, and a row of it. */
static void series_table_row(FILE *f, const struct series_row *row)
{
	const struct interval_result *i = row->interval;

	fprintf(f, "%-12s %12.6f %12.6f %7" PRIu64, row->all ? "INTERVAL_ALL" : "INTERVAL",
		(double)i->from_ns / 1e9, (double)i->to_ns / 1e9, i->target);
	if (i->pass)
		fprintf(f, " %7" PRIu64, i->pass);
	else
		fprintf(f, " %7s", "-");
	fprintf(f, " %-5s %12" PRIu64 " %15" PRIu64 " %7" PRIu64, latency_dir_name(row->dir),
		row->ops, row->bytes, row->errors);
	put_rate(f, series_iops(row));
	put_rate(f, series_mb_per_s(row));
	put_ms(f, row->known, row->p50_ns);
	put_ms(f, row->known, row->p99_ns);
	put_ms(f, row->known, (double)row->max_ns);
	fprintf(f, " %7s\n", i->partial ? "yes" : "no");
}

/* ---- the report ---- */

/* True if the target may have operations of that direction, or flushes among its operations. */
static bool has_direction(const struct target_plan *t, unsigned dir)
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
		due = (row->all || k == row->interval->target) &&
		      has_direction(&plan->targets[k], row->dir);
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

static struct series_row row_of(const struct plan *plan, const struct interval_result *i,
				unsigned dir)
{
	struct histogram_view v = latency_view(&i->figures->latency, LATENCY_SERVICE, dir);
	struct series_row row = {
		.interval = i,
		.all = i->target == plan->n_targets,
		.dir = dir,
		.seconds = (double)(i->to_ns - i->from_ns) / (double)NS_PER_SEC,
	};

	row.name = row.all ? "all" : plan->targets[i->target].path;
	series_count(&row, &i->figures->tally, histogram_count(&v));
	row.known = row.ops && histogram_count(&v);
	if (!row.known)
		return row;
	row.p50_ns = histogram_known_percentile(&v, 50 * HISTOGRAM_PERCENT);
	row.p99_ns = histogram_known_percentile(&v, 99 * HISTOGRAM_PERCENT);
	row.max_ns = histogram_max(&v);
	return row;
}

static void write_row(struct report *r, const struct series_row *row, struct memstream *csv,
		      struct memstream *table)
{
	if (csv->f)
		series_csv_row(csv->f, row);
	if (table->f && !report_holds(r))
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
	if (r->plan->intervals.file)
		memstream_open(&csv);
	else
		memstream_open(&table);
	if (table.f && !r->series_begun && report_holds(r))
		series_screen_header(table.f, r->plan);
	else if (table.f && !r->series_begun)
		series_table_header(table.f);
	r->series_begun = true;
	write_rows(r, i, &csv, &table);
	/* A table for people does not repeat the only target; a program finds all the same rows. */
	all.target = r->plan->n_targets;
	if (r->plan->n_targets == 1)
		write_rows(r, &all, &csv, &(struct memstream){ 0 });
	if (r->plan->intervals.file)
		report_write_lines(r, &r->series, &csv);
	else
		report_write_lines(r, &r->text, &table);
}
