/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The estimate of global time against clocks that the test invents: whatever delays, losses, drift
 * and steps there are, the true difference lies within the stated bound.
 *
 * XDD_TEST_SEED selects the random numbers, XDD_TEST_LONG=1 has more runs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "net/time_exchange.h"
#include "xdd/base/random.h"
#include "xdd/base/units.h"

/* A pair of clocks, and the network between them. */
struct world {
	uint64_t state;	    /* of the random numbers */
	uint64_t local_ns;  /* now */
	uint64_t epoch_ns;  /* the local time when offset_ns was true */
	int64_t offset_ns;  /* server minus local, at epoch_ns */
	double drift;	    /* ns per ns */
	double there, back; /* shortest delays, ns */
	double jitter;	    /* of each, ns */
	unsigned lost_percent;
};

static uint64_t draw(struct world *w, uint64_t below)
{
	w->state += RANDOM_GOLDEN;
	return random_splitmix64(w->state) % below;
}

static int64_t offset_at(const struct world *w, uint64_t local_ns)
{
	return w->offset_ns + (int64_t)llrint(w->drift * (double)(int64_t)(local_ns - w->epoch_ns));
}

/* Have the drift change, or the server's clock step, now. */
static void change(struct world *w, double drift, int64_t step_ns)
{
	w->offset_ns = offset_at(w, w->local_ns) + step_ns;
	w->epoch_ns = w->local_ns;
	w->drift = drift;
}

static uint64_t delay(struct world *w, double shortest)
{
	uint64_t jitter = draw(w, (uint64_t)w->jitter + 1);

	/* Once in a while something is very late. */
	return (uint64_t)shortest + (draw(w, 10) ? jitter : 20 * jitter);
}

/* An exchange; false: it was lost. Time passes. */
static bool exchange(struct world *w, struct time_sample *s)
{
	uint64_t there = delay(w, w->there), back = delay(w, w->back), inside = 500 + draw(w, 9000);
	bool lost = draw(w, 100) < w->lost_percent;

	s->sent_ns = w->local_ns;
	w->local_ns += there;
	s->server_received_ns = w->local_ns + (uint64_t)offset_at(w, w->local_ns);
	w->local_ns += inside;
	s->server_sent_ns = w->local_ns + (uint64_t)offset_at(w, w->local_ns);
	w->local_ns += back;
	s->received_ns = w->local_ns;
	w->local_ns += 1000;
	return !lost;
}

/* Returns the number of steps that were seen. */
static unsigned burst(struct world *w, struct time_estimate *e, unsigned n)
{
	unsigned steps = 0;

	while (n--) {
		struct time_sample s;
		enum time_verdict v;

		if (!exchange(w, &s))
			continue;
		v = time_estimate_add(e, &s);
		assert_int_not_equal(v, TIME_REFUSED);
		steps += v == TIME_STEPPED;
	}
	return steps;
}

/* The true difference at `at_ns` is within the bound, which is returned. */
static uint64_t check(const struct world *w, const struct time_estimate *e, uint64_t at_ns)
{
	int64_t offset_ns, truth = offset_at(w, at_ns);
	uint64_t bound_ns, error;

	assert_true(time_estimate_get(e, at_ns, &offset_ns, &bound_ns));
	error = (uint64_t)llabs(offset_ns - truth);
	if (error > bound_ns)
		fail_msg("offset %" PRId64 ", true %" PRId64 ", error %" PRIu64 ", bound %" PRIu64
			 " at %" PRIu64 ", drift %g, delays %g %g %g",
			 offset_ns, truth, error, bound_ns, at_ns, w->drift, w->there, w->back,
			 w->jitter);
	return bound_ns;
}

