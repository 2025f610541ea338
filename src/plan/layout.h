/*
 * The amount and extent of targets with -blockperrank. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_LAYOUT_H
#define XDD_PLAN_LAYOUT_H

#include <stdint.h>

#include "xdd/plan/plan.h"

/* Bytes of the segments that -segments asks for: the amount of a pass without any other. */
uint64_t layout_amount(const struct target_plan *t);

/*
 * Set the number of segments and the range. Returns XDD_OK, or another status with one line given
 * to log_error().
 */
enum xdd_status layout_resolve_range(const struct plan *plan, struct target_plan *t);

/* From the first byte that a pass accesses to the end of the last one. */
uint64_t layout_extent(const struct target_plan *t);

#endif
