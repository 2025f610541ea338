/*
 * Who uses a block device: src/io/guard_use.c, over trees made here that look like /proc and /sys. What
 * cannot be had on every machine (md, LVM, multipath) is tested in this way alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "xdd/io/guard.h"

static char root[] = "/tmp/xdd-test-guard-XXXXXX";

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* Make the folders of a path, and a file there with that text; NULL: a folder. */
static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
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
	snprintf(full, sizeof(full), "%s%s", root, path);
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
	char why[GUARD_WHY_SIZE] = "";

	assert_true(guard_in_use(root, makedev(8, minor_no), why, sizeof(why)));
	assert_string_equal(why, text);
}

static void unused(unsigned minor_no)
{
	char why[GUARD_WHY_SIZE] = "";

	assert_false(guard_in_use(root, makedev(8, minor_no), why, sizeof(why)));
}

static void test_tree(void **state)
{
	(void)state;
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
static void test_names(void **state)
{
	char node[128];

	(void)state;
	snprintf(node, sizeof(node), "%s/dev", root);
	assert_int_equal(mkdir(node, 0700), 0);
	snprintf(node, sizeof(node), "%s/dev/a disk", root);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("guard", tests, make_root, remove_root);
}
