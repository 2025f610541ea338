/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Simulated runs: how often the interval of -passes until covers the true mean, and what xdd
 * compare finds in pairs of runs that differ, and in pairs that do not. The generator is seeded,
 * so the values are the same in every run. XDD_TEST_LONG=1 simulates enough runs to hold the
 * figures that the documents promise; otherwise the limits are wider by three standard errors.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "chance.h"
#include "run/results/sums.h"
#include "xdd/stat/stats.h"

#define MAX_PASSES PLAN_UNTIL_DEFAULT_PASSES
#define MAX_RUNS 8

static unsigned simulations(unsigned quick, unsigned thorough)
{
	const char *text = getenv("XDD_TEST_LONG");

	return text && *text && *text != '0' ? thorough : quick;
}

/* Three standard errors of a share of `n`, in percent. */
static double tolerance(double percent, unsigned n)
{
	return 3 * sqrt(percent * (100 - percent) / n);
}

static int by_value(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

/*
 * A run until the interval is within `percent`; returns whether that covers the true mean, and the
 * passes.
 */
static int run_until(double percent, double spread, double dependence, double *passes)
{
	double x[MAX_PASSES], y = normal(), mean = 0;
	struct pass_series s = { .values = { [FIGURE_BANDWIDTH] = x } };

	while (s.n < MAX_PASSES && !series_is_known(&s, percent)) {
		x[s.n++] = 100 * (1 + spread * y);
		y = dependence * y + sqrt(1 - dependence * dependence) * normal();
	}
	for (size_t i = 0; i < s.n; i++)
		mean += x[i] / (double)s.n;
	*passes = (double)s.n;
	return fabs(mean - 100) <= series_percent(&s) / 100 * mean;
}

static double until_coverage(double percent, double spread, double dependence, unsigned n)
{
	double *passes = calloc(n, sizeof(*passes)), share;
	unsigned covered = 0;

	assert_non_null(passes);
	for (unsigned i = 0; i < n; i++)
		covered += run_until(percent, spread, dependence, &passes[i]) != 0;
	qsort(passes, n, sizeof(*passes), by_value);
	share = 100.0 * covered / n;
	print_message("# until %g, spread %g %%, dependence %g: %.0f passes, covers %.1f %%\n",
		      percent, 100 * spread, dependence, passes[n / 2], share);
	free(passes);
	return share;
}

TEST(test_until)
{
	static const double spreads[] = { 0.03, 0.05, 0.10 }, percents[] = { 2, 5, 10 };
	unsigned n = simulations(150, 8000);
	double over = n > 4000 ? 0 : tolerance(95, n), under = n > 4000 ? 0 : tolerance(90, n);

	for (int i = 0; i < 9; i++) {
		double spread = spreads[i / 3], percent = percents[i % 3], share;

		/* The short run leaves out the case that always takes MAX_PASSES. */
		if (n <= 4000 && 100 * spread > 4 * percent)
			continue;
		share = until_coverage(percent, spread, 0, n);
		assert_true(share >= 94 - over && share <= 96 + over);
		assert_true(until_coverage(percent, spread, 0.3, n) >= 90 - under);
		assert_true(until_coverage(percent, spread, 0.6, n) >= 90 - under);
	}
}

/* A run of `passes` whose mean is off by `offset` spreads. */
static struct stats_summary simulate(double mean, double spread, double offset, size_t passes)
{
	double x[MAX_PASSES];

	for (size_t i = 0; i < passes; i++)
		x[i] = mean * (1 + spread * (offset + normal()));
	return stats_summarize(x, passes);
}

/* The share of pairs of single runs with a difference of 5 % that is called real. */
static double power(double spread, size_t passes, unsigned pairs)
{
	unsigned found = 0;

	for (unsigned i = 0; i < pairs; i++) {
		struct stats_summary a = simulate(100, spread, 0, passes);
		struct stats_summary b = simulate(105, spread, 0, passes);

		found += stats_compare(&a, 1, &b, 1, STATS_LEVEL).low > 1;
	}
	return 100.0 * found / pairs;
}

/* More passes find no less. */
TEST(test_power)
{
	unsigned pairs = simulations(300, 3000);

	for (int percent = 1; percent <= 3; percent++) {
		double most = 0;

		for (size_t passes = 3; passes <= 30; passes += simulations(3, 1)) {
			double share = power(percent / 100.0, passes, pairs);

			print_message(
				"# spread %d %%, %zu passes: %.1f %% of the differences called "
				"real\n",
				percent, passes, share);
			assert_true(share >= most - 1.5 * tolerance(fmin(most, 98), pairs));
			most = fmax(most, share);
		}
		assert_true(most > 99);
	}
}

/* The share of intervals of a fixed number of passes that cover the true mean. */
static double fixed_coverage(double dependence, size_t passes, unsigned n)
{
	unsigned covered = 0;

	for (unsigned i = 0; i < n; i++) {
		double x[MAX_PASSES], y = normal();
		struct stats_summary s;

		for (size_t k = 0; k < passes; k++) {
			x[k] = 100 + y;
			y = dependence * y + sqrt(1 - dependence * dependence) * normal();
		}
		s = stats_summarize(x, passes);
		covered += fabs(s.mean - 100) <= s.half_width;
	}
	return 100.0 * covered / n;
}

TEST(test_fixed)
{
	unsigned n = simulations(400, 12000);
	double slack = n > 4000 ? 0 : tolerance(80, n), level = n > 4000 ? 0 : tolerance(95, n);

	for (size_t passes = 5; passes <= 30; passes += simulations(5, 1)) {
		double independent = fixed_coverage(0, passes, n),
		       dependent = fixed_coverage(0.6, passes, n);

		print_message("# %zu passes: covers %.1f %%, with a dependence of 0.6 %.1f %%\n",
			      passes, independent, dependent);
		assert_true(independent >= 94 - level && independent <= 97 + level);
		assert_true(dependent >= 80 - slack);
	}
}

/* The share of pairs of groups of runs that are called different. */
static double found_different(double difference, double offset, size_t runs_a, size_t runs_b,
			      size_t passes, unsigned pairs)
{
	unsigned found = 0;

	for (unsigned i = 0; i < pairs; i++) {
		struct stats_summary a[MAX_RUNS], b[MAX_RUNS];
		struct stats_ratio r;

		for (size_t k = 0; k < runs_a; k++)
			a[k] = simulate(100, 0.02, offset * normal(), passes);
		for (size_t k = 0; k < runs_b; k++)
			b[k] = simulate(100 * (1 + difference), 0.02, offset * normal(), passes);
		r = stats_compare(a, runs_a, b, runs_b, STATS_LEVEL);
		found += r.low > 1 || r.high < 1;
	}
	return 100.0 * found / pairs;
}

TEST(test_runs)
{
	static const struct {
		size_t a, b;
	} groups[] = { { 2, 2 }, { 3, 3 }, { 5, 5 }, { 1, 3 }, { 2, 5 }, { 3, 8 } };
	static const double offsets[] = { 0, 1, 4 };
	unsigned pairs = simulations(300, 10000);

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		for (size_t k = 0; k < 9; k++) {
			double offset = offsets[k % 3], share;
			size_t passes = k / 3 * 4 + 1;

			share = found_different(0, offset, groups[i].a, groups[i].b, passes, pairs);
			print_message(
				"# %zu runs against %zu of %zu passes, offset %g: %.1f %% called "
				"different\n",
				groups[i].a, groups[i].b, passes, offset, share);
			assert_true(share <= 6 + (pairs > 4000 ? 0 : tolerance(5, pairs)));
		}
	}
	/*
	 * Of two single runs, that is what an offset looks like; and differences are still found.
	 */
	assert_true(found_different(0, 1, 1, 1, 10, pairs) > 40);
	assert_true(found_different(0.05, 0, 3, 3, 10, pairs) > 99);
	assert_true(found_different(0.05, 0.3, 5, 5, 10, pairs) > 99);
	assert_true(found_different(0.20, 1, 3, 3, 10, pairs) > 99);
	assert_true(found_different(0.20, 1, 1, 5, 10, pairs) > 99);
}

RUN_TESTS(NULL, NULL)
