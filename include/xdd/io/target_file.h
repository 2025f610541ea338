/*
 * A target as an open file or device: preflight, opening, closing.
 */
#ifndef XDD_IO_TARGET_FILE_H
#define XDD_IO_TARGET_FILE_H

#include <stdbool.h>

#include "xdd/plan/plan.h"

struct target_file {
	int fd;	      /* -1 for the null device and when closed */
	bool created; /* this run made the file */
};

/*
 * Look whether the target could be opened as the plan asks, without opening or creating it: it
 * exists when it must, is no directory, may be read or written, its folder exists and may be written
 * to when it is to be made. Returns 0 or -errno, with `*why` a text for people (static) that completes
 * "target 0, /data/x: ...". Called by main before any target is opened.
 */
int target_file_check(const struct target_plan *plan, const char **why);

/*
 * Open the target: O_RDONLY for reads, O_WRONLY for writes, O_RDWR for mixed, O_RDONLY for noop on
 * an existing file; O_DIRECT with -dio; O_CLOEXEC always. Files to be written are created, never
 * truncated. Returns 0 or -errno, with `*why` as above (NULL: strerror() says it all).
 */
int target_file_open(struct target_file *file, const struct target_plan *plan, const char **why);

/*
 * Close. With `discard`, also remove the file when this run created it and nothing was written to
 * it: for runs that could not start. Returns 0 or -errno of close(2). Safe on a closed file.
 */
int target_file_close(struct target_file *file, const struct target_plan *plan, bool discard);

#endif