static uint64_t seed(void)
{
	const char *text = getenv("XDD_TEST_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}

static struct world random_world(uint64_t number)
{
	struct world w = { .state = random_splitmix64(seed() * RANDOM_GOLDEN + number) };

	w.local_ns = w.epoch_ns = NS_PER_SEC + draw(&w, 1000 * NS_PER_SEC);
	w.offset_ns = (int64_t)(1700000000 * NS_PER_SEC + draw(&w, 1000 * NS_PER_SEC));
	/* The rounding of times is not part of the drift. */
	w.drift = ((double)draw(&w, 998001) / 1000 - 499) * 1e-6;
	w.there = (double)draw(&w, 1 + (1000ull << draw(&w, 18)));
	w.back = (double)draw(&w, 1 + (1000ull << draw(&w, 18)));
	w.jitter = (double)draw(&w, 1 + (1000ull << draw(&w, 16)));
	w.lost_percent = draw(&w, 3) ? 0 : (unsigned)draw(&w, 60);
	return w;
}

/* A run with bursts as the client does them, and looks at all times. */
static void follow(struct world *w, struct time_estimate *e, unsigned bursts)
{
	uint64_t period_ns = NS_PER_SEC;

	for (unsigned i = 0; i < bursts; i++) {
		uint64_t before_ns = w->local_ns;

		w->local_ns += period_ns;
		for (unsigned k = 0; e->n && k <= 8; k++)
			check(w, e, before_ns + k * period_ns / 8);
		assert_int_equal(burst(w, e, 8), 0);
		period_ns = ns_earlier(2 * period_ns, 16 * NS_PER_SEC);
	}
}

TEST(test_always_within)
{
	unsigned n = getenv("XDD_TEST_LONG") ? 20000 : 300;

	printf("# seed %" PRIu64 "\n", seed());
	for (unsigned i = 0; i < n; i++) {
		struct world w = random_world(i);
		uint64_t begin_ns = w.local_ns;
		struct time_estimate e;

		time_estimate_init(&e);
		burst(&w, &e, 100);
		follow(&w, &e, 100);
		/* The past and the future too. */
		for (unsigned k = 0; e.n && k < 50; k++)
			check(&w, &e, begin_ns + draw(&w, 2 * (w.local_ns - begin_ns)));
	}
}

/* Half of the difference of the delays cannot be known; nothing else is to be added. */
TEST(test_width)
{
	struct world w = { .local_ns = 1000 * NS_PER_SEC,
			   .epoch_ns = 1000 * NS_PER_SEC,
			   .offset_ns = 1700000000000000000,
			   .there = 200e3,
			   .back = 200e3 };
	struct time_estimate e;
	uint64_t bound_ns;

	time_estimate_init(&e);
	burst(&w, &e, 100);
	assert_true(e.round_trip_ns >= 400000 && e.round_trip_ns <= 400002);
	bound_ns = check(&w, &e, w.local_ns);
	assert_true(bound_ns < 202000);
	/* 500 ppm, as long as the drift is not known. */
	bound_ns = check(&w, &e, w.local_ns + NS_PER_SEC);
	assert_true(bound_ns > 690000 && bound_ns < 710000);
}

/* Once the drift is known, the bound grows by little more than the margin. */
TEST(test_drift)
{
	struct world w = { .local_ns = 1000 * NS_PER_SEC,
			   .epoch_ns = 1000 * NS_PER_SEC,
			   .offset_ns = 1700000000000000000,
			   .drift = 321e-6,
			   .there = 20e3,
			   .back = 30e3,
			   .jitter = 1e3 };
	struct time_estimate e;
	double ppm;

	time_estimate_init(&e);
	burst(&w, &e, 100);
	assert_false(time_estimate_drift(&e, &ppm));
	follow(&w, &e, 10);
	assert_true(time_estimate_drift(&e, &ppm));
	assert_true(fabs(ppm - 321) < 1);
	assert_true(check(&w, &e, w.local_ns + 16 * NS_PER_SEC) < 900000);
}

/* Each step that shows is seen once, and afterwards the new clock counts. */
TEST(test_steps)
{
	for (unsigned i = 0; i < 200; i++) {
		struct world w = random_world(1000000 + i);
		struct time_estimate e;
		int64_t step_ns = (int64_t)(NS_PER_SEC + draw(&w, 1000 * NS_PER_SEC));

		w.lost_percent = 0;
		time_estimate_init(&e);
		burst(&w, &e, 100);
		follow(&w, &e, 1 + (unsigned)draw(&w, 90));
		change(&w, w.drift, draw(&w, 2) ? step_ns : -step_ns);
		assert_int_equal(burst(&w, &e, 8), 1);
		follow(&w, &e, 20);
	}
}

/* A drift that changes is noticed; from the second exchange with it on the bound holds again. */
TEST(test_change_of_drift)
{
	for (unsigned i = 0; i < 200; i++) {
		struct world w = random_world(2000000 + i);
		struct time_estimate e;

		w.lost_percent = 0;
		w.there = w.back = 20e3;
		w.jitter = 1e3;
		time_estimate_init(&e);
		burst(&w, &e, 100);
		follow(&w, &e, 20);
		change(&w, -w.drift * (double)draw(&w, 1000) / 1000, 0);
		w.local_ns += 16 * NS_PER_SEC;
		assert_int_equal(burst(&w, &e, 8), 0);
		follow(&w, &e, 20);
	}
}

/* A drift that varies by less than the margin is no reason to begin again. */
TEST(test_varying_drift)
{
	for (unsigned i = 0; i < 200; i++) {
		struct world w = random_world(3000000 + i);
		struct time_estimate e;
		double drift = w.drift * 0.9;

		w.lost_percent = 0;
		time_estimate_init(&e);
		burst(&w, &e, 100);
		for (unsigned k = 0; k < 60; k++) {
			change(&w, drift + ((double)draw(&w, 40) - 20) * 1e-6, 0);
			follow(&w, &e, 2);
		}
	}
}

/* Server times that contradict the exchange itself do not count. */
TEST(test_refused)
{
	struct time_sample s = { .sent_ns = 1000000,
				 .server_received_ns = 5000000,
				 .server_sent_ns = 9000000,
				 .received_ns = 1100000 };
	struct time_estimate e;
	int64_t offset_ns;
	uint64_t bound_ns;

	time_estimate_init(&e);
	assert_false(time_estimate_get(&e, 0, &offset_ns, &bound_ns));
	assert_int_equal(time_estimate_add(&e, &s), TIME_REFUSED);
	s.received_ns = 900000;
	assert_int_equal(time_estimate_add(&e, &s), TIME_REFUSED);
	assert_int_equal(e.n, 0);
}

/* The bound covers all that is possible, also where that is an odd number of nanoseconds. */
TEST(test_odd_width)
{
	const struct time_sample s = { NS_PER_SEC, NS_PER_SEC + 1, NS_PER_SEC + 1, NS_PER_SEC + 2 };
	struct time_estimate e;
	int64_t offset_ns;
	uint64_t bound_ns;

	time_estimate_init(&e);
	assert_int_equal(time_estimate_add(&e, &s), TIME_FITS);
	/* From -3 to 2: of 2 ns at 500 ppm, and each of the roundings, 1 ns. */
	assert_true(time_estimate_get(&e, NS_PER_SEC, &offset_ns, &bound_ns));
	assert_int_equal(offset_ns, -1);
	assert_int_equal(bound_ns, 3);
}

/* The greatest times that a message may have. */
TEST(test_extremes)
{
	const uint64_t most_ns = 1ull << 62;
	const struct time_sample samples[] = {
		{ 1, 0, most_ns, (1ull << 61) - 1 },
		{ 2, most_ns, most_ns, 3 },
		{ 4, 0, 0, 5 },
		{ NS_PER_SEC, most_ns, most_ns, 2 * NS_PER_SEC },
		{ 3 * NS_PER_SEC, 0, 0, (1ull << 61) - 1 },
	};
	struct time_estimate e;
	int64_t offset_ns;
	uint64_t bound_ns;

	time_estimate_init(&e);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		time_estimate_add(&e, &samples[i]);
	assert_true(time_estimate_get(&e, 0, &offset_ns, &bound_ns));
	assert_true(time_estimate_get(&e, (1ull << 61) - 1, &offset_ns, &bound_ns));
}

/* Exchanges that end within 250 ms of the first one are one entry. */
TEST(test_entries)
{
	static const struct {
		uint64_t end_ms; /* after the first exchange began */
		size_t n;	 /* entries then */
	} cases[] = { { 2, 1 }, { 10, 1 }, { 249, 1 }, { 250, 2 }, { 260, 2 }, { 600, 3 } };
	struct time_estimate e;

	time_estimate_init(&e);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* The first one has the narrowest bounds. */
		const uint64_t end_ns = NS_PER_SEC + cases[i].end_ms * NS_PER_MS,
			       trip_ns = (i ? 4 : 2) * NS_PER_MS, middle = end_ns - trip_ns / 2;
		const struct time_sample s = { end_ns - trip_ns, middle, middle, end_ns };

		assert_int_equal(time_estimate_add(&e, &s), TIME_FITS);
		assert_int_equal(e.n, cases[i].n);
		assert_int_equal(e.round_trip_ns, 2 * NS_PER_MS);
	}
	assert_int_equal(e.entries[0].lower_at_ns, NS_PER_SEC + 2 * NS_PER_MS);
	assert_int_equal(e.entries[0].upper_at_ns, NS_PER_SEC);
	assert_int_equal(e.entries[0].lower_ns, -1 * (int64_t)NS_PER_MS);
	assert_int_equal(e.entries[0].upper_ns, NS_PER_MS);
}

/* Two exchanges tell the drift, if they are narrow and far enough from each other. */
TEST(test_drift_of_two)
{
	static const struct {
		uint64_t apart_ms, trip_ns;
		bool known;
	} cases[] = {
		/* The rate lies within twice the trip, over the distance. */
		{ 1000, 200000, true }, { 1000, 249000, true },	 { 1000, 251000, false },
		{ 2000, 499000, true }, { 2000, 501000, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t half_ns = cases[i].trip_ns / 2;
		struct time_estimate e;
		double ppm = 7;

		time_estimate_init(&e);
		for (uint64_t k = 0; k < 2; k++) {
			const uint64_t at_ns = NS_PER_SEC + k * cases[i].apart_ms * NS_PER_MS;
			/* The server is 100 ppm faster. */
			const uint64_t server_ns = at_ns + k * cases[i].apart_ms * 100;
			const struct time_sample s = { at_ns - half_ns, server_ns, server_ns,
						       at_ns + half_ns };

			assert_false(time_estimate_drift(&e, &ppm));
			assert_true(ppm > -0.1 && ppm < 0.1);
			assert_int_equal(time_estimate_add(&e, &s), TIME_FITS);
		}
		assert_int_equal(time_estimate_drift(&e, &ppm), cases[i].known);
		assert_true(fabs(ppm - (cases[i].known ? 100 : 0)) < 0.5);
	}
}

/* Of many entries every second one of the older half is left, and the first. */
TEST(test_thinned)
{
	struct time_estimate e;
	size_t at = 0;

	time_estimate_init(&e);
	for (uint64_t i = 0; i <= TIME_ESTIMATE_ENTRIES; i++) {
		const uint64_t ns = (1 + i) * NS_PER_SEC;
		const struct time_sample s = { ns, ns + 5, ns + 5, ns + 10 };

		assert_int_equal(time_estimate_add(&e, &s), TIME_FITS);
		assert_int_equal(
			e.n, i < TIME_ESTIMATE_ENTRIES ? i + 1 : TIME_ESTIMATE_ENTRIES * 3 / 4 + 1);
	}
	for (uint64_t i = 0; i <= TIME_ESTIMATE_ENTRIES; i++)
		if (i >= TIME_ESTIMATE_ENTRIES / 2 || i % 2 == 0)
			assert_int_equal(e.entries[at++].upper_at_ns, (1 + i) * NS_PER_SEC);
	assert_int_equal(at, e.n);
}

RUN_TESTS(NULL, NULL)
