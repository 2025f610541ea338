/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfers and errors of the sg engine: src/io/engine_sg.c, and src/io/scsi.c where it talks to a
 * device. test_scsi_device.c has the capacity and the checks. The device is that of scsi_disk.h.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engines.h"
#include "scsi_disk.h"
#include "xdd/io/engine.h"

#define DISK_TEST(name) TEST_SETUP_TEARDOWN(name, new_disk, end)

extern const struct engine engine_sg;

static struct target_plan target;
static void *ctx;
static uint8_t buf[BLOCKS * BLOCK];
static int fd = -1;

static void start_on(int file)
{
	struct engine_params params = {
		.target = &target,
		.fd = file,
		.depth = 1,
	};

	fd = file;
	assert_true(fd >= 0);
	target.req_bytes = sizeof(buf);
	if (!target.engine_options)
		target.engine_options = engine_options("sg", "");
	assert_int_equal(engine_sg.init(&ctx, &params), 0);
	disk.commands = 0;
	memset(buf, 0, sizeof(buf));
}

/* As on a block device. */
static void start(void)
{
	start_on(memfd_create("disk", MFD_CLOEXEC));
}

/* One request by blocks; the result is in it. */
static struct io_request submit(enum op_dir dir, uint64_t block, uint64_t blocks)
{
	struct io_request req = {
		.dir = dir,
		.buf = buf,
		.offset = block * BLOCK,
		.size = blocks * BLOCK,
	};

	assert_int_equal(engine_sg.submit(ctx, &req), 0);
	return req;
}

static void assert_result(const struct io_request *req, uint64_t blocks, int error)
{
	assert_int_equal(req->done, blocks * BLOCK);
	assert_int_equal(req->error, error);
}

static void assert_explained(const struct io_request *req, const char *wanted)
{
	char text[96] = "?";

	engine_sg.explain(ctx, req, text, sizeof(text));
	assert_string_equal(text, wanted);
}

static int end(void **state)
{
	engine_sg.fini(ctx);
	ctx = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
	target = (struct target_plan){ 0 };
	return 0;
}

DISK_TEST(test_transfers)
{
	struct io_request req;

	start();
	req = submit(DIR_READ, 3, 7);
	assert_result(&req, 7, 0);
	assert_memory_equal(buf, disk.data + 3 * BLOCK, 7 * BLOCK);
	assert_int_equal(disk.cdb[0], 0x28);
	assert_int_equal(disk.commands, 1);

	memset(buf, 0xa5, sizeof(buf));
	req = submit(DIR_WRITE, 60, 4);
	assert_result(&req, 4, 0);
	assert_memory_equal(buf, disk.data + 60 * BLOCK, 4 * BLOCK);

	req = submit(DIR_NOOP, 0, 4);
	assert_result(&req, 4, 0);
	assert_int_equal(disk.commands, 2);
}

DISK_TEST(test_large_address)
{
	struct io_request req;

	disk.last = 0x1ffffffff;
	target.engine_options = engine_options("sg", "fua dpo");
	start();
	req = submit(DIR_WRITE, 0xffffffff, 1);
	assert_result(&req, 1, 0);
	assert_int_equal(disk.cdb_size, 10);
	req = submit(DIR_WRITE, 0x100000000, 1);
	assert_result(&req, 1, 0);
	assert_int_equal(disk.cdb_size, 16);
	assert_int_equal(disk.cdb[0], 0x8a);
	assert_int_equal(disk.cdb[1], 0x18);
}

DISK_TEST(test_split)
{
	struct io_request req;

	disk.sectors = 10;
	start();
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_memory_equal(buf, disk.data, sizeof(buf));
	assert_int_equal(disk.commands, 7);
}

/* The kernel says it takes more than it does: halves are tried, and remembered. */
DISK_TEST(test_split_when_refused)
{
	struct io_request req;

	disk.refuse_above = 20 * BLOCK;
	start();
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_memory_equal(buf, disk.data, sizeof(buf));
	assert_int_equal(disk.commands, 2 + 4);
	disk.commands = 0;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 4);

	/* Not even one block: that is the error. */
	disk.refuse_above = BLOCK - 1;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 0, -EINVAL);
	assert_explained(&req, "");
}

/*
 * EINVAL has other causes than the size, such as a buffer that is not aligned: later commands are
 * as large as before.
 */
DISK_TEST(test_refused_for_another_reason)
{
	static const struct disk_step refused[] = {
		{ .refuse = EINVAL }, { .refuse = EINVAL }, { .refuse = EINVAL },
		{ .refuse = EINVAL }, { .refuse = EINVAL }, { .refuse = EINVAL },
		{ .refuse = EINVAL },
	};
	static const struct disk_step once[] = { { .refuse = EINVAL } };
	static const struct disk_step short_of_memory[] = { { .refuse = ENOMEM } };
	struct io_request req;

	start();
	script(refused, COUNT(refused));
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 0, -EINVAL);
	assert_int_equal(disk.n_steps, 0);
	disk.commands = 0;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1);

	/* commands of that size have been accepted */
	script(once, COUNT(once));
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1 + 3);
	script(short_of_memory, COUNT(short_of_memory));
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1 + 3 + 3);
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 1 + 3 + 3 + 1);
}

