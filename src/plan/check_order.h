/*
 * -ordering against what the engine and the kernel can keep. Main thread.
 */
#ifndef XDD_PLAN_CHECK_ORDER_H
#define XDD_PLAN_CHECK_ORDER_H

#include "xdd/plan/plan.h"

/* Refuse an order that the engine cannot keep. XDD_OK, or one line given to log_error(). */
enum xdd_status plan_check_order(const struct target_plan *t);

/* Warn about an order that the kernel may not keep: log_warning(). */
void plan_warn_order(const struct target_plan *t);

#endif
