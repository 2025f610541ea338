/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics over passes: quantiles against tables, and Monte-Carlo tests of the intervals and of
 * what is called unstable. The generator is seeded: the same values in every run.
 */
#include "unit.h"

#include <math.h>
#include <stdbool.h>
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

/* Student's t of 1 to 5 degrees of freedom in closed form: Abramowitz and Stegun 26.7.3, 26.7.4. */
static double tails_by_hand(double t, int freedom)
{
	const double angle = atan(t / sqrt(freedom)), s = sin(angle), c = cos(angle);

	switch (freedom) {
	case 1:
		return 1 - 2 / M_PI * angle;
	case 2:
		return 1 - s;
	case 3:
		return 1 - 2 / M_PI * (angle + s * c);
	case 4:
		return 1 - s * (1 + c * c / 2);
	default:
		return 1 - 2 / M_PI * (angle + s * (c + 2.0 / 3 * c * c * c));
	}
}

TEST(test_t_tails)
{
	static const double t[] = { 0.01, 0.3, 1, 1.7, 2.5, 4, 9, 40 };

	for (int freedom = 1; freedom <= 5; freedom++) {
		for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
			double wanted = tails_by_hand(t[i], freedom);

			assert_near(stats_t_tails(t[i], freedom), wanted, 1e-13);
			assert_near(stats_t_quantile(wanted, freedom), t[i], 1e-6 * t[i]);
		}
	}
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

/* Series whose autocorrelation is about 0, negative, the most that is used, and between. */
static double mixed(size_t i)
{
	return 100 + (double)(i * i * 7 % 11);
}

static double alternating(size_t i)
{
	return 100 + (i % 2 ? 3 : -3) + (double)(i % 3);
}

static double rising(size_t i)
{
	return 100 + (double)i;
}

static double in_steps(size_t i)
{
	return 100 + (double)(i / 3 % 2 * 5) + (double)(i * 5 % 3);
}

