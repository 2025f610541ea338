/*
 * The verdicts of xdd compare and the limits of -failif on simulated runs: latencies of
 * operations, and the figures of passes made of them. The generator is seeded. XDD_TEST_LONG=1
 * simulates more pairs of runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "xdd/report/compare.h"
#include "xdd/stat/histogram.h"

#define OPS 500
#define PASSES 5
#define MANY 6

static uint64_t drawn;

/* Uniform between 0 and 1, neither included. */
static double uniform(void)
{
	uint64_t x = drawn++ * 0x9e3779b97f4a7c15ull + 0xc0de;

	/* The finaliser of SplitMix64. */
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(2 * M_PI * uniform());
}

static int by_value(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

/* The time that `percent` of the operations do not exceed, as a histogram has it. */
static double percentile(const double *sorted, double percent)
{
	size_t rank = (size_t)ceil(OPS * percent / 100);

	return (double)histogram_bucket_value(histogram_bucket((uint64_t)sorted[rank - 1]));
}

/*
 * One pass of operations whose times are `factor` times as long: one in 200 takes far longer than
 * the others.
 */
static void simulate_pass(double figures[FIGURE_COUNT], double factor)
{
	double ns[OPS], sum = 0, speed = factor * exp(0.02 * normal());

	for (int i = 0; i < OPS; i++) {
		ns[i] = 1e5 * speed * exp(0.3 * normal());
		if (uniform() < 0.005)
			ns[i] *= 5 + 20 * uniform();
		sum += ns[i];
	}
	qsort(ns, OPS, sizeof(ns[0]), by_value);
	figures[FIGURE_BANDWIDTH] = 4096 * OPS / sum * 1e9;
	figures[FIGURE_IOPS] = OPS / sum * 1e9;
	figures[FIGURE_LATENCY] = sum / OPS;
	figures[FIGURE_P50] = percentile(ns, 50);
	figures[FIGURE_P99] = percentile(ns, 99);
	figures[FIGURE_P999] = percentile(ns, 99.9);
}

/* The part of a document that is compared; to be released. */
static json_t *simulate_run(double factor, size_t passes)
{
	json_t *statistic = json_object(), *numbers = json_array();

	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++)
		json_object_set_new(statistic, figure_name(i), json_pack("{s:[]}", "values"));
	for (size_t pass = 1; pass <= passes; pass++) {
		double figures[FIGURE_COUNT];

		simulate_pass(figures, factor);
		for (enum pass_figure i = 0; i < FIGURE_COUNT; i++)
			json_array_append_new(
				json_object_get(json_object_get(statistic, figure_name(i)),
						"values"),
				json_real(figures[i]));
		json_array_append_new(numbers, json_integer((json_int_t)pass));
	}
	json_object_set_new(statistic, "target", json_null());
	json_object_set_new(statistic, "passes", numbers);
	return json_pack("{s:[o]}", "statistics", statistic);
}

/* How many of all figures of two such runs differ, and how a limit is judged. */
static unsigned compare_runs(double factor, size_t passes, const char *limit,
			     enum compare_limit_state *state)
{
	struct compare_run run_a = { .root = simulate_run(1, passes) },
			   run_b = { .root = simulate_run(factor, passes) };
	struct compare_side a = { "a", &run_a, 1 }, b = { "b", &run_b, 1 };
	const struct compare_subject subject = { .target = -1, .a = &a, .b = &b };
	struct compare_limit parsed;
	const char *why = NULL;
	unsigned real = 0;

	assert_true(compare_limit_parse(&parsed, limit));
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++) {
		struct compare_figure f = compare_judge(&subject, i, 1);

		real += f.verdict == COMPARE_REAL;
		if (i == parsed.figure)
			*state = compare_limit_check(&parsed, &f, &why);
	}
	json_decref(run_a.root);
	json_decref(run_b.root);
	return real;
}

/* A document whose runs have these bandwidths in their passes. */
static json_t *run_of(double first, double second)
{
	return json_pack("{s:[{s:n, s:[i,i], s:{s:[f,f]}}]}", "statistics", "target", "passes", 1,
			 2, "bandwidth", "values", first, second);
}

/* The means of both sides, which are over runs, whatever the number of passes. */
static void test_means(void **state)
{
	struct compare_run runs[] = {
		{ .root = run_of(90, 110) },
		{ .root = run_of(310, 290) },
		{ .root = run_of(500, 502) },
		{ .root = json_pack("{s:[]}", "statistics") },
	};
	struct compare_side a = { "a", runs, 2 }, b = { "b", runs + 2, 1 };
	struct compare_side without = { "c", runs + 2, 2 };
	const struct compare_subject subject = { .target = -1, .a = &a, .b = &b };
	const struct compare_subject missing = { .target = -1, .a = &a, .b = &without };
	struct compare_figure f = compare_judge(&subject, FIGURE_BANDWIDTH, 1);

	(void)state;
	assert_true(fabs(f.a - 200) < 1e-9);
	assert_true(fabs(f.b - 501) < 1e-9);
	f = compare_judge(&missing, FIGURE_BANDWIDTH, 1);
	assert_int_equal(f.verdict, COMPARE_NO_FIGURE);
	f = compare_judge(&subject, FIGURE_IOPS, 1);
	assert_int_equal(f.verdict, COMPARE_NO_FIGURE);
	for (size_t i = 0; i < 4; i++)
		json_decref(runs[i].root);
}

