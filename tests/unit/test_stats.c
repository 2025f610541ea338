/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics over passes: quantiles against tables, and Monte-Carlo tests of the intervals and of
 * what is called unstable. The generator is seeded: the same values in every run.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "chance.h"
#include "xdd/stat/stats.h"

#define MAX_PASSES 100

/* Simulated runs; XDD_TEST_LONG=1 draws more. Set once, by main(). */
static unsigned runs = 2000;

static void assert_near(double got, double wanted, double tolerance)
{
	if (!(fabs(got - wanted) <= tolerance))
		fail_msg("%.9g is not %.9g +- %g", got, wanted, tolerance);
}

/* From the tables of the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2. */
TEST(test_t_quantiles)
{
	static const struct {
		double tails, freedom, t;
	} table[] = {
		{ 0.05, 1, 12.706 },  { 0.05, 2, 4.303 },   { 0.05, 4, 2.776 },	 { 0.05, 9, 2.262 },
		{ 0.05, 29, 2.045 },  { 0.05, 100, 1.984 }, { 0.01, 1, 63.657 }, { 0.01, 5, 4.032 },
		{ 0.002, 3, 10.215 }, { 0.20, 10, 1.372 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_near(stats_t_quantile(table[i].tails, table[i].freedom), table[i].t, 0.0006);
		assert_near(stats_t_tails(stats_t_quantile(table[i].tails, table[i].freedom),
					  table[i].freedom),
			    table[i].tails, 1e-9);
	}
	assert_near(stats_t_quantile(0.05, 1e7), 1.959964, 1e-5);
	assert_near(stats_t_tails(0, 5), 1, 1e-12);
	assert_near(stats_t_tails(INFINITY, 5), 0, 0);
	/* With one degree of freedom it is Cauchy's. */
	assert_near(stats_t_tails(3, 1), 1 - 2 / M_PI * atan(3), 1e-12);
}

TEST(test_summary)
{
	const double x[] = { 10, 12, 11, 13, 14 };
	struct stats_summary s = stats_summarize(x, 4);

	assert_int_equal(s.n, 4);
	assert_near(s.mean, 11.5, 1e-12);
	assert_near(s.stddev, sqrt(5 / 3.), 1e-12);
	assert_near(s.min, 10, 0);
	assert_near(s.max, 13, 0);
	assert_near(s.half_width, 3.182446 * sqrt(5 / 12.), 1e-5);
	assert_near(s.autocorrelation, 0, 0);
	/* Values that resemble the one before say less. */
	s = stats_summarize(x, 5);
	assert_near(s.mean, 12, 1e-12);
	assert_true(s.autocorrelation > 0);
	assert_true(s.half_width > 2.776445 * sqrt(2.5 / 5));

	s = stats_summarize(x, 1);
	assert_near(s.mean, 10, 0);
	assert_near(s.stddev, 0, 0);
	assert_true(isinf(s.half_width));
	s = stats_summarize(NULL, 0);
	assert_near(s.mean, 0, 0);
	assert_true(isinf(s.half_width));
	s = stats_summarize((const double[]){ 7, 7, 7 }, 3);
	assert_near(s.half_width, 0, 0);
}

/* A run as a test makes it up: fills in its passes; their true mean is 100. */
typedef void synthetic_run(double *x, size_t passes);

static void independent(double *x, size_t passes)
{
	for (size_t i = 0; i < passes; i++)
		x[i] = 100 + 3 * normal();
}

/* Operations that depend on the one before, in one pass and on into the next. */
static void ar1_within(double *x, size_t passes)
{
	const double r = 0.9;
	double y = normal() / sqrt(1 - r * r);

	for (size_t i = 0; i < passes; i++) {
		double sum = 0;

		for (int op = 0; op < 150; op++) {
			y = r * y + normal();
			sum += y;
		}
		x[i] = 100 + sum / 150;
	}
}

/* Passes that depend on the one before. */
static void ar1_between(double *x, size_t passes)
{
	const double r = 0.5;
	double y = normal() / sqrt(1 - r * r);

	for (size_t i = 0; i < passes; i++) {
		y = r * y + normal();
		x[i] = 100 + y;
	}
}

/* How many of `runs` intervals hold the true mean, in percent. */
static double coverage(synthetic_run *run, size_t passes)
{
	unsigned covered = 0;

	for (unsigned i = 0; i < runs; i++) {
		double x[MAX_PASSES];
		struct stats_summary s;

		run(x, passes);
		s = stats_summarize(x, passes);
		covered += fabs(s.mean - 100) <= s.half_width;
	}
	return 100.0 * covered / runs;
}

TEST(test_coverage)
{
	static const size_t passes[] = { 3, 5, 8, 10, 20, 30 };

	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		assert_near(coverage(independent, passes[i]), 95, 2);
		assert_near(coverage(ar1_within, passes[i]), 95, 2);
	}
	assert_near(coverage(ar1_between, MAX_PASSES), 95, 2);
	assert_near(coverage(ar1_between, 30), 95, 3);
}

