/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target as an open file or device: preflight, opening, shaping, closing, removing. Owned by its
 * target; one thread at a time.
 */
#ifndef XDD_IO_TARGET_FILE_H
#define XDD_IO_TARGET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "xdd/io/guard.h"
#include "xdd/plan/plan.h"

struct target_file {
	const struct guard *guard; /* devices that may be written to; NULL: none */
	int fd;			   /* -1 for the null device and when closed */
	int buffered_fd;     /* the same file without O_DIRECT, with plan->tail_bytes; else -1 */
	bool created;	     /* this run made the file */
	uint64_t pass;	     /* the last that it was opened for */
	uint64_t made_bytes; /* its size before the first write, where this run set it */
	dev_t dev;	     /* which file it is */
	ino_t ino;
	char *path; /* -createnewfiles: the name of the file of `pass`; NULL: the target's own */
};

/*
 * Look whether the target could be opened as the plan asks, without opening or creating it: it
 * exists when it must, is no directory, may be read or written, its directory exists and may be
 * written to when it is to be made or removed. Returns 0 or -errno, with a message in `why`, unless
 * strerror() says it all, that completes "target 0, /data/x: ...". Called by main before any target
 * is opened.
 */
int target_file_check(const struct target_plan *plan, struct err *why);

/*
 * Open the target for `pass` (from 1): O_RDONLY for reads, O_WRONLY for writes, O_RDWR for mixed,
 * O_RDONLY for noop on an existing file; O_DIRECT with -dio; O_CLOEXEC always. Files to be written
 * are never truncated, and created where the plan found none (for pass 1) or has them recreated;
 * with -createnewfiles each pass has one of its own, which replaces a regular file of its name.
 * What -dio cannot move gets a second descriptor.
 *
 * What is found at the name must be what the plan found there: the same device, or a regular file.
 * Anything else is refused (-ESTALE) before it is opened, as is a device that `file->guard` does
 * not allow.
 *
 * `file` is all zero except the guard before the first call. Returns 0 or -errno, with `why` as
 * above.
 */
int target_file_open(struct target_file *file, const struct target_plan *plan, uint64_t pass,
		     struct err *why);

/*
 * -pretruncate and -preallocate on a regular file that is open for writing; nothing otherwise.
 * Returns 0 or -errno with `why` as above, and with `*what` the option that it was; -EOPNOTSUPP:
 * it cannot be preallocated, but written.
 */
int target_file_reshape(struct target_file *file, const struct target_plan *plan, const char **what,
			struct err *why);

/* The path of the file that is open, or was last. */
const char *target_file_path(const struct target_file *file, const struct target_plan *plan);

/*
 * Close. With `discard`, also remove the file when this run created it and nothing was written to
 * it: for runs that could not start. Returns 0 or -errno of close(2). Safe on a closed file.
 */
int target_file_close(struct target_file *file, const struct target_plan *plan, bool discard);

/*
 * Remove the file that was open, if its path still leads to it and it is a regular file; a symbolic
 * link is followed and stays. target_file_delete() also removes the files of the passes before
 * (-createnewfiles). Returns 0 or -errno; what is gone already is no error.
 */
int target_file_remove(const struct target_file *file, const struct target_plan *plan);
int target_file_delete(const struct target_file *file, const struct target_plan *plan);

/* Release the memory of a closed file. */
void target_file_free(struct target_file *file);

#endif
