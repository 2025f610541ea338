/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engines psync and null: src/io/engine_psync.c.
 *
 * pread and pwrite are this file's own: they can be told to fail, to be interrupted and to move
 * less than asked for, which no file does at will.
 */
#undef _FORTIFY_SOURCE /* it would have its own pread */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine_file.h"
#include "engines.h"
#include "xdd/io/engine.h"

/*
 * Results of the next calls: at most so many bytes, an error (negative), 0; then as the kernel
 * does.
 */
static const ssize_t *script;
static size_t script_left;
static unsigned calls;

/* Returns true when the call is to be made, with `size` cut. */
static bool next_step(size_t *size, ssize_t *ret)
{
	ssize_t step;

	calls++;
	if (!script_left)
		return true;
	script_left--;
	step = *script++;
	if (step > 0) {
		*size = (size_t)step < *size ? (size_t)step : *size;
		return true;
	}
	*ret = step ? -1 : 0;
	errno = (int)-step;
	return false;
}

ssize_t pread(int file, void *to, size_t size, off_t offset)
{
	ssize_t ret;

	return next_step(&size, &ret) ? syscall(SYS_pread64, file, to, size, offset) : ret;
}

ssize_t pwrite(int file, const void *from, size_t size, off_t offset)
{
	ssize_t ret;

	return next_step(&size, &ret) ? syscall(SYS_pwrite64, file, from, size, offset) : ret;
}

/* The file, and no calls made yet. */
static int start(void **state)
{
	script_left = 0;
	calls = 0;
	return refill(state);
}

/* Run one request in a context of its own, for `file`. */
static void submit_to(const char *name, int file, struct io_request *req)
{
	const struct engine *e = engine_find(name);
	const struct target_plan plan = { .op = OP_MIXED, .kind = TARGET_FILE };
	const struct engine_params params = { .target = &plan, .fd = file, .depth = 1 };
	void *ctx = NULL;

	if (e->init)
		assert_int_equal(e->init(&ctx, &params), 0);
	io_request_reset(req);
	assert_int_equal(e->submit(ctx, req), 0);
	if (e->fini)
		e->fini(ctx);
}

static void submit(const char *name, struct io_request *req)
{
	submit_to(name, fd, req);
}

/* Run one request with the calls scripted. */
static void scripted(struct io_request *req, const ssize_t *steps, size_t n)
{
	script = steps;
	script_left = n;
	calls = 0;
	submit("psync", req);
}

TEST(test_null)
{
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		struct io_request req = { .dir = (enum op_dir)dir, .size = 1ull << 40 };

		submit_to("null", -1, &req);
		assert_int_equal(req.done, 1ull << 40);
		assert_int_equal(req.error, 0);
	}
}

TEST_SETUP(test_transfers, start)
{
	struct io_request req = request(DIR_READ, 100, 5000);

	submit("psync", &req);
	assert_int_equal(req.done, 5000);
	assert_int_equal(req.error, 0);
	assert_memory_equal(buf, data + 100, 5000);
	assert_int_equal(calls, 1);

	req = request(DIR_WRITE, SIZE + 50, 5000);
	submit("psync", &req);
	assert_int_equal(req.done, 5000);
	assert_int_equal(req.error, 0);
	memset(buf, 0, sizeof(buf));
	req = request(DIR_READ, SIZE + 50, 5000);
	submit("psync", &req);
	assert_int_equal(req.error, 0);
	assert_memory_equal(buf, data + 100, 5000);
}

TEST_SETUP(test_noop, start)
{
	struct io_request req = request(DIR_NOOP, 0, 5000);

	submit_to("psync", -1, &req);
	assert_int_equal(req.done, 5000);
	assert_int_equal(req.error, 0);
	assert_int_equal(calls, 0);
}

