/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranks of a run: the difference of two clocks from messages, and the messages of many ranks.
 * tests/func/mpi.py has the ranks themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "sync/group_internal.h"

/* ---- clocks ---- */

static uint64_t draw(unsigned *seed, uint64_t below)
{
	return (uint64_t)rand_r(seed) % below;
}

/* The true difference lies within the bounds, however long each way takes. */
TEST(test_clock_contains)
{
	unsigned seed = 7;

	for (int run = 0; run < 1000; run++) {
		const int64_t truth = (int64_t)draw(&seed, 1u << 30) * 1000 - (1ll << 39);
		uint64_t now = 1ull << 50, bound;
		struct clock_bounds b;
		int64_t offset;

		clock_bounds_init(&b);
		for (int i = 0; i < GROUP_PINGS; i++) {
			const uint64_t there = draw(&seed, 1000000), back = draw(&seed, 1000);
			const uint64_t answered = now + there + (uint64_t)truth;

			clock_bounds_add(&b, now, answered, now + there + back);
			now += there + back + 10;
		}
		offset = clock_bounds_offset(&b, &bound);
		assert_true(llabs(offset - truth) <= (int64_t)bound);
	}
}

/* The exchange that took the shortest time decides. */
TEST(test_clock_narrows)
{
	struct clock_bounds b;
	uint64_t bound;

	clock_bounds_init(&b);
	clock_bounds_add(&b, 1000, 501000, 2000);
	assert_int_equal(clock_bounds_offset(&b, &bound), 499500);
	assert_int_equal(bound, 501);
	clock_bounds_add(&b, 5000, 505010, 5020);
	assert_int_equal(clock_bounds_offset(&b, &bound), 499995);
	assert_int_equal(bound, 6);
	/* A slow one changes nothing. */
	clock_bounds_add(&b, 9000, 600000, 190000);
	assert_int_equal(clock_bounds_offset(&b, &bound), 499995);
	assert_int_equal(bound, 6);
}

/* ---- messages ---- */

static const char *host_of(void *arg, unsigned rank)
{
	static const char *const hosts[] = { "a", "b", "c", "d" };

	(void)arg;
	return hosts[rank];
}

static void add(struct group_log *l, unsigned rank, const char *text, uint64_t now_ns)
{
	assert_int_equal(group_log_add(l, rank, text, strlen(text), now_ns), 1);
}

static void expect(struct group_log *l, uint64_t now_ns, const char *wanted)
{
	char *text = group_log_take(l, now_ns, 4, host_of, NULL);

	if (wanted)
		assert_string_equal(text, wanted);
	else
		assert_null(text);
	free(text);
}

TEST(test_log_names)
{
	struct group_log l;

	group_log_init(&l);
	add(&l, 0, "xdd: warning: mine", 0);
	add(&l, 2, "xdd: warning: theirs", 0);
	add(&l, 3, "no message", 0);
	expect(&l, UINT64_MAX,
	       "xdd: warning: mine\n"
	       "xdd: rank 2 on c: warning: theirs\n"
	       "rank 3 on d: no message\n");
	expect(&l, UINT64_MAX, NULL);
	group_log_destroy(&l);
}

TEST(test_log_counts)
{
	struct group_log l;

	group_log_init(&l);
	for (unsigned rank = 0; rank < 4; rank++)
		add(&l, rank, "xdd: all", 0);
	add(&l, 1, "xdd: some", 0);
	add(&l, 3, "xdd: some", 0);
	/* One rank that says it twice has two lines. */
	add(&l, 2, "xdd: one", 0);
	add(&l, 2, "xdd: one", 0);
	expect(&l, UINT64_MAX,
	       "xdd: all (all 4 ranks)\n"
	       "xdd: some (2 of 4 ranks; one is rank 1 on b)\n"
	       "xdd: rank 2 on c: one\n"
	       "xdd: rank 2 on c: one\n");
	group_log_destroy(&l);
}

TEST(test_log_waits)
{
	struct group_log l;

	group_log_init(&l);
	add(&l, 0, "xdd: x", 1000);
	expect(&l, 1000 + GROUP_LOG_WAIT_NS, NULL);
	expect(&l, 1001 + GROUP_LOG_WAIT_NS, "xdd: x\n");
	group_log_destroy(&l);
}

TEST(test_log_is_full)
{
	struct group_log l;
	char text[20];

	group_log_init(&l);
	for (int i = 0; i < GROUP_LOG_LINES; i++) {
		snprintf(text, sizeof(text), "line %d", i);
		add(&l, 0, text, 0);
	}
	assert_int_equal(group_log_add(&l, 0, "more", 4, 0), 0);
	free(group_log_take(&l, UINT64_MAX, 4, host_of, NULL));
	add(&l, 0, "more", 0);
	group_log_destroy(&l);
}

RUN_TESTS(NULL, NULL)
