/*
 * Signatures on a block device that libblkid knows: for the overwrite guard. Without
 * libblkid only a device whose beginning and end are all zeros counts as blank.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "xdd/io/guard.h"

#ifdef HAVE_LIBBLKID

#include <blkid/blkid.h>

static const char *value(blkid_probe probe, const char *name)
{
	const char *text = NULL;

	return blkid_probe_lookup_value(probe, name, &text, NULL) ? NULL : text;
}

static void describe(blkid_probe probe, char *why, size_t size)
{
	const char *type = value(probe, "TYPE"), *usage = value(probe, "USAGE");
	const char *table = value(probe, "PTTYPE");

	if (!type)
		snprintf(why, size, "it carries a partition table (%s)",
			 table ? table : "of an unknown kind");
	else if (usage && strcmp(usage, "filesystem") == 0)
		snprintf(why, size, "it carries a file system (%s)", type);
	else if (usage && strcmp(usage, "raid") == 0)
		snprintf(why, size, "it carries the label of a RAID or LVM member (%s)", type);
	else if (usage && strcmp(usage, "crypto") == 0)
		snprintf(why, size, "it carries an encrypted volume (%s)", type);
	else if (strncmp(type, "swap", 4) == 0)
		snprintf(why, size, "it carries swap space (%s)", type);
	else
		snprintf(why, size, "it carries a signature (%s)", type);
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

int guard_signature(int fd, char *why, size_t size)
{
	blkid_probe probe = blkid_new_probe();
	int found, err = 0;

	if (!probe) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	errno = 0;
	found = look(probe, fd);
	if (found < 0) {
		err = errno ? -errno : -EIO;
		snprintf(why, size, "what is on it cannot be read: %s", strerror(-err));
	} else if (found == 0) {
		err = -EEXIST;
		describe(probe, why, size);
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

int guard_signature(int fd, char *why, size_t size)
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
	if (zero < 0) {
		snprintf(why, size, "what is on it cannot be read: %s", strerror(-zero));
		return zero;
	}
	snprintf(
		why, size,
		"it is not blank, and this xdd was built without libblkid, which could tell what is on it");
	return -EEXIST;
}

#endif
