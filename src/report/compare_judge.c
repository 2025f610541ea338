/*
 * The verdicts of xdd compare: whether a figure of two sides differs by more than chance. Called
 * by compare.c.
 */
#include <math.h>
#include <stdlib.h>

#include "xdd/report/compare.h"

/*
 * Percentiles and flushes are four more figures in which equal runs may differ by chance. At this
 * level they add little to the share of equal runs that are called different.
 */
#define MORE_LEVEL 0.99

/* A percentile is that of a bucket of the histogram; either side may be off by 0.4 %. */
#define PERCENTILE_RESOLUTION 1.008

/*
 * The values of a figure, one for each pass; to be freed. NULL: the document does not have it, or
 * no memory.
 */
static double *values_of(const json_t *statistic, enum pass_figure figure, size_t *n)
{
	const json_t *values =
		json_object_get(json_object_get(statistic, figure_name(figure)), "values");
	double *x;

	*n = json_array_size(values);
	x = *n ? calloc(*n, sizeof(*x)) : NULL;
	for (size_t i = 0; x && i < *n; i++)
		x[i] = json_number_value(json_array_get(values, i));
	return x;
}

/* A summary for each run of a side. False: the figure is missing in one. */
static bool summarize(const struct compare_side *side, json_int_t target, enum pass_figure figure,
		      struct stats_summary *runs)
{
	for (size_t i = 0; i < side->n; i++) {
		size_t n;
		double *x = values_of(compare_statistic(&side->runs[i], target), figure, &n);

		if (!x)
			return false;
		runs[i] = stats_summarize(x, n);
		free(x);
	}
	return true;
}

/*
 * By how much the passes of a run change among themselves, as the logarithm of a ratio; 0 for
 * stable ones.
 */
static double change_of(const json_t *statistic, enum pass_figure figure)
{
	struct stats_stability s = { .change = STATS_STABLE };
	size_t n;
	double *x = values_of(statistic, figure, &n);

	if (x)
		s = stats_stability(x, n);
	free(x);
	return s.change == STATS_STABLE ? 0 : fabs(log1p(s.amount));
}

/*
 * True if the passes of a run that stands alone on its side vary as much as the sides differ.
 * Then the difference depends on when the runs were made. Several runs show that in their spread.
 */
static bool is_unstable(const struct compare_side *side, json_int_t target, enum pass_figure figure,
			double difference)
{
	const json_t *statistic = compare_statistic(&side->runs[0], target);
	double change = change_of(statistic, figure);

	if (side->n > 1)
		return false;
	if (change <= 0 && json_is_string(json_object_get(statistic, "not_reproducible"))) {
		change = change_of(statistic, FIGURE_BANDWIDTH);
		change = change > 0 ? change : INFINITY;
	}
	return change >= difference;
}

static double level_of(enum pass_figure figure, size_t subjects)
{
	double level = figure < FIGURE_FIRST_PERCENTILE ? STATS_LEVEL : MORE_LEVEL;

	/* Bonferroni: among many subjects one would differ by chance. */
	return 1 - (1 - level) / (double)subjects;
}

static double mean_of(const struct stats_summary *runs, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += runs[i].mean;
	return sum / (double)n;
}

static enum compare_verdict verdict_of(const struct compare_side *a, const struct compare_side *b,
				       json_int_t target, enum pass_figure figure,
				       const struct stats_ratio *r)
{
	double difference = fabs(log(r->ratio));

	if (!(r->low > 0) || !isfinite(r->high))
		return COMPARE_UNKNOWN;
	if (r->low <= 1 && r->high >= 1)
		return COMPARE_CHANCE;
	if (is_unstable(a, target, figure, difference) ||
	    is_unstable(b, target, figure, difference))
		return COMPARE_UNSTABLE;
	return COMPARE_REAL;
}

struct compare_figure compare_judge(const struct compare_side *a, const struct compare_side *b,
				    json_int_t target, enum pass_figure figure, size_t subjects)
{
	struct stats_summary *runs = calloc(a->n + b->n, sizeof(*runs));
	struct compare_figure f = { .verdict = COMPARE_NO_FIGURE };

	if (runs && summarize(a, target, figure, runs) &&
	    summarize(b, target, figure, runs + a->n)) {
		f.a = mean_of(runs, a->n);
		f.b = mean_of(runs + a->n, b->n);
		f.ratio = stats_compare(runs, a->n, runs + a->n, b->n, level_of(figure, subjects));
		if (figure >= FIGURE_FIRST_PERCENTILE && figure != FIGURE_FLUSH) {
			f.ratio.low /= PERCENTILE_RESOLUTION;
			f.ratio.high *= PERCENTILE_RESOLUTION;
		}
		f.verdict = verdict_of(a, b, target, figure, &f.ratio);
	}
	free(runs);
	return f;
}
