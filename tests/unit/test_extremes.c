/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The longest and the shortest operation: of one QThread, of several, and read while they are
 * written.
 */
#include "unit.h"

#include <pthread.h>

#include "xdd/stat/counters.h"

static void note(struct extremes_live *e, uint64_t op, uint64_t took_ns)
{
	const struct extreme o = {
		.took_ns = took_ns, .op = op, .offset = op * 10, .bytes = op * 100, .dir = DIR_WRITE
	};

	if (extremes_are_met(e, took_ns))
		extremes_note(e, &o);
}

static void check(const struct extremes *e, enum extremes_which which, uint64_t op,
		  uint64_t took_ns)
{
	assert_true(e->any);
	assert_int_equal(e->of[which].op, op);
	assert_int_equal(e->of[which].took_ns, took_ns);
	assert_int_equal(e->of[which].offset, op * 10);
	assert_int_equal(e->of[which].bytes, op * 100);
	assert_int_equal(e->of[which].dir, DIR_WRITE);
}

TEST(test_one)
{
	struct extremes_live live = { 0 };
	struct extremes now;

	assert_false(extremes_read(&live, 0, 1).any);
	note(&live, 1, 50);
	now = extremes_read(&live, 3, 7);
	check(&now, EXTREMES_LONGEST, 1, 50);
	check(&now, EXTREMES_SHORTEST, 1, 50);
	assert_int_equal(now.of[EXTREMES_LONGEST].target, 3);
	assert_int_equal(now.of[EXTREMES_SHORTEST].pass, 7);
	note(&live, 2, 60);
	note(&live, 3, 60);
	note(&live, 4, 40);
	note(&live, 5, 40);
	note(&live, 6, 55);
	now = extremes_read(&live, 0, 1);
	check(&now, EXTREMES_LONGEST, 2, 60);
	check(&now, EXTREMES_SHORTEST, 4, 40);
	extremes_reset(&live);
	assert_false(extremes_read(&live, 0, 1).any);
}

/* No time at all is the shortest there is, first or last. */
TEST(test_zero)
{
	struct extremes_live live = { 0 };
	struct extremes now;

	note(&live, 1, 0);
	now = extremes_read(&live, 0, 1);
	check(&now, EXTREMES_LONGEST, 1, 0);
	note(&live, 2, 5);
	note(&live, 3, 0);
	now = extremes_read(&live, 0, 1);
	check(&now, EXTREMES_LONGEST, 2, 5);
	check(&now, EXTREMES_SHORTEST, 1, 0);
}

static struct extremes some(uint64_t pass, uint64_t target, uint64_t op, uint64_t took_ns)
{
	struct extremes_live live = { 0 };

	note(&live, op, took_ns);
	return extremes_read(&live, target, pass);
}

TEST(test_add)
{
	struct extremes sum = { 0 }, from;

	extremes_add(&sum, &(struct extremes){ 0 });
	assert_false(sum.any);
	from = some(2, 1, 8, 50);
	extremes_add(&sum, &from);
	extremes_add(&sum, &(struct extremes){ 0 });
	check(&sum, EXTREMES_SHORTEST, 8, 50);
	from = some(2, 1, 9, 70);
	extremes_add(&sum, &from);
	check(&sum, EXTREMES_LONGEST, 9, 70);
	check(&sum, EXTREMES_SHORTEST, 8, 50);
	/*
	 * Of those that took equally long, the earliest: by pass, target and number, in any order.
	 */
	from = some(2, 0, 10, 70);
	extremes_add(&sum, &from);
	check(&sum, EXTREMES_LONGEST, 10, 70);
	from = some(1, 5, 11, 70);
	extremes_add(&sum, &from);
	check(&sum, EXTREMES_LONGEST, 11, 70);
	from = some(1, 5, 12, 70);
	extremes_add(&sum, &from);
	check(&sum, EXTREMES_LONGEST, 11, 70);
	check(&sum, EXTREMES_SHORTEST, 8, 50);
}

#define TURNS 200000

static void *write_many(void *arg)
{
	struct extremes_live *live = arg;

	for (uint64_t i = 1; i <= TURNS; i++)
		note(live, i, TURNS + i);
	return NULL;
}

/* A reader gets one operation, never parts of two. */
TEST(test_meanwhile)
{
	struct extremes_live live = { 0 };
	struct extremes now;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, write_many, &live), 0);
	do {
		now = extremes_read(&live, 0, 1);
		if (!now.any)
			continue;
		check(&now, EXTREMES_LONGEST, now.of[EXTREMES_LONGEST].took_ns - TURNS,
		      now.of[EXTREMES_LONGEST].took_ns);
		check(&now, EXTREMES_SHORTEST, 1, TURNS + 1);
	} while (now.of[EXTREMES_LONGEST].op < TURNS);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

RUN_TESTS(NULL, NULL)
