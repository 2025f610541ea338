/*
 * Statistics over passes as text; see the header. Called by report.c.
 */
#include "xdd/report/statistics.h"

#include <inttypes.h>
#include <math.h>

#include "xdd/stat/histogram.h"

#define MIN_PASSES 3

const char *figure_name(enum pass_figure figure)
{
	static const char *const names[] = {
		[FIGURE_BANDWIDTH] = "bandwidth",
		[FIGURE_IOPS] = "iops",
		[FIGURE_LATENCY] = "latency",
		[FIGURE_P50] = "p50",
		[FIGURE_P99] = "p99",
		[FIGURE_P999] = "p99.9",
		[FIGURE_FLUSH] = "flush",
		[FIGURE_RESPONSE] = "response",
		[FIGURE_RESPONSE_P50] = "response_p50",
		[FIGURE_RESPONSE_P99] = "response_p99",
		[FIGURE_RESPONSE_P999] = "response_p99.9",
		[FIGURE_MAXIMUM] = "maximum",
		[FIGURE_KNEE] = "knee",
	};

	return names[figure];
}

const char *figure_unit(enum pass_figure figure)
{
	static const char *const units[FIGURE_NAMES] = {
		[FIGURE_BANDWIDTH] = "bytes/s",
		[FIGURE_IOPS] = "operations/s",
		[FIGURE_MAXIMUM] = "operations/s",
		[FIGURE_KNEE] = "percent",
	};

	return units[figure] ? units[figure] : "ns";
}

bool figure_is_service(enum pass_figure figure)
{
	return figure >= FIGURE_LATENCY && figure < FIGURE_COUNT;
}

enum pass_figure figure_of_response(enum pass_figure figure)
{
	return figure_is_service(figure) ? figure - FIGURE_LATENCY + FIGURE_RESPONSE : figure;
}

double figure_of_latency(const struct latency *l, enum pass_figure figure)
{
	static const uint32_t percents[FIGURE_ALL] = {
		[FIGURE_RESPONSE_P50] = 50 * HISTOGRAM_PERCENT,
		[FIGURE_RESPONSE_P99] = 99 * HISTOGRAM_PERCENT,
		[FIGURE_RESPONSE_P999] = 99 * HISTOGRAM_PERCENT + HISTOGRAM_PERCENT / 10 * 9,
	};
	const struct histogram_view v =
		latency_view(l, figure_is_service(figure) ? LATENCY_SERVICE : LATENCY_RESPONSE,
			     LATENCY_ALL_DIRS);

	if (!histogram_count(&v))
		return NAN;
	if (figure == FIGURE_RESPONSE)
		return histogram_mean(&v);
	return histogram_known_percentile(&v, percents[figure_of_response(figure)]);
}

unsigned statistics_known(double *const values[FIGURE_ALL], size_t n)
{
	unsigned known = 0;

	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		bool all = n > 0 || figure_is_service(i);

		for (size_t k = 0; k < n && all; k++)
			all = !isnan(values[i][k]);
		if (all || i < FIGURE_FIRST_PERCENTILE)
			known |= 1u << i;
	}
	return known;
}

bool statistics_has(const struct pass_statistics *s, enum pass_figure figure)
{
	return s->known >> figure & 1;
}

const char *stats_change_name(enum stats_change change)
{
	static const char *const names[] = {
		[STATS_STABLE] = "stable", [STATS_ODD] = "odd",		[STATS_STEP] = "step",
		[STATS_TREND] = "trend",   [STATS_SCATTER] = "scatter",
	};

	return names[change];
}

/* The subject of a line; not the first word of a result line. */
static const char *whose(const struct pass_statistics *s, char *buf, size_t size)
{
	if (s->combined)
		snprintf(buf, size, "All targets");
	else
		snprintf(buf, size, "Target %" PRIu64, s->target);
	return buf;
}

