/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdicts of xdd compare and the limits of -failif on simulated runs: latencies of
 * operations, and the figures of passes made of them. The generator is seeded. XDD_TEST_LONG=1
 * simulates more pairs of runs.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "xdd/report/compare.h"
#include "xdd/stat/histogram.h"

#define OPS 500
#define PASSES 5
#define MANY 6

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

/* The figures of a run, as its document has them. */
#define MOST_PASSES 30
struct run {
	struct document_statistic s;
	double values[FIGURE_COUNT][MOST_PASSES];
};

static void set_run(struct run *r, size_t passes)
{
	static const uint64_t numbers[MOST_PASSES];

	assert_true(passes <= MOST_PASSES);
	r->s = (struct document_statistic){
		.target = DOCUMENT_ALL, .passes = numbers, .n = passes, .not_reproducible = ""
	};
}

static void set_figure(struct run *r, enum pass_figure figure)
{
	r->s.figures[figure] = (struct document_figure){ .values = r->values[figure], .n = r->s.n };
}

static void simulate_run(struct run *r, double factor, size_t passes)
{
	set_run(r, passes);
	for (size_t pass = 0; pass < passes; pass++) {
		double figures[FIGURE_COUNT];

		simulate_pass(figures, factor);
		for (enum pass_figure i = 0; i < FIGURE_COUNT; i++)
			r->values[i][pass] = figures[i];
	}
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++)
		set_figure(r, i);
}

/* Judge a figure of `n_a` runs and `n_b` runs. */
static struct compare_figure judge(const struct run *a, size_t n_a, const struct run *b, size_t n_b,
				   enum pass_figure figure)
{
	const struct compare_side side_a = { "a", NULL, n_a }, side_b = { "b", NULL, n_b };
	const struct document_statistic *of[2 * MANY];
	const struct compare_subject subject = { .a = &side_a, .b = &side_b, .of = of };

	assert_true(n_a + n_b <= 2 * MANY);
	for (size_t i = 0; i < n_a + n_b; i++)
		of[i] = i < n_a ? &a[i].s : &b[i - n_a].s;
	return compare_judge(&subject, figure, 1);
}

static const struct compare_side alone = { "a", NULL, 1 };
static const struct compare_subject two_runs = { .a = &alone, .b = &alone };

/* How many of all figures of two such runs differ, and how a limit is judged. */
static unsigned compare_runs(double factor, size_t passes, const char *limit,
			     enum compare_limit_state *state)
{
	struct compare_limit parsed;
	const char *why = NULL;
	unsigned real = 0;
	struct run a, b;

	simulate_run(&a, 1, passes);
	simulate_run(&b, factor, passes);
	assert_true(compare_limit_parse(&parsed, limit));
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++) {
		struct compare_figure f = judge(&a, 1, &b, 1, i);

		real += f.verdict == COMPARE_REAL;
		if (i == parsed.figure)
			*state = compare_limit_check(&parsed, &two_runs, &f, &why);
	}
	return real;
}

/* A run whose passes have these bandwidths. */
static struct run *run_of(struct run *r, double first, double second)
{
	set_run(r, 2);
	r->values[FIGURE_BANDWIDTH][0] = first;
	r->values[FIGURE_BANDWIDTH][1] = second;
	set_figure(r, FIGURE_BANDWIDTH);
	return r;
}

/* The means of both sides, which are over runs, whatever the number of passes. */
TEST(test_means)
{
	struct run a[2], b[2];
	struct compare_figure f;

	run_of(&a[0], 90, 110);
	run_of(&a[1], 310, 290);
	run_of(&b[0], 500, 502);
	set_run(&b[1], 2);
	f = judge(a, 2, b, 1, FIGURE_BANDWIDTH);
	assert_true(fabs(f.a - 200) < 1e-9);
	assert_true(fabs(f.b - 501) < 1e-9);
	assert_int_equal(judge(a, 2, b, 2, FIGURE_BANDWIDTH).verdict, COMPARE_NO_FIGURE);
	assert_int_equal(judge(a, 2, b, 1, FIGURE_IOPS).verdict, COMPARE_NO_FIGURE);
}

