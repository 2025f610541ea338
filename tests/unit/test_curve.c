/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The analysis of a curve: knee, maximum, and the search for the goal, on targets whose response
 * times are known. src/report/curve.c.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "xdd/base/random.h"
#include "xdd/plan/runs.h"
#include "xdd/report/result.h"
#include "xdd/report/sweep.h"

#define ROUNDS 5
#define KNEE_1 (2 - 1.41421356237) /* of one server with a fixed service time: 2 - sqrt(2) */

/* Mean response time of M/D/1 with a service time of 1 ms, in ns: Pollaczek and Khinchine. */
static double response_of(double load)
{
	return 1e6 * (1 + load / (2 * (1 - load)));
}

/* Uniform between -1 and 1. */
static double noise(const struct random_sequence *s, uint64_t n)
{
	return (double)random_below(s, n, 2000001) / 1e6 - 1;
}

static const double grid[] = { .1, .2, .3, .4, .5, .55, .6, .65, .7, .8, .9, .95 };

#define LOADS (sizeof(grid) / sizeof(grid[0]))

/* The knee of rounds whose response times are off by up to `scatter`, uniformly. */
static struct curve_knee knee_of(double scatter, uint64_t seed)
{
	const struct random_key key = { .seed = seed };
	const struct random_sequence s = random_sequence(&key);
	double responses[LOADS * ROUNDS];

	for (size_t i = 0; i < LOADS * ROUNDS; i++)
		responses[i] = response_of(grid[i / ROUNDS]) * (1 + scatter * noise(&s, i));
	return curve_knee_of(grid, responses, LOADS, ROUNDS);
}

TEST(test_knee)
{
	const struct curve_knee exact = knee_of(0, 1);
	unsigned covered = 0, near = 0;

	assert_true(exact.known);
	assert_true(fabs(exact.share / KNEE_1 - 1) < 0.005);
	assert_true(exact.high - exact.low < 1e-9);
	for (uint64_t i = 0; i < 40; i++) {
		const struct curve_knee k = knee_of(0.02, 100 + i);

		assert_true(k.known && k.low < k.share && k.share < k.high);
		covered += k.low <= KNEE_1 && KNEE_1 <= k.high;
		near += fabs(k.share / KNEE_1 - 1) < 0.05;
	}
	/* The seeds are fixed; of 40 intervals of 95 % less than 33 in one of 10^5. */
	assert_in_range(covered, 33, 40);
	assert_in_range(near, 36, 40);
}

TEST(test_no_knee)
{
	static const double shares[] = { .1, .2, .3, .4 };
	static const double flat[] = { 5, 5, 5, 5 }, steep[] = { 1, 3, 9, 27 };
	struct curve_knee k = curve_knee_of(shares, flat, 4, 1);

	assert_false(k.known);
	assert_non_null(k.why);
	k = curve_knee_of(shares, steep, 4, 1);
	assert_false(k.known);
	assert_non_null(k.why);
	k = curve_knee_of(shares, flat, 2, 1);
	assert_false(k.known);
	/* A single round has no interval. */
	k = curve_knee_of(shares, (const double[]){ 10, 10, 11, 30 }, 4, 1);
	assert_true(k.known && isnan(k.low) && fabs(k.share - 0.286151991) < 1e-6);
}

/* ---- exact queues ---- */

struct queue {
	const char *name;
	unsigned servers;
	bool fixed;	/* service times; else exponential */
	double service; /* mean, seconds */
	double knee;	/* of the theory: where load / response is greatest */
};

static const struct queue queues[] = {
	{ "M/M/1", 1, false, 0.002, 0.5 },
	{ "M/D/1", 1, true, 0.002, KNEE_1 },
	{ "M/M/4", 4, false, 0.002, 0.66501 },
};

#define QUEUES (sizeof(queues) / sizeof(queues[0]))
#define SECONDS 2.0 /* of a round, which begins with an empty queue */

