/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block devices as sysfs has them: src/sys/blockdev.c. test_scsi_device.c has the commands of SCSI.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "kernel_files.h"
#include "xdd/sys/blockdev.h"

#define DISK makedev(8, 16)
#define PART makedev(8, 17)

static bool number_of(mode_t kind, dev_t rdev, dev_t *dev)
{
	const struct stat st = { .st_mode = kind | 0600, .st_rdev = rdev };

	*dev = 0;
	return blockdev_number_of(&st, dev);
}

static void test_number(void **state)
{
	dev_t dev = 0;

	(void)state;
	assert_false(number_of(S_IFREG, 0, &dev));
	assert_true(number_of(S_IFBLK, DISK, &dev));
	assert_int_equal(dev, DISK);
	assert_false(blockdev_number("/dev/sdb", &dev));
	kernel_file_put("/dev/text", "");
	assert_false(blockdev_number("/dev/text", &dev));
	kernel_file_node("/dev/sdb", PART);
	assert_true(blockdev_number("/dev/sdb", &dev));
	assert_int_equal(dev, PART);
}

/* The disk of /dev/sg3. */
static void test_generic(void **state)
{
	const dev_t sg = makedev(21, 3);
	dev_t dev;

	(void)state;
	assert_false(number_of(S_IFCHR, sg, &dev));
	kernel_file_put("/sys/dev/char/21:3/device/block/.hidden", "");
	assert_false(number_of(S_IFCHR, sg, &dev));
	kernel_file_put("/sys/class/block/.hidden/dev", "1:1\n");
	assert_false(number_of(S_IFCHR, sg, &dev));
	kernel_file_put("/sys/dev/char/21:3/device/block/sdb/x", "");
	assert_false(number_of(S_IFCHR, sg, &dev));
	kernel_file_put("/sys/class/block/sdb/dev", "8\n");
	assert_false(number_of(S_IFCHR, sg, &dev));
	kernel_file_put("/sys/class/block/sdb/dev", "8:16\n");
	assert_true(number_of(S_IFCHR, sg, &dev));
	assert_int_equal(dev, DISK);
	assert_false(number_of(S_IFCHR, makedev(21, 4), &dev));
}

static void test_node(void **state)
{
	char path[64], exact[9], small[8];

	(void)state;
	assert_int_equal(blockdev_node(DISK, path, sizeof(path)), -ENOENT);
	kernel_file_put("/sys/dev/block/8:16/uevent", "MAJOR=8\nMINOR=16\n");
	assert_int_equal(blockdev_node(DISK, path, sizeof(path)), -ENODEV);
	kernel_file_put("/sys/dev/block/8:16/uevent",
			"MAJOR=8\nDEVNAME=sdb\nDEVTYPE=disk\nDEVNAME=sdc\n");
	assert_int_equal(blockdev_node(DISK, path, sizeof(path)), -ENOENT);
	kernel_file_put("/dev/sdb", "");
	assert_int_equal(blockdev_node(DISK, path, sizeof(path)), -ENODEV);
	kernel_file_node("/dev/sdb", PART);
	assert_int_equal(blockdev_node(DISK, path, sizeof(path)), -ENODEV);
	kernel_file_node("/dev/sdb", DISK);
	assert_int_equal(blockdev_node(DISK, path, sizeof(path)), 0);
	assert_string_equal(path, "/dev/sdb");
	assert_int_equal(blockdev_node(DISK, exact, sizeof(exact)), 0);
	assert_int_equal(blockdev_node(DISK, small, sizeof(small)), -ENODEV);
}

static void test_partition(void **state)
{
	uint64_t value = 7;

	(void)state;
	kernel_file_put("/sys/dev/block/8:16/queue/logical_block_size", "4096\n");
	kernel_file_put("/sys/dev/block/8:16/queue/scheduler", "[none] kyber\n");
	assert_false(blockdev_is_partition(PART));
	assert_int_equal(blockdev_disk(PART), PART);
	assert_false(blockdev_queue_number(PART, "logical_block_size", &value));
	/* A directory in place of the link to the one in that of the disk. */
	kernel_file_put("/sys/dev/block/8:17/partition", "1\n");
	assert_true(blockdev_is_partition(PART));
	assert_int_equal(blockdev_disk(PART), PART);
	kernel_file_put("/sys/dev/block/dev", "8:16\n");
	assert_int_equal(blockdev_disk(PART), DISK);
	assert_int_equal(blockdev_disk(DISK), DISK);
	assert_false(blockdev_queue_number(PART, "rotational", &value));
	assert_false(blockdev_queue_number(DISK, "scheduler", &value));
	assert_int_equal(value, 7);
	assert_true(blockdev_queue_number(PART, "logical_block_size", &value));
	assert_int_equal(value, 4096);
}

static void test_loop(void **state)
{
	bool buffered = true;
	char file[64];

	(void)state;
	assert_false(blockdev_loop("", "loop0", file, sizeof(file), &buffered));
	kernel_file_put("/sys/class/block/loop0/loop/backing_file", "/a b\n");
	assert_true(blockdev_loop("", "loop0", file, sizeof(file), &buffered));
	assert_string_equal(file, "/a b");
	assert_false(buffered);
	kernel_file_put("/root/sys/class/block/loop0/loop/backing_file", "/c\n");
	kernel_file_put("/root/sys/class/block/loop0/loop/dio", "0\n");
	assert_true(blockdev_loop("/root", "loop0", file, sizeof(file), &buffered));
	assert_string_equal(file, "/c");
	assert_true(buffered);
	kernel_file_put("/root/sys/class/block/loop0/loop/dio", "1\n");
	assert_true(blockdev_loop("/root", "loop0", file, 2, &buffered));
	assert_string_equal(file, "/");
	assert_false(buffered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_number, kernel_files_begin, kernel_files_end),
		cmocka_unit_test_setup_teardown(test_generic, kernel_files_begin, kernel_files_end),
		cmocka_unit_test_setup_teardown(test_node, kernel_files_begin, kernel_files_end),
		cmocka_unit_test_setup_teardown(test_partition, kernel_files_begin,
						kernel_files_end),
		cmocka_unit_test_setup_teardown(test_loop, kernel_files_begin, kernel_files_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
