/*
 * The bytes of data patterns, and what can be verified. Main thread, while a plan is checked.
 */
#ifndef XDD_PLAN_PATTERN_SOURCE_H
#define XDD_PLAN_PATTERN_SOURCE_H

#include "xdd/plan/plan.h"

/*
 * Load what the patterns of all targets consist of, and refuse those that cannot be written or
 * verified as asked. Sets `pattern` and `verify`. Returns XDD_OK, or another status with one line
 * given to log_error().
 */
enum xdd_status plan_resolve_data(struct plan *plan);

#endif
