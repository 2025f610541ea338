/*
 * -hogmemory in the plan. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_HOG_H
#define XDD_PLAN_HOG_H

#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

/* The function of the row. */
enum xdd_status plan_apply_hog(const struct setting *s, void *dst);

/*
 * Compute how much memory to occupy, and refuse more than there is beside `buffer_bytes` of the I/O
 * buffers. XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status plan_check_hog(struct plan *plan, uint64_t buffer_bytes);

#endif
