/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures about latencies, the table of -latency and its CSV file, and lines about the longest and
 * the shortest operation. Called by the columns, by check.c before a run, by report.c, the writers
 * and the results manager.
 */
#include "report/latency.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/report_internal.h"
#include "xdd/base/units.h"
#include "xdd/report/column.h"

/* xdisk shows powers of two from 1 us to 512 us, 1 ms to 512 ms, and from 1 s on. */
static const struct {
	const char *name;
	uint64_t ns;
	int octaves;
} units[] = {
	{ "us", 1000, 10 },
	{ "ms", 1000000, 10 },
	{ "s", 1000000000, 4 },
};

#define N_UNITS ((int)(sizeof(units) / sizeof(units[0])))

uint64_t latency_octave_ns(unsigned octave)
{
	unsigned i = octave;

	for (int u = 0; u < N_UNITS; u++) {
		if (i < (unsigned)units[u].octaves)
			return octave ? units[u].ns << i : 0;
		i -= (unsigned)units[u].octaves;
	}
	return UINT64_MAX;
}

static const uint32_t default_percents[] = {
	50 * HISTOGRAM_PERCENT,		 90 * HISTOGRAM_PERCENT,
	95 * HISTOGRAM_PERCENT,		 99 * HISTOGRAM_PERCENT,
	99 * HISTOGRAM_PERCENT + 900000, 99 * HISTOGRAM_PERCENT + 990000,
	99 * HISTOGRAM_PERCENT + 999000,
};

double latency_stat_ns(const struct histogram_view *v, uint32_t stat)
{
	if (!histogram_count(v))
		return NAN;
	switch (stat) {
	case LATENCY_MIN:
		return (double)histogram_min(v);
	case LATENCY_MEAN:
		return histogram_mean(v);
	case LATENCY_STDDEV:
		return histogram_stddev(v);
	case LATENCY_WEIGHTED:
		return histogram_weighted_mean(v);
	case LATENCY_MAX:
		return (double)histogram_max(v);
	default:
		return histogram_known_percentile(v, stat);
	}
}

double latency_stat_ms(const struct histogram_view *v, uint32_t stat)
{
	return latency_stat_ns(v, stat) / NS_PER_MS;
}

size_t latency_percents(const struct plan *plan, const uint32_t **percents)
{
	if (plan->latency.percents) {
		*percents = plan->latency.percents;
		return plan->latency.n_percents;
	}
	*percents = default_percents;
	return sizeof(default_percents) / sizeof(default_percents[0]);
}

char *latency_percent_text(uint32_t percent, char *buf)
{
	size_t len = (size_t)snprintf(buf, LATENCY_PERCENT_SIZE, "%u.%06u",
				      percent / HISTOGRAM_PERCENT, percent % HISTOGRAM_PERCENT);

	while (buf[len - 1] == '0')
		buf[--len] = '\0';
	if (buf[len - 1] == '.')
		buf[--len] = '\0';
	return buf;
}

const char *latency_dir_name(unsigned dir)
{
	if (dir == LATENCY_FLUSHES)
		return "flush";
	return dir == LATENCY_ALL_DIRS ? "all" : op_dir_name(dir);
}

const char *latency_time_name(enum latency_time time)
{
	return time == LATENCY_SERVICE ? "service" : "response";
}

bool latency_row(const struct result *r, bool interval, enum latency_time time, unsigned dir,
		 struct histogram_view *v)
{
	unsigned used = 0;

	if (!(r->figures.known & FIGURES_LATENCY))
		return false;
	*v = latency_view(&r->figures.latency, time, dir);
	for (unsigned i = 0; i < v->n_parts; i++)
		used += v->parts[i]->n > 0;
	return used >= (dir == LATENCY_ALL_DIRS && !interval ? 2 : 1);
}

static const char *row_name(enum result_what what, bool interval)
{
	if (interval)
		return what == RESULT_COMBINED ? "LATENCY_INT_ALL" : "LATENCY_INTERVAL";
	switch (what) {
	case RESULT_TARGET_PASS:
		return "LATENCY_PASS";
	case RESULT_TARGET_AVERAGE:
		return "LATENCY_AVERAGE";
	default:
		return "LATENCY_COMBINED";
	}
}

