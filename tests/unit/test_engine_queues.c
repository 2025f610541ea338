/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All engines side by side, and what the engines that queue have in common: src/io/engine_libaio.c,
 * engine_io_uring.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_rig.h"
#include "engines.h"
#include "xdd/io/engine.h"

static const struct variant variants[] = {
	{ "psync", "" },
	{ "libaio", "" },
	{ "libaio", "batch 1" },
	{ "libaio", "batch 5" },
	{ "libaio", "batch 100000" },
	{ "io_uring", "" },
	{ "io_uring", "batch 1" },
	{ "io_uring", "batch 5" },
	{ "io_uring", "batch 100000" },
	{ "io_uring", "fixedbufs fixedfiles" },
	{ "io_uring", "sqpoll" },
	{ "mmap", "" },
	{ "stdio", "" },
	{ "stdio", "bufsize 5000" },
	{ "stdio", "unbuffered" },
};

/* All engines of the registry that move data, except the one for SCSI devices, are among them. */
TEST(test_all_engines)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		const struct engine_info *info = engine_registry[i];
		bool found = info->caps & (ENGINE_NO_DATA | ENGINE_SCSI);

		for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]); k++)
			found = found || strcmp(info->name, variants[k].engine) == 0;
		if (!found)
			fail_msg("%s: has no row in variants[]", info->name);
	}
}

static bool is_sync(const struct rig *r)
{
	return !(r->engine->info.caps & ENGINE_QUEUES);
}

struct step {
	enum op_dir dir;
	uint64_t offset;
	uint64_t size;
	uint64_t done;
	int error;
};

/* All outstanding together, except with engines that complete at once. */
static void run_steps(const struct variant *v, int flags, const struct step *steps, unsigned n)
{
	struct io_request *seen[DEPTH] = { NULL };
	struct rig r;
	int got = 0;

	rig_open(&r, v, open_file(flags), DEPTH, flags & O_DIRECT);
	for (unsigned i = 0; i < n; i++) {
		memset(r.requests[i].buf, (int)('a' + i), (size_t)2 * BLOCK);
		start(&r, i, steps[i].dir, steps[i].offset, steps[i].size);
	}
	while (!is_sync(&r) && got < (int)n) {
		int some = reap(&r, 1, 3, UINT64_MAX, 1, NULL);

		assert_in_range(some, 1, 3);
		for (int i = 0; i < some; i++)
			seen[got++] = r.done[i];
	}
	for (unsigned i = 0; i < n; i++) {
		const struct step *s = &steps[i];
		unsigned times = 0;

		for (int k = 0; k < got; k++)
			times += seen[k] == &r.requests[i];
		assert_int_equal(times, is_sync(&r) ? 0 : 1);
		assert_int_equal(r.requests[i].done, s->done);
		assert_int_equal(r.requests[i].error, s->error);
		if (s->dir == DIR_READ && s->done)
			assert_memory_equal(r.requests[i].buf, data + s->offset, s->done);
	}
	if (!is_sync(&r))
		assert_int_equal(reap(&r, 1, DEPTH, UINT64_MAX, 0, NULL), 0);
	rig_close(&r);
}

static void check_written(const struct step *steps, unsigned n)
{
	unsigned char *back = malloc(SIZE), *want = malloc(SIZE);
	int fd = open_file(O_RDONLY);

	memcpy(want, data, SIZE);
	for (unsigned i = 0; i < n; i++)
		if (steps[i].dir == DIR_WRITE)
			memset(want + steps[i].offset, (int)('a' + i), steps[i].done);
	assert_int_equal(read(fd, back, SIZE), SIZE);
	assert_memory_equal(back, want, SIZE);
	close(fd);
	free(back);
	free(want);
}

static const struct step mixture[] = {
	{ DIR_READ, 0, BLOCK, BLOCK, 0 },
	{ DIR_WRITE, 100 * BLOCK, 2 * BLOCK, 2 * BLOCK, 0 },
	{ DIR_NOOP, 1ull << 40, 2 * BLOCK, 2 * BLOCK, 0 },
	{ DIR_READ, 5 * BLOCK, 2 * BLOCK, 2 * BLOCK, 0 },
	{ DIR_READ, (BLOCKS - 1) * BLOCK, 2 * BLOCK, BLOCK + TAIL, -ENODATA },
	{ DIR_READ, BLOCKS *BLOCK, BLOCK, TAIL, -ENODATA },
	{ DIR_READ, (BLOCKS + 1) * BLOCK, BLOCK, 0, -ENODATA },
	{ DIR_WRITE, 110 * BLOCK, BLOCK, BLOCK, 0 },
	{ DIR_READ, 1ull << 40, BLOCK, 0, -ENODATA },
	{ DIR_NOOP, 0, 0, 0, 0 },
	{ DIR_READ, 6 * BLOCK, BLOCK, BLOCK, 0 },
};

TEST_SETUP(test_mixture, refill)
{
	unsigned tried = 0;

	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]))
			continue;
		assert_int_equal(refill(state), 0);
		run_steps(&variants[i], O_RDWR, mixture, COUNT(mixture));
		check_written(mixture, COUNT(mixture));
		tried++;
	}
	assert_true(tried >= 2);
}

