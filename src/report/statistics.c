/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics over passes, -deskew and -stonewall, as text and as objects of a document; see the
 * header. Called by report.c, jsonout.c and combine_host.c, and by the command for a run of many
 * ranks.
 */
#include <inttypes.h>
#include <math.h>

#include "report/jsonout.h"
#include "report/latency.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/result.h"
#include "xdd/report/rule.h"
#include "xdd/stat/histogram.h"

double span_rate(const struct span *s)
{
	return s->ns ? (double)s->bytes * 1e3 / (double)s->ns : 0;
}

static double span_ops(const struct span *s)
{
	return (double)s->op_units / FLOW_OP;
}

double span_iops(const struct span *s)
{
	return s->ns ? span_ops(s) * (double)NS_PER_SEC / (double)s->ns : 0;
}

/* A rate, or "-" where the interval is empty, so that there is none. */
static void write_rate(FILE *f, const struct span *s, double rate, const char *unit)
{
	if (s->ns)
		fprintf(f, ", %.3f, %s", rate, unit);
	else
		fprintf(f, ", -, %s", unit);
}

/* A line: "<of>, <what>, 1.234567, seconds, ..." */
static void span_write(FILE *f, const char *of, const char *what, const struct span *s)
{
	fprintf(f, "%s, %s, %.6f, seconds, %" PRIu64 ", bytes", of, what,
		(double)s->ns / (double)NS_PER_SEC, s->bytes);
	write_rate(f, s, span_rate(s), "MB/s");
	write_rate(f, s, span_iops(s), "Ops/s");
	fputc('\n', f);
}

void deskew_write(FILE *f, const struct deskew_result *d)
{
	char pass[32] = "combined", of[48];

	if (d->pass)
		snprintf(pass, sizeof(pass), "pass %" PRIu64, d->pass);
	snprintf(of, sizeof(of), "Deskew, %s", pass);
	span_write(f, of, "whole", &d->whole);
	span_write(f, of, "head", &d->head);
	span_write(f, of, "window", &d->window);
	span_write(f, of, "tail", &d->tail);
	fprintf(f, "Fairness, %s, %.3f, slowest, target %" PRIu32, pass, d->fairness,
		d->slowest.target);
	write_rate(f, &d->slowest.own, span_rate(&d->slowest.own), "MB/s");
	fprintf(f, ", fastest, target %" PRIu32, d->fastest.target);
	write_rate(f, &d->fastest.own, span_rate(&d->fastest.own), "MB/s");
	fputc('\n', f);
}

/*
 * The lines of -stonewall, and its object in a document. Called by report_stonewall(), and by the
 * command for a run of many ranks.
 */

void stonewall_write(FILE *f, const struct stonewall_result *s)
{
	char of[64], who[32] = "time";

	if (s->target != STONEWALL_BY_TIME && s->ranks)
		snprintf(who, sizeof(who), "rank %u target %" PRIu32, s->rank, s->target);
	else if (s->target != STONEWALL_BY_TIME)
		snprintf(who, sizeof(who), "target %" PRIu32, s->target);
	snprintf(of, sizeof(of), "Stonewall, pass %" PRIu64 ", %s", s->pass, who);
	span_write(f, of, "at", &s->at);
	span_write(f, of, "end", &s->end);
}

json_t *jvalue_span(const struct span *s)
{
	json_t *o = json_object();

	jvalue_put(o, "ns", jvalue_count(s->ns));
	jvalue_put(o, "bytes", jvalue_count(s->bytes));
	jvalue_put(o, "ops", jvalue_real(span_ops(s)));
	return o;
}

json_t *jvalue_stonewall(const struct stonewall_result *s)
{
	json_t *o = json_object();

	jvalue_put(o, "pass", jvalue_count(s->pass));
	jvalue_put(o, "target", jvalue_known(s->target != STONEWALL_BY_TIME, s->target));
	jvalue_put(o, "rank", jvalue_known(s->ranks, s->rank));
	jvalue_put(o, "begin_ns", jvalue_count(s->begin_ns));
	jvalue_put(o, "at", jvalue_span(&s->at));
	jvalue_put(o, "end", jvalue_span(&s->end));
	return o;
}

