/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other users of a block device, as the kernel reports them, and signatures on it that libblkid
 * knows: for the overwrite guard, which wants a reason to give. The exclusive claim catches users
 * that are not found here.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "config.h"
#include "xdd/base/err.h"
#include "xdd/base/text.h"
#include "xdd/io/guard.h"
#include "xdd/sys/sysfile.h"

#define NAME_SIZE 256
#define PART_SIZE (NAME_SIZE + 64)

/* A device that is looked at: the one in question, a partition of it, or its disk. */
struct look {
	const char *root;
	dev_t dev;
	char name[NAME_SIZE];  /* the kernel's */
	char which[PART_SIZE]; /* how the reason begins: "it", "its partition sda1" */
	struct err *why;
};

static bool guard_use_found(const struct look *l, const char *text, const char *name)
{
	err_set(l->why, -EBUSY, "%s %s%s", l->which, text, name);
	return true;
}

/* The first line of a file of sysfs; "" when there is none. */
static void read_line(const char *root, const char *path, char *buf, size_t size)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	if (!sysfile_line(full, buf, size))
		*buf = '\0';
}

static bool leads_to(const struct look *l, const char *path)
{
	char full[PATH_MAX];
	struct stat st;

	if (*path != '/')
		return false;
	snprintf(full, sizeof(full), "%s%s", l->root, path);
	return stat(full, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == l->dev;
}

/*
 * "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": the number of the device is the
 * third field; file systems on several devices have one of their own, and name one of the devices
 * after the dash and their type.
 */
static bool mounted_by(const struct look *l, char *line, char **where)
{
	char *dash = strstr(line, " - "), *source, *tail;
	unsigned major_no, minor_no;
	int at = 0;

	if (!dash || sscanf(line, "%*s %*s %u:%u %*s %n", &major_no, &minor_no, &at) != 2 || !at)
		return false;
	*dash = '\0';
	*where = strtok_r(line + at, " ", &tail);
	strtok_r(dash + 3, " ", &tail);
	source = strtok_r(NULL, " ", &tail);
	if (!*where || !source)
		return false;
	sysfile_unescape(*where);
	sysfile_unescape(source);
	return makedev(major_no, minor_no) == l->dev || leads_to(l, source);
}

static bool is_mounted(const struct look *l)
{
	char path[PATH_MAX], *line = NULL, *where;
	bool is = false;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", l->root);
	f = fopen(path, "re");
	while (f && !is && getline(&line, &cap, f) > 0)
		is = mounted_by(l, line, &where) && guard_use_found(l, "is mounted on ", where);
	if (f)
		fclose(f);
	free(line);
	return is;
}

static bool is_swap(const struct look *l)
{
	char path[PATH_MAX], *line = NULL;
	bool is = false;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/swaps", l->root);
	f = fopen(path, "re");
	while (f && !is && getline(&line, &cap, f) > 0) {
		line[strcspn(line, " \t")] = '\0';
		sysfile_unescape(line);
		is = leads_to(l, line) && guard_use_found(l, "is in use as swap space", "");
	}
	if (f)
		fclose(f);
	free(line);
	return is;
}

/* Mounted btrfs file systems have a directory each, with all their devices in it. */
static bool is_btrfs(const struct look *l)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool is = false;
	DIR *dir;

	if (!*l->name)
		return false;
	snprintf(path, sizeof(path), "%s/sys/fs/btrfs", l->root);
	dir = opendir(path);
	while (dir && !is && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/sys/fs/btrfs/%s/devices/%s", l->root,
			 entry->d_name, l->name);
		is = entry->d_name[0] != '.' && access(path, F_OK) == 0 &&
		     guard_use_found(l, "is part of a mounted btrfs, ", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return is;
}

/* The name of the holder of a device, by the prefix that each user of device mapper chooses. */
static void holder_text(const struct look *l, const char *holder, char *text, size_t size)
{
	static const struct {
		const char *prefix, *what;
	} kinds[] = {
		{ "mpath-", "multipath device" }, { "part", "partition" },
		{ "LVM-", "LVM volume" },	  { "CRYPT-LUKS", "LUKS device" },
		{ "CRYPT-", "encrypted device" },
	};
	char path[PART_SIZE], uuid[NAME_SIZE], name[NAME_SIZE];
	const char *what = "device-mapper device";

	if (strncmp(holder, "md", 2) == 0) {
		snprintf(text, size, "RAID %s", holder);
		return;
	}
	snprintf(path, sizeof(path), "/sys/block/%s/dm/uuid", holder);
	read_line(l->root, path, uuid, sizeof(uuid));
	snprintf(path, sizeof(path), "/sys/block/%s/dm/name", holder);
	read_line(l->root, path, name, sizeof(name));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(uuid, kinds[i].prefix, strlen(kinds[i].prefix)) == 0) {
			what = kinds[i].what;
			break;
		}
	}
	if (*name)
		snprintf(text, size, "%s %s (%s)", what, name, holder);
	else
		snprintf(text, size, "device %s", holder);
}

