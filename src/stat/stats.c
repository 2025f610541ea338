/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics over passes, the means of two runs or groups of runs against each other, and steady
 * state by rounds; see the header. Called by the results manager, between passes and at the end of
 * a run, by xdd compare, and by the writers of statistics over passes, and of sweeps.
 */
#include "xdd/stat/stats.h"

#include <math.h>
#include <stdbool.h>

/*
 * Statistics over passes; see the header. Called by the results manager, between passes and at the
 * end of a run, and by xdd compare.
 */

/*
 * A short series says little about its own autocorrelation. A summary therefore uses the one of the
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

/*
 * The means of two runs, or of two groups of runs, against each other; see the header. Called by
 * xdd compare.
 */

/*
 * Variance of a mean, relative to it, and the degrees of freedom of that; 0: nothing is known of
 * it.
 */
struct error {
	double variance;
	double freedom;
};

double stats_mean_of_runs(const struct stats_summary *runs, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += runs[i].mean;
	return sum / (double)n;
}

/* The mean of all runs by the scatter inside them. */
static struct error error_inside(const struct stats_summary *runs, size_t n)
{
	double sum = stats_mean_of_runs(runs, n) * (double)n;
	struct error e = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (runs[i].n < 2)
			continue;
		e.variance += runs[i].error / sum * (runs[i].error / sum);
		e.freedom += runs[i].freedom;
	}
	return e;
}

/* One run by the spread between runs. */
static struct error error_between(const struct stats_summary *runs, size_t n)
{
	double mean = stats_mean_of_runs(runs, n);
	struct error e = { .freedom = (double)n - 1 };

	for (size_t i = 0; i < n; i++)
		e.variance += (runs[i].mean / mean - 1) * (runs[i].mean / mean - 1);
	if (n > 1)
		e.variance /= e.freedom;
	return e;
}

/* The sum of two independent variances: Welch and Satterthwaite. */
static struct error error_sum(const struct error *a, const struct error *b)
{
	double sum = a->variance + b->variance, va, vb;

	if (!(a->freedom > 0) || !(b->freedom > 0))
		return (struct error){ 0 };
	if (!(sum > 0))
		return (struct error){ 0, a->freedom + b->freedom };
	va = a->variance / sum;
	vb = b->variance / sum;
	return (struct error){ sum, 1 / (va * va / a->freedom + vb * vb / b->freedom) };
}

static double error_width(const struct error *e, double level)
{
	if (!(e->freedom > 0))
		return INFINITY;
	return e->variance > 0 ? sqrt(e->variance) * stats_t_quantile(1 - level, e->freedom) : 0;
}

/*
 * With several runs on a side. What the scatter inside the runs makes of the mean of a side is the
 * least that its variance can be: runs that agree better do so by chance.
 */
static struct error error_of_runs(const struct stats_summary *a, size_t n_a,
				  const struct stats_summary *b, size_t n_b, double level)
{
	double inside_a = error_inside(a, n_a).variance, inside_b = error_inside(b, n_b).variance;
	struct error ea = error_between(a, n_a), eb = error_between(b, n_b), welch, pooled;
	double one =
		(ea.variance * ea.freedom + eb.variance * eb.freedom) / (ea.freedom + eb.freedom);

	ea.variance = fmax(ea.variance / (double)n_a, inside_a);
	eb.variance = fmax(eb.variance / (double)n_b, inside_b);
	welch = error_sum(&ea, &eb);
	if (n_a == n_b)
		return welch;
	/*
	 * A single run has no spread, and Welch's test of two against many finds a little too
	 * much.
	 */
	pooled.variance = fmax(one / (double)n_a, inside_a) + fmax(one / (double)n_b, inside_b);
	pooled.freedom = ea.freedom + eb.freedom;
	if (n_a == 1 || n_b == 1 || error_width(&pooled, level) > error_width(&welch, level))
		return pooled;
	return welch;
}

static bool are_above_zero(const struct stats_summary *runs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!(runs[i].mean > 0))
			return false;
	}
	return n > 0;
}

struct stats_ratio stats_compare(const struct stats_summary *a, size_t n_a,
				 const struct stats_summary *b, size_t n_b, double level)
{
	struct stats_ratio r = { .ratio = NAN, .low = 0, .high = INFINITY, .chance = 1 };
	struct error ea, eb, e;
	double width;

	if (!are_above_zero(a, n_a) || !are_above_zero(b, n_b))
		return r;
	r.ratio = stats_mean_of_runs(b, n_b) / stats_mean_of_runs(a, n_a);
	if (n_a == 1 && n_b == 1) {
		ea = error_inside(a, 1);
		eb = error_inside(b, 1);
		e = error_sum(&ea, &eb);
	} else {
		e = error_of_runs(a, n_a, b, n_b, level);
	}
	width = error_width(&e, level);
	if (isinf(width))
		return r;
	/* To first order, relative variances equal the variances of the logarithms. */
	r.low = r.ratio * exp(-width);
	r.high = r.ratio * exp(width);
	if (e.variance > 0)
		r.chance = stats_t_tails(log(r.ratio) / sqrt(e.variance), e.freedom);
	else
		r.chance = r.ratio == 1;
	return r;
}

/*
 * Steady state by rounds; see the header. Called by the writers of statistics over passes, and of
 * sweeps.
 */

/* Change of the least-squares line over the window, from its first value to its last. */
static double fit_change(const double *x)
{
	const double middle = (STATS_STEADY_WINDOW - 1) / 2.0;
	double sum = 0, squares = 0;

	for (int i = 0; i < STATS_STEADY_WINDOW; i++) {
		sum += (i - middle) * x[i];
		squares += (i - middle) * (i - middle);
	}
	return sum / squares * (STATS_STEADY_WINDOW - 1);
}

static bool judge_window(const double *x, struct stats_steady *s)
{
	double sum = 0, low = x[0], high = x[0], mean;

	for (int i = 0; i < STATS_STEADY_WINDOW; i++) {
		sum += x[i];
		low = fmin(low, x[i]);
		high = fmax(high, x[i]);
	}
	mean = sum / STATS_STEADY_WINDOW;
	s->range = (high - low) / mean;
	s->slope = fit_change(x) / mean;
	return mean > 0 && s->range <= STATS_STEADY_RANGE && fabs(s->slope) <= STATS_STEADY_SLOPE;
}

struct stats_steady stats_steady(const double *x, size_t n)
{
	struct stats_steady s = { .range = NAN, .slope = NAN };

	for (size_t end = STATS_STEADY_WINDOW; end <= n; end++) {
		if (judge_window(x + end - STATS_STEADY_WINDOW, &s)) {
			s.reached = true;
			s.after = end;
			return s;
		}
	}
	return s;
}
