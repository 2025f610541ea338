/*
 * The rows of -intervals for people: they fit on 60 columns. Called by series.c.
 */
#include "report/series.h"

#include <inttypes.h>

#include "report/latency.h"
#include "xdd/base/units.h"

#define TARGETS_MAX 8	 /* with more, only the rows of all targets are shown */
#define FINE_NS 10000000 /* shorter intervals need milliseconds */
#define FINE_MAX_S 100	 /* as long as they fit */
#define HUNDREDTHS_MAX_S 1000
#define TENTHS_MAX_S 10000

bool series_screen_shows(const struct plan *plan, const struct series_row *row)
{
	return row->all == (plan->n_targets > TARGETS_MAX) || (row->all && plan->n_targets > 1);
}

void series_screen_header(FILE *f, const struct plan *plan)
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

void series_screen_row(FILE *f, const struct plan *plan, const struct series_row *row)
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
