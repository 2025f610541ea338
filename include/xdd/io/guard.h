/*
 * The overwrite guard: whether block devices may be written to, before any is opened for it, and the
 * claim on them while a run lasts.
 *
 * Writing is refused when a device, one of its partitions or the disk it is part of is in use, or when
 * it carries a signature of a file system, swap space, RAID, LVM, encryption or a partition table.
 * -force lifts the second, never the first. Called by main's thread, guard_allows() by QThreads.
 */
#ifndef XDD_IO_GUARD_H
#define XDD_IO_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "xdd/plan/plan.h"

#define GUARD_WHY_SIZE 512

/* Exclusive claims, one a device however many targets of the run write to it. */
struct guard {
	struct guard_claim *claims;
	size_t n_claims;
};

/* What is refused, and why. */
struct guard_refusal {
	const struct target_plan *target;
	char why[GUARD_WHY_SIZE]; /* completes "target 0, /dev/sdx: ..." */
};

/*
 * Look at all devices that targets write to, by way of the sg engine too. Opens them for reading
 * only, and changes nothing. Returns 0, or -errno with `*refusal` filled in.
 */
int guard_check(const struct plan *plan, struct guard_refusal *refusal);

/*
 * Claim them (O_EXCL), so that nobody mounts or claims them until guard_release(). Returns 0, or -errno
 * with `*refusal` filled in and nothing claimed.
 */
int guard_hold(const struct plan *plan, struct guard *guard, struct guard_refusal *refusal);

/*
 * Whether a target that writes may be opened as the file that `st` describes. Names change: whatever is
 * found at one, a block device must be claimed by `guard` (NULL: none is), directly or through its SCSI
 * generic device. Returns 0, or -errno with `*why` (static).
 */
int guard_allows(const struct guard *guard, const struct target_plan *t, const struct stat *st,
		 const char **why);

/* Safe on one that is all zero. */
void guard_release(struct guard *guard);

/*
 * Whether a device, its partitions or its disk is mounted, swap, or held by another device, as the
 * kernel says below `root` ("" but in tests): proc/self/mountinfo, proc/swaps and sys. If so, returns
 * true with the reason in `why`.
 */
bool guard_in_use(const char *root, dev_t dev, char *why, size_t size);

/*
 * What the content of an open device says it is. Returns 0 when there is nothing; -EEXIST with the
 * finding in `why`, such as "it carries an ext4 file system"; or another -errno, likewise, when that
 * cannot be told.
 */
int guard_signature(int fd, char *why, size_t size);

#endif