/*
 * Statistics over passes as an object of the document of -jsonout. Called by jsonout.c and by
 * combine_host.c.
 */

static const char *stats_change_name(enum stats_change change);

static json_t *figure(const struct pass_statistics *s, enum pass_figure figure)
{
	const struct stats_summary *sum = &s->summary[figure];
	const struct stats_stability *why = &s->stability[figure];
	json_t *o = json_object(), *values = json_array();
	bool at = why->change == STATS_ODD || why->change == STATS_STEP;

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(values, jvalue_real(s->values[figure][i]));
	jvalue_put(o, "unit", jvalue_text(figure_unit(figure)->name));
	jvalue_put(o, "mean", s->n ? jvalue_real(sum->mean) : json_null());
	jvalue_put(o, "standard_deviation", s->n > 1 ? jvalue_real(sum->stddev) : json_null());
	jvalue_put(o, "minimum", s->n ? jvalue_real(sum->min) : json_null());
	jvalue_put(o, "maximum", s->n ? jvalue_real(sum->max) : json_null());
	jvalue_put(o, "autocorrelation", jvalue_real(sum->autocorrelation));
	jvalue_put(o, "interval_low", jvalue_real(sum->mean - sum->half_width));
	jvalue_put(o, "interval_high", jvalue_real(sum->mean + sum->half_width));
	jvalue_put(o, "change", jvalue_text(s->n > 2 ? stats_change_name(why->change) : NULL));
	jvalue_put(o, "change_pass", at ? jvalue_count(s->passes[why->at]) : json_null());
	jvalue_put(o, "change_amount", jvalue_real(why->amount));
	jvalue_put(o, "values", values);
	return o;
}

/* By the bandwidth of the passes; null: there are too few. */
static json_t *steady_state(const struct pass_statistics *s)
{
	const struct stats_steady steady = stats_steady(s->values[FIGURE_BANDWIDTH], s->n);
	json_t *o;

	if (s->n < STATS_STEADY_WINDOW)
		return json_null();
	o = json_object();
	jvalue_put(o, "reached", json_boolean(steady.reached));
	jvalue_put(o, "after_pass",
		   steady.reached ? jvalue_count(s->passes[steady.after - 1]) : json_null());
	jvalue_put(o, "range", jvalue_real(steady.range));
	jvalue_put(o, "slope", jvalue_real(steady.slope));
	return o;
}

json_t *jsonout_statistics_value(const struct pass_statistics *s)
{
	json_t *o = json_object(), *passes = json_array();
	char why[STATISTICS_WHY_SIZE];

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(passes, jvalue_count(s->passes[i]));
	jvalue_put(o, "target", jvalue_known(!s->combined, s->target));
	jvalue_put(o, "passes", passes);
	jvalue_put(o, "left_out", jvalue_count(s->left_out));
	jvalue_put(o, "not_reproducible", jvalue_text(statistics_why(s, why)));
	jvalue_put(o, "steady_state", steady_state(s));
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		/* Percentiles of too few operations are null; what a run lacks is left out. */
		if (statistics_has(s, i))
			jvalue_put(o, figure_name(i), figure(s, i));
		else if (i < FIGURE_COUNT ||
			 (i > FIGURE_RESPONSE && statistics_has(s, FIGURE_RESPONSE)))
			jvalue_put(o, figure_name(i), json_null());
	}
	return o;
}

#define MIN_PASSES 3

#define PERCENTILE(percent_) ((uint32_t)((percent_)*HISTOGRAM_PERCENT + 0.5))

static char *percent_text(double value, char *buf)
{
	snprintf(buf, SCALED_SIZE, "%.3g %%", value);
	return buf;
}

