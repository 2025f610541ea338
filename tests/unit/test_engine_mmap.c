/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap engine: src/io/engine_mmap.c.
 *
 * This file replaces fstat, which can return a wrong size, fallocate, which can fail, and fstatvfs.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine_file.h"
#include "engines.h"
#include "xdd/io/engine.h"

/* The size that files seem to have; 0: as they are. */
static off_t pretended_size;

int fstat(int file, struct stat *st)
{
	int ret = fstatat(file, "", st, AT_EMPTY_PATH);

	if (!ret && pretended_size)
		st->st_size = pretended_size;
	return ret;
}

/* The errno that fallocate sets; 0: it does not fail. */
static int allocation_error;
static fsblkcnt_t blocks_left;

int fallocate(int file, int mode, off_t offset, off_t bytes)
{
	if (!allocation_error)
		return (int)syscall(SYS_fallocate, file, mode, offset, bytes);
	errno = allocation_error;
	return -1;
}

int fstatvfs(int file, struct statvfs *fs)
{
	*fs = (struct statvfs){ .f_bavail = blocks_left };
	return 0;
}

static struct target_plan mapped_plan(enum op_request op)
{
	return (struct target_plan){
		.path = path,
		.kind = TARGET_FILE,
		.engine = engine_named("mmap"),
		.engine_options = engine_options("mmap", ""),
		.op = op,
		.size_bytes = SIZE,
		.block_size = 1,
		.req_bytes = 1000,
		.pass_ops = 10,
		.pass_bytes = SIZE,
		.last_op_bytes = 1000,
		.queue_depth = 1,
	};
}

static void *map_open(const struct target_plan *plan, int file)
{
	const struct engine_params params = { .target = plan, .fd = file, .depth = 1 };
	void *ctx = NULL;

	assert_int_equal(engine_find("mmap")->init(&ctx, &params), 0);
	return ctx;
}

static void map_run(void *ctx, struct io_request *req, uint64_t done, int error)
{
	io_request_reset(req);
	assert_int_equal(engine_find("mmap")->submit(ctx, req), 0);
	assert_int_equal(req->done, done);
	assert_int_equal(req->error, error);
}

TEST_SETUP(test_mmap_transfers, refill)
{
	const struct target_plan plan = mapped_plan(OP_MIXED);
	struct io_request req = request(DIR_READ, 100, 5000);
	unsigned char back[SIZE];
	int writable = open(path, O_WRONLY); /* as for -op write */
	void *ctx = map_open(&plan, writable);

	map_run(ctx, &req, 5000, 0);
	assert_memory_equal(buf, data + 100, 5000);
	req = request(DIR_WRITE, 4000, 5000);
	map_run(ctx, &req, 5000, 0);
	assert_int_equal(syscall(SYS_pread64, fd, back, SIZE, 0), SIZE);
	assert_memory_equal(back + 4000, data + 100, 5000);
	assert_memory_equal(back, data, 4000);
	req = request(DIR_NOOP, 1ull << 50, 5000);
	map_run(ctx, &req, 5000, 0);

	req = request(DIR_READ, SIZE - 300, 1000);
	map_run(ctx, &req, 300, -ENODATA);
	req = request(DIR_READ, SIZE, 1000);
	map_run(ctx, &req, 0, -ENODATA);
	req = request(DIR_READ, UINT64_MAX - 10, 1000);
	map_run(ctx, &req, 0, -ENODATA);
	req = request(DIR_WRITE, SIZE - 300, 1000);
	map_run(ctx, &req, 300, -ENOSPC);
	engine_find("mmap")->fini(ctx);
	close(writable);
}

TEST_SETUP(test_mmap_touch, refill)
{
	struct target_plan plan = mapped_plan(OP_MIXED);
	struct io_request req = request(DIR_READ, 100, 9000);
	unsigned char back[SIZE];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), changed = 0;
	void *ctx;

	plan.engine_options = engine_options("mmap", "touch");
	ctx = map_open(&plan, fd);
	map_run(ctx, &req, 9000, 0);
	assert_int_equal(buf[0], 0);

	memset(buf, 0xee, sizeof(buf));
	req = request(DIR_WRITE, 100, 9000);
	map_run(ctx, &req, 9000, 0);
	engine_find("mmap")->fini(ctx);
	assert_int_equal(syscall(SYS_pread64, fd, back, SIZE, 0), SIZE);
	for (size_t i = 0; i < SIZE; i++) {
		changed += back[i] != data[i];
		if (back[i] != data[i])
			assert_true(i == 100 || i % page == 0);
	}
	assert_true(changed >= 1 && changed <= 1 + 9000 / page);
}