/* How many of `runs` runs are called that, in percent. */
static double share(synthetic_run *run, size_t passes, enum stats_change change)
{
	unsigned n = 0;

	for (unsigned i = 0; i < runs; i++) {
		double x[MAX_PASSES];

		run(x, passes);
		n += stats_stability(x, passes).change == change;
	}
	return 100.0 * n / runs;
}

static void step(double *x, size_t passes)
{
	independent(x, passes);
	for (size_t i = passes / 2; i < passes; i++)
		x[i] *= 0.7;
}

static void trend(double *x, size_t passes)
{
	independent(x, passes);
	for (size_t i = 0; i < passes; i++)
		x[i] *= 1 + 0.5 * (double)i / (double)(passes - 1);
}

static void slow_start(double *x, size_t passes)
{
	independent(x, passes);
	x[0] *= 0.62;
}

static void scattered(double *x, size_t passes)
{
	for (size_t i = 0; i < passes; i++)
		x[i] = 100 + 60 * (uniform() - 0.5) + (i % 2 ? 20 : -20);
}

TEST(test_stability)
{
	assert_true(share(independent, 3, STATS_STABLE) > 99);
	assert_true(share(independent, 10, STATS_STABLE) > 99);
	assert_true(share(independent, 50, STATS_STABLE) > 99);
	assert_true(share(step, 10, STATS_STABLE) < 0.1);
	assert_true(share(step, 10, STATS_STEP) > 95);
	assert_true(share(trend, 10, STATS_STABLE) < 0.1);
	assert_true(share(trend, 20, STATS_TREND) > 95);
	assert_true(share(slow_start, 10, STATS_ODD) > 95);
	assert_true(share(slow_start, 3, STATS_STABLE) < 0.1);
	assert_true(share(scattered, 10, STATS_STABLE) < 1);
}

TEST(test_stability_amounts)
{
	struct stats_stability s = stats_stability((const double[]){ 62, 100, 101, 99, 100 }, 5);

	assert_int_equal(s.change, STATS_ODD);
	assert_int_equal(s.at, 0);
	assert_near(s.amount, -0.38, 1e-12);
	s = stats_stability((const double[]){ 100, 160, 165 }, 3);
	assert_int_equal(s.change, STATS_ODD);
	assert_int_equal(s.at, 0);
	s = stats_stability((const double[]){ 100, 101, 99, 100, 120, 121, 119, 120 }, 8);
	assert_int_equal(s.change, STATS_STEP);
	assert_int_equal(s.at, 4);
	assert_near(s.amount, 0.2, 1e-12);
	s = stats_stability((const double[]){ 100, 110, 120, 130 }, 4);
	assert_int_equal(s.change, STATS_TREND);
	assert_near(s.amount, 0.3, 1e-12);
	s = stats_stability((const double[]){ 60, 140, 70, 130, 65, 150, 90, 110 }, 8);
	assert_int_equal(s.change, STATS_SCATTER);
	/* Beside values of 0 there is no relative change. */
	s = stats_stability((const double[]){ 0, 0, 0, 0, 8, 8, 8, 8 }, 8);
	assert_true(s.change != STATS_STEP && isfinite(s.amount));
	s = stats_stability((const double[]){ 0, 0, 0, 0, 0, 0, 7 }, 7);
	assert_int_equal(s.change, STATS_SCATTER);
	assert_true(isfinite(s.amount));
	s = stats_stability((const double[]){ 5, 5, 5 }, 3);
	assert_int_equal(s.change, STATS_STABLE);
	assert_int_equal(stats_stability((const double[]){ 1, 2 }, 2).change, STATS_STABLE);
	assert_int_equal(stats_stability((const double[]){ 0, 0, 0 }, 3).change, STATS_STABLE);
}