const struct figure_shown figures_shown[FIGURE_NAMES] = {
	[FIGURE_BANDWIDTH] = { "bandwidth", "MBytes/s", 1e6, 3 },
	[FIGURE_IOPS] = { "IOPS", "Ops/s", 1, 3 },
	[FIGURE_LATENCY] = { "latency", "millisec", 1e6, 6 },
	[FIGURE_P50] = { "p50", "millisec", 1e6, 6 },
	[FIGURE_P99] = { "p99", "millisec", 1e6, 6 },
	[FIGURE_P999] = { "p99.9", "millisec", 1e6, 6 },
	[FIGURE_FLUSH] = { "flush", "millisec", 1e6, 6 },
	[FIGURE_RESPONSE] = { "response", "millisec", 1e6, 6 },
	[FIGURE_RESPONSE_P50] = { "resp p50", "millisec", 1e6, 6 },
	[FIGURE_RESPONSE_P99] = { "resp p99", "millisec", 1e6, 6 },
	[FIGURE_RESPONSE_P999] = { "resp p99.9", "millisec", 1e6, 6 },
	[FIGURE_MAXIMUM] = { "maximum", "Ops/s", 1, 3 },
	[FIGURE_KNEE] = { "knee", "%", 1, 2 },
};

static void write_figure(FILE *f, const struct pass_statistics *s, enum pass_figure figure)
{
	const struct stats_summary *sum = &s->summary[figure];
	double scale = figures_shown[figure].scale;
	int digits = figures_shown[figure].digits;
	char who[32];

	fprintf(f, "%s, %s of %zu passes, mean %.*f %s, standard deviation %.*f, ",
		whose(s, who, sizeof(who)), figures_shown[figure].name, s->n, digits,
		sum->mean / scale, figures_shown[figure].unit, digits, sum->stddev / scale);
	fprintf(f, "95 %% interval %.*f to %.*f (+-%.2f %%)\n", digits,
		(sum->mean - sum->half_width) / scale, digits,
		(sum->mean + sum->half_width) / scale,
		sum->mean > 0 ? 100 * sum->half_width / sum->mean : 0);
}

char *statistics_why(const struct pass_statistics *s, char *buf)
{
	const struct stats_stability *why = &s->stability[FIGURE_BANDWIDTH];
	const char *how = why->amount < 0 ? "slower" : "faster";
	double percent = 100 * fabs(why->amount);
	uint64_t pass = why->at < s->n ? s->passes[why->at] : 0;

	switch (why->change) {
	case STATS_ODD:
		snprintf(buf, STATISTICS_WHY_SIZE, "pass %" PRIu64 " is %.0f %% %s than the others",
			 pass, percent, how);
		return buf;
	case STATS_STEP:
		snprintf(buf, STATISTICS_WHY_SIZE,
			 "from pass %" PRIu64 " on they are %.0f %% %s than before", pass, percent,
			 how);
		return buf;
	case STATS_TREND:
		snprintf(buf, STATISTICS_WHY_SIZE,
			 "the passes get %.0f %% %s from the first to the last", percent, how);
		return buf;
	case STATS_SCATTER:
		snprintf(buf, STATISTICS_WHY_SIZE,
			 "the passes scatter, with a standard deviation of %.0f %%", percent);
		return buf;
	case STATS_STABLE:
		break;
	}
	return NULL;
}

static void write_steady(FILE *f, const struct pass_statistics *s)
{
	const struct stats_steady steady = stats_steady(s->values[FIGURE_BANDWIDTH], s->n);
	char who[32];

	if (s->n < STATS_STEADY_WINDOW)
		return;
	fprintf(f, "%s, steady state", whose(s, who, sizeof(who)));
	if (steady.reached)
		fprintf(f, " after pass %" PRIu64, s->passes[steady.after - 1]);
	else
		fputs(" not reached", f);
	fprintf(f, ", range %.1f %%, linear fit %+.1f %% over %d passes\n", 100 * steady.range,
		100 * steady.slope, STATS_STEADY_WINDOW);
}

void statistics_write(FILE *f, const struct pass_statistics *s)
{
	char why[STATISTICS_WHY_SIZE], who[32];

	if (s->n < MIN_PASSES)
		return;
	for (enum pass_figure figure = 0; figure < FIGURE_FIRST_PERCENTILE; figure++)
		write_figure(f, s, figure);
	if (statistics_has(s, FIGURE_FLUSH))
		write_figure(f, s, FIGURE_FLUSH);
	write_steady(f, s);
	if (statistics_why(s, why))
		fprintf(f, "%s, not reproducible: %s\n", whose(s, who, sizeof(who)), why);
}