/* The pages after the new end of a file are gone: reading them is a SIGBUS. */
TEST_SETUP(test_mmap_truncated, refill)
{
	const struct target_plan plan = mapped_plan(OP_MIXED);
	struct io_request req = request(DIR_READ, 0, SIZE);
	void *ctx = map_open(&plan, fd);

	assert_int_equal(ftruncate(fd, 1000), 0);
	map_run(ctx, &req, 1000, -ENODATA);
	assert_memory_equal(buf, data, 1000);
	req = request(DIR_READ, 8192, 100);
	map_run(ctx, &req, 0, -ENODATA);
	req = request(DIR_READ, 500, 500);
	map_run(ctx, &req, 500, 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	req = request(DIR_WRITE, 0, 100);
	map_run(ctx, &req, 0, -ENOSPC);
	engine_find("mmap")->fini(ctx);
}

/* A page is gone though the file is as long as before: its device failed. */
TEST_SETUP(test_mmap_error, refill)
{
	const struct target_plan plan = mapped_plan(OP_READ);
	struct io_request req = request(DIR_READ, 10, SIZE - 10);
	off_t page = sysconf(_SC_PAGESIZE);
	void *ctx;

	if (page > 8192)
		skip();
	ctx = map_open(&plan, fd);
	assert_int_equal(ftruncate(fd, page), 0);
	pretended_size = SIZE;
	map_run(ctx, &req, (uint64_t)page - 10, -EIO);
	assert_memory_equal(buf, data + 10, (size_t)page - 10);
	req = request(DIR_READ, (uint64_t)page + 10, 100);
	map_run(ctx, &req, 0, -EIO);
	req = request(DIR_READ, 10, 100);
	map_run(ctx, &req, 100, 0);
	pretended_size = 0;
	engine_find("mmap")->fini(ctx);
}

/* Why a page cannot be had for a write: the file system says so, or has no block left. */
TEST_SETUP(test_mmap_full, refill)
{
	static const struct {
		int allocation_error;
		fsblkcnt_t blocks_left;
		int error;
	} cases[] = {
		{ ENOSPC, 1, -ENOSPC },	 { EDQUOT, 1, -EDQUOT }, { EOPNOTSUPP, 0, -ENOSPC },
		{ EOPNOTSUPP, 1, -EIO }, { EINTR, 0, -EIO },
	};
	const struct target_plan plan = mapped_plan(OP_WRITE);
	struct io_request req = request(DIR_WRITE, 0, 100);
	void *ctx = map_open(&plan, fd);

	assert_int_equal(ftruncate(fd, 0), 0);
	pretended_size = SIZE;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		allocation_error = cases[i].allocation_error;
		blocks_left = cases[i].blocks_left;
		map_run(ctx, &req, 0, cases[i].error);
	}
	allocation_error = 0;
	pretended_size = 0;
	engine_find("mmap")->fini(ctx);
}

TEST_SETUP(test_mmap_empty, refill)
{
	const struct target_plan plan = mapped_plan(OP_READ);
	struct io_request req = request(DIR_READ, 0, 100);
	void *ctx;

	assert_int_equal(ftruncate(fd, 0), 0);
	ctx = map_open(&plan, fd);
	map_run(ctx, &req, 0, -ENODATA);
	engine_find("mmap")->fini(ctx);
	engine_find("mmap")->fini(NULL);
}

static void check_mmap(const struct target_plan *plan, int ret, const char *part)
{
	struct err why = { 0 };

	assert_int_equal(engine_check(plan, &why), ret);
	if (part)
		assert_non_null(strstr(why.text, part));
}

TEST_SETUP(test_mmap_check, refill)
{
	struct target_plan plan = mapped_plan(OP_READ);

	plan.end_bytes = SIZE + 1;
	check_mmap(&plan, 0, NULL); /* a read past the end is an error of the operation */
	plan.op = OP_WRITE;
	check_mmap(&plan, -EINVAL, "cannot grow");
	plan.end_bytes = SIZE;
	check_mmap(&plan, 0, NULL);

	plan = mapped_plan(OP_WRITE);
	plan.kind = TARGET_MISSING;
	check_mmap(&plan, -EINVAL, "must be there");
	plan.kind = TARGET_CHAR;
	check_mmap(&plan, -ENODEV, "only files and block devices");
	plan = mapped_plan(OP_READ);
	plan.direct_io = true;
	check_mmap(&plan, -EINVAL, "-dio");
}

RUN_TESTS(make_file, remove_file)