static bool is_held(const struct look *l)
{
	char path[PATH_MAX], text[2 * PART_SIZE];
	struct dirent *entry;
	bool is = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u/holders", l->root, major(l->dev),
		 minor(l->dev));
	dir = opendir(path);
	while (dir && !is && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		holder_text(l, entry->d_name, text, sizeof(text));
		is = guard_use_found(l, "is part of the ", text);
	}
	if (dir)
		closedir(dir);
	return is;
}

static bool backs_loop(const struct look *l)
{
	const struct guard_loop *over;
	struct guard_loops loops;
	bool is = false;

	if (guard_loops_read(&loops, l->root))
		return guard_use_found(
			l, "may back a loop device, which cannot be told: memory is short", "");
	over = guard_loop_over(&loops, l->dev);
	if (over)
		is = guard_use_found(l, "backs the loop device ", over->name);
	guard_loops_free(&loops);
	return is;
}

static bool is_used(const struct look *l)
{
	return is_mounted(l) || is_swap(l) || is_btrfs(l) || is_held(l) || backs_loop(l);
}

/* Fill in number and name from a directory of sysfs; false when it is none of a device. */
static bool guard_use_identify(struct look *l, const char *directory)
{
	char path[PATH_MAX], full[PATH_MAX], real[PATH_MAX], line[NAME_SIZE];
	unsigned major_no, minor_no;

	snprintf(path, sizeof(path), "%s/dev", directory);
	read_line(l->root, path, line, sizeof(line));
	if (sscanf(line, "%u:%u", &major_no, &minor_no) != 2)
		return false;
	l->dev = makedev(major_no, minor_no);
	snprintf(full, sizeof(full), "%s%s", l->root, directory);
	if (!realpath(full, real))
		return false;
	snprintf(l->name, sizeof(l->name), "%s", path_last(real));
	return true;
}

static bool is_partition(const char *root, const char *directory)
{
	char path[PATH_MAX];
	size_t len = (size_t)snprintf(path, sizeof(path), "%s%s/partition", root, directory);

	return len < sizeof(path) && access(path, F_OK) == 0;
}

static bool partition_is_used(struct look *l, const char *directory)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool is = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s%s", l->root, directory);
	dir = opendir(path);
	while (dir && !is && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (!is_partition(l->root, path) || !guard_use_identify(l, path))
			continue;
		snprintf(l->which, sizeof(l->which), "its partition %s", l->name);
		is = is_used(l);
	}
	if (dir)
		closedir(dir);
	return is;
}