struct draws {
	struct random_sequence sequence;
	uint64_t n;
};

static double exponential(struct draws *d)
{
	return -log(((double)random_below(&d->sequence, d->n++, 1ull << 53) + 0.5) / 0x1p53);
}

static struct draws draws_of(uint64_t seed, uint64_t pass)
{
	const struct random_key key = { .seed = seed, .pass = (uint32_t)pass };

	return (struct draws){ .sequence = random_sequence(&key) };
}

/*
 * Mean response time of a round in ns. All loads of a round have its arrivals, with other rates, as
 * those of xdd curve have.
 */
static double response_in(const struct queue *q, double load, uint64_t seed, uint64_t round,
			  uint64_t own)
{
	struct draws gaps = draws_of(seed, 2 * round), services = draws_of(own, 2 * round + 1);
	double free_at[4] = { 0 }, at = 0, sum = 0, rate = load * q->servers / q->service;
	unsigned n = 0;

	for (;; n++) {
		double *server = free_at, service = q->service;

		at += exponential(&gaps) / rate;
		if (at > SECONDS)
			return 1e9 * (n ? sum / n : service);
		for (unsigned i = 1; i < q->servers; i++)
			server = free_at[i] < *server ? &free_at[i] : server;
		service *= q->fixed ? 1 : exponential(&services);
		*server = fmax(at, *server) + service;
		sum += *server - at;
	}
}

static unsigned simulations(unsigned quick, unsigned thorough)
{
	const char *text = getenv("XDD_TEST_LONG");

	return text && *text && *text != '0' ? thorough : quick;
}

static struct curve_knee knee_of_queue(const struct queue *q, uint64_t seed)
{
	static const double shares[] = { .1, .2, .3, .4, .45, .5, .55, .6, .65, .7, .8, .9, .95 };
	double responses[sizeof(shares) / sizeof(shares[0]) * ROUNDS];
	const size_t n = sizeof(shares) / sizeof(shares[0]);

	for (size_t i = 0; i < n * ROUNDS; i++)
		responses[i] = response_in(q, shares[i / ROUNDS], seed, i % ROUNDS,
					   seed * 100 + i / ROUNDS);
	return curve_knee_of(shares, responses, n, ROUNDS);
}

/* The interval covers the knee of exact queues in 94 to 97 of 100, and misses on both sides. */
TEST(test_coverage)
{
	const unsigned n = simulations(250, 4000);
	/* Three standard errors where the simulation is short. */
	const double slack = n < 4000 ? 300 * sqrt(0.05 * 0.95 / n) : 0;

	for (size_t i = 0; i < QUEUES; i++) {
		unsigned high = 0, low = 0;
		double covered, mean = 0;

		for (unsigned k = 0; k < n; k++) {
			const struct curve_knee knee = knee_of_queue(&queues[i], 1 + k);

			assert_true(knee.known);
			high += knee.low > queues[i].knee;
			low += knee.high < queues[i].knee;
			mean += knee.share / n;
		}
		covered = 100.0 * (n - high - low) / n;
		print_message("# %s: knee %.4f, mean %.4f; covers %.1f %%, above it %.1f %%, below "
			      "it %.1f %%\n",
			      queues[i].name, queues[i].knee, mean, covered, 100.0 * high / n,
			      100.0 * low / n);
		assert_true(covered >= 94 - slack && covered <= 97 + slack);
		assert_true(100.0 * high / n <= 4 + slack && 100.0 * low / n <= 4 + slack);
	}
}

