/*
 * Statistics over passes; see the header. Called by the results manager, between passes and at the
 * end of a run, and by xdd compare.
 */
#include "xdd/stat/stats.h"

#include <math.h>

/*
 * A short series says little about its own autocorrelation. A summary therefore uses that of the
 * values and of PRIOR_VALUES further values with PRIOR_CORRELATION. With these two constants, the
 * intervals of independent values keep their level at every number of values from STATS_UNTIL_MIN
 * on.
 */
#define PRIOR_VALUES 3.0
#define PRIOR_CORRELATION 0.5
#define CORRELATION_MIN (-0.4)
#define CORRELATION_MAX 0.95
#define EFFECTIVE_MIN 0.2 /* share of the number of values */

/*
 * For a fixed number of values the correction begins with CORRECTED_MIN values and is complete at
 * BLEND_TO. A stronger one at few values would find less with more values.
 */
#define CORRECTED_MIN 5
#define BLEND_FROM 2
#define BLEND_TO 18

/*
 * After STATS_UNTIL_MIN values, a series that stops as soon as its interval is narrow stops by
 * luck too often. The probability of an error is smaller by this share there, and returns to its
 * level as the series grows.
 */
#define UNTIL_STRICTER 0.7

#define DRIFT_CHANCE 0.05
#define CHANGE_CHANCE 0.01
#define CHANGE_MODELS 3 /* that are tried: an odd value, a step, a trend */
#define CHANGE_AMOUNT 0.05
#define SCATTER_AMOUNT 0.10

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m <= 1000; m++) {
		double step, odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		h *= d * (fabs(c) < tiny ? tiny : c);
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		step = d * (fabs(c) < tiny ? tiny : c);
		h *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return h;
}

