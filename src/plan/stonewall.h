/*
 * The limits that the record of a stonewall sets. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_STONEWALL_H
#define XDD_PLAN_STONEWALL_H

#include "xdd/plan/plan.h"

/*
 * Let a pass of `t`, whose amount is known, read no more than its owner has written, by the file of
 * -stonewall load. Returns XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status stonewall_limit(const struct plan *plan, struct target_plan *t);

#endif