/* A limit such as a token bucket: the response time does not depend on the load. */
TEST(test_flat)
{
	const unsigned n = simulations(300, 4000);
	unsigned known = 0;

	for (unsigned k = 0; k < n; k++) {
		struct draws d = draws_of(1 + k, 0);
		double responses[LOADS * ROUNDS];

		for (size_t i = 0; i < LOADS * ROUNDS; i++)
			responses[i] = 2e6 * (1 + 0.05 * (exponential(&d) - 1));
		known += curve_knee_of(grid, responses, LOADS, ROUNDS).known;
	}
	print_message("# flat: a knee in %.1f %%\n", 100.0 * known / n);
	assert_true(known <= 0.05 * n + 3 * sqrt(0.05 * n));
}

/* The share of series that drift: rounds of M/M/1, or with a known scatter and drift. */
static double share_of_drifts(double load, double scatter, double drift, size_t rounds, unsigned n)
{
	unsigned found = 0;

	for (unsigned k = 0; k < n; k++) {
		struct draws d = draws_of(1 + k, 3);
		double x[16];

		for (size_t i = 0; i < rounds; i++) {
			x[i] = load > 0 ? response_in(&queues[0], load, 1 + k, i, 1 + k) : 1e6;
			/* The sum of twelve uniform values of variance 1 is almost normal. */
			for (int j = 0; j < 12 && scatter > 0; j++)
				x[i] += 1e6 * scatter *
					((double)random_below(&d.sequence, d.n++, 1u << 30) /
						 0x1p30 -
					 0.5);
			x[i] *= 1 + drift * (double)i / (double)(rounds - 1);
		}
		found += stats_drift(x, rounds).drifts;
	}
	return 100.0 * found / n;
}

TEST(test_drift_known)
{
	static const double rising[] = { 1, 2, 3, 4, 5 }, level[] = { 3, 3, 3, 3, 3 }, none[5];

	assert_false(stats_drift(rising, 4).known);
	assert_false(stats_drift(none, 5).known);
	assert_true(stats_drift(level, 5).known && !stats_drift(level, 5).drifts);
	assert_true(stats_drift(rising, 5).known && stats_drift(rising, 5).drifts);
	assert_true(fabs(stats_drift(rising, 5).amount - 4) < 1e-9);
}

TEST(test_drift)
{
	static const double loads[] = { 0.1, 0.3, 0.5, 0.7, 0.8, 0.9 };
	static const struct {
		double scatter;
		size_t rounds;
	} found[] = { { 0.014, 5 }, { 0.025, 10 }, { 0.03, 15 } };
	const unsigned n = simulations(300, 4000);
	const double slack = n < 4000 ? 300 * sqrt(0.1 * 0.9 / n) : 0;

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		const double steady = 100 - share_of_drifts(loads[i], 0, 0, 5, n);

		print_message("# M/M/1, load %g: %.1f %% steady\n", loads[i], steady);
		assert_true(steady >= 90 - slack);
	}
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		const double drifts = share_of_drifts(0, found[i].scatter, 0.1, found[i].rounds, n);

		print_message("# a drift of 10 %% over %zu rounds that scatter by %g %%: found in "
			      "%.1f %%\n",
			      found[i].rounds, 100 * found[i].scatter, drifts);
		assert_true(drifts >= 90 - slack);
	}
}

/* ---- results ---- */

struct target {
	struct vary vary;
	struct sweep_results results;
	struct curve curve;
};

static void begin(struct target *t)
{
	*t = (struct target){ .vary = { .n_points = CURVE_MAX_LOADS } };
	t->results = (struct sweep_results){ .vary = &t->vary, .least = ROUNDS, .most = ROUNDS };
	t->curve.maximum = 1000;
	assert_int_equal(sweep_results_begin(&t->results), 0);
}

/* Measure a load on M/D/1; from 0.97 on it ends late. */
static void measure(struct target *t, double share, bool probe)
{
	const struct curve_load load = { .share = share,
					 .point = t->curve.n_loads,
					 .probe = probe };

	assert_true(curve_add_load(&t->curve, &load));
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		struct sweep_round round = {
			.point = load.point,
			.round = i,
			.known = true,
			.responded = true,
			.values = { [FIGURE_IOPS] = 1000 * share, [FIGURE_LATENCY] = 1e6 }
		};

		round.values[FIGURE_RESPONSE] = response_of(share < .97 ? share : .97);
		round.values[FIGURE_RESPONSE_P99] = 3 * round.values[FIGURE_RESPONSE];
		if (share >= .97)
			round.findings = 1u << RULE_RATE;
		assert_int_equal(sweep_results_add(&t->results, &round), 0);
	}
}

