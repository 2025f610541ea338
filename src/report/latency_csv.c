/*
 * The CSV file of -latency output. Called by check.c before a run and by report.c.
 */
#include <inttypes.h>

#include "report/latency.h"
#include "xdd/report/column.h"

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
static void buckets(FILE *f, const struct plan *plan, const struct result *r,
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

void latency_csv_rows(FILE *f, const struct plan *plan, const struct result *r,
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
				buckets(f, plan, r, time, dir, v.parts[0]);
		}
	}
}
