/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rests of -snooze, and the order of slots that rest: src/run/coord/pace.c,
 * src/run/issue/order.c.
 */
#include "unit.h"

#include <errno.h>

#include "run/coord/pace.h"
#include "run/issue/order.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/err.h"
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

/* Requests of a QThread with their buffers, and none afterwards. */
TEST(test_ring)
{
	struct target_plan plan = { .qthreads = 2, .queue_depth = 5, .req_bytes = 4096 };
	struct plan all = { .targets = &plan, .n_targets = 1, .no_memory_lock = true };
	struct run run = { .plan = &all };
	struct target target = { .run = &run, .plan = &plan };
	struct qthread q = { .target = &target };
	struct err why = { 0 };

	plan.memory = (struct memory_plan){ .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
					    .align_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
					    .shift_bytes = 512,
					    .stride_bytes = 8192,
					    .last_bytes = 8192 };
	assert_int_equal(request_ring_init(&q, &why), 0);
	assert_true(q.ring.depth == 3 && q.ring.n_free == 3 && q.buffer.data);
	for (unsigned i = 0; i < 3; i++) {
		const struct io_request *req = request_ring_take(&q.ring);

		assert_true(req == &q.ring.requests[i] && req->slot == i);
		assert_ptr_equal(req->buf, (char *)q.buffer.data + 512 + i * 8192);
		assert_true(q.ring.buffers[i].iov_base == req->buf &&
			    q.ring.buffers[i].iov_len == 4096);
	}
	request_ring_free(&q);
	assert_true(!q.buffer.data && !q.ring.requests && !q.ring.free && !q.ring.depth);
	/* Without buffers. */
	q.number = 1;
	plan.memory.stride_bytes = 0;
	assert_int_equal(request_ring_init(&q, &why), 0);
	assert_true(q.ring.depth == 2 && !q.buffer.data);
	assert_null(request_ring_first(&q.ring)->buf);
	request_ring_free(&q);
}

RUN_TESTS(NULL, NULL)
