/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The uses of a block device: src/io/guard_use.c, over trees made here that look like /proc and
 * /sys. What cannot be had on every machine (md, LVM, multipath) is tested in this way alone.
 */
#include "unit.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/base/err.h"
#include "xdd/io/guard.h"
#include "xdd/plan/engine_info.h"

/* Make the directories of a path, and a file there with that text; NULL: a directory. */
static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", directory, path);
	for (char *p = full + strlen(directory) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
		*p = '/';
	}
	if (!text) {
		assert_int_equal(mkdir(full, 0700), 0);
		return;
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void point(const char *path, const char *to)
{
	char full[256];

	put(path, "");
	snprintf(full, sizeof(full), "%s%s", directory, path);
	assert_int_equal(unlink(full), 0);
	assert_int_equal(symlink(to, full), 0);
}

/* Disks sda to sdg, and what is made of them. */
static void make_tree(void)
{
	static const char *const disks[] = { "sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg" };
	char path[128], number[16], to[64];

	for (unsigned i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
		snprintf(number, sizeof(number), "8:%u\n", 16 * i);
		snprintf(path, sizeof(path), "/sys/block/%s/dev", disks[i]);
		put(path, number);
		snprintf(path, sizeof(path), "/sys/block/%s/holders", disks[i]);
		put(path, NULL);
		snprintf(path, sizeof(path), "/sys/dev/block/8:%u", 16 * i);
		snprintf(to, sizeof(to), "../../block/%s", disks[i]);
		point(path, to);
	}
	put("/sys/block/sda/sda1/dev", "8:1\n");
	put("/sys/block/sda/sda1/partition", "1\n");
	put("/sys/block/sda/sda2/dev", "8:2\n");
	put("/sys/block/sda/sda2/partition", "2\n");
	point("/sys/dev/block/8:1", "../../block/sda/sda1");
	point("/sys/dev/block/8:2", "../../block/sda/sda2");
	put("/sys/block/sdb/holders/md127", "");
	put("/sys/block/sdc/holders/dm-0", "");
	put("/sys/block/sdd/sdd1/dev", "8:49\n");
	put("/sys/block/sdd/sdd1/partition", "1\n");
	point("/sys/dev/block/8:49", "../../block/sdd/sdd1");
	put("/sys/block/sdd/holders/dm-1", "");
	put("/sys/block/sde/sde1/dev", "8:65\n");
	put("/sys/block/sde/sde1/partition", "1\n");
	put("/sys/block/sde/sde1/holders/dm-2", "");
	point("/sys/dev/block/8:65", "../../block/sde/sde1");
	put("/sys/block/dm-0/dm/uuid", "LVM-abcdef\n");
	put("/sys/block/dm-0/dm/name", "vg-data\n");
	put("/sys/block/dm-1/dm/uuid", "mpath-3600\n");
	put("/sys/block/dm-1/dm/name", "mpatha\n");
	put("/sys/block/dm-2/dm/uuid", "CRYPT-LUKS2-0123\n");
	put("/sys/block/dm-2/dm/name", "secret\n");
	put("/sys/fs/btrfs/features/nothing", "");
	put("/sys/fs/btrfs/6f1a/devices/sdf", "");
	put("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
	put("/proc/self/mountinfo",
	    "22 1 0:21 / /proc rw,relatime shared:5 - proc proc rw\n"
	    "30 1 8:2 / /srv/with\\040blank rw,relatime shared:1 master:2 - ext4 /dev/sda2 rw\n"
	    "31 1 0:40 /sub /mnt rw - btrfs /dev/sdf rw,subvol=/sub\n"
	    "garbage\n");
}

static void used(unsigned minor_no, const char *text)
{
	struct err why = { 0 };

	assert_true(guard_in_use(directory, makedev(8, minor_no), &why));
	assert_string_equal(why.text, text);
}

static void unused(unsigned minor_no)
{
	struct err why = { 0 };

	assert_false(guard_in_use(directory, makedev(8, minor_no), &why));
}

TEST(test_tree)
{
	make_tree();
	used(2, "it is mounted on /srv/with blank");
	used(0, "its partition sda2 is mounted on /srv/with blank");
	unused(1);
	used(16, "it is part of the RAID md127");
	used(32, "it is part of the LVM volume vg-data (dm-0)");
	used(48, "it is part of the multipath device mpatha (dm-1)");
	used(49, "the disk that it is part of, sdd, is part of the multipath device mpatha (dm-1)");
	used(65, "it is part of the LUKS device secret (dm-2)");
	used(64, "its partition sde1 is part of the LUKS device secret (dm-2)");
	used(80, "it is part of a mounted btrfs, 6f1a");
	unused(96);
	unused(200); /* there is no such device */
}

/* Names in /proc/swaps and mountinfo that lead to a device. */
TEST(test_names)
{
	char node[128];

	snprintf(node, sizeof(node), "%s/dev", directory);
	assert_int_equal(mkdir(node, 0700), 0);
	snprintf(node, sizeof(node), "%s/dev/a disk", directory);
	if (mknod(node, S_IFBLK | 0600, makedev(8, 96)))
		skip(); /* that is for root */
	unused(96);
	put("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n"
			   "/swapfile\tfile\t1024\t0\t-2\n"
			   "/dev/a\\040disk                         partition\t1024\t0\t-3\n");
	used(96, "it is in use as swap space");
	put("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
	put("/proc/self/mountinfo", "40 1 0:50 / /pool rw - bcachefs /dev/a\\040disk rw\n");
	used(96, "it is mounted on /pool");
}

/* The reason why a file of the tree is in use, or NULL. */
static const char *file_use(const char *path)
{
	static struct err why;
	struct guard_loops loops;
	char full[256];
	struct stat st;
	bool is;

	snprintf(full, sizeof(full), "%s%s", directory, path);
	assert_int_equal(stat(full, &st), 0);
	assert_int_equal(guard_loops_read(&loops, directory), 0);
	is = guard_file_in_use(&loops, &st, &why);
	guard_loops_free(&loops);
	return is ? why.text : NULL;
}

/*
 * Files that back loop devices: one is mounted, one backs another, the others are attached and no
 * more.
 */
TEST(test_loops)
{
	static const char *const files[] = { "/img0", "/img1", "/img2" };
	char path[128], number[16], text[64], to[64];

	put("/proc/self/mountinfo", "50 1 7:0 / /on rw - ext4 /dev/loop0 rw\n");
	for (unsigned i = 0; i < 3; i++) {
		put(files[i], "");
		snprintf(number, sizeof(number), "7:%u\n", i);
		snprintf(path, sizeof(path), "/sys/block/loop%u/dev", i);
		put(path, number);
		snprintf(path, sizeof(path), "/sys/block/loop%u/loop/backing_file", i);
		snprintf(text, sizeof(text), "%s\n", files[i]);
		put(path, text);
		snprintf(path, sizeof(path), "/sys/dev/block/7:%u", i);
		snprintf(to, sizeof(to), "../../block/loop%u", i);
		point(path, to);
	}
	put("/other", "");
	put("/sys/block/loop7/dev", "7:7\n"); /* without a file */
	put("/sys/block/loop8/dev", "7:8\n");
	put("/sys/block/loop8/loop/backing_file", "/gone (deleted)\n");
	assert_string_equal(
		file_use("/img0"),
		"it backs the loop device loop0, which is in use: it is mounted on /on");
	assert_null(file_use("/img1"));
	assert_null(file_use("/img2"));
	assert_null(file_use("/other"));

	snprintf(path, sizeof(path), "%s/dev/loop1", directory);
	if (mknod(path, S_IFBLK | 0600, makedev(7, 1)))
		skip(); /* that is for root */
	put("/sys/block/loop9/dev", "7:9\n");
	put("/sys/block/loop9/loop/backing_file", "/dev/loop1\n");
	assert_string_equal(file_use("/img1"), "it backs the loop device loop1, which is in use: "
					       "it backs the loop device loop9");
}

/* Disks and partitions that back a loop device. */
TEST(test_loop_over_device)
{
	char node[128];

	unused(1);
	snprintf(node, sizeof(node), "%s/dev/part", directory);
	if (mknod(node, S_IFBLK | 0600, makedev(8, 1)))
		skip();
	put("/proc/self/mountinfo", "");
	unused(0);
	put("/sys/block/loop5/dev", "7:5\n");
	put("/sys/block/loop5/loop/backing_file", "/dev/part\n");
	used(1, "it backs the loop device loop5");
	used(0, "its partition sda1 backs the loop device loop5");
	unused(96);
}

static int check_one(struct target_plan *target, struct guard_refusal *refusal)
{
	struct plan plan = { .n_targets = 1, .targets = target };

	*refusal = (struct guard_refusal){ .target = NULL };
	return guard_check(&plan, refusal);
}

/* A character device that sysfs names no disk for may drive any. */
TEST(test_sg_without_disk)
{
	struct guard_refusal refusal;
	struct target_plan t = { .path = "/dev/null",
				 .engine = engine_named("sg"),
				 .kind = TARGET_CHAR,
				 .device = makedev(1, 3) };
	struct err why = { 0 };
	struct stat st;

	t.op = OP_READ;
	assert_int_equal(check_one(&t, &refusal), 0);
	for (int forced = 0; forced < 2; forced++) {
		t.op = forced ? OP_MIXED : OP_WRITE;
		t.forced = forced;
		assert_int_equal(check_one(&t, &refusal), -ENODEV);
		assert_ptr_equal(refusal.target, &t);
		assert_non_null(strstr(refusal.why.text, "the kernel does not name its disk"));
	}
	t.engine = engine_named("psync");
	assert_int_equal(check_one(&t, &refusal), 0);
	assert_int_equal(stat(t.path, &st), 0);
	assert_int_equal(guard_allows(NULL, &t, -1, &st, &why), 0);
}

TEST(test_kernel_files)
{
	static const char *const paths[] = { "/proc/self/comm", "/sys/kernel/uevent_seqnum" };
	struct guard_refusal refusal;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct target_plan t = { .path = paths[i], .kind = TARGET_FILE, .op = OP_READ };
		struct err why = { 0 };
		struct stat st;
		int fd = open(paths[i], O_PATH | O_CLOEXEC);

		if (fd < 0)
			continue;
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(check_one(&t, &refusal), 0);
		t.op = OP_WRITE;
		assert_int_equal(check_one(&t, &refusal), -EPERM);
		assert_non_null(strstr(refusal.why.text, "is a file of the kernel"));
		assert_int_equal(guard_allows(NULL, &t, fd, &st, &why), -EPERM);
		assert_true(err_is_set(&why));
		close(fd);
	}
}

/* A file system is looked at once; the files of it are judged each. */
TEST(test_one_storage)
{
	char used_path[128], path[128];
	struct err why = { 0 };
	struct guard_loops loops;
	struct stat st;
	dev_t storage;

	snprintf(used_path, sizeof(used_path), "%s/img0", directory);
	snprintf(path, sizeof(path), "%s/other", directory);
	put("/proc/self/mountinfo", "50 1 7:0 / /on rw - ext4 /dev/loop0 rw\n");
	assert_int_equal(guard_loops_read(&loops, directory), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(guard_file_of(&loops, used_path, &st, &why), -EBUSY);
		assert_non_null(strstr(why.text, "it backs the loop device loop0"));
		assert_int_equal(loops.storage, 0);
	}
	assert_int_equal(guard_file_of(&loops, path, &st, &why), 0);
	assert_int_equal(loops.storage, st.st_dev);
	storage = loops.storage;
	assert_true(S_ISREG(st.st_mode));
	for (int i = 0; i < 2; i++) {
		err_clear(&why);
		assert_int_equal(guard_file_of(&loops, used_path, &st, &why), -EBUSY);
		assert_non_null(strstr(why.text, "it backs the loop device loop0"));
		assert_int_equal(guard_file_of(&loops, path, &st, &why), 0);
	}
	/* The file system of another file is another matter. */
	assert_int_equal(guard_file_of(&loops, "/proc/self/comm", &st, &why), -EPERM);
	assert_int_equal(loops.storage, storage);
	/* A directory passes, and says nothing about files. */
	loops.storage = 0;
	assert_int_equal(guard_file_of(&loops, directory, &st, &why), 0);
	assert_int_equal(loops.storage, 0);
	snprintf(path, sizeof(path), "%s/none", directory);
	assert_int_equal(guard_file_of(&loops, path, &st, &why), -ENOENT);
	assert_string_equal(why.text, strerror(ENOENT));
	guard_loops_free(&loops);
}

/* A file whose file system cannot be asked for is judged by its use. */
TEST(test_unknown_storage)
{
	char path[128];
	struct err why = { 0 };
	struct guard_loops loops;
	struct stat st;

	assert_int_equal(guard_loops_read(&loops, directory), 0);
	snprintf(path, sizeof(path), "%s/img0", directory);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(guard_file(&loops, -1, &st, &why), -EBUSY);
	snprintf(path, sizeof(path), "%s/other", directory);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(guard_file(&loops, -1, &st, &why), 0);
	guard_loops_free(&loops);
}

#ifdef HAVE_LIBBLKID

/* Signatures without the programs that make them; what is damaged counts. */
TEST(test_signatures)
{
	static const struct {
		const char *says;
		long offset;
		const char *bytes;
		size_t n;
	} rows[] = {
		{ NULL, 0, "", 0 },
		{ "it carries an encrypted volume (crypto_LUKS)", 0, "LUKS\xba\xbe\0\1", 8 },
		{ "it carries the label of a RAID or LVM member (LVM2_member)", 512,
		  "LABELONE\1\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001", 32 },
		{ "it carries a signature (ceph_bluestore)", 0, "bluestore block device", 22 },
		{ "it carries a partition table (dos)", 446,
		  "\0\0\1\0\x83\0\x20\0\0\x08\0\0\0\x08\0\0", 16 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err why = { 0 };
		FILE *f = fopen("signature", "w+");

		assert_non_null(f);
		assert_int_equal(ftruncate(fileno(f), 4 << 20), 0);
		if (rows[i].offset == 446)
			assert_int_equal(pwrite(fileno(f), "\x55\xaa", 2, 510), 2);
		assert_int_equal(pwrite(fileno(f), rows[i].bytes, rows[i].n, rows[i].offset),
				 rows[i].n);
		assert_int_equal(guard_signature(fileno(f), &why), rows[i].says ? -EEXIST : 0);
		if (rows[i].says)
			assert_string_equal(why.text, rows[i].says);
		fclose(f);
	}
	assert_int_equal(unlink("signature"), 0);
}

#endif

/* Where /dev is a file system of its own, its directories hold devices. */
TEST(test_among_devices)
{
	struct stat dev, all, other;

	assert_int_equal(stat("/dev", &dev), 0);
	assert_int_equal(stat("/", &all), 0);
	assert_int_equal(stat("/proc", &other), 0);
	assert_int_equal(guard_among_devices(&dev), dev.st_dev != all.st_dev);
	assert_false(guard_among_devices(&all));
	assert_false(guard_among_devices(&other));
}

RUN_TESTS(enter_directory, remove_directory)