bool guard_in_use(const char *root, dev_t dev, struct err *why)
{
	struct look l = { .root = root, .dev = dev, .which = "it", .why = why };
	char directory[64], disk[80];

	snprintf(directory, sizeof(directory), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	guard_use_identify(&l, directory);
	l.dev = dev;
	if (is_used(&l))
		return true;
	if (!is_partition(root, directory))
		return partition_is_used(&l, directory);
	snprintf(disk, sizeof(disk), "%s/..", directory);
	if (!guard_use_identify(&l, disk))
		return false;
	snprintf(l.which, sizeof(l.which), "the disk that it is part of, %s,", l.name);
	return is_used(&l);
}

/*
 * Signatures on a block device. Without libblkid only a device whose beginning and end are all
 * zeros counts as blank.
 */

#ifdef HAVE_LIBBLKID

#include <blkid/blkid.h>

static const char *value(blkid_probe probe, const char *name)
{
	const char *text = NULL;

	return blkid_probe_lookup_value(probe, name, &text, NULL) ? NULL : text;
}

static void describe(blkid_probe probe, struct err *why)
{
	const char *type = value(probe, "TYPE"), *usage = value(probe, "USAGE");
	const char *table = value(probe, "PTTYPE");

	if (!type)
		err_set(why, -EEXIST, "it carries a partition table (%s)",
			table ? table : "of an unknown kind");
	else if (usage && strcmp(usage, "filesystem") == 0)
		err_set(why, -EEXIST, "it carries a file system (%s)", type);
	else if (usage && strcmp(usage, "raid") == 0)
		err_set(why, -EEXIST, "it carries the label of a RAID or LVM member (%s)", type);
	else if (usage && strcmp(usage, "crypto") == 0)
		err_set(why, -EEXIST, "it carries an encrypted volume (%s)", type);
	else if (strncmp(type, "swap", 4) == 0)
		err_set(why, -EEXIST, "it carries swap space (%s)", type);
	else
		err_set(why, -EEXIST, "it carries a signature (%s)", type);
}

/* Damaged signatures count: what they belonged to may be wanted back. */
static int look(blkid_probe probe, int fd)
{
	if (blkid_probe_set_device(probe, fd, 0, 0) || blkid_probe_enable_superblocks(probe, 1) ||
	    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
							     BLKID_SUBLKS_BADCSUM) ||
	    blkid_probe_enable_partitions(probe, 1) ||
	    blkid_probe_set_partitions_flags(probe, BLKID_PARTS_FORCE_GPT | BLKID_PARTS_MAGIC))
		return -1;
	return blkid_do_probe(probe);
}

int guard_signature(int fd, struct err *why)
{
	blkid_probe probe = blkid_new_probe();
	int found, err = 0;

	if (!probe)
		return err_errno(why, -ENOMEM);
	errno = 0;
	found = look(probe, fd);
	if (found < 0) {
		err = errno ? -errno : -EIO;
		err_set(why, err, "what is on it cannot be read: %s", strerror(-err));
	} else if (found == 0) {
		err = -EEXIST;
		describe(probe, why);
	}
	blkid_free_probe(probe);
	return err;
}

#else /* !HAVE_LIBBLKID */

#include <linux/fs.h>
#include <sys/ioctl.h>

#define CHUNK_BYTES 65536
#define HEAD_BYTES (4ull << 20)
#define TAIL_BYTES (1ull << 20)

/* Returns 1 when all of it is zero, 0 when not, or -errno. */
static int is_zero(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[CHUNK_BYTES];
	char chunk[CHUNK_BYTES];

	while (from < to) {
		size_t want = to - from < sizeof(chunk) ? (size_t)(to - from) : sizeof(chunk);
		ssize_t n = pread(fd, chunk, want, (off_t)from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if (memcmp(chunk, zeros, (size_t)n))
			return 0;
		from += (uint64_t)n;
	}
	return 1;
}

int guard_signature(int fd, struct err *why)
{
	uint64_t bytes, head, tail;
	int zero;

	zero = ioctl(fd, BLKGETSIZE64, &bytes) ? -errno : 1;
	if (zero > 0) {
		head = bytes < HEAD_BYTES ? bytes : HEAD_BYTES;
		tail = bytes < TAIL_BYTES ? 0 : bytes - TAIL_BYTES;
		zero = is_zero(fd, 0, head);
		if (zero > 0)
			zero = is_zero(fd, tail, bytes);
	}
	if (zero > 0)
		return 0;
	if (zero < 0)
		return err_set(why, zero, "what is on it cannot be read: %s", strerror(-zero));
	return err_set(
		why, -EEXIST,
		"it is not blank, and this xdd was built without libblkid, which could tell what is on it");
}

#endif
