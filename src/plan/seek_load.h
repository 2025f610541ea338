/*
 * -seek load: the list of operations of a target. Main thread, while a plan is resolved.
 */
#ifndef XDD_PLAN_SEEK_LOAD_H
#define XDD_PLAN_SEEK_LOAD_H

#include <stddef.h>

#include "xdd/base/memory.h"
#include "xdd/plan/plan.h"

/*
 * Read the rows of the file `path` into memory of `arena`; lines that begin with '#' and empty
 * lines are skipped. Returns 0; -errno when the file cannot be read; or -EBADMSG for a malformed
 * line, with its number in `*line` and the problem in `*what` (static text).
 */
int seek_load_read(const char *path, struct arena *arena, const struct seek_row **rows,
		   size_t *n_rows, unsigned *line, const char **what);

/* The file that holds the list of `t`, in memory of the plan or of its options. */
const char *seek_load_name(const struct plan *plan, const struct target_plan *t);

/*
 * Read the list of `t` into memory of the plan and set the target's operation by it. Returns
 * XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status seek_load(struct plan *plan, struct target_plan *t);

#endif
