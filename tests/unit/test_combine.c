/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times of several hosts (combine_times): against a count of every tick, and skews against
 * clocks whose errors are known. The generator is seeded.
 */
#include "unit.h"

#include <stdlib.h>

#include "report/combine_host.h"

#define HOSTS 5
#define SPANS 4
#define TICKS 400
#define ROUNDS 3000

static uint64_t drawn;

static uint64_t below(uint64_t n)
{
	uint64_t x = drawn++ * 0x9e3779b97f4a7c15ull + 0xc0de;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (x ^ (x >> 31)) % n;
}

struct rig {
	struct combine_host hosts[HOSTS];
	struct combine_span spans[HOSTS][SPANS];
	size_t n;
};

/* Spans of one host lie apart, and have a length. */
static void draw_hosts(struct rig *r)
{
	*r = (struct rig){ .n = 1 + below(HOSTS) };
	for (size_t i = 0; i < r->n; i++) {
		struct combine_host *h = &r->hosts[i];
		uint64_t at = 1 + below(60);

		h->placed = true;
		h->spans = r->spans[i];
		h->n_spans = 1 + below(SPANS);
		for (size_t k = 0; k < h->n_spans; k++) {
			h->spans[k].from_ns = at;
			at += 1 + below(50);
			h->spans[k].to_ns = at;
			at += 1 + below(40);
		}
	}
}

static bool transfers(const struct combine_host *h, uint64_t tick)
{
	for (size_t k = 0; k < h->n_spans; k++) {
		if (tick >= h->spans[k].from_ns && tick < h->spans[k].to_ns)
			return true;
	}
	return false;
}

static void check_ticks(const struct rig *r)
{
	uint64_t first = UINT64_MAX, last = 0, solid = UINT64_MAX, any = 0, all = 0;
	struct combine_times t;

	for (size_t i = 0; i < r->n; i++) {
		const struct combine_host *h = &r->hosts[i];
		uint64_t end = h->spans[h->n_spans - 1].to_ns;

		first = h->spans[0].from_ns < first ? h->spans[0].from_ns : first;
		last = end > last ? end : last;
		solid = end < solid ? end : solid;
	}
	for (uint64_t tick = 0; tick < TICKS; tick++) {
		size_t n = 0;

		for (size_t i = 0; i < r->n; i++)
			n += transfers(&r->hosts[i], tick);
		any += n > 0 || (tick >= solid && tick < last);
		all += n == r->n;
	}
	assert_int_equal(combine_times(&t, r->hosts, r->n), 0);
	assert_true(t.known);
	assert_int_equal(t.begin_ns, first);
	assert_int_equal(t.finish_ns, last);
	assert_int_equal(t.elapsed_ns, any);
	assert_int_equal(t.window_ns, all);
}

TEST(test_ticks)
{
	struct rig r;

	for (unsigned i = 0; i < ROUNDS; i++) {
		draw_hosts(&r);
		check_ticks(&r);
	}
}

/* A time as a clock shows it whose error is within `bound`. */
static uint64_t shown(uint64_t at, uint64_t bound)
{
	return at - bound + below(2 * bound + 1);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The skew that clocks with errors show is no further from the true one than the bound says. */
TEST(test_skew_bound)
{
	uint64_t loosest = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t first = UINT64_MAX, last = 0;
		struct combine_times t;
		struct rig r;

		draw_hosts(&r);
		for (size_t i = 0; i < r.n; i++) {
			uint64_t at = 100000 + below(3000);

			first = at < first ? at : first;
			last = at > last ? at : last;
			r.hosts[i].n_spans = 1;
			r.hosts[i].clock.bound_known = true;
			r.hosts[i].clock.bound_ns = below(1000);
			r.spans[i][0].from_ns = shown(at, r.hosts[i].clock.bound_ns);
			r.spans[i][0].to_ns = 200000;
		}
		assert_int_equal(combine_times(&t, r.hosts, r.n), 0);
		assert_true(t.start.bound_known);
		assert_true(distance(t.start.skew_ns, last - first) <= t.start.bound_ns);
		assert_true(t.start.bound_ns <= 2000);
		loosest = t.start.bound_ns > loosest ? t.start.bound_ns : loosest;
	}
	assert_true(loosest > 1000);
}

/* Of one clock without a bound nothing is known; nor of documents without times. */
TEST(test_unknown)
{
	struct combine_times t;
	struct rig r;

	do {
		draw_hosts(&r);
	} while (r.n < 2);
	for (size_t i = 0; i + 1 < r.n; i++)
		r.hosts[i].clock.bound_known = true;
	assert_int_equal(combine_times(&t, r.hosts, r.n), 0);
	assert_true(t.known && !t.start.bound_known && !t.end.bound_known);
	r.hosts[0].placed = false;
	r.hosts[0].sum.figures.elapsed_ns = 77;
	r.hosts[1].sum.figures.elapsed_ns = 78;
	assert_int_equal(combine_times(&t, r.hosts, r.n), 0);
	assert_false(t.known);
	assert_int_equal(t.elapsed_ns, 78);
	/* A host that did nothing has no times to know. */
	r.hosts[0].idle = true;
	r.hosts[0].n_spans = 0;
	assert_int_equal(combine_times(&t, r.hosts, r.n), 0);
	assert_true(t.known);
}

RUN_TESTS(NULL, NULL)