/* The formulas of the header, evaluated with 40 digits. */
TEST(test_dependence)
{
	static const struct {
		double (*value)(size_t);
		size_t n;
		double autocorrelation, effective, half_width, until;
	} cases[] = {
		{ mixed, 2, 0.0, 2.0, 44.4717165766, 44.4717165766 },
		{ mixed, 4, 0.0, 4.0, 5.71881852478, 5.71881852478 },
		{ mixed, 5, 0.00635593220339, 4.93684210526, 4.32667182795, 4.32667182795 },
		{ mixed, 6, -0.090034965035, 7.18731988473, 3.56744712781, 3.56744712781 },
		{ mixed, 17, -0.292180060631, 31.0348152248, 1.26728984145, 1.26728984145 },
		{ mixed, 18, -0.189574796688, 26.4211259137, 1.3911589661, 1.3911589661 },
		{ mixed, 19, -0.246083504327, 31.4034600889, 1.28030050874, 1.60526950563 },
		{ mixed, 40, -0.299638221308, 74.2266788879, 0.764995561212, 0.829832489318 },
		{ alternating, 5, -0.075, 5.81081081081, 3.52623143512, 3.52623143512 },
		{ alternating, 6, -0.1, 7.33333333333, 3.17580357206, 3.17580357206 },
		{ alternating, 17, -0.375, 37.4, 1.06800301314, 1.06800301314 },
		{ alternating, 18, -0.4, 42.0, 1.02445040352, 1.02445040352 },
		{ alternating, 19, -0.4, 44.3333333333, 1.00701125331, 1.26261330503 },
		{ alternating, 40, -0.4, 93.3333333333, 0.649633647515, 0.704693117446 },
		{ rising, 5, 0.178125, 3.48806366048, 3.21595604712, 3.21595604712 },
		{ rising, 6, 0.2375, 3.69696969697, 3.5301753027, 3.5301753027 },
		{ rising, 17, 0.890625, 3.4, 11.6482633264, 11.6482633264 },
		{ rising, 18, 0.95, 3.6, 11.1911912774, 11.1911912774 },
		{ rising, 19, 0.95, 3.8, 10.8508541473, 16.833655474 },
		{ rising, 40, 0.95, 8.0, 10.3168407829, 11.4449587601 },
		{ in_steps, 5, 0.178125, 3.48806366048, 5.92992994982, 5.92992994982 },
		{ in_steps, 6, 0.2375, 3.69696969697, 5.4362734779, 5.4362734779 },
		{ in_steps, 17, 0.406626050783, 7.17131403266, 2.57640400415, 2.57640400415 },
		{ in_steps, 18, 0.488935333169, 6.17835026009, 2.94035966648, 2.94035966648 },
		{ in_steps, 19, 0.383846586515, 8.45969124779, 2.28855891942, 3.00295815938 },
		{ in_steps, 40, 0.318559090775, 20.6722903507, 1.22568256415, 1.33540684387 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const double effective = cases[i].effective, n = (double)cases[i].n;
		double x[MAX_PASSES];
		struct stats_summary s;

		for (size_t k = 0; k < cases[i].n; k++)
			x[k] = cases[i].value(k);
		s = stats_summarize(x, cases[i].n);
		assert_near(s.autocorrelation, cases[i].autocorrelation, 1e-10);
		assert_near(s.effective, effective, 1e-9);
		assert_near(s.freedom, fmin(effective, n) - 1, 1e-9);
		assert_near(s.error, s.stddev * sqrt((n - 1) / n / (effective - 1)), 1e-9);
		assert_near(s.half_width, cases[i].half_width, 1e-9);
		assert_near(stats_until_half_width(x, cases[i].n), cases[i].until, 1e-9);
	}
	assert_near(stats_until_half_width((const double[]){ 7, 7, 7 }, 3), 0, 0);
	for (size_t n = STATS_UNTIL_MIN; n <= MAX_PASSES; n += MAX_PASSES - STATS_UNTIL_MIN) {
		double same[MAX_PASSES];

		for (size_t k = 0; k < n; k++)
			same[k] = 7;
		assert_near(stats_until_half_width(same, n), 0, 0);
	}
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

/*
 * Series that are nearly decided otherwise: by the chance of a model, by the amount of the change,
 * by the scatter of all values, and by the share of it that one value causes. Each model by the
 * squares that it leaves, evaluated with 15 digits.
 */
TEST(test_stability_limits)
{
	static const struct {
		double x[9];
		size_t n;
		enum stats_change change;
		size_t at;
		double amount;
	} cases[] = {
		{ { 21, 22, 22, 19, 17, 19, 19, 23 }, 8, STATS_SCATTER, 0, 0.1013764223 },
		{ { 1163, 1159, 1158, 1037 }, 4, STATS_ODD, 3, -0.1060344828 },
		{ { 56, 39, 52, 53, 51, 52 }, 6, STATS_ODD, 1, -0.2613636364 },
		{ { 19, 26, 20, 17 }, 4, STATS_SCATTER, 0, 0.1889260169 },
		{ { 1000, 1000, 998, 1000, 999, 1080, 1082, 1080, 1080 },
		  9,
		  STATS_STEP,
		  5,
		  0.08114868921 },
		{ { 49, 41, 52, 46 }, 4, STATS_STABLE, 0, 0 },
		{ { 88, 98, 108, 87 }, 4, STATS_SCATTER, 0, 0.1033556565 },
		{ { 963, 841, 1082, 1082, 1081, 1082 }, 6, STATS_STABLE, 0, 0 },
		{ { 50, 37, 52, 47 }, 4, STATS_ODD, 1, -0.255033557 },
		{ { 102, 117, 120, 115, 119, 120, 119, 115 }, 8, STATS_STABLE, 0, 0 },
		{ { 101, 81, 102, 102 }, 4, STATS_ODD, 1, -0.2032786885 },
		{ { 22, 21, 21 }, 3, STATS_STABLE, 0, 0 },
		{ { 52, 50, 47, 42, 41, 41, 40, 39, 36 }, 9, STATS_TREND, 0, -0.295254833 },
		{ { 48, 52, 48, 56, 56, 55, 56, 55 }, 8, STATS_STABLE, 0, 0 },
		{ { 98, 98, 101, 119, 123 }, 5, STATS_STEP, 3, 0.2222222222 },
		{ { 103, 103, 121, 101, 99, 101 }, 6, STATS_ODD, 2, 0.1932938856 },
		{ { 97, 97, 102, 102, 101 }, 5, STATS_STABLE, 0, 0 },
		{ { 97, 106, 109, 113, 122 }, 5, STATS_TREND, 0, 0.2326530612 },
		{ { 81, 86, 105, 93, 91, 111, 109, 114, 112 }, 9, STATS_SCATTER, 0, 0.1249000958 },
		{ { 103, 107, 110, 113, 121 }, 5, STATS_STABLE, 0, 0 },
		{ { 17, 19, 23, 17, 18, 17 }, 6, STATS_SCATTER, 0, 0.1267679935 },
		{ { 103, 103, 97, 98, 99, 98, 97, 97 }, 8, STATS_STEP, 2, -0.05177993528 },
		{ { 100, 99, 100, 100, 105, 104 }, 6, STATS_STABLE, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stats_stability s = stats_stability(cases[i].x, cases[i].n);

		assert_int_equal(s.change, cases[i].change);
		assert_int_equal(s.at, cases[i].at);
		assert_near(s.amount, cases[i].amount, 1e-9);
	}
}

TEST(test_drift)
{
	static const struct {
		double x[9];
		size_t n;
		bool known, drifts;
		double amount;
	} cases[] = {
		{ { 101, 96, 94, 87 }, 4, false, false, 0 },
		{ { 0, 0, 0, 0, 0 }, 5, false, false, 0 },
		/* By chance in 4.3 %, 4.7 %, 5.2 % and 5.7 % of all series. */
		{ { 52, 49, 50, 47, 44, 47 }, 6, true, true, -0.1198884758 },
		{ { 48, 48, 45, 46, 44 }, 5, true, true, -0.08298755187 },
		{ { 51, 52, 51, 54, 56 }, 5, true, false, 0.09523809524 },
		{ { 21, 21, 24, 23, 26, 24 }, 6, true, false, 0.1963882619 },
		/* A change of about 5 %. */
		{ { 98, 102, 101, 104, 103, 104 }, 6, true, true, 0.05172413793 },
		{ { 102, 100, 99, 97, 97 }, 5, true, true, -0.05118110236 },
		{ { 100, 99, 100, 98, 95, 96 }, 6, true, false, -0.04836415363 },
		{ { 102, 101, 100, 102, 102, 104, 104, 104, 106 }, 9, true, false, 0.04646017699 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stats_drift d = stats_drift(cases[i].x, cases[i].n);

		assert_int_equal(d.known, cases[i].known);
		assert_int_equal(d.drifts, cases[i].drifts);
		assert_near(d.amount, cases[i].amount, 1e-9);
	}
}

TEST(test_steady)
{
	static const struct {
		double x[8];
		size_t n, after;
		double range, slope;
	} cases[] = {
		{ { 100, 100, 100, 100 }, 4, 0, NAN, NAN },
		{ { 0, 0, 0, 0, 0 }, 5, 0, NAN, NAN },
		/* A range of 20 % and a bit more, with the odd value at either end. */
		{ { 90, 110, 100, 100, 100 }, 5, 5, 0.2, 0.04 },
		{ { 100, 100, 100, 110, 90 }, 5, 5, 0.2, -0.04 },
		{ { 89, 110, 101, 100, 100 }, 5, 0, 0.21, 0.048 },
		/* A slope of 10 %, and a bit more. */
		{ { 95, 97.5, 100, 102.5, 105 }, 5, 5, 0.1, 0.1 },
		{ { 105, 102.5, 100, 97.5, 95 }, 5, 5, 0.1, -0.1 },
		{ { 94, 97.5, 100, 102.5, 106 }, 5, 0, 0.12, 0.116 },
		{ { 106, 102.5, 100, 97.5, 94 }, 5, 0, 0.12, -0.116 },
		/* The first window that is steady, or the last one. */
		{ { 10, 50, 100, 100, 101, 100, 99, 10 }, 8, 7, 0.02, -0.008 },
		{ { 10, 50, 100, 100, 100, 100, 75 }, 7, 0, 25 / 95.0, -20 / 95.0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stats_steady s = stats_steady(cases[i].x, cases[i].n);

		assert_int_equal(s.reached, cases[i].after != 0);
		assert_int_equal(s.after, cases[i].after);
		assert_int_equal(isnan(s.range), isnan(cases[i].range));
		if (isnan(s.range))
			continue;
		assert_near(s.range, cases[i].range, 1e-12);
		assert_near(s.slope, cases[i].slope, 1e-12);
	}
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
	/* Of no run at all nothing is known. */
	assert_true(isnan(stats_compare(&sa, 0, &sb, 1, STATS_LEVEL).ratio));
	assert_true(isinf(stats_compare(&sa, 1, &sb, 0, STATS_LEVEL).high));
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

/*
 * Sides whose spread between runs is more than inside them, and the other way round; evaluated with
 * 25 digits. Of the sides that are unequal, the fourth and the fifth group take Welch's interval,
 * others the pooled one.
 */
TEST(test_runs_of_both_kinds)
{
	static const struct {
		struct stats_summary a[3];
		size_t n_a;
		struct stats_summary b[4];
		size_t n_b;
		double level, low, high, chance;
	} cases[] = {
		{ { { .mean = 103, .error = 1, .freedom = 7, .n = 8 } },
		  1,
		  { { .mean = 103, .error = 5.5, .freedom = 4.5, .n = 8 } },
		  1,
		  0.95,
		  0.8682376167,
		  1.151758437,
		  1 },
		{ { { .mean = 98, .error = 1, .freedom = 4.5, .n = 8 } },
		  1,
		  { { .mean = 111, .error = 13.5, .freedom = 3, .n = 1 },
		    { .mean = 106, .error = 1.5, .freedom = 3, .n = 8 } },
		  2,
		  0.95,
		  0.6667705526,
		  1.838361489,
		  0.2378905636 },
		{ { { .mean = 103, .error = 1.5, .freedom = 4.5, .n = 8 },
		    { .mean = 104, .error = 0.5, .freedom = 7, .n = 8 } },
		  2,
		  { { .mean = 110, .error = 2, .freedom = 7, .n = 1 } },
		  1,
		  0.9,
		  0.9962130936,
		  1.1338417,
		  0.1061176704 },
		{ { { .mean = 100, .error = 9, .freedom = 7, .n = 1 },
		    { .mean = 97, .error = 5, .freedom = 3, .n = 1 } },
		  2,
		  { { .mean = 109, .error = 7.5, .freedom = 7, .n = 8 },
		    { .mean = 103, .error = 1, .freedom = 3, .n = 8 } },
		  2,
		  0.9,
		  0.9165278305,
		  1.263553435,
		  0.2560330718 },
		{ { { .mean = 102, .error = 1.5, .freedom = 4.5, .n = 1 },
		    { .mean = 104, .error = 2, .freedom = 4.5, .n = 8 } },
		  2,
		  { { .mean = 108, .error = 5.5, .freedom = 3, .n = 8 },
		    { .mean = 106, .error = 6.5, .freedom = 7, .n = 8 } },
		  2,
		  0.95,
		  0.6918581698,
		  1.559825559,
		  0.5093694485 },
		{ { { .mean = 99, .error = 0.5, .freedom = 4.5, .n = 1 },
		    { .mean = 102, .error = 2, .freedom = 7, .n = 1 },
		    { .mean = 104, .error = 1, .freedom = 7, .n = 1 } },
		  3,
		  { { .mean = 110, .error = 7.5, .freedom = 4.5, .n = 1 },
		    { .mean = 106, .error = 1.5, .freedom = 7, .n = 8 } },
		  2,
		  0.9,
		  0.9955100844,
		  1.133560432,
		  0.113586837 },
		{ { { .mean = 98, .error = 0.5, .freedom = 3, .n = 1 },
		    { .mean = 99, .error = 1, .freedom = 7, .n = 8 } },
		  2,
		  { { .mean = 106, .error = 2, .freedom = 3, .n = 8 },
		    { .mean = 110, .error = 0.5, .freedom = 3, .n = 8 },
		    { .mean = 107, .error = 0.5, .freedom = 7, .n = 8 },
		    { .mean = 103, .error = 2, .freedom = 3, .n = 8 } },
		  4,
		  0.95,
		  1.021211234,
		  1.144751367,
		  0.01915211153 },
		{ { { .mean = 97, .error = 2, .freedom = 7, .n = 8 },
		    { .mean = 104, .error = 2, .freedom = 4.5, .n = 8 } },
		  2,
		  { { .mean = 109, .error = 14.5, .freedom = 3, .n = 8 },
		    { .mean = 101, .error = 12, .freedom = 7, .n = 1 },
		    { .mean = 105, .error = 11, .freedom = 3, .n = 8 },
		    { .mean = 111, .error = 5.5, .freedom = 4.5, .n = 8 } },
		  4,
		  0.9,
		  0.9363032391,
		  1.199362777,
		  0.3682943912 },
		{ { { .mean = 99, .error = 1.5, .freedom = 3, .n = 8 },
		    { .mean = 101, .error = 3, .freedom = 3, .n = 8 },
		    { .mean = 103, .error = 0.5, .freedom = 3, .n = 8 } },
		  3,
		  { { .mean = 105, .error = 0.5, .freedom = 3, .n = 1 },
		    { .mean = 106, .error = 1.5, .freedom = 3, .n = 8 },
		    { .mean = 100, .error = 0.5, .freedom = 7, .n = 8 },
		    { .mean = 101, .error = 0.5, .freedom = 7, .n = 8 } },
		  4,
		  0.9,
		  0.9806514117,
		  1.060515558,
		  0.3591363887 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stats_ratio r = stats_compare(cases[i].a, cases[i].n_a, cases[i].b,
						     cases[i].n_b, cases[i].level);

		assert_near(r.low, cases[i].low, 1e-8);
		assert_near(r.high, cases[i].high, 1e-8);
		assert_near(r.chance, cases[i].chance, 1e-8);
	}
}

int main(void)
{
	const char *text = getenv("XDD_TEST_LONG");

	if (text && *text && *text != '0')
		runs = 10000;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