DISK_TEST(test_short_transfer)
{
	static const struct disk_step steps[] = {
		{ .resid = 3 * BLOCK, .moves = true },
		{ .resid = BLOCK + 100, .moves = true },
	};
	static const struct disk_step nothing[] = { { .resid = 8 * BLOCK } };
	struct io_request req;

	start();
	script(steps, COUNT(steps));
	req = submit(DIR_READ, 8, 8);
	assert_result(&req, 8, 0);
	assert_memory_equal(buf, disk.data + 8 * BLOCK, 8 * BLOCK);
	assert_int_equal(disk.commands, 3);

	script(nothing, COUNT(nothing));
	req = submit(DIR_READ, 8, 8);
	assert_result(&req, 0, -EIO);
	assert_explained(&req, "the device moved nothing and gave no reason");
}

DISK_TEST(test_end_of_device)
{
	struct io_request req;

	start();
	req = submit(DIR_READ, 60, 8);
	assert_result(&req, 4, -ENODATA);
	assert_explained(&req, "");
	req = submit(DIR_WRITE, 60, 8);
	assert_result(&req, 4, -ENOSPC);
	req = submit(DIR_READ, 64, 1);
	assert_result(&req, 0, -ENODATA);
	req = submit(DIR_READ, UINT64_MAX / BLOCK, 1);
	assert_result(&req, 0, -ENODATA);
}

DISK_TEST(test_attention)
{
	static const struct disk_step twice[] = {
		{ .sense = attention, .sense_size = sizeof(attention) },
		{ .sense = attention, .sense_size = sizeof(attention) },
	};
	struct disk_step always[16];
	struct io_request req;

	start();
	script(twice, COUNT(twice));
	req = submit(DIR_READ, 0, 4);
	assert_result(&req, 4, 0);
	assert_int_equal(disk.commands, 3);

	for (size_t i = 0; i < COUNT(always); i++)
		always[i] = twice[0];
	script(always, COUNT(always));
	disk.commands = 0;
	req = submit(DIR_READ, 0, 4);
	assert_result(&req, 0, -EAGAIN);
	assert_int_equal(disk.commands, 4);
	assert_explained(&req, "unit attention, power on, reset, or bus device reset occurred "
			       "(6/29/00)");
}

DISK_TEST(test_errors)
{
	static const struct disk_step medium[] = {
		{ .sense = medium_5, .sense_size = sizeof(medium_5), .moves = true },
	};
	static const struct disk_step not_there[] = {
		{ .sense = no_medium, .sense_size = sizeof(no_medium) },
	};
	static const struct disk_step timeout[] = { { .host = 0x03 } };
	static const struct disk_step refused[] = { { .refuse = EPERM } };
	struct io_request req;

	start();
	script(medium, COUNT(medium));
	req = submit(DIR_READ, 2, 8);
	assert_result(&req, 3, -EIO);
	assert_memory_equal(buf, disk.data + 2 * BLOCK, 3 * BLOCK);
	assert_explained(&req, "medium error, unrecovered read error (3/11/00) at LBA 5");

	script(not_there, COUNT(not_there));
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 0, -ENOMEDIUM);
	script(timeout, COUNT(timeout));
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 0, -ETIMEDOUT);
	script(refused, COUNT(refused));
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 0, -EPERM);
	assert_explained(&req, "");

	/* It goes on after all that. */
	req = submit(DIR_READ, 0, 8);
	assert_result(&req, 8, 0);
}

DISK_TEST(test_unaligned)
{
	struct io_request req = { .dir = DIR_READ, .buf = buf, .offset = 100, .size = BLOCK };

	start();
	assert_int_equal(engine_sg.submit(ctx, &req), 0);
	assert_result(&req, 0, -EINVAL);
	assert_explained(&req, "not whole blocks of the device");
	req = (struct io_request){ .dir = DIR_READ, .buf = buf, .size = BLOCK + 1 };
	assert_int_equal(engine_sg.submit(ctx, &req), 0);
	assert_result(&req, 0, -EINVAL);
	assert_int_equal(disk.commands, 0);
}

DISK_TEST(test_describe)
{
	char text[96];

	start();
	engine_sg.describe(ctx, text, sizeof(text));
	assert_string_equal(text, "64 blocks of 512 bytes, at most 512 KiB in one command");
}

/* A character device is opened again for each context, and a command's worth of memory reserved. */
DISK_TEST(test_char_device)
{
	struct io_request req;

	disk.sectors = 10;
	start_on(open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_int_equal(disk.reserved, 10 * 512);
	/* The context does not need the first opening. */
	close(fd);
	fd = -1;
	req = submit(DIR_READ, 0, 64);
	assert_result(&req, 64, 0);
	assert_int_equal(disk.commands, 7);
}

RUN_TESTS(NULL, NULL)