void latency_table_header(FILE *f, const struct plan *plan, bool intervals)
{
	static const char *const figures[] = { "Min", "Mean", "StdDev", "WAvg" };
	const uint32_t *percents;
	size_t n = latency_percents(plan, &percents);

	fprintf(f, "%-16s %7s %7s %-5s %-8s %12s", "Latency", "Pass", "Target", "Op", "Time",
		"Ops");
	if (intervals)
		fprintf(f, " %12s %12s", "Start", "End");
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		fprintf(f, " %13s", figures[i]);
	for (size_t i = 0; i < n; i++) {
		char text[LATENCY_PERCENT_SIZE + 1] = "P";

		latency_percent_text(percents[i], text + 1);
		fprintf(f, " %13s", text);
	}
	fprintf(f, " %13s\n", "Max");
	fprintf(f, "%-16s %7s %7s %-5s %-8s %12s", "    UNITS>>", "Number", "Number", "text",
		"text", "#ops");
	if (intervals)
		fprintf(f, " %12s %12s", "seconds", "seconds");
	for (size_t i = 0; i < n + 5; i++)
		fprintf(f, " %13s", "millisec");
	fputc('\n', f);
}

/*
 * The rest of a line of any table: least, mean, standard deviation, weighted average, percentiles
 * and greatest of `v` in milliseconds, each with `before` before it and at least `width` wide.
 */
static void latency_figures(FILE *f, const char *before, int width, const struct plan *plan,
			    const struct histogram_view *v)
{
	static const uint32_t figures[] = { LATENCY_MIN, LATENCY_MEAN, LATENCY_STDDEV,
					    LATENCY_WEIGHTED };
	const uint32_t *percents;
	size_t n = latency_percents(plan, &percents);

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		fprintf(f, "%s%*.6f", before, width, latency_stat_ms(v, figures[i]));
	for (size_t i = 0; i < n; i++) {
		const double ms = latency_stat_ms(v, percents[i]);

		if (isnan(ms))
			fprintf(f, "%s%*s", before, width, width ? "-" : "");
		else
			fprintf(f, "%s%*.6f", before, width, ms);
	}
	fprintf(f, "%s%*.6f", before, width, latency_stat_ms(v, LATENCY_MAX));
	fputc('\n', f);
}

static void table_row(FILE *f, const struct plan *plan, const struct result *r,
		      const struct latency_interval *interval, enum latency_time time, unsigned dir,
		      const struct histogram_view *v)
{
	fprintf(f, "%-16s %7" PRIu64 " %7" PRIu64 " %-5s %-8s %12" PRIu64,
		row_name(r->what, interval != NULL), r->pass, r->target, latency_dir_name(dir),
		latency_time_name(time), histogram_count(v));
	if (interval)
		fprintf(f, " %12.6f %12.6f", (double)interval->from_ns / 1e9,
			(double)interval->to_ns / 1e9);
	latency_figures(f, " ", 13, plan, v);
}

void latency_table_rows(FILE *f, const struct plan *plan, const struct result *r,
			const struct latency_interval *interval)
{
	struct histogram_view v;

	for (unsigned dir = 0; dir < LATENCY_SUBJECTS; dir++)
		for (int time = 0; time < LATENCY_TIMES; time++)
			if (latency_row(r, interval != NULL, (enum latency_time)time, dir, &v))
				table_row(f, plan, r, interval, (enum latency_time)time, dir, &v);
}

static void latency_octaves_header(FILE *f)
{
	fputs("Distribution of latencies in 1/1000 of the operations: ___ none, --- less than 1;\n"
	      "each column from its time up to the next one, the first and the last open\n",
	      f);
	fprintf(f, "%-16s %7s %7s %-5s %-8s", "Latency", "Pass", "Target", "Op", "Time");
	for (int u = 0; u < N_UNITS; u++) {
		fprintf(f, " | %s", units[u].name);
		for (int i = 0; i < units[u].octaves; i++)
			fprintf(f, " %4d", 1 << i);
	}
	fputc('\n', f);
}

