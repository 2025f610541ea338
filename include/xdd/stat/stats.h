/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics of a few values that were measured one after the other, such as the bandwidths of the
 * passes of a run: mean, 95 % confidence interval, whether they can be summed up at all, and how
 * the means of two such series compare.
 *
 * Pure functions; any thread. Sources:
 *   Student's t distribution through the incomplete beta function, by its continued fraction:
 *   NIST Digital Library of Mathematical Functions, 8.17.22 and 26.5.27 of Abramowitz and
 *   Stegun.
 *   Means of dependent values: the equivalent sample size of a first-order autoregression,
 *   n (1 - r) / (1 + r): H. von Storch, F. W. Zwiers, Statistical Analysis in Climate Research,
 *   1999, 6.6. The bias of r in short series: F. H. C. Marriott, J. A. Pope, Biometrika 41 (1954)
 *   390. The prior of r and the bounds of the correction are calibrated by simulation.
 *   Stopping once the interval is narrow: F. J. Anscombe, Proc. Cambridge Phil. Soc. 48 (1952)
 *   600; N. Starr, Ann. Math. Statist. 37 (1966) 36. Such a series stops too often where its
 *   scatter is small by luck. The least number of values and the smaller probability of an error
 *   are calibrated by simulation, for normal values, independent or from a first-order
 *   autoregression of 0.3 and 0.6. tests/unit/test_stats_runs.c holds the coverage that the
 *   calibrations promise.
 *   Two means of unequal variances: B. L. Welch, Biometrika 34 (1947) 28.
 *   Steady state: SNIA, Solid State Storage Performance Test Specification 2.0.1, 2.1.24: over the
 *   measurement window of five rounds, the range is at most 20 % of the average, and the best
 *   linear fit changes by at most 10 % of it.
 */
#ifndef XDD_STAT_STATS_H
#define XDD_STAT_STATS_H

#include <stdbool.h>
#include <stddef.h>

#define STATS_LEVEL 0.95 /* of the confidence intervals */

/* Least number of values of a series that stops once its interval is narrow. */
#define STATS_UNTIL_MIN 18

struct stats_summary {
	size_t n;
	double mean;
	double stddev; /* of a sample: over n - 1; 0 for less than two values */
	double min;
	double max;
	double autocorrelation; /* of neighbours, as used for the interval; 0 up to 4 values */
	double effective;	/* so many independent values would say as much about the mean */
	double error;		/* standard error of the mean; INFINITY for less than two values */
	double freedom;		/* degrees of freedom of `error` */
	double half_width; /* the interval is mean +- this; INFINITY for less than two values */
};

/* How values differ that should be alike except for chance. */
enum stats_change {
	STATS_STABLE,
	STATS_ODD,     /* one value is an outlier */
	STATS_STEP,    /* from one of them on all are different */
	STATS_TREND,   /* they rise or fall from the first to the last */
	STATS_SCATTER, /* they scatter */
};

struct stats_stability {
	enum stats_change change;
	size_t at;     /* ODD: which one; STEP: the first of the other level; from 0 */
	double amount; /* ODD, STEP: to the others; TREND: last to first; SCATTER: stddev to mean */
};

/* Rounds of the window that a steady state is judged by, and what may change in it. */
#define STATS_STEADY_WINDOW 5
#define STATS_STEADY_RANGE 0.2
#define STATS_STEADY_SLOPE 0.1

/* The steady state of the values of successive rounds. */
struct stats_steady {
	bool reached;
	size_t after; /* the round that ends the first window in which they have, from 1 */
	double range; /* of that window, or of the last one: maximum minus minimum, to the mean */
	double slope; /* change of its best linear fit from first to last round, to the mean */
};

/* The change of values of successive rounds from the first to the last. */
struct stats_drift {
	bool known;
	bool drifts;
	double amount; /* relative to the first: 0.1 is 10 % more */
};

/* The ratio of two means. */
struct stats_ratio {
	double ratio; /* of b to a; NAN when a mean is not above 0 */
	double low;   /* its confidence interval; 0 and INFINITY when nothing can be said */
	double high;
	double chance; /* probability of so large a difference by chance; 1: unknown */
};

/*
 * The probability that a value of Student's t distribution with `freedom` degrees of freedom (above
 * 0, fractions too) is further from 0 than `t`.
 */
double stats_t_tails(double t, double freedom);

/* The t whose tails have probability `tails` (between 0 and 1). */
double stats_t_quantile(double tails, double freedom);

/*
 * Sum up `x[0..n)`, where n was fixed beforehand. From 5 values on, and fully from 18 on, the
 * interval takes the autocorrelation of neighbours into account: it is wider where a value
 * resembles the one before it.
 */
struct stats_summary stats_summarize(const double *x, size_t n);

/*
 * Half the width of the interval of a series that may stop at any n from STATS_UNTIL_MIN on, once
 * this width is small enough: the interval covers the true mean with probability STATS_LEVEL all
 * the same. INFINITY for less than two values; as in stats_summarize() for less than
 * STATS_UNTIL_MIN.
 */
double stats_until_half_width(const double *x, size_t n);

/*
 * Decide if one mean describes `x[0..n)`: at least 3 values above 0, in the order of measurement.
 * A change is one that chance makes in less than 1 of 100 series of independent values, and of more
 * than 5 %; values with a standard deviation above 10 % of their mean SCATTER.
 */
struct stats_stability stats_stability(const double *x, size_t n);

/*
 * How far `x[0..n)`, in the order of measurement, change from first to last, by their best linear
 * fit: values above 0, of which the t test of the slope knows the scatter. Not known: less than
 * STATS_STEADY_WINDOW. They `drift` if chance makes such a slope in less than 5 of 100 series of
 * independent values, and the change is more than 5 %.
 */
struct stats_drift stats_drift(const double *x, size_t n);

/* Look for a steady state in `x[0..n)`. Not reached, with NAN: less than STATS_STEADY_WINDOW. */
struct stats_steady stats_steady(const double *x, size_t n);

/* The mean of the means of `n` runs, 1 or more. */
double stats_mean_of_runs(const struct stats_summary *runs, size_t n);

/*
 * Compare the mean of `n_b` runs with the mean of `n_a` runs (1 or more each), by Welch's test on a
 * logarithmic scale. The interval covers the true ratio with probability `level`.
 *
 * Of two single runs, only the scatter inside the runs counts, and so their spread from run to run
 * must be small. With several runs on a side the runs are the units, and the interval includes
 * that spread; a single run on the other side is assumed to have the same spread.
 */
struct stats_ratio stats_compare(const struct stats_summary *a, size_t n_a,
				 const struct stats_summary *b, size_t n_b, double level);

#endif