/* The regularised incomplete beta function, 0 <= x <= 1. */
static double beta_share(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_tails(double t, double freedom)
{
	if (isinf(t))
		return 0;
	return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double stats_t_quantile(double tails, double freedom)
{
	double low = 0, high = 1;

	while (stats_t_tails(high, freedom) > tails && high < 1e300)
		high *= 2;
	for (int i = 0; i < 200 && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (stats_t_tails(middle, freedom) > tails)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static double mean_of(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : 0;
}

/* The sum of the squares of the distances from `mean`. */
static double squares_of(const double *x, size_t n, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sum;
}

/*
 * The autocorrelation of neighbours, combined with the prior. The plain estimate is too small by
 * (1 + 4 r) / n on average; this is corrected first.
 */
static double correlation(const double *x, size_t n, double mean, double squares)
{
	double sum = 0, count = (double)n, r;

	if (squares <= 0)
		return 0;
	for (size_t i = 1; i < n; i++)
		sum += (x[i] - mean) * (x[i - 1] - mean);
	r = (count * sum / squares + 1) / (count - 4);
	r = (count * r + PRIOR_VALUES * PRIOR_CORRELATION) / (count + PRIOR_VALUES);
	return fmin(fmax(r, CORRELATION_MIN), CORRELATION_MAX);
}

/* Use `weight` (0 to 1) of the autocorrelation. */
static struct stats_summary summarize(const double *x, size_t n, double weight)
{
	struct stats_summary s = { .n = n,
				   .mean = mean_of(x, n),
				   .effective = (double)n,
				   .error = INFINITY,
				   .half_width = INFINITY };
	double squares = squares_of(x, n, s.mean), count = (double)n;

	for (size_t i = 0; i < n; i++) {
		s.min = i && s.min < x[i] ? s.min : x[i];
		s.max = i && s.max > x[i] ? s.max : x[i];
	}
	if (n < 2)
		return s;
	s.stddev = sqrt(squares / (count - 1));
	if (weight > 0)
		s.autocorrelation = weight * correlation(x, n, s.mean, squares);
	s.effective = fmax(count * (1 - s.autocorrelation) / (1 + s.autocorrelation),
			   count * EFFECTIVE_MIN);
	s.freedom = fmin(s.effective, count) - 1;
	/* Values that depend on each other stay nearer to their own mean than to the true one. */
	s.error = sqrt(squares / count / (1 - 1 / s.effective) / s.effective);
	s.half_width = s.error > 0 ? s.error * stats_t_quantile(1 - STATS_LEVEL, s.freedom) : 0;
	return s;
}

struct stats_summary stats_summarize(const double *x, size_t n)
{
	double weight = ((double)n - BLEND_FROM) / (BLEND_TO - BLEND_FROM);

	return summarize(x, n, n < CORRECTED_MIN ? 0 : fmin(weight, 1));
}

double stats_until_half_width(const double *x, size_t n)
{
	struct stats_summary s;
	double error = 1 - STATS_LEVEL;

	if (n < STATS_UNTIL_MIN)
		return stats_summarize(x, n).half_width;
	s = summarize(x, n, 1);
	if (n > STATS_UNTIL_MIN)
		error *= 1 - UNTIL_STRICTER * STATS_UNTIL_MIN / (double)n;
	return s.error > 0 ? s.error * stats_t_quantile(error, s.freedom) : 0;
}

/*
 * The chance that a model with one more parameter leaves `rest` of the squares, `tries` such models
 * having been looked at (Bonferroni).
 */
static double chance_of(double squares, double rest, size_t n, size_t tries)
{
	double freedom = (double)n - 2, chance;

	if (squares <= 0)
		return 1;
	/* A remainder this small is rounding. */
	if (rest < squares * 1e-12)
		return 0;
	chance = stats_t_tails(sqrt((squares - rest) * freedom / rest), freedom) * (double)tries;
	return chance < 1 ? chance : 1;
}

/* The value whose absence leaves the least scatter. */
static double find_odd(const double *x, size_t n, double mean, double squares,
		       struct stats_stability *s)
{
	double count = (double)n, worst = 0;

	for (size_t i = 0; i < n; i++) {
		if (fabs(x[i] - mean) < worst)
			continue;
		worst = fabs(x[i] - mean);
		s->at = i;
	}
	s->amount = x[s->at] / ((mean * count - x[s->at]) / (count - 1)) - 1;
	return chance_of(squares, squares - worst * worst * count / (count - 1), n, n);
}

/* The index that best divides the values into two levels, at least two on either side. */
static double find_step(const double *x, size_t n, double mean, double squares,
			struct stats_stability *s)
{
	double sum = 0, best = 0, total = mean * (double)n;

	if (n < 4)
		return 1;
	for (size_t i = 1; i <= n - 2; i++) {
		double left = (double)i, right = (double)(n - i), d;

		sum += x[i - 1];
		d = sum / left - (total - sum) / right;
		d = d * d * left * right / (double)n;
		if (i < 2 || d < best)
			continue;
		best = d;
		s->at = i;
		s->amount = (total - sum) / right / (sum / left) - 1;
	}
	return chance_of(squares, squares - best, n, n - 3);
}

static double find_trend(const double *x, size_t n, double mean, double squares,
			 struct stats_stability *s)
{
	double middle = ((double)n - 1) / 2, xy = 0, xx = 0, slope;

	for (size_t i = 0; i < n; i++) {
		xy += ((double)i - middle) * (x[i] - mean);
		xx += ((double)i - middle) * ((double)i - middle);
	}
	slope = xy / xx;
	s->amount = slope * ((double)n - 1) / (mean - slope * middle);
	return chance_of(squares, squares - slope * xy, n, 1);
}

struct stats_drift stats_drift(const double *x, size_t n)
{
	struct stats_stability trend = { .change = STATS_TREND };
	const double mean = mean_of(x, n);
	double chance;

	if (n < STATS_STEADY_WINDOW || mean <= 0)
		return (struct stats_drift){ .known = false };
	chance = find_trend(x, n, mean, squares_of(x, n, mean), &trend);
	return (struct stats_drift){ .known = true,
				     .drifts = chance < DRIFT_CHANCE &&
					       fabs(trend.amount) > CHANGE_AMOUNT,
				     .amount = trend.amount };
}

struct stats_stability stats_stability(const double *x, size_t n)
{
	struct stats_stability odd = { .change = STATS_ODD }, step = { .change = STATS_STEP },
			       trend = { .change = STATS_TREND }, best = { .change = STATS_STABLE };
	double mean = mean_of(x, n), squares = squares_of(x, n, mean),
	       chance = CHANGE_CHANCE / CHANGE_MODELS;

	if (n < 3 || mean <= 0)
		return best;
	const struct {
		struct stats_stability *s;
		double chance;
	} models[] = {
		{ &odd, find_odd(x, n, mean, squares, &odd) },
		{ &step, find_step(x, n, mean, squares, &step) },
		{ &trend, find_trend(x, n, mean, squares, &trend) },
	};
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		/* A change from 0 has no relative amount. */
		if (models[i].chance >= chance || !isfinite(models[i].s->amount) ||
		    fabs(models[i].s->amount) < CHANGE_AMOUNT)
			continue;
		chance = models[i].chance;
		best = *models[i].s;
	}
	if (best.change == STATS_STABLE &&
	    sqrt(squares / (double)(n - 1)) > SCATTER_AMOUNT * mean) {
		/* One value may cause most of the difference, if too few are left to prove it. */
		double share = squares > 0 ? (x[odd.at] - mean) * (x[odd.at] - mean) *
						     ((double)n / (double)(n - 1)) / squares :
					     0;

		best = odd;
		if (share < 0.9 || !isfinite(odd.amount))
			best = (struct stats_stability){ .change = STATS_SCATTER,
							 .amount = sqrt(squares / (double)(n - 1)) /
								   mean };
	}
	return best;
}