/* The passes of a run have a figure from `from` on, more by `step` each time. */
static void trend_of(struct run *r, enum pass_figure figure, double from, double step)
{
	/* No two passes are equal. */
	for (int i = 0; i < 10; i++)
		r->values[figure][i] = from + step * i + (i % 2 ? 0.5 : -0.5);
	set_figure(r, figure);
}

static void trend(struct run *r, double from, double step)
{
	set_run(r, 10);
	trend_of(r, FIGURE_BANDWIDTH, from, step);
}

static enum compare_verdict verdict(const struct run *a, size_t n_a, const struct run *b,
				    size_t n_b)
{
	return judge(a, n_a, b, n_b, FIGURE_BANDWIDTH).verdict;
}

/*
 * A run alone that changes by as much as the sides differ makes the difference a matter of when it
 * was made, on whichever side it is.
 */
TEST(test_unstable)
{
	struct run rises[MANY], near[MANY], far, same;

	trend(&far, 400, 0);
	trend(&same, 145, 0);
	for (int i = 0; i < MANY; i++) {
		trend(&rises[i], 100 + i, 10);
		trend(&near[i], 255 + i, 0);
	}
	assert_int_equal(verdict(rises, 1, near, 1), COMPARE_UNSTABLE);
	assert_int_equal(verdict(near, 1, rises, 1), COMPARE_UNSTABLE);
	assert_int_equal(verdict(rises, 1, &far, 1), COMPARE_REAL);
	assert_int_equal(verdict(rises, 1, &same, 1), COMPARE_CHANCE);
	assert_int_equal(verdict(near, 1, near, 1), COMPARE_CHANCE);
	assert_int_equal(verdict(near, 1, &far, 1), COMPARE_REAL);
	/* Several runs show it in their spread. */
	assert_int_equal(verdict(rises, MANY, near, MANY), COMPARE_REAL);
}

/* A run that is said to vary: by its own change a figure that has one, others by the bandwidth. */
TEST(test_not_reproducible)
{
	struct run varies, other;

	trend(&other, 400, 0);
	trend_of(&other, FIGURE_IOPS, 400, 0);
	for (int own = 0; own < 2; own++)
		for (int all = 0; all < 2; all++)
			for (int said = 0; said < 2; said++) {
				enum compare_verdict v;

				trend(&varies, 100, all ? 50 : 0);
				trend_of(&varies, FIGURE_IOPS, 100, own ? 2 : 0);
				varies.s.not_reproducible = said ? "pass 1 is slower" : "";
				v = judge(&varies, 1, &other, 1, FIGURE_IOPS).verdict;
				assert_int_equal(v, said && !own ? COMPARE_UNSTABLE : COMPARE_REAL);
			}
	/* The bandwidth changes by less than the sides differ. */
	trend(&varies, 100, 2);
	trend_of(&varies, FIGURE_IOPS, 100, 0);
	varies.s.not_reproducible = "pass 1 is slower";
	assert_int_equal(judge(&varies, 1, &other, 1, FIGURE_IOPS).verdict, COMPARE_REAL);
}

/* The words of a change, its interval and its verdict; `rounds`: of a sweep. */
static void check_texts(const struct compare_figure *f, bool rounds, const char *change,
			const char *interval, const char *verdict)
{
	const struct compare_subject subject = { .rounds = rounds };
	struct compare_texts t;
	char text[3 * COMPARE_TEXT];

	compare_texts(&t, &subject, f);
	snprintf(text, sizeof(text), "%s%s%s", t.verdict, *t.reason ? ": " : "", t.reason);
	assert_string_equal(t.change, change);
	assert_string_equal(t.interval, interval);
	assert_string_equal(text, verdict);
}

