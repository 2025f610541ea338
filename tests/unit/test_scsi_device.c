/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SCSI devices: their capacity, what the sg engine checks before a run, and how their caches are
 * written: src/io/engine_sg.c, src/io/scsi.c, src/sys/blockdev.c. The device is that of
 * scsi_disk.h.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "engines.h"
#include "io/scsi.h"
#include "scsi_disk.h"
#include "xdd/io/engine.h"
#include "xdd/sys/blockdev.h"

#define DISK_TEST(name) TEST_SETUP_TEARDOWN(name, new_disk, end)

static struct target_plan target;

static int end(void **state)
{
	target = (struct target_plan){ 0 };
	return 0;
}

DISK_TEST(test_capacity)
{
	uint64_t bytes;
	uint32_t block;

	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, BLOCKS * BLOCK);
	assert_int_equal(block, BLOCK);

	/* the largest that READ CAPACITY (10) can tell, and one more */
	disk.last = 0xfffffffe;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, 0xffffffffull * BLOCK);
	disk.last = 0xffffffff;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, 0x100000000ull * BLOCK);

	disk.last = 0x123456789aull;
	disk.block = 4096;
	disk.only_16 = true;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), 0);
	assert_int_equal(bytes, 0x123456789bull * 4096);
	assert_int_equal(block, 4096);
}

DISK_TEST(test_capacity_fails)
{
	uint64_t bytes;
	uint32_t block;

	disk.block = 0;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -ENOMEDIUM);
	disk.block = BLOCK;
	disk.last = UINT64_MAX;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -EOVERFLOW);
	disk.last = UINT64_MAX / 2;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -EOVERFLOW);
	disk.no_version = true;
	assert_int_equal(scsi_capacity_fd(3, &bytes, &block), -ENOTTY);
	assert_int_equal(scsi_capacity("/dev/null", &bytes, &block), -ENOTTY);
	assert_int_equal(scsi_capacity("/nonexistent/sg", &bytes, &block), -ENOENT);
}

/* After a reset a device reports unit attentions, and is asked again, four times at most. */
DISK_TEST(test_capacity_attention)
{
	static const struct {
		const uint8_t *sense;
		unsigned failures;
		int err;
		unsigned left;
	} cases[] = {
		{ attention, 1, 0, 0 },	   { attention, 3, 0, 0 },
		{ attention, 4, -EIO, 0 }, { attention, 5, -EIO, 1 },
		{ medium_5, 2, -EIO, 1 },  { no_medium, 2, -ENOMEDIUM, 1 },
		{ no_opcode, 1, 0, 0 },	   { no_opcode, 2, -EOPNOTSUPP, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bytes = 0;
		uint32_t block = 0;

		disk.capacity_sense = cases[i].sense;
		disk.capacity_failures = cases[i].failures;
		assert_int_equal(scsi_capacity_fd(3, &bytes, &block), cases[i].err);
		assert_int_equal(disk.capacity_failures, cases[i].left);
		if (!cases[i].err)
			assert_int_equal(bytes, BLOCKS * BLOCK);
	}
}

extern const struct engine engine_sg;

/* /dev/null stands for the device. */
static int check(const char *path, struct err *why)
{
	target.path = path;
	if (!target.engine_options)
		target.engine_options = engine_options("sg", "");
	target.req_bytes = target.last_op_bytes = target.block_size = BLOCK;
	err_clear(why);
	return engine_sg.check(&target, why);
}

DISK_TEST(test_check)
{
	struct err why;

	target.op = OP_READ;
	assert_int_equal(check("/dev/null", &why), 0);
	assert_int_equal(check("/nonexistent/sg0", &why), -ENOENT);
	assert_non_null(strstr(why.text, "no such device"));
	assert_int_equal(check("/proc/self/exe", &why), -ENOTBLK);
	assert_non_null(strstr(why.text, "needs a SCSI device"));

	target.start_bytes = 100;
	assert_int_equal(check("/dev/null", &why), -EINVAL);
	assert_non_null(strstr(why.text, "whole blocks"));
	target.start_bytes = 0;

	disk.no_version = true;
	assert_int_equal(check("/dev/null", &why), -ENOTTY);
	assert_non_null(strstr(why.text, "takes no SCSI commands"));
	disk.no_version = false;
	disk.block = 0;
	assert_int_equal(check("/dev/null", &why), -ENOMEDIUM);
	assert_non_null(strstr(why.text, "no medium"));
}

DISK_TEST(test_check_abilities)
{
	struct err why;

	target.op = OP_WRITE;
	disk.mode = 0x80;
	assert_int_equal(check("/dev/null", &why), -EROFS);
	assert_string_equal(why.text, "the device is write-protected");
	target.op = OP_READ;
	assert_int_equal(check("/dev/null", &why), 0);
	target.engine_options = engine_options("sg", "fua");
	assert_int_equal(check("/dev/null", &why), -EOPNOTSUPP);
	assert_non_null(strstr(why.text, "fua"));
	disk.mode = 0x10;
	assert_int_equal(check("/dev/null", &why), 0);
	/* A device that does not say is tried; so is one whose answer has no bytes. */
	disk.mode = 0;
	assert_int_equal(check("/dev/null", &why), 0);
	disk.mode_empty = true;
	assert_int_equal(check("/dev/null", &why), 0);
}

DISK_TEST(test_sync_cache)
{
	static const struct disk_step unknown[] = {
		{ .sense = no_opcode, .sense_size = sizeof(no_opcode) },
	};
	static const struct disk_step failing[] = {
		{ .sense = attention, .sense_size = sizeof(attention) },
		{ .sense = medium_5, .sense_size = sizeof(medium_5) },
	};

	assert_int_equal(sg_sync_cache(3), 0);
	assert_int_equal(disk.cdb[0], 0x35);
	script(unknown, COUNT(unknown));
	assert_int_equal(sg_sync_cache(3), 0);
	script(failing, COUNT(failing));
	assert_int_equal(sg_sync_cache(3), -EIO);
}

RUN_TESTS(NULL, NULL)