static const struct figure_unit bytes_per_s = { "bytes/s", true, 9, scaled_rate };
static const struct figure_unit ops_per_s = { "operations/s", true, 8, scaled_ops };
static const struct figure_unit nanoseconds = { "ns", false, 7, scaled_time };
static const struct figure_unit percents = { "percent", false, 7, percent_text };

/* A figure that no histogram has. */
#define PLAIN(name_, unit_, shown_)                             \
	{                                                       \
		.name = name_, .unit = &unit_, .shown = shown_, \
	}

/* A figure of a histogram, in ns. */
#define TIME(name_, shown_, time_, stat_)                                                      \
	{                                                                                      \
		.name = name_, .unit = &nanoseconds, .shown = shown_, .time = LATENCY_##time_, \
		.stat = stat_,                                                                 \
	}

const struct pass_figure_row pass_figures[FIGURE_ROUND] = {
	[FIGURE_BANDWIDTH] = PLAIN("bandwidth", bytes_per_s, "bandwidth"),
	[FIGURE_IOPS] = PLAIN("iops", ops_per_s, "IOPS"),
	[FIGURE_LATENCY] = PLAIN("latency", nanoseconds, "latency"),
	[FIGURE_P50] = TIME("p50", "p50", SERVICE, PERCENTILE(50)),
	[FIGURE_P99] = TIME("p99", "p99", SERVICE, PERCENTILE(99)),
	[FIGURE_P999] = TIME("p99.9", "p99.9", SERVICE, PERCENTILE(99.9)),
	[FIGURE_FLUSH] = PLAIN("flush", nanoseconds, "flush"),
	[FIGURE_RESPONSE] = TIME("response", "response", RESPONSE, LATENCY_MEAN),
	[FIGURE_RESPONSE_P50] = TIME("response_p50", "resp p50", RESPONSE, PERCENTILE(50)),
	[FIGURE_RESPONSE_P99] = TIME("response_p99", "resp p99", RESPONSE, PERCENTILE(99)),
	[FIGURE_RESPONSE_P999] = TIME("response_p99.9", "resp p99.9", RESPONSE, PERCENTILE(99.9)),
	[FIGURE_MAXIMUM] = PLAIN("maximum", ops_per_s, "maximum"),
	[FIGURE_KNEE] = PLAIN("knee", percents, "knee"),
	[FIGURE_RESPONSE_MAX] = TIME("response_max", NULL, RESPONSE, LATENCY_MAX),
	[FIGURE_MAX] = TIME("max", "max", SERVICE, LATENCY_MAX),
};

const enum pass_figure figures_shown[FIGURES_SHOWN] = {
	FIGURE_BANDWIDTH, FIGURE_IOPS, FIGURE_P50, FIGURE_P99, FIGURE_MAX,
};

const char *figure_heading(enum pass_figure figure)
{
	return figure == FIGURE_BANDWIDTH ? "rate" : pass_figures[figure].shown;
}

const char *figure_name(enum pass_figure figure)
{
	return pass_figures[figure].name;
}

const struct figure_unit *figure_unit(enum pass_figure figure)
{
	return pass_figures[figure].unit;
}

char *figure_text(enum pass_figure figure, double value, char *buf)
{
	return figure_unit(figure)->text(value, buf);
}

int figure_width(enum pass_figure figure)
{
	return figure_unit(figure)->width;
}

bool figure_is_percentile(enum pass_figure figure)
{
	const uint32_t stat = pass_figures[figure].stat;

	return stat && stat != LATENCY_MEAN && stat != LATENCY_MAX;
}

/* True for completion times; false for rates, flushes and response times. */
static bool figure_is_service(enum pass_figure figure)
{
	return figure == FIGURE_LATENCY || (figure < FIGURE_ALL && figure_is_percentile(figure) &&
					    pass_figures[figure].time == LATENCY_SERVICE);
}

