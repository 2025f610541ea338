/*
 * The verdicts of xdd compare: whether a figure of two sides differs by more than chance. Called
 * by compare.c.
 */
#include <math.h>
#include <stdlib.h>

#include "xdd/report/compare.h"
#include "xdd/report/curve.h"

/*
 * Percentiles, flushes and response times are more figures in which equal runs may differ by
 * chance. At this level they add little to the share of equal runs that are called different.
 */
#define MORE_LEVEL 0.99

/* A percentile is that of a bucket of the histogram; either side may be off by 0.4 %. */
#define PERCENTILE_RESOLUTION 1.008

/*
 * The values of a figure, one for each pass; to be freed. NULL: the document does not have it, or
 * memory is short, which sets `*no_memory`.
 */
static double *values_of(const json_t *statistic, enum pass_figure figure, size_t *n,
			 bool *no_memory)
{
	const json_t *values =
		json_object_get(json_object_get(statistic, figure_name(figure)), "values");
	double *x;

	*n = json_array_size(values);
	x = *n ? calloc(*n, sizeof(*x)) : NULL;
	*no_memory |= *n && !x;
	for (size_t i = 0; x && i < *n; i++)
		x[i] = json_number_value(json_array_get(values, i));
	return x;
}

/* The mean whose 95 % interval over `rounds` rounds has the half width `half`. */
static struct stats_summary summary_of(double mean, double half, double rounds)
{
	struct stats_summary s = { .n = 1, .mean = mean, .error = INFINITY };

	if (!(rounds >= 2) || !isfinite(half))
		return s;
	s.n = (size_t)rounds;
	s.freedom = rounds - 1;
	s.error = half / stats_t_quantile(1 - STATS_LEVEL, s.freedom);
	return s;
}

static double number(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Rounds that the maximum of a curve is the mean of. */
static double rounds_of_maximum(const json_t *root, const json_t *maximum)
{
	const json_t *points = json_object_get(root, "points"), *point;
	size_t i;

	if (number(maximum, "steady_after") > 0)
		return STATS_STEADY_WINDOW;
	json_array_foreach(points, i, point)
	{
		if (json_equal(json_object_get(point, "point"), json_object_get(maximum, "point")))
			return (double)json_array_size(json_object_get(point, "rounds"));
	}
	return 0;
}

/* The maximum or the knee of each curve of a side. False: one has none. */
static bool summarize_curves(const struct compare_side *side, enum pass_figure figure,
			     struct stats_summary *runs)
{
	for (size_t i = 0; i < side->n; i++) {
		const json_t *root = side->runs[i].root;
		const json_t *o =
			json_object_get(json_object_get(root, "curve"), figure_name(figure));

		if (figure == FIGURE_KNEE) {
			const double knee = number(o, "percent");
			const double half = fmax(number(o, "high_percent") - knee,
						 knee - number(o, "low_percent"));

			runs[i] = summary_of(knee, half, number(root, "rounds_least"));
		} else {
			const double iops = number(o, "iops");

			runs[i] = summary_of(iops, iops * number(o, "interval_percent") / 100,
					     rounds_of_maximum(root, o));
		}
		if (!(runs[i].mean > 0))
			return false;
	}
	return true;
}

/* A summary for each run of a side. False: the figure is missing in one. */
static bool summarize(const struct compare_side *side, json_int_t target, enum pass_figure figure,
		      struct stats_summary *runs, bool *no_memory)
{
	if (figure >= FIGURE_ALL)
		return summarize_curves(side, figure, runs);
	for (size_t i = 0; i < side->n; i++) {
		size_t n;
		double *x =
			values_of(compare_statistic(&side->runs[i], target), figure, &n, no_memory);

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
static double change_of(const json_t *statistic, enum pass_figure figure, bool *no_memory)
{
	struct stats_stability s = { .change = STATS_STABLE };
	size_t n;
	double *x = values_of(statistic, figure, &n, no_memory);

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
			double difference, bool *no_memory)
{
	const json_t *statistic = compare_statistic(&side->runs[0], target);
	double change = change_of(statistic, figure, no_memory);

	if (side->n > 1)
		return false;
	if (change <= 0 && json_is_string(json_object_get(statistic, "not_reproducible"))) {
		change = change_of(statistic, FIGURE_BANDWIDTH, no_memory);
		change = change > 0 ? change : INFINITY;
	}
	return change >= difference;
}

double compare_level(enum pass_figure figure)
{
	return figure < FIGURE_FIRST_PERCENTILE || figure >= FIGURE_ALL ? STATS_LEVEL : MORE_LEVEL;
}

static double level_of(const struct compare_subject *s, enum pass_figure figure, size_t subjects)
{
	/* Bonferroni: among many subjects one would differ by chance. */
	return 1 - (1 - compare_level(figure)) / (s->kind == COMPARE_CURVE ? 1 : (double)subjects);
}

bool compare_limit_figure(const struct compare_subject *s, enum pass_figure *figure)
{
	if (s->kind == COMPARE_LOAD)
		*figure = figure_of_response(*figure);
	if (s->kind == COMPARE_LOOP && *figure >= FIGURE_RESPONSE)
		return false;
	return (s->kind == COMPARE_CURVE) == (*figure >= FIGURE_ALL);
}

static bool is_judged_by(const struct compare_subject *s, enum pass_figure figure)
{
	enum pass_figure meant = figure;

	return compare_limit_figure(s, &meant) && meant == figure;
}

static bool is_percentile(enum pass_figure figure)
{
	return figure >= FIGURE_FIRST_PERCENTILE && figure < FIGURE_ALL && figure != FIGURE_FLUSH &&
	       figure != FIGURE_RESPONSE;
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
				       const struct stats_ratio *r, bool *no_memory)
{
	double difference = fabs(log(r->ratio));

	if (!(r->low > 0) || !isfinite(r->high))
		return COMPARE_UNKNOWN;
	if (r->low <= 1 && r->high >= 1)
		return COMPARE_CHANCE;
	if (is_unstable(a, target, figure, difference, no_memory) ||
	    is_unstable(b, target, figure, difference, no_memory))
		return COMPARE_UNSTABLE;
	return COMPARE_REAL;
}

struct compare_figure compare_judge(const struct compare_subject *s, enum pass_figure figure,
				    size_t subjects)
{
	const struct compare_side *a = s->a, *b = s->b;
	struct stats_summary *runs = calloc(a->n + b->n, sizeof(*runs));
	struct compare_figure f = { .verdict = COMPARE_NO_FIGURE, .no_memory = !runs };

	if (runs && is_judged_by(s, figure) &&
	    summarize(a, s->target, figure, runs, &f.no_memory) &&
	    summarize(b, s->target, figure, runs + a->n, &f.no_memory)) {
		f.a = mean_of(runs, a->n);
		f.b = mean_of(runs + a->n, b->n);
		f.ratio =
			stats_compare(runs, a->n, runs + a->n, b->n, level_of(s, figure, subjects));
		if (is_percentile(figure)) {
			f.ratio.low /= PERCENTILE_RESOLUTION;
			f.ratio.high *= PERCENTILE_RESOLUTION;
		}
		f.verdict = verdict_of(a, b, s->target, figure, &f.ratio, &f.no_memory);
	}
	free(runs);
	return f;
}