TEST(test_texts)
{
	static const struct {
		struct stats_ratio ratio;
		enum compare_verdict verdict;
		const char *change, *interval;
	} rows[] = {
		{ { 1.125, 1.1, 1.15, 0 }, COMPARE_REAL, "+12.5 %", "+10.0 to +15.0 %" },
		{ { 0.5, 0.4, 0.625, 0 }, COMPARE_REAL, "-50.0 %", "-60.0 to -37.5 %" },
		{ { 9.9, 9.8, 9.96, 0 }, COMPARE_REAL, "+890.0 %", "+880.0 to +896.0 %" },
		/* All numbers of a row are of one form. */
		{ { 9.5, 8, 12.5, 0 }, COMPARE_REAL, "9.50 times", "8.00 to 12.5 times" },
		{ { 610, 2.1, 180000, 0 }, COMPARE_REAL, "610 times", "2.10 to 180000 times" },
		{ { 2e6, 1e6, 4e6, 0 }, COMPARE_REAL, "2.0e+06 times", "1.0e+06 to 4.0e+06 times" },
		{ { 0.001, 0.0009, 0.0011, 0 }, COMPARE_REAL, "-99.9 %", "-99.9 to -99.9 %" },
		{ { 4e-4, 2e-4, 6e-4, 0 }, COMPARE_REAL, "0.0004 times", "0.0002 to 0.0006 times" },
		/* An interval that reaches from a half to twice the ratio says nothing. */
		{ { 1.1, 0.56, 2.19, 0 }, COMPARE_CHANCE, "+10.0 %", "-44.0 to +119.0 %" },
		{ { 1.1, 0.54, 2.2, 0 }, COMPARE_CHANCE, "+10.0 %", "too few passes" },
		{ { 5, 0.5, 610, 0 }, COMPARE_CHANCE, "+400.0 %", "too few passes" },
		{ { 5, 1.2, 610, 0 }, COMPARE_UNSTABLE, "+400.0 %", "too few passes" },
		{ { 20, 0.5, 610, 0 }, COMPARE_CHANCE, "20.0 times", "too few passes" },
		{ { 1.2, 0, INFINITY, 1 }, COMPARE_UNKNOWN, "+20.0 %", "" },
		{ { NAN, 0, INFINITY, 1 }, COMPARE_UNKNOWN, "-", "" },
	};
	static const char *const verdicts[] = {
		[COMPARE_UNKNOWN] = "unknown: too few passes",
		[COMPARE_CHANCE] = "may be chance",
		[COMPARE_UNSTABLE] = "unsteady: the passes of a run differ by as much",
		[COMPARE_REAL] = "real",
	};
	const struct compare_figure wide = { .ratio = { 5, 0.5, 610, 0 },
					     .verdict = COMPARE_CHANCE };
	const struct compare_figure one = { .ratio = { 5, 0, INFINITY, 1 },
					    .verdict = COMPARE_UNKNOWN };
	char text[COMPARE_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct compare_figure f = { .ratio = rows[i].ratio,
						  .verdict = rows[i].verdict };

		check_texts(&f, false, rows[i].change, rows[i].interval, verdicts[f.verdict]);
	}
	check_texts(&wide, true, "+400.0 %", "too few rounds", "may be chance");
	check_texts(&one, true, "+400.0 %", "", "unknown: too few rounds");
	assert_string_equal(compare_change_text(1.2, text), "+20.0 %");
	assert_string_equal(compare_change_text(12, text), "12.0 times");
	assert_string_equal(compare_range_text(0.9, 1.2, text), "-10.0 to +20.0 %");
	assert_string_equal(compare_range_text(0.9, 12, text), "0.9 to 12.0 times");
}