enum pass_figure figure_of_response(enum pass_figure figure)
{
	const struct pass_figure_row *row = &pass_figures[figure];
	const uint32_t stat = figure == FIGURE_LATENCY ? LATENCY_MEAN : row->stat;

	for (enum pass_figure i = 0; i < FIGURE_ROUND && stat; i++) {
		if (pass_figures[i].time == LATENCY_RESPONSE && pass_figures[i].stat == stat)
			return i;
	}
	return figure;
}

static double of_latency(const struct latency *l, enum pass_figure figure, unsigned dir)
{
	const struct pass_figure_row *row = &pass_figures[figure];
	const struct histogram_view v = latency_view(l, row->time, dir);

	return row->stat ? latency_stat_ns(&v, row->stat) : NAN;
}

double figure_of_latency(const struct latency *l, enum pass_figure figure)
{
	return of_latency(l, figure, LATENCY_ALL_DIRS);
}

static double quotient(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

double figure_of_dir(const struct figures *f, enum pass_figure figure, unsigned dir)
{
	const struct tally *t = &f->tally;
	const double seconds = (double)f->elapsed_ns / (double)NS_PER_SEC;
	uint64_t bytes = 0, ops = dir == LATENCY_FLUSHES ? t->flushes : 0, busy_ns = 0;

	for (unsigned i = 0; i < DIR_COUNT; i++) {
		const bool counts = dir == LATENCY_ALL_DIRS || dir == i;

		bytes += counts ? t->bytes[i] : 0;
		ops += counts ? t->ops[i] : 0;
		busy_ns += counts ? t->busy_ns[i] : 0;
	}
	switch (figure) {
	case FIGURE_BANDWIDTH:
		return dir == LATENCY_FLUSHES ? NAN : quotient((double)bytes, seconds);
	case FIGURE_IOPS:
		return quotient((double)ops, seconds);
	case FIGURE_LATENCY:
		return quotient((double)busy_ns, (double)ops);
	case FIGURE_FLUSH:
		return quotient((double)t->flush_ns, (double)t->flushes);
	default:
		return of_latency(&f->latency, figure, dir);
	}
}

double figure_of_pass(const struct figures *f, enum pass_figure figure)
{
	if (pass_figures[figure].stat && !(f->known & FIGURES_LATENCY))
		return NAN;
	return figure_of_dir(f, figure, LATENCY_ALL_DIRS);
}

/* The bits of `known`. */
static unsigned statistics_known(double *const values[FIGURE_ALL], size_t n)
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

void statistics_take(struct pass_statistics *s, double *const values[FIGURE_ALL])
{
	s->known = statistics_known(values, s->n);
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		if (!statistics_has(s, i))
			continue;
		s->values[i] = values[i];
		s->summary[i] = stats_summarize(values[i], s->n);
		s->stability[i] = stats_stability(values[i], s->n);
	}
}

/* "stable", "odd", "step", "trend" or "scatter". */
static const char *stats_change_name(enum stats_change change)
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

static void write_figure(FILE *f, const struct pass_statistics *s, enum pass_figure figure)
{
	const struct stats_summary *sum = &s->summary[figure];
	const double percent = sum->mean > 0 ? 100 * sum->half_width / sum->mean : 0;
	char mean[SCALED_SIZE], deviation[SCALED_SIZE], low[SCALED_SIZE], high[SCALED_SIZE];
	char who[32];

	fprintf(f, "%s, %s of %zu passes: mean %s, standard deviation %s, 95 %% interval ",
		whose(s, who, sizeof(who)), pass_figures[figure].shown, s->n,
		figure_text(figure, sum->mean, mean), figure_text(figure, sum->stddev, deviation));
	if (rule_too_few(percent))
		fputs(RULE_TOO_FEW_PASSES "\n", f);
	else
		fprintf(f, "%s to %s (+-%.2f %%)\n",
			figure_text(figure, sum->mean - sum->half_width, low),
			figure_text(figure, sum->mean + sum->half_width, high), percent);
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
