/*
 * Statistics of a few values that were measured one after the other, such as the bandwidths of the
 * passes of a run: mean, 95 % confidence interval, whether they can be summed up at all, and how the
 * means of two such series compare.
 *
 * Pure functions; any thread. Sources:
 *   Student's t distribution through the incomplete beta function, by its continued fraction: NIST
 *   Digital Library of Mathematical Functions, 8.17.22 and 26.5.27 of Abramowitz and Stegun.
 *   Means of dependent values: the equivalent sample size of a first-order autoregression, n (1 - r) /
 *   (1 + r): H. von Storch, F. W. Zwiers, Statistical Analysis in Climate Research, 1999, 6.6. The bias
 *   of r in short series: F. H. C. Marriott, J. A. Pope, Biometrika 41 (1954) 390.
 *   Two means of unequal variances: B. L. Welch, Biometrika 34 (1947) 28.
 */
#ifndef XDD_BASE_STATS_H
#define XDD_BASE_STATS_H

#include <stddef.h>

#define STATS_LEVEL 0.95 /* of the confidence intervals */

struct stats_summary {
	size_t n;
	double mean;
	double stddev; /* of a sample: over n - 1; 0 for less than two values */
	double min;
	double max;
	double autocorrelation; /* of neighbours; 0 where it does not stand out */
	double effective;	/* so many independent values would say as much about the mean */
	double error;		/* standard error of the mean; INFINITY for less than two values */
	double freedom;		/* degrees of freedom of `error` */
	double half_width; /* the interval is mean +- this; INFINITY for less than two values */
};

/* How values differ that should be alike but for chance. */
enum stats_change {
	STATS_STABLE,
	STATS_ODD,     /* one of them stands out */
	STATS_STEP,    /* from one of them on all are different */
	STATS_TREND,   /* they rise or fall from the first to the last */
	STATS_SCATTER, /* they are all over the place */
};

struct stats_stability {
	enum stats_change change;
	size_t at; /* ODD: which one; STEP: the first of the other level; from 0 */
	double amount; /* ODD, STEP: relative to the others; TREND: last to first; SCATTER: stddev to mean */
};

/* The ratio of two means. */
struct stats_ratio {
	double ratio; /* of b to a; NAN when a mean is not above 0 */
	double low;   /* its confidence interval; 0 and INFINITY when nothing can be said */
	double high;
	double chance; /* how likely so large a difference is by chance alone; 1 when nothing can be said */
};

/*
 * The probability that a value of Student's t distribution with `freedom` degrees of freedom (above 0,
 * fractions too) is further from 0 than `t`.
 */
double stats_t_tails(double t, double freedom);

/* The t whose tails have probability `tails` (between 0 and 1). */
double stats_t_quantile(double tails, double freedom);

/*
 * Sum up `x[0..n)`. From 10 values on, neighbours that are alike are taken into account: the interval is
 * then wider than that of independent values.
 */
struct stats_summary stats_summarize(const double *x, size_t n);

/*
 * Whether one mean does for `x[0..n)`: at least 3 values, in the order they were measured, above 0. A
 * change is one that chance makes in less than 1 of 100 series of independent values, and of more than
 * 5 %; values with a standard deviation above 10 % of their mean SCATTER.
 */
struct stats_stability stats_stability(const double *x, size_t n);

/*
 * Compare the means of b and a, with an interval that covers the true ratio with probability `level`,
 * by Welch's test on a logarithmic scale: the interval leaves out 1 when the means really differ.
 */
struct stats_ratio stats_compare(const struct stats_summary *a, const struct stats_summary *b,
				 double level);

#endif