TEST(test_compare)
{
	double a[5], b[8];
	unsigned covered = 0, real = 0, missed = 0;
	struct stats_summary one = stats_summarize((const double[]){ 100 }, 1), sa, sb;
	struct stats_ratio r;

	for (unsigned i = 0; i < runs; i++) {
		independent(a, 5);
		independent(b, 8);
		sa = stats_summarize(a, 5);
		sb = stats_summarize(b, 8);
		r = stats_compare(&sa, 1, &sb, 1, STATS_LEVEL);
		covered += r.low <= 1 && r.high >= 1;
		real += r.chance < 0.05;
		for (int k = 0; k < 8; k++)
			b[k] *= 1.2;
		sb = stats_summarize(b, 8);
		r = stats_compare(&sa, 1, &sb, 1, STATS_LEVEL);
		missed += r.low <= 1;
		assert_true(r.low <= r.ratio && r.ratio <= r.high);
	}
	assert_near(100.0 * covered / runs, 95, 2);
	assert_int_equal(covered + real, runs);
	assert_true(missed < runs / 100);

	r = stats_compare(&one, 1, &sb, 1, STATS_LEVEL);
	assert_near(r.ratio, sb.mean / 100, 1e-12);
	assert_true(r.low == 0 && isinf(r.high));
	one.mean = 0;
	assert_true(isnan(stats_compare(&one, 1, &sb, 1, STATS_LEVEL).ratio));
	sa = stats_summarize((const double[]){ 5, 5 }, 2);
	r = stats_compare(&sa, 1, &sa, 1, STATS_LEVEL);
	assert_true(r.low == 1 && r.high == 1 && r.chance == 1);
}

/*
 * Worked by hand. Sides of 3 runs that deviate by 0 and 10 %, and by 0 and 8.3 %: Welch's interval.
 * Of 3 runs and one: the spread of the 3 is the spread of both.
 */
TEST(test_runs_by_hand)
{
	const struct stats_summary a[] = { { .n = 1, .mean = 100 },
					   { .n = 1, .mean = 110 },
					   { .n = 1, .mean = 90 } };
	const struct stats_summary b[] = { { .n = 1, .mean = 120 },
					   { .n = 1, .mean = 130 },
					   { .n = 1, .mean = 110 } };
	const double va = 0.01 / 3, vb = 2 / 144.0 / 2 / 3, sum = va + vb;
	const double freedom = sum * sum / (va * va / 2 + vb * vb / 2);
	double width = sqrt(sum) * stats_t_quantile(1 - STATS_LEVEL, freedom);
	struct stats_ratio r = stats_compare(a, 3, b, 3, STATS_LEVEL);

	assert_near(r.ratio, 1.2, 1e-12);
	assert_near(r.low, 1.2 * exp(-width), 1e-9);
	assert_near(r.high, 1.2 * exp(width), 1e-9);
	assert_near(r.chance, stats_t_tails(log(1.2) / sqrt(sum), freedom), 1e-9);
	r = stats_compare(a, 3, b, 1, STATS_LEVEL);
	width = sqrt(0.01 / 3 + 0.01) * stats_t_quantile(1 - STATS_LEVEL, 2);
	assert_near(r.low, 1.2 * exp(-width), 1e-9);
	assert_near(r.high, 1.2 * exp(width), 1e-9);
}

int main(void)
{
	const char *text = getenv("XDD_TEST_LONG");

	if (text && *text && *text != '0')
		runs = 10000;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
