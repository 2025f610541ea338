/*
 * Steps of -endtoend and -restart. Main thread, while a plan is resolved and checked.
 */
#ifndef XDD_PLAN_ENDTOEND_H
#define XDD_PLAN_ENDTOEND_H

#include "xdd/plan/plan.h"

/* All return XDD_OK, or another status with one line given to log_error(). */

/* Give the addresses their ports, and the target its queue depth. */
enum xdd_status endtoend_resolve_ports(struct target_plan *t);

/* Refuse what a side of a copy cannot do, as far as its options say it. */
enum xdd_status endtoend_check_side(const struct target_plan *t);

/* Refuse work that the other side could not follow, once it is known. */
enum xdd_status endtoend_check_work(const struct target_plan *t);

/* Refuse targets that cannot be sides of copies together. */
enum xdd_status endtoend_check_together(const struct plan *plan);

/* Refuse options of a copy that are given to a target without one. */
enum xdd_status endtoend_check_named(const struct plan *plan);

/* Refuse a copy that cannot be resumed. */
enum xdd_status restart_check(const struct target_plan *t, uint64_t passes);

#endif