static void put_share(FILE *f, uint64_t count, uint64_t n)
{
	double share = 1000.0 * (double)count / (double)n;

	if (!count)
		fputs("  ___", f);
	else if (share < 1)
		fputs("  ---", f);
	else
		fprintf(f, " %4.0f", share);
}

static void octaves_row(FILE *f, const struct result *r, enum latency_time time, unsigned dir,
			const struct histogram_view *v)
{
	const uint64_t n = histogram_count(v);
	unsigned octave = 0;

	fprintf(f, "%-16s %7" PRIu64 " %7" PRIu64 " %-5s %-8s", row_name(r->what, false), r->pass,
		r->target, latency_dir_name(dir), latency_time_name(time));
	for (int u = 0; u < N_UNITS; u++) {
		fprintf(f, " | %s", units[u].name);
		for (int i = 0; i < units[u].octaves; i++, octave++)
			put_share(f,
				  histogram_count_between(v, latency_octave_ns(octave),
							  latency_octave_ns(octave + 1)),
				  n);
	}
	fputc('\n', f);
}

void latency_octaves_rows(FILE *f, const struct result *r)
{
	struct histogram_view v;

	for (unsigned dir = 0; dir < LATENCY_SUBJECTS; dir++)
		for (int time = 0; time < LATENCY_TIMES && dir != LATENCY_ALL_DIRS; time++)
			if (latency_row(r, false, (enum latency_time)time, dir, &v))
				octaves_row(f, r, (enum latency_time)time, dir, &v);
}

void latency_csv_header(FILE *f, const struct plan *plan)
{
	char text[LATENCY_PERCENT_SIZE];
	const uint32_t *percents;
	size_t n = latency_percents(plan, &percents);

	fputs("RECORD,WHAT,PASS,TARGET,START,END,DIRECTION,TIME,FROM,TO,OPS,MIN,MEAN,STDDEV,WAVG",
	      f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, ",P%s", latency_percent_text(percents[i], text));
	fputs(",MAX\n", f);
}

static void summary(FILE *f, const struct plan *plan, const struct result *r,
		    const struct latency_interval *interval, enum latency_time time, unsigned dir,
		    const struct histogram_view *v)
{
	fprintf(f, "%s,%s,%" PRIu64 ",%" PRIu64 ",", interval ? "INTERVAL" : "SUMMARY",
		interval && r->what != RESULT_COMBINED ? "" : column_what(r->what), r->pass,
		r->target);
	if (interval)
		fprintf(f, "%.6f,%.6f", (double)interval->from_ns / 1e9,
			(double)interval->to_ns / 1e9);
	else
		fputc(',', f);
	fprintf(f, ",%s,%s,,,%" PRIu64, latency_dir_name(dir), latency_time_name(time),
		histogram_count(v));
	latency_figures(f, ",", 0, plan, v);
}

/* A line for each bucket that has operations in it; the fields of figures stay empty. */
static void latency_csv_buckets(FILE *f, const struct plan *plan, const struct result *r,
				enum latency_time time, unsigned dir, const struct histogram_sum *s)
{
	const uint32_t *percents;
	size_t n = latency_percents(plan, &percents);

	for (unsigned b = s->first; b < s->first + s->size; b++) {
		uint64_t count = histogram_sum_count(s, b);

		if (!count)
			continue;
		fprintf(f, "BUCKET,%s,%" PRIu64 ",%" PRIu64 ",,,%s,%s,%.6f,%.6f,%" PRIu64 ",,,,",
			column_what(r->what), r->pass, r->target, latency_dir_name(dir),
			latency_time_name(time), (double)histogram_bucket_from(b) / 1e6,
			(double)histogram_bucket_from(b + 1) / 1e6, count);
		for (size_t i = 0; i < n; i++)
			fputc(',', f);
		fputs(",\n", f);
	}
}

static void latency_csv_rows(FILE *f, const struct plan *plan, const struct result *r,
			     const struct latency_interval *interval)
{
	struct histogram_view v;

	for (unsigned dir = 0; dir < LATENCY_SUBJECTS; dir++) {
		for (int i = 0; i < LATENCY_TIMES; i++) {
			enum latency_time time = (enum latency_time)i;

			if (!latency_row(r, interval != NULL, time, dir, &v))
				continue;
			summary(f, plan, r, interval, time, dir, &v);
			if (plan->latency.histogram && !interval && dir != LATENCY_ALL_DIRS)
				latency_csv_buckets(f, plan, r, time, dir, v.parts[0]);
		}
	}
}

