/*
 * Reading a -seek load file. Format: doc/seek-files.md.
 */
#ifndef XDD_PLAN_SEEKLOAD_H
#define XDD_PLAN_SEEKLOAD_H

#include <stddef.h>

#include "xdd/base/arena.h"
#include "xdd/plan/plan.h"

/*
 * Read the rows of `path` into memory of `arena`. Lines that begin with '#' and empty lines are
 * passed over. Returns 0; -errno when the file cannot be read; or -EBADMSG for a malformed line, with
 * its number in `*line` and what is wrong with it in `*what` (static text).
 */
int seekload_read(const char *path, struct arena *arena, const struct seek_row **rows,
		  size_t *n_rows, unsigned *line, const char **what);

#endif