/* A load whose response times scatter by 1 % around `ns`. */
static void measure_flat(struct target *t, double share, double ns)
{
	const struct curve_load load = { .share = share, .point = t->curve.n_loads };

	assert_true(curve_add_load(&t->curve, &load));
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		struct sweep_round round = { .point = load.point,
					     .round = i,
					     .known = true,
					     .responded = true,
					     .values = { [FIGURE_IOPS] = 1000 * share } };

		round.values[FIGURE_RESPONSE] = ns * (1 + 0.01 * (double)(i % 2));
		round.values[FIGURE_RESPONSE_P99] = 3 * ns;
		assert_int_equal(sweep_results_add(&t->results, &round), 0);
	}
}

TEST(test_loads)
{
	struct target t;
	struct curve_figures f;
	struct curve_knee knee;

	begin(&t);
	measure(&t, 1.1, false);
	measure(&t, .5, false);
	measure(&t, .97, false);
	measure(&t, .9, true);
	assert_false(curve_add_load(&t.curve, &(struct curve_load){ .share = .5 }));
	assert_int_equal(t.curve.n_loads, 4);
	for (size_t i = 1; i < t.curve.n_loads; i++)
		assert_true(t.curve.loads[i - 1].share < t.curve.loads[i].share);
	f = curve_figures(&t.curve, &t.results, &t.curve.loads[0]);
	assert_true(fabs(f.offered - 500) < 1e-9 && fabs(f.queue - .75) < 1e-9 &&
		    fabs(f.in_service - .5) < 1e-9);
	assert_true(!f.overloaded && f.drift.known && !f.drift.drifts && !f.disturbed_by);
	assert_true(curve_figures(&t.curve, &t.results, &t.curve.loads[2]).overloaded);
	assert_true(curve_figures(&t.curve, &t.results, &t.curve.loads[3]).overloaded);
	/* Neither probes nor overloads count for the knee. */
	assert_int_equal(curve_turn(&t.curve, &t.results), 0);
	for (size_t i = 0; i < LOADS; i++) {
		if (fabs(grid[i] - .5) > 1e-9 && fabs(grid[i] - .9) > 1e-9)
			measure(&t, grid[i], false);
	}
	knee = curve_knee(&t.curve, &t.results);
	assert_true(knee.known && fabs(knee.share / KNEE_1 - 1) < 0.01);
	sweep_results_free(&t.results);
}

/* Where the mean response time divided by the load is least; the first of equal ones. */
TEST(test_turn)
{
	struct target t;

	begin(&t);
	assert_true(curve_turn(&t.curve, &t.results) == SIZE_MAX);
	measure_flat(&t, .1, 2e6);
	assert_int_equal(curve_turn(&t.curve, &t.results), 0);
	measure_flat(&t, .2, 2e6);
	measure_flat(&t, .4, 4e6);
	measure_flat(&t, .5, 6e6);
	assert_int_equal(curve_turn(&t.curve, &t.results), 1);
	/* Beyond the maximum a queue has no mean. */
	measure_flat(&t, 1, 1e5);
	assert_int_equal(curve_turn(&t.curve, &t.results), 1);
	sweep_results_free(&t.results);
}

