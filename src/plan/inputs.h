/*
 * The files that a plan reads besides its targets: xdd/plan/plan.h, struct plan_input. Main thread,
 * while a plan is built.
 */
#ifndef XDD_PLAN_INPUTS_H
#define XDD_PLAN_INPUTS_H

#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

/*
 * Add the setup file `path`, which outlives the plan, to `plan`. False: memory is short, which is
 * not reported.
 */
bool plan_add_setup(struct plan *plan, const char *path);

/*
 * Set `inputs` of a plan whose settings are applied, and refuse targets that write to one of them.
 * XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status plan_find_inputs(struct plan *plan);

#endif
