/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block devices as sysfs has them: src/sys/blockdev.c. test_scsi_device.c has the commands of SCSI.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernel_files.h"
#include "xdd/sys/blockdev.h"

#define DISK makedev(8, 16)
#define PART makedev(8, 17)

/* The file that the kernel is asked about. */
static struct statx asked;
static int statx_errno;
static long fs_type;

int statx(int fd, const char *path, int flags, unsigned mask, struct statx *st)
{
	assert_int_equal(*path ? AT_FDCWD : 5, fd);
	assert_int_equal(*path ? 0 : AT_EMPTY_PATH, flags);
	assert_true(mask & STATX_TYPE);
	*st = asked;
	errno = statx_errno;
	return statx_errno ? -1 : 0;
}

int statfs(const char *path, struct statfs *fs)
{
	assert_string_equal(path, "file");
	*fs = (struct statfs){ .f_type = fs_type };
	return fs_type ? 0 : -1;
}

int fstatfs(int fd, struct statfs *fs)
{
	assert_int_equal(fd, 5);
	return statfs("file", fs);
}

static bool number_of(mode_t kind, dev_t rdev, dev_t *dev)
{
	const struct stat st = { .st_mode = kind | 0600, .st_rdev = rdev };

	*dev = 0;
	return blockdev_number_of(&st, dev);
}

TEST_SETUP_TEARDOWN(test_number, kernel_files_begin, kernel_files_end)
{
	dev_t dev = 0;

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
TEST_SETUP_TEARDOWN(test_generic, kernel_files_begin, kernel_files_end)
{
	const dev_t sg = makedev(21, 3);
	dev_t dev;

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

TEST_SETUP_TEARDOWN(test_node, kernel_files_begin, kernel_files_end)
{
	char path[64], exact[9], small[8];

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

TEST_SETUP_TEARDOWN(test_partition, kernel_files_begin, kernel_files_end)
{
	uint64_t value = 7;

	kernel_file_put("/sys/dev/block/8:16/queue/logical_block_size", "4096\n");
	kernel_file_put("/sys/dev/block/8:16/queue/scheduler", "[none] kyber\n");
	assert_false(blockdev_is_partition(PART));
	assert_int_equal(blockdev_disk(PART), PART);
	assert_false(blockdev_queue_number(PART, "logical_block_size", &value));
	/* The partition has a directory, where sysfs has a link into the directory of the disk. */
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

TEST_SETUP_TEARDOWN(test_loop, kernel_files_begin, kernel_files_end)
{
	bool buffered = true;
	char file[64];

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

#ifdef STATX_DIOALIGN

static void assert_direct(const char *path, bool ignored, uint32_t offset, uint32_t memory)
{
	struct directio d;

	memset(&d, 0xff, sizeof(d));
	directio_query(&d, 5, path);
	assert_int_equal(d.ignored, ignored);
	assert_int_equal(d.offset_align, offset);
	assert_int_equal(d.memory_align, memory);
}

/* The kernel tells. */
TEST(test_direct_known)
{
	fs_type = TMPFS_MAGIC;
	asked = (struct statx){ .stx_mask = STATX_TYPE | STATX_DIOALIGN,
				.stx_mode = S_IFREG,
				.stx_dio_offset_align = 512,
				.stx_dio_mem_align = 4 };
	assert_direct("file", false, 512, 4);
	assert_direct(NULL, false, 512, 4);
	asked.stx_dio_offset_align = 0;
	assert_direct("file", true, 0, 4);
	asked.stx_mode = S_IFBLK;
	assert_direct("file", false, 0, 4);
	statx_errno = EACCES;
	assert_direct("file", false, 0, 0);
	statx_errno = 0;
}

/* It does not tell: file systems in memory ignore direct I/O. */
TEST(test_direct_unknown)
{
	static const struct {
		long fs_type;
		mode_t mode;
		bool ignored;
	} cases[] = {
		{ TMPFS_MAGIC, S_IFREG, true }, { TMPFS_MAGIC, S_IFDIR, true },
		{ RAMFS_MAGIC, S_IFREG, true }, { HUGETLBFS_MAGIC, S_IFREG, true },
		{ 0xef53, S_IFREG, false },	{ TMPFS_MAGIC, S_IFBLK, false },
		{ 0, S_IFREG, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fs_type = cases[i].fs_type;
		asked = (struct statx){ .stx_mask = STATX_TYPE,
					.stx_mode = (uint16_t)cases[i].mode,
					.stx_dio_offset_align = 512 };
		assert_direct("file", cases[i].ignored, 0, 0);
		assert_direct(NULL, cases[i].ignored, 0, 0);
	}
}

#endif

RUN_TESTS(NULL, NULL)