TEST(test_goal)
{
	/* The limit is 3 R: loads of 11 / 14 and 46 / 121. */
	static const struct {
		double limit, holds;
		bool found;
	} cases[] = { { 8.5e6, 11 / 14., true },
		      { 3.92e6, 0.92 / 2.42, true },
		      { 1e6, 0, false },
		      { 1e9, 0, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct target t;
		double share;
		unsigned probes = 0;

		begin(&t);
		t.curve.goal = (struct curve_goal){ .figure = FIGURE_RESPONSE_P99,
						    .limit_ns = cases[i].limit };
		for (double load = .1; load < 1.04; load += .1)
			measure(&t, load, false);
		for (; curve_goal_next(&t.curve, &t.results, &share); probes++)
			measure(&t, share, true);
		assert_in_range(probes, 0, 6);
		if (!cases[i].found) {
			assert_true(t.curve.goal.holds < 1e-9);
			assert_null(curve_goal_side(&t.curve, true));
			assert_ptr_equal(curve_goal_side(&t.curve, false), &t.curve.loads[0]);
		} else if (cases[i].holds > 0) {
			assert_true(t.curve.goal.holds <= cases[i].holds + 1e-9);
			assert_true(t.curve.goal.holds >= cases[i].holds * 0.98 - 1e-9);
			assert_true(t.curve.goal.fails > cases[i].holds);
			assert_true(t.curve.goal.sure);
			assert_ptr_equal(curve_goal_side(&t.curve, true) + 1,
					 curve_goal_side(&t.curve, false));
		} else {
			/* The load that ends late fails, however far the limit is. */
			assert_true(t.curve.goal.holds > .9 && t.curve.goal.fails <= 1.001);
		}
		sweep_results_free(&t.results);
	}
}

/* Loads above 100 % are judged by what was measured; one that fails in the middle is seen. */
TEST(test_measured)
{
	struct target t;
	double share;
	bool sure;

	begin(&t);
	t.curve.goal = (struct curve_goal){ .figure = FIGURE_RESPONSE_P99, .limit_ns = 2e7 };
	measure_flat(&t, .5, 2e6);
	measure_flat(&t, .9, 2e6);
	measure_flat(&t, 1.05, 2.5e6);
	assert_false(curve_figures(&t.curve, &t.results, &t.curve.loads[2]).overloaded);
	assert_true(curve_goal_holds(&t.curve, &t.results, &t.curve.loads[2], &sure) && sure);
	assert_false(curve_goal_next(&t.curve, &t.results, &share));
	assert_true(fabs(t.curve.goal.holds - 1.05) < 1e-9 && isinf(t.curve.goal.fails));
	assert_false(t.curve.goal.disturbed);
	measure_flat(&t, .75, 9e6);
	assert_ptr_equal(curve_figures(&t.curve, &t.results, &t.curve.loads[1]).disturbed_by,
			 &t.curve.loads[2]);
	assert_null(curve_figures(&t.curve, &t.results, &t.curve.loads[2]).disturbed_by);
	curve_goal_next(&t.curve, &t.results, &share);
	assert_true(t.curve.goal.fails < .76 && t.curve.goal.disturbed);
	sweep_results_free(&t.results);
}

TEST(test_maximum)
{
	static const double values[] = { 500, 900, 1000, 1010, 990, 1000, 1000, 1200 };
	struct target t;

	begin(&t);
	assert_false(curve_find_maximum(&t.curve, &t.results, 3));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const struct sweep_round round = {
			.point = 3,
			.round = i + 1,
			.known = true,
			.values = { [FIGURE_IOPS] = values[i], [FIGURE_BANDWIDTH] = values[i] }
		};

		assert_int_equal(sweep_results_add(&t.results, &round), 0);
	}
	/* Rounds 2 to 6 are the first window that is steady. */
	assert_true(curve_find_maximum(&t.curve, &t.results, 3));
	assert_int_equal(t.curve.max_point, 3);
	assert_int_equal(t.curve.steady_after, 6);
	assert_true(fabs(t.curve.maximum - 980) < 1e-9);
	sweep_results_free(&t.results);
}

RUN_TESTS(NULL, NULL)
