/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The libaio engine: src/io/engine_libaio.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "engine_rig.h"
#include "xdd/io/engine.h"

TEST_SETUP(test_aio_timeouts, refill)
{
	struct variant v = { "libaio", "" };
	struct rig r;

	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 4, false);
	kernel.hold = true;
	start(&r, 0, DIR_READ, 0, BLOCK);
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	assert_int_equal(kernel.n_held, 2);
	assert_true(reap_ns(&r, 1, 0, 0) < QUICK_NS);
	assert_true(reap_ns(&r, 1, 50000000, 0) >= 50000000);

	kernel.hold = false;
	assert_int_equal(io_submit(*(void **)r.ctx, 1, kernel.held), 1);
	assert_true(reap_ns(&r, 2, 50000000, 1) >= 50000000);
	assert_ptr_equal(r.done[0], &r.requests[0]);
	assert_int_equal(io_submit(*(void **)r.ctx, 1, kernel.held + 1), 1);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_memory_equal(r.requests[1].buf, data + BLOCK, BLOCK);
	rig_close(&r);
}

TEST_SETUP(test_aio_short, refill)
{
	struct variant v = { "libaio", "batch 3" };
	struct rig r;

	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	kernel.cut = 1000;
	for (unsigned i = 0; i < 8; i++)
		start(&r, i, DIR_READ, i * BLOCK, BLOCK);
	for (unsigned left = 8; left;) {
		int n = reap(&r, 1, 8, UINT64_MAX, 1, NULL);

		assert_true(n > 0);
		left -= (unsigned)n;
	}
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(r.requests[i].error, 0);
		assert_int_equal(r.requests[i].done, BLOCK);
		assert_memory_equal(r.requests[i].buf, data + (size_t)i * BLOCK, BLOCK);
	}
	rig_close(&r);
}

/* The kernel takes some of a batch, or has no room at all for a while. */
TEST_SETUP(test_aio_no_room, refill)
{
	struct variant v = { "libaio", "batch 8" };
	struct rig r;

	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	kernel.room = 3;
	for (unsigned i = 0; i < 8; i++)
		start(&r, i, DIR_READ, i * BLOCK, BLOCK);
	assert_int_equal(kernel.submits, 3);
	reap_ns(&r, 8, UINT64_MAX, 8);

	kernel_reset();
	v.keywords = "batch 1";
	rig_close(&r);
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	start(&r, 0, DIR_READ, 0, BLOCK);
	kernel.refuse = -EAGAIN;
	kernel.refusals = 2;
	assert_int_equal(kernel.submits, 1);
	/* Both stay until a reap makes room: to submit once more would only spin. */
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	assert_int_equal(kernel.submits, 2);
	start(&r, 2, DIR_READ, 2 * BLOCK, BLOCK);
	assert_int_equal(kernel.submits, 3);
	reap_ns(&r, 3, UINT64_MAX, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(r.requests[i].error, 0);
		assert_memory_equal(r.requests[i].buf, data + (size_t)i * BLOCK, BLOCK);
	}

	/* nothing is outstanding that could make room: then it is an error */
	kernel.refusals = 1;
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_int_equal(r.requests[1].error, -EAGAIN);

	/* an interrupted call is made again */
	kernel.refuse = -EINTR;
	kernel.refusals = 1;
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_int_equal(r.requests[1].error, 0);
	rig_close(&r);
}

TEST_SETUP(test_batches, refill)
{
	struct variant v = { "libaio", "batch 3" };
	struct rig r;

	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	start(&r, 0, DIR_READ, 0, BLOCK);
	start(&r, 1, DIR_READ, 0, BLOCK);
	assert_int_equal(kernel.submits, 0);
	start(&r, 2, DIR_READ, 0, BLOCK);
	assert_int_equal(kernel.submits, 1);
	start(&r, 3, DIR_READ, 0, BLOCK);
	assert_int_equal(kernel.submits, 1);
	reap_ns(&r, 4, UINT64_MAX, 4);
	assert_int_equal(kernel.submits, 2);
	rig_close(&r);
}

RUN_TESTS(make_file, remove_file)
