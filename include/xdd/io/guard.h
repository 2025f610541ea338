/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overwrite guard: whether block devices and files may be written to, before any is opened for
 * it, and the claim on devices while a run lasts.
 *
 * Writing is refused when a device, one of its partitions or the disk it is part of is in use, or
 * when it carries a signature of a file system, swap space, RAID, LVM, encryption or a partition
 * table. -force lifts the second, never the first. It is refused for files that back a loop device
 * in use, and for files of the kernel itself (procfs, sysfs and the like). Called by main's thread,
 * guard_allows() by QThreads.
 */
#ifndef XDD_IO_GUARD_H
#define XDD_IO_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "xdd/base/err.h"
#include "xdd/plan/plan.h"

/*
 * Exclusive claims, one per device however many targets of the run write to it; and files found
 * good.
 */
struct guard {
	struct guard_claim *claims;
	size_t n_claims;
	struct guard_good *files; /* by the number of the target */
};

/* A loop device, and the file or device that backs it. */
struct guard_loop {
	char name[32];
	dev_t loop;
	dev_t dev; /* of the file, with its inode */
	ino_t ino;
	dev_t rdev; /* of the device; 0: a file */
};

struct guard_loops {
	const char *root; /* as for guard_in_use() */
	struct guard_loop *list;
	size_t n;
	dev_t storage; /* a file system that guard_file_of() found to be no kernel's; 0: none yet */
};

/* A refusal and its reason. */
struct guard_refusal {
	const struct target_plan *target;
	struct err why; /* completes "target 0, /dev/sdx: ..." */
};

/*
 * Look at all devices that targets write to, by way of the sg engine too, and at all files. Opens
 * them for reading at most, and changes nothing. Returns 0, or -errno with `*refusal` filled in.
 */
int guard_check(const struct plan *plan, struct guard_refusal *refusal);

/*
 * Claim the devices (O_EXCL), so that no process mounts or claims them until guard_release(), and
 * look at the files. Returns 0, or -errno with `*refusal` filled in and nothing claimed.
 */
int guard_hold(const struct plan *plan, struct guard *guard, struct guard_refusal *refusal);

/*
 * Check that a target that writes may be opened as the file that `fd` (O_PATH will do) and `st`
 * stand for. Names change: whatever is found at one, a block device must be claimed by `guard`
 * (NULL: none is), directly or through its SCSI generic device. A file must be the one that
 * guard_hold() found good, or as good. Returns 0, or -errno with the reason in `why`.
 */
int guard_allows(const struct guard *guard, const struct target_plan *t, int fd,
		 const struct stat *st, struct err *why);

/* Safe on one that is all zero. */
void guard_release(struct guard *guard);

/*
 * Find out if a device, its partitions or its disk is mounted, swap, held by another device or
 * backs one, as the kernel says below `root` ("" but in tests): proc/self/mountinfo, proc/swaps and
 * sys. If so, returns true with the reason in `why`.
 */
bool guard_in_use(const char *root, dev_t dev, struct err *why);

/*
 * All loop devices that something backs, below `root`, which must outlive them. The driver is asked
 * where its nodes may be opened; otherwise what has the name of the backing file counts. Where
 * sysfs is not mounted, they come from the nodes in /dev. Returns 0 or -ENOMEM.
 */
int guard_loops_read(struct guard_loops *loops, const char *root);
void guard_loops_free(struct guard_loops *loops);

/* A loop device that a block device backs, or NULL. */
const struct guard_loop *guard_loop_over(const struct guard_loops *loops, dev_t dev);

/* True, with the reason in `why`, if a file backs a loop device that is in use itself. */
bool guard_file_in_use(const struct guard_loops *loops, const struct stat *st, struct err *why);

/*
 * True if a directory is one of devices, as /dev and below. A new name there would name a device,
 * mistyped, and its file would take memory until the next boot.
 */
bool guard_among_devices(const struct stat *directory);

/* Check that a regular file may be written to. Returns 0, or -errno with the reason in `why`. */
int guard_file(const struct guard_loops *loops, int fd, const struct stat *st, struct err *why);

/* As guard_file(), by its path; fills in `st`. What is no regular file passes. */
int guard_file_of(struct guard_loops *loops, const char *path, struct stat *st, struct err *why);

/*
 * Look for signatures in the content of an open device. Returns 0 when there is nothing; -EEXIST
 * with the finding in `why`, such as "it carries an ext4 file system"; or another -errno, with the
 * reason in `why`, when that cannot be told.
 */
int guard_signature(int fd, struct err *why);

#endif