const char *extremes_name(enum extremes_which which)
{
	static const char *const names[EXTREMES_COUNT] = {
		[EXTREMES_LONGEST] = "longest",
		[EXTREMES_SHORTEST] = "shortest",
	};

	return names[which];
}

static void write_subject(char *buf, size_t size, const struct result *result)
{
	if (result->what == RESULT_COMBINED)
		snprintf(buf, size, "Run");
	else if (result->what == RESULT_TARGET_PASS)
		snprintf(buf, size, "Target %" PRIu64 ", pass %" PRIu64, result->target,
			 result->pass);
	else
		snprintf(buf, size, "Target %" PRIu64, result->target);
}

void extremes_write(struct report *r, const struct result *result)
{
	char subject[80], where[80] = "", took[SCALED_SIZE], size[32];

	if (!result->figures.extremes.any)
		return;
	write_subject(subject, sizeof(subject), result);
	for (enum extremes_which i = 0; i < EXTREMES_COUNT; i++) {
		const struct extreme *e = &result->figures.extremes.of[i];

		if (result->what == RESULT_COMBINED)
			snprintf(where, sizeof(where), " of target %" PRIu64, e->target);
		report_line(r,
			    "%s, %s operation: %s, operation %" PRIu64 " of pass %" PRIu64
			    "%s, %s of %s at byte %" PRIu64,
			    subject, extremes_name(i), scaled_time((double)e->took_ns, took), e->op,
			    e->pass, where, op_dir_name(e->dir),
			    units_size_text(e->bytes, size, sizeof(size)), e->offset);
	}
}

/*
 * The outputs of -latency: the rows of its CSV file, the lines of intervals, and the tables after
 * the results. Where these go to a screen, latency_screen.c writes them.
 */

void report_latency_csv(struct report *r, const struct result *result,
			const struct latency_interval *interval)
{
	struct memstream l;

	if (r->latency.fd < 0)
		return;
	memstream_open(&l);
	if (l.f && result)
		latency_csv_rows(l.f, r->plan, result, interval);
	else if (l.f)
		latency_csv_header(l.f, r->plan);
	report_write_lines(r, &r->latency, &l);
}

void report_latency_interval(struct report *r, const struct result *result, uint64_t from_ns,
			     uint64_t to_ns)
{
	const struct latency_interval interval = { from_ns, to_ns };
	struct memstream l;

	if (r->sink)
		return;
	if (r->plan->latency.file) {
		report_latency_csv(r, result, &interval);
		return;
	}
	memstream_open(&l);
	if (l.f && report_fits(r))
		latency_screen_interval(l.f, r->plan, result, &interval, !r->intervals_begun);
	else if (l.f && !r->intervals_begun)
		latency_table_header(l.f, r->plan, true);
	r->intervals_begun = true;
	if (l.f && !report_fits(r))
		latency_table_rows(l.f, r->plan, result, &interval);
	report_write_lines(r, &r->text, &l);
}

void report_latency_text(struct report *r)
{
	struct memstream l;

	if (r->latency_screen.n) {
		memstream_open(&l);
		if (l.f && !report_holds(r))
			fputc('\n', l.f);
		if (l.f)
			latency_screen_write(l.f, r->plan, &r->latency_screen);
		report_write_lines(r, &r->text, &l);
		return;
	}
	if (!r->table.f || (fflush(r->table.f) == 0 && !r->table.size))
		return;
	memstream_open(&l);
	if (l.f) {
		latency_table_header(l.f, r->plan, false);
		fwrite(r->table.text, 1, r->table.size, l.f);
	}
	if (l.f && r->octaves.f && fflush(r->octaves.f) == 0) {
		latency_octaves_header(l.f);
		fwrite(r->octaves.text, 1, r->octaves.size, l.f);
	}
	report_write_lines(r, &r->text, &l);
}