TEST_SETUP(test_mixture_direct, refill)
{
	int fd = open_file(O_RDONLY | O_DIRECT);

	if (fd < 0)
		skip();
	close(fd);
	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]) || !strcmp(variants[i].engine, "mmap"))
			continue;
		assert_int_equal(refill(state), 0);
		run_steps(&variants[i], O_RDWR | O_DIRECT, mixture, COUNT(mixture));
		check_written(mixture, COUNT(mixture));
	}
}

/*
 * A request that fails does not harm its neighbours, whether the kernel finds out at once or later.
 */
TEST_SETUP(test_error_in_the_middle, refill)
{
	static const struct step steps[] = {
		{ DIR_READ, 0, BLOCK, BLOCK, 0 },
		{ DIR_READ, BLOCK, BLOCK, BLOCK, 0 },
		{ DIR_WRITE, 0, BLOCK, 0, -EBADF },
		{ DIR_READ, 2 * BLOCK, BLOCK, BLOCK, 0 },
		{ DIR_READ, 1ull << 63, BLOCK, 0, -EINVAL },
		{ DIR_WRITE, 0, BLOCK, 0, -EBADF },
		{ DIR_READ, 3 * BLOCK, BLOCK, BLOCK, 0 },
	};

	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]) || !strcmp(variants[i].engine, "mmap"))
			continue;
		run_steps(&variants[i], O_RDONLY, steps, COUNT(steps));
	}
}

static const char *const queues[] = { "libaio", "io_uring" };

TEST_SETUP(test_depth_filled, refill)
{
	int fd = open_file(O_RDONLY | O_DIRECT);

	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]) || !engine_find(variants[i].engine)->reap)
			continue;
		fill_depth(&variants[i], O_RDONLY);
		if (fd >= 0)
			fill_depth(&variants[i], O_RDONLY | O_DIRECT);
	}
	if (fd >= 0)
		close(fd);
}

TEST_SETUP(test_noop_alone, refill)
{
	for (size_t i = 0; i < COUNT(queues); i++) {
		struct variant v = { queues[i], "" };
		struct rig r;

		if (!offered(&v))
			continue;
		rig_open(&r, &v, open_file(O_RDONLY), 4, false);
		for (unsigned k = 0; k < 4; k++)
			start(&r, k, DIR_NOOP, 0, 1ull << 40);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 1, 3, UINT64_MAX), 3);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 1, 3, 0), 1);
		assert_int_equal(r.done[0]->done, 1ull << 40);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 4, 4, UINT64_MAX), 0);
		rig_close(&r);
		r.engine->fini(NULL);
	}
}

/*
 * The kernel has no memory for a request just now. In strict order by several QThreads it must have
 * the request when submit returns: the next to hand one over is another. (libaio does not ask again
 * when nothing is outstanding that could make room: then it is an error.)
 */
static void in_turn(const char *engine, int refusals, bool others)
{
	const struct variant v = { engine, "" };
	struct rig r;

	kernel_reset();
	rig_prepare(&r, &v, open_file(O_RDONLY), DEPTH, false);
	r.plan.ordering = ORDERING_STRICT;
	r.plan.qthreads = others ? 2 : 1;
	r.plan.engine_options = engine_options(engine, "batch 1");
	assert_int_equal(rig_init(&r), 0);
	start(&r, 0, DIR_READ, 0, BLOCK);
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	assert_int_equal(kernel.taken, 2);
	kernel.refuse = -EAGAIN;
	kernel.refusals = refusals;
	start(&r, 2, DIR_READ, 2 * BLOCK, BLOCK);
	assert_int_equal(kernel.refusals, others ? 0 : refusals - 1);
	assert_int_equal(kernel.taken, others ? 3 : 2);
	kernel.refusals = 0;
	start(&r, 3, DIR_READ, 3 * BLOCK, BLOCK);
	assert_int_equal(kernel.taken, 4);
	reap_ns(&r, 4, UINT64_MAX, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(r.requests[i].error, 0);
		assert_memory_equal(r.requests[i].buf, data + (size_t)i * BLOCK, BLOCK);
	}
	rig_close(&r);
}

TEST_SETUP(test_in_turn, refill)
{
	for (size_t i = 0; i < COUNT(queues); i++) {
		if (!offered(&(struct variant){ queues[i], "" }))
			continue;
		in_turn(queues[i], i ? 3 : 1, true);
		in_turn(queues[i], i ? 3 : 1, false);
	}
}

TEST_SETUP(test_describe, refill)
{
	for (size_t i = 0; i < COUNT(queues); i++) {
		struct variant v = { queues[i], "" };
		char text[ENGINE_TEXT_BYTES] = "";
		struct rig r;

		if (!offered(&v))
			continue;
		rig_open(&r, &v, open_file(O_RDONLY), 4, true);
		r.engine->describe(r.ctx, text, sizeof(text));
		assert_true(strlen(text) > 10 && strlen(text) < sizeof(text) - 1);
		assert_null(strchr(text, '\n'));
		rig_close(&r);
	}
}

RUN_TESTS(make_file, remove_file)
