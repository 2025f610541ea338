/*
 * The means of two runs, or of two groups of runs, against each other; see the header. Called by
 * xdd compare.
 */
#include <math.h>
#include <stdbool.h>

#include "xdd/stat/stats.h"

/*
 * Variance of a mean, relative to it, and the degrees of freedom of that; 0: nothing is known of
 * it.
 */
struct error {
	double variance;
	double freedom;
};

static double mean_of_runs(const struct stats_summary *runs, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += runs[i].mean;
	return sum / (double)n;
}

/* The mean of all runs by the scatter inside them. */
static struct error error_inside(const struct stats_summary *runs, size_t n)
{
	double sum = mean_of_runs(runs, n) * (double)n;
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
	double mean = mean_of_runs(runs, n);
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
	r.ratio = mean_of_runs(b, n_b) / mean_of_runs(a, n_a);
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
	/* Relative variances are those of the logarithms, to first order. */
	r.low = r.ratio * exp(-width);
	r.high = r.ratio * exp(width);
	if (e.variance > 0)
		r.chance = stats_t_tails(log(r.ratio) / sqrt(e.variance), e.freedom);
	else
		r.chance = r.ratio == 1;
	return r;
}