/* A run whose passes have a bandwidth from `from` on, more by `step` each time. */
static struct compare_run trend(double from, double step)
{
	json_t *values = json_array(), *passes = json_array();

	for (int i = 0; i < 10; i++) {
		/* No two passes are equal. */
		json_array_append_new(values, json_real(from + step * i + (i % 2 ? 0.5 : -0.5)));
		json_array_append_new(passes, json_integer(i + 1));
	}
	return (struct compare_run){ .root = json_pack("{s:[{s:n, s:o, s:{s:o}}]}", "statistics",
						       "target", "passes", passes, "bandwidth",
						       "values", values) };
}

static enum compare_verdict verdict(struct compare_run *a, size_t n_a, struct compare_run *b,
				    size_t n_b)
{
	struct compare_side side_a = { "a", a, n_a }, side_b = { "b", b, n_b };
	const struct compare_subject subject = { .target = -1, .a = &side_a, .b = &side_b };

	return compare_judge(&subject, FIGURE_BANDWIDTH, 1).verdict;
}

/*
 * A run alone that changes by as much as the sides differ makes the difference a matter of when it
 * was made, on whichever side it is.
 */
static void test_unstable(void **state)
{
	struct compare_run rises[MANY], near[MANY], far = trend(400, 0), same = trend(145, 0);

	(void)state;
	for (int i = 0; i < MANY; i++) {
		rises[i] = trend(100 + i, 10);
		near[i] = trend(255 + i, 0);
	}
	assert_int_equal(verdict(rises, 1, near, 1), COMPARE_UNSTABLE);
	assert_int_equal(verdict(near, 1, rises, 1), COMPARE_UNSTABLE);
	assert_int_equal(verdict(rises, 1, &far, 1), COMPARE_REAL);
	assert_int_equal(verdict(rises, 1, &same, 1), COMPARE_CHANCE);
	assert_int_equal(verdict(near, 1, near, 1), COMPARE_CHANCE);
	assert_int_equal(verdict(near, 1, &far, 1), COMPARE_REAL);
	/* Several runs show it in their spread. */
	assert_int_equal(verdict(rises, MANY, near, MANY), COMPARE_REAL);
	for (int i = 0; i < MANY; i++) {
		json_decref(rises[i].root);
		json_decref(near[i].root);
	}
	json_decref(far.root);
	json_decref(same.root);
}

/* The figure that a limit on `figure` means; -1: the subject has none. */
static int limited(enum compare_kind kind, enum pass_figure figure)
{
	const struct compare_subject subject = { .kind = kind };

	return compare_limit_figure(&subject, &figure) ? (int)figure : -1;
}

static void test_limit_figures(void **state)
{
	(void)state;
	assert_int_equal(limited(COMPARE_LOOP, FIGURE_BANDWIDTH), FIGURE_BANDWIDTH);
	assert_int_equal(limited(COMPARE_LOOP, FIGURE_P99), FIGURE_P99);
	assert_int_equal(limited(COMPARE_LOOP, FIGURE_RESPONSE), -1);
	assert_int_equal(limited(COMPARE_LOOP, FIGURE_RESPONSE_P99), -1);
	assert_int_equal(limited(COMPARE_LOAD, FIGURE_P99), FIGURE_RESPONSE_P99);
	assert_int_equal(limited(COMPARE_LOAD, FIGURE_LATENCY), FIGURE_RESPONSE);
	assert_int_equal(limited(COMPARE_LOAD, FIGURE_BANDWIDTH), FIGURE_BANDWIDTH);
	assert_int_equal(limited(COMPARE_LOAD, FIGURE_RESPONSE), FIGURE_RESPONSE);
	assert_int_equal(limited(COMPARE_LOAD, FIGURE_KNEE), -1);
	assert_int_equal(limited(COMPARE_CURVE, FIGURE_KNEE), FIGURE_KNEE);
	assert_int_equal(limited(COMPARE_CURVE, FIGURE_BANDWIDTH), -1);
	assert_int_equal(limited(COMPARE_CURVE, FIGURE_ALL), FIGURE_ALL);
}

static unsigned pairs(void)
{
	const char *text = getenv("XDD_TEST_LONG");

	return text && *text && *text != '0' ? 3000 : 200;
}

/* Equal runs: six figures, and at most 6 of 100 pairs in which any is called different. */
static void test_equal_runs(void **state)
{
	enum compare_limit_state limit;
	unsigned n = pairs(), different = 0;

	(void)state;
	for (unsigned i = 0; i < n; i++)
		different += compare_runs(1, PASSES, "latency+0%", &limit) > 0;
	print_message("# %.1f %% of equal runs are called different\n", 100.0 * different / n);
	assert_true(100.0 * different / n <= 6 + 300 * sqrt(0.06 * 0.94 / n) * (n < 1000));
}