/* Zeros in the range and no others, also of a request longer than what is left of the file. */
TEST_SETUP(test_discard, start)
{
	struct io_request req = request(DIR_DISCARD, 100, 5000), read = request(DIR_READ, 0, SIZE);

	submit("psync", &req);
	if (req.error == -EOPNOTSUPP)
		skip();
	assert_int_equal(req.error, 0);
	assert_int_equal(req.done, 5000);
	req = request(DIR_DISCARD, SIZE - 100, 5000);
	submit("psync", &req);
	assert_int_equal(req.done, 5000);
	assert_int_equal(calls, 0);
	memset(data + 100, 0, 5000);
	memset(data + SIZE - 100, 0, 100);
	submit("psync", &read);
	assert_int_equal(read.error, 0);
	assert_memory_equal(buf, data, SIZE);
	make_data();

	submit_to("psync", -1, &req);
	assert_int_equal(req.error, -EBADF);
	assert_int_equal(req.done, 0);
}

TEST_SETUP(test_short_transfers, start)
{
	static const ssize_t steps[] = { 1, 100, -EINTR, 2000, -EINTR };
	struct io_request req = request(DIR_READ, 10, 6000);

	scripted(&req, steps, 5);
	assert_int_equal(req.done, 6000);
	assert_int_equal(req.error, 0);
	assert_int_equal(calls, 6);
	assert_memory_equal(buf, data + 10, 6000);

	req = request(DIR_WRITE, SIZE, 6000);
	scripted(&req, steps, 5);
	assert_int_equal(req.done, 6000);
	assert_int_equal(req.error, 0);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(syscall(SYS_pread64, fd, buf, SIZE, SIZE), 6000);
	assert_memory_equal(buf, data + 10, 6000);
}

TEST_SETUP(test_end_of_file, start)
{
	struct io_request req = request(DIR_READ, SIZE - 300, 1000);

	submit("psync", &req);
	assert_int_equal(req.done, 300);
	assert_int_equal(req.error, -ENODATA);
	assert_memory_equal(buf, data + SIZE - 300, 300);
	req = request(DIR_READ, SIZE, 1000);
	submit("psync", &req);
	assert_int_equal(req.done, 0);
	assert_int_equal(req.error, -ENODATA);
}

static void check_script(enum op_dir dir, const ssize_t *steps, size_t n, uint64_t done, int error)
{
	struct io_request req = request(dir, 0, 4000);

	scripted(&req, steps, n);
	assert_int_equal(req.done, done);
	assert_int_equal(req.error, error);
	assert_int_equal(calls, n);
}

TEST_SETUP(test_errors, start)
{
	static const ssize_t eio[] = { 1000, -EIO }, eagain[] = { -EAGAIN }, zero[] = { 512, 0 };
	static const ssize_t einval[] = { -EINVAL }, partly[] = { 904, -EINVAL };
	struct io_request req = request(DIR_READ, 0, 100);

	for (int dir = DIR_READ; dir <= DIR_WRITE; dir++) {
		check_script((enum op_dir)dir, eio, 2, 1000, -EIO);
		check_script((enum op_dir)dir, eagain, 1, 0, -EAGAIN);
		check_script((enum op_dir)dir, einval, 1, 0, -EINVAL);
	}
	check_script(DIR_READ, zero, 2, 512, -ENODATA);
	check_script(DIR_WRITE, zero, 2, 512, -ENOSPC);
	check_script(DIR_READ, partly, 2, 904, -ENODATA); /* a direct read of the last sector */
	check_script(DIR_WRITE, partly, 2, 904, -EINVAL);

	submit_to("psync", -1, &req);
	assert_int_equal(req.done, 0);
	assert_int_equal(req.error, -EBADF);
	req = request(DIR_READ, UINT64_MAX - 4096, 100);
	scripted(&req, NULL, 0);
	assert_int_equal(req.error, -EINVAL);
}

/* A real one, where the file system can. */
TEST_SETUP(test_direct_end_of_file, start)
{
	struct io_request req;
	void *aligned = NULL;
	int direct = open(path, O_RDONLY | O_DIRECT);

	if (direct < 0)
		skip();
	assert_int_equal(posix_memalign(&aligned, 4096, 8192), 0);
	req = (struct io_request){ .dir = DIR_READ, .buf = aligned, .offset = 8192, .size = 8192 };
	submit_to("psync", direct, &req);
	close(direct);
	assert_int_equal(req.done, SIZE - 8192);
	assert_int_equal(req.error, -ENODATA);
	assert_memory_equal(aligned, data + 8192, SIZE - 8192);
	free(aligned);
}

RUN_TESTS(make_file, remove_file)
