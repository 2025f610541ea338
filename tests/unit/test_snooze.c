/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rests of -snooze, and the order of slots that rest: src/run/coord/pace.c,
 * src/run/issue/order.c.
 */
#include "unit.h"

#include <errno.h>

#include "run/coord/pace.h"
#include "run/issue/order.h"
#include "xdd/io/engine.h"
#include "xdd/plan/plan.h"

#define SLOTS 5

static uint64_t rest(struct snooze *s, double percent, enum op_dir dir, uint64_t took_ns, int error)
{
	const struct target_plan plan = { .snooze_percent = percent };
	const struct io_request req = { .dir = dir, .issue_ns = 1000, .error = error };

	return snooze_ns(s, &plan, &req, 1000 + took_ns);
}

TEST(test_mean)
{
	struct snooze s;

	snooze_begin_pass(&s);
	assert_int_equal(rest(&s, 80, DIR_READ, 5000, 0), 4000);
	assert_int_equal(rest(&s, 80, DIR_READ, 15000, 0), 8000);
	assert_int_equal(rest(&s, 80, DIR_WRITE, 1000, 0), 800);
	assert_int_equal(rest(&s, 200, DIR_READ, 10000, 0), 20000);
	assert_int_equal(rest(&s, 0, DIR_READ, 10000, 0), 0);
	snooze_begin_pass(&s);
	assert_int_equal(rest(&s, 50, DIR_READ, 100, 0), 50);
}

TEST(test_failures)
{
	struct snooze s;

	snooze_begin_pass(&s);
	assert_int_equal(rest(&s, 50, DIR_READ, 1000, -EIO), 500);
	assert_int_equal(rest(&s, 50, DIR_READ, 100, 0), 50);
	assert_int_equal(rest(&s, 50, DIR_READ, 9000, -EIO), 50);
}

TEST(test_limits)
{
	struct snooze s;

	snooze_begin_pass(&s);
	assert_int_equal(rest(&s, 100000, DIR_READ, UINT64_MAX / 2, 0), 1000000000000000000);
	snooze_begin_pass(&s);
	/* A clock that was set back. */
	assert_int_equal(rest(&s, 100, DIR_READ, (uint64_t)-500, 0), 0);
}

/* Slots come out in the order in which they are ready; of equal ones the older first. */
TEST(test_order)
{
	static const uint64_t ready[SLOTS] = { 300, 100, 200, 100, 50 };
	static const unsigned wanted[SLOTS] = { 4, 1, 3, 2, 0 };
	struct io_request requests[SLOTS];
	struct io_request *free_slots[SLOTS];

	for (unsigned head = 0; head < SLOTS; head++) {
		struct request_ring ring = {
			.depth = SLOTS, .requests = requests, .free = free_slots, .head = head
		};

		for (unsigned i = 0; i < SLOTS; i++) {
			requests[i] = (struct io_request){ .slot = i, .ready_ns = ready[i] };
			request_ring_put_ready(&ring, &requests[i]);
		}
		for (unsigned i = 0; i < SLOTS; i++)
			assert_int_equal(request_ring_take(&ring)->slot, wanted[i]);
		assert_int_equal(ring.n_free, 0);
	}
}

RUN_TESTS(NULL, NULL)