/* The figure that a limit on `figure` means; -1: the subject has none. */
static int limited(enum compare_kind kind, enum pass_figure figure)
{
	const struct compare_subject subject = { .kind = kind };

	return compare_limit_figure(&subject, &figure) ? (int)figure : -1;
}

TEST(test_limit_figures)
{
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

/* How a limit is judged by such a change, of `n` runs on each side; `rounds`: of sweeps. */
static void check_limit(const char *limit, size_t n, bool rounds, struct compare_figure f,
			enum compare_limit_state state, const char *why)
{
	const struct compare_side side = { "a", NULL, n };
	const struct compare_subject s = { .a = &side, .b = &side, .rounds = rounds };
	struct compare_limit parsed;
	const char *said = "";

	assert_true(compare_limit_parse(&parsed, limit));
	assert_int_equal(compare_limit_check(&parsed, &s, &f, &said), state);
	assert_string_equal(said, why);
}

/* The sentence of a limit has the word of the verdict, and an advice that works. */
TEST(test_limit_words)
{
	const struct compare_figure up = { .ratio = { 1.2, 1.15, 1.25, 0 } };
	const struct compare_figure wide = { .ratio = { 1.2, 0.9, 1.6, 0 },
					     .verdict = COMPARE_CHANCE };
	const struct compare_figure better = { .ratio = { 1.36, 1.08, 1.71, 0 },
					       .verdict = COMPARE_REAL };
	const struct compare_figure less = { .ratio = { 0.7, 0.55, 0.89, 0 },
					     .verdict = COMPARE_REAL };
	struct compare_figure f = up;

	f.verdict = COMPARE_REAL;
	check_limit("p99+10%", 1, false, f, COMPARE_EXCEEDED, "");
	check_limit("p99+30%", 1, false, f, COMPARE_WITHIN, "");
	f.verdict = COMPARE_UNSTABLE;
	check_limit("p99+30%", 1, false, f, COMPARE_WITHIN, "");
	check_limit("p99+10%", 1, false, f, COMPARE_UNDECIDED,
		    "unsteady, since the passes of a run differ by as much; compare several runs "
		    "of each");
	check_limit("p99+10%", 1, true, f, COMPARE_UNDECIDED,
		    "unsteady, since the rounds of a sweep differ by as much; compare several "
		    "sweeps of each");
	check_limit("p99+10%", 1, false, wide, COMPARE_UNDECIDED,
		    "the interval is wider than the limit; run more passes");
	check_limit("p99+10%", 1, true, wide, COMPARE_UNDECIDED,
		    "the interval is wider than the limit; run more rounds");
	check_limit("p99+10%", 3, false, wide, COMPARE_UNDECIDED,
		    "the interval is wider than the limit; compare more runs");
	check_limit("p99+10%", 3, true, wide, COMPARE_UNDECIDED,
		    "the interval is wider than the limit; compare more sweeps");
	/* No such interval is too wide: the change is to the other side of the limit. */
	check_limit("bandwidth-5%", 1, false, better, COMPARE_WITHIN, "");
	check_limit("bandwidth+30%", 1, false, better, COMPARE_EXCEEDED, "");
	check_limit("bandwidth+50%", 1, false, better, COMPARE_WITHIN, "");
	check_limit("bandwidth+80%", 1, false, better, COMPARE_WITHIN, "");
	check_limit("p99+10%", 1, false, less, COMPARE_WITHIN, "");
	check_limit("p99-10%", 1, false, less, COMPARE_EXCEEDED, "");
	f.verdict = COMPARE_UNKNOWN;
	check_limit("p99+10%", 1, false, f, COMPARE_UNDECIDED,
		    "unknown, since there is no interval");
	check_limit("p99+10%", 1, true, f, COMPARE_UNDECIDED,
		    "unknown, since there is no interval; run with -rounds 5 or more");
	f.verdict = COMPARE_NO_FIGURE;
	check_limit("p99+10%", 1, false, f, COMPARE_UNDECIDED,
		    "a document does not have this figure for each pass; p99 needs 1000 operations "
		    "in each, p99.9 10,000");
	check_limit("flush+10%", 1, true, f, COMPARE_UNDECIDED,
		    "a document does not have this figure for each round");
	check_limit("knee-10%", 1, true, f, COMPARE_UNDECIDED, "a curve does not have it");
}

static unsigned pairs(void)
{
	const char *text = getenv("XDD_TEST_LONG");

	return text && *text && *text != '0' ? 3000 : 200;
}

/* Equal runs: six figures, and at most 6 of 100 pairs in which any is called different. */
TEST(test_equal_runs)
{
	enum compare_limit_state limit;
	unsigned n = pairs(), different = 0;

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
TEST(test_limits)
{
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

/* A sweep as its document has it: the bandwidth only, which scatters by 5 %. */
struct sweep {
	struct compare_run run;
	struct document_point points[POINTS];
	struct run rounds[POINTS];
};

static void simulate_point(struct document_point *p, struct run *r, unsigned number)
{
	set_run(r, ROUNDS);
	for (size_t i = 0; i < ROUNDS; i++)
		r->values[FIGURE_BANDWIDTH][i] = 1e8 * (1 + number) * (1 + 0.05 * normal());
	set_figure(r, FIGURE_BANDWIDTH);
	*p = (struct document_point){
		.varied = json_pack("{s:o}", "depth", json_sprintf("%u", number)),
		.statistics = { .list = &r->s, .n = 1 },
	};
}

static void simulate_sweep(struct sweep *s, bool backwards)
{
	for (unsigned i = 0; i < POINTS; i++)
		simulate_point(&s->points[i], &s->rounds[i], backwards ? POINTS - 1 - i : i);
	s->run = (struct compare_run){
		.doc = { .sweep = true, .points = s->points, .n_points = POINTS }
	};
}

static void free_sweep(struct sweep *s)
{
	for (unsigned i = 0; i < POINTS; i++)
		json_decref((json_t *)(uintptr_t)s->points[i].varied);
}

/*
 * Equal sweeps: in at most 5 of 100 any point is called different, and of all points no more than
 * the level allows each. Points are matched by their values, in whatever order they are.
 */
TEST(test_equal_sweeps)
{
	unsigned sweeps = 0, differ = 0;
	double share;

	for (unsigned i = 0; i < SWEEPS; i++) {
		static struct sweep one, two;
		const struct compare_side a = { "a", &one.run, 1 }, b = { "b", &two.run, 1 };
		struct compare_subjects points;
		unsigned real = 0;

		simulate_sweep(&one, false);
		simulate_sweep(&two, true);
		compare_subjects(&points, &a, &b);
		assert_int_equal(points.n, POINTS);
		assert_int_equal(points.left_out, 0);
		for (size_t k = 0; k < points.n; k++) {
			const struct compare_subject *s = &points.list[k];
			const struct compare_figure f =
				compare_judge(s, FIGURE_BANDWIDTH, points.n);

			assert_true(f.ratio.ratio > 0.8 && f.ratio.ratio < 1.25);
			real += f.verdict == COMPARE_REAL || f.verdict == COMPARE_UNSTABLE;
		}
		differ += real;
		sweeps += real > 0;
		compare_subjects_free(&points);
		free_sweep(&one);
		free_sweep(&two);
	}
	share = 0.05 / POINTS;
	print_message("# %u of %d equal sweeps, and %u of %d points\n", sweeps, SWEEPS, differ,
		      SWEEPS * POINTS);
	assert_true(sweeps <= 0.05 * SWEEPS + 3 * sqrt(0.05 * 0.95 * SWEEPS));
	assert_true(differ <= share * SWEEPS * POINTS + 3 * sqrt(share * SWEEPS * POINTS));
}

int main(void)
{
	chance_seed = 0xc0de;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
