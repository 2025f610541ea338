/*
 * Targets that read what other targets of the run write. Main thread, while a plan is resolved.
 */
#ifndef XDD_PLAN_WRITERS_H
#define XDD_PLAN_WRITERS_H

#include "plan/same_file.h"
#include "xdd/plan/plan.h"

/*
 * Set `writer` of the targets that read a file which another target writes, once kinds and
 * operations are known; refuse a missing file that no target writes. `*ids` is for
 * plan_find_ends(), and to be freed by the caller; it may be NULL. Returns XDD_OK, or another
 * status with one line given to log_error().
 */
enum xdd_status plan_find_writers(const struct plan *plan, struct file_id **ids);

/* Set `written_bytes` of the readers, once the amounts of the writers are known. Accepts NULL. */
void plan_find_ends(const struct plan *plan, const struct file_id *ids);

#endif
