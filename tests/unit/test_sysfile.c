/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files of the kernel: lines, numbers and escapes.
 */
#include "unit.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/sys/sysfile.h"

static char path[4096];

static int make_file(void **state)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%s/xdd-sysfile-XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

static void fill(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

TEST_SETUP_TEARDOWN(test_line, make_file, remove_file)
{
	char buf[8];

	fill(" \ttsc \nacpi_pm\n");
	assert_string_equal(sysfile_line(path, buf, sizeof(buf)), "tsc");
	fill("no end of line");
	assert_string_equal(sysfile_line(path, buf, sizeof(buf)), "no end");
	fill("\nsecond\n");
	assert_null(sysfile_line(path, buf, sizeof(buf)));
	fill("");
	assert_null(sysfile_line(path, buf, sizeof(buf)));
	assert_null(sysfile_line("/proc/no such file", buf, sizeof(buf)));
}

TEST_SETUP_TEARDOWN(test_number, make_file, remove_file)
{
	static const char *const others[] = { "", "max\n", "-1\n", "7 8\n",
					      "18446744073709551616" };
	uint64_t value = 5;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		fill(others[i]);
		assert_false(sysfile_number(path, &value));
		assert_int_equal(value, 5);
	}
	assert_false(sysfile_number("/proc/no such file", &value));
	fill("18446744073709551615\n");
	assert_true(sysfile_number(path, &value));
	assert_true(value == UINT64_MAX);
	fill("0\n");
	assert_true(sysfile_number(path, &value));
	assert_int_equal(value, 0);
}

static void expect_unescaped(const char *text, const char *plain)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s", text);
	assert_ptr_equal(sysfile_unescape(buf), buf);
	assert_string_equal(buf, plain);
}

TEST(test_mount_option)
{
	assert_true(mountinfo_has_option("/proc", "rw"));
	assert_false(mountinfo_has_option("/proc", "r"));
	assert_false(mountinfo_has_option("/proc", "rwx"));
	assert_false(mountinfo_has_option("/no/such/path", "rw"));
}

TEST(test_nothing_stays_open)
{
	const int free_fd = dup(0);
	char buf[64];
	uint64_t n;

	assert_int_equal(close(free_fd), 0);
	assert_non_null(sysfile_line("/proc/self/stat", buf, sizeof(buf)));
	assert_true(sysfile_number("/proc/sys/kernel/threads-max", &n));
	mountinfo_has_option("/proc", "rw");
	assert_int_equal(dup(0), free_fd);
	close(free_fd);
}

TEST(test_unescape)
{
	expect_unescaped("/mnt/plain", "/mnt/plain");
	expect_unescaped("/mnt/a\\040b\\011c\\134d", "/mnt/a b\tc\\d");
	expect_unescaped("\\303\\266\\12", "\303\266\\12");
	expect_unescaped("\\177\\107\\170\\001\\377", "\177Gx\001\377");
	expect_unescaped("\\800\\080\\008\\/00\\0/0\\00/", "\\800\\080\\008\\/00\\0/0\\00/");
	expect_unescaped("\\", "\\");
	expect_unescaped("\\089", "\\089");
}

/* The numbers of linux/magic.h, and others as numbers. */
TEST(test_file_systems)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} known[] = {
		{ EXT4_SUPER_MAGIC, "ext2/ext3/ext4" },
		{ XFS_SUPER_MAGIC, "xfs" },
		{ BTRFS_SUPER_MAGIC, "btrfs" },
		{ TMPFS_MAGIC, "tmpfs" },
		{ RAMFS_MAGIC, "ramfs" },
		{ HUGETLBFS_MAGIC, "hugetlbfs" },
		{ OVERLAYFS_SUPER_MAGIC, "overlay" },
		{ FUSE_SUPER_MAGIC, "fuse" },
		{ NFS_SUPER_MAGIC, "nfs" },
		{ V9FS_MAGIC, "9p" },
		{ F2FS_SUPER_MAGIC, "f2fs" },
		{ CEPH_SUPER_MAGIC, "ceph" },
		{ OCFS2_SUPER_MAGIC, "ocfs2" },
		{ MSDOS_SUPER_MAGIC, "vfat" },
		{ SQUASHFS_MAGIC, "squashfs" },
		{ ISOFS_SUPER_MAGIC, "iso9660" },
		{ PROC_SUPER_MAGIC, "proc" },
		{ SYSFS_MAGIC, "sysfs" },
		{ 0, "0x0" },
		{ 0xffffffff, "0xffffffff" },
	};
	char buf[FSTYPE_SIZE];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_string_equal(fstype_name(known[i].magic, buf), known[i].name);
}

RUN_TESTS(NULL, NULL)