/* In how many of 100 pairs the limit is in that state. */
static double share(double factor, size_t passes, const char *limit,
		    enum compare_limit_state wanted)
{
	unsigned n = pairs(), found = 0;

	for (unsigned i = 0; i < n; i++) {
		enum compare_limit_state state = COMPARE_UNDECIDED;

		compare_runs(factor, passes, limit, &state);
		found += state == wanted;
	}
	print_message("# times %g, %zu passes, %s: %.1f %% %s\n", factor, passes, limit,
		      100.0 * found / n,
		      wanted == COMPARE_WITHIN	 ? "within" :
		      wanted == COMPARE_EXCEEDED ? "exceeded" :
						   "undecided");
	return 100.0 * found / n;
}

/* A limit neither fails by chance nor passes for want of data. */
static void test_limits(void **state)
{
	(void)state;
	assert_true(share(1, 10, "p50+10%", COMPARE_WITHIN) > 99);
	assert_true(share(1.2, 10, "p50+10%", COMPARE_EXCEEDED) > 99);
	assert_true(share(1.2, 10, "bandwidth-10%", COMPARE_EXCEEDED) > 99);
	assert_true(share(0.8, 25, "p50+10%", COMPARE_WITHIN) > 99);
	assert_true(share(1, 10, "latency+0%", COMPARE_EXCEEDED) < 6);
	assert_true(share(1.08, 10, "p50+0%", COMPARE_EXCEEDED) > 95);
	assert_true(share(1, 1, "p50+10%", COMPARE_UNDECIDED) > 99);
	assert_true(share(1.5, 2, "p50+3%", COMPARE_WITHIN) < 1);
	/* The longest of 500 operations scatters by far more than 10 %. */
	assert_true(share(1, 5, "p99.9+10%", COMPARE_UNDECIDED) > 99);
	assert_true(share(1.2, 5, "p99.9+10%", COMPARE_WITHIN) < 1);
}

/* ---- sweeps ---- */

#define SWEEPS 1000
#define POINTS 12
#define ROUNDS 10

/* A point as a sweep's document has it: the bandwidth only, which scatters by 5 %. */
static json_t *simulate_point(unsigned number)
{
	json_t *values = json_array(), *rounds = json_array();

	for (json_int_t i = 1; i <= ROUNDS; i++) {
		json_array_append_new(values,
				      json_real(1e8 * (1 + number) * (1 + 0.05 * normal())));
		json_array_append_new(rounds, json_integer(i));
	}
	return json_pack("{s:{s:i}, s:[{s:n, s:o, s:{s:o}}]}", "varied", "depth", (int)number,
			 "statistics", "target", "passes", rounds, "bandwidth", "values", values);
}

static json_t *simulate_sweep(bool backwards)
{
	json_t *points = json_array();

	for (unsigned i = 0; i < POINTS; i++)
		json_array_append_new(points, simulate_point(backwards ? POINTS - 1 - i : i));
	return json_pack("{s:o}", "points", points);
}

/*
 * Equal sweeps: in at most 5 of 100 any point is called different, and of all points no more than
 * the level allows each. Points are matched by their values, in whatever order they are.
 */
static void test_equal_sweeps(void **state)
{
	unsigned sweeps = 0, differ = 0;
	double share;

	(void)state;
	for (unsigned i = 0; i < SWEEPS; i++) {
		struct compare_run run_a = { .root = simulate_sweep(false) },
				   run_b = { .root = simulate_sweep(true) };
		struct compare_side a = { "a", &run_a, 1 }, b = { "b", &run_b, 1 };
		struct compare_points points;
		unsigned real = 0;

		assert_true(compare_sweep_points(&a, &b, &points));
		assert_int_equal(points.n, POINTS);
		assert_int_equal(points.left_out, 0);
		for (size_t k = 0; k < points.n; k++) {
			const struct compare_subject *s = &points.subjects[k];
			const struct compare_figure f =
				compare_judge(s, FIGURE_BANDWIDTH, points.n);

			assert_true(f.ratio.ratio > 0.8 && f.ratio.ratio < 1.25);
			real += f.verdict == COMPARE_REAL || f.verdict == COMPARE_UNSTABLE;
		}
		differ += real;
		sweeps += real > 0;
		compare_sweep_free(&points);
		json_decref(run_a.root);
		json_decref(run_b.root);
	}
	share = 0.05 / POINTS;
	print_message("# %u of %d equal sweeps, and %u of %d points\n", sweeps, SWEEPS, differ,
		      SWEEPS * POINTS);
	assert_true(sweeps <= 0.05 * SWEEPS + 3 * sqrt(0.05 * 0.95 * SWEEPS));
	assert_true(differ <= share * SWEEPS * POINTS + 3 * sqrt(share * SWEEPS * POINTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_means),	      cmocka_unit_test(test_unstable),
		cmocka_unit_test(test_limit_figures), cmocka_unit_test(test_equal_runs),
		cmocka_unit_test(test_limits),	      cmocka_unit_test(test_equal_sweeps),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
