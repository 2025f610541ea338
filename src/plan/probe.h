/*
 * The kind, size and alignment of a target. Main thread, while a plan is resolved.
 */
#ifndef XDD_PLAN_PROBE_H
#define XDD_PLAN_PROBE_H

#include "xdd/plan/plan.h"

/*
 * Find the kind of the target's path, its size, and the alignments of direct I/O. Nothing is opened
 * for I/O. Returns XDD_OK, or XDD_TARGET_FAILED with one line given to log_error().
 */
enum xdd_status probe_target(struct target_plan *t);

#endif
