/*
 * Options of files against what the targets are. Main thread, while a plan is checked.
 */
#ifndef XDD_PLAN_CHECK_FILES_H
#define XDD_PLAN_CHECK_FILES_H

#include "xdd/plan/plan.h"

/* The option by which files of the target are recreated, without its dash; NULL: none. */
const char *plan_recreating_option(const struct target_plan *t);

/* Check -createnewfiles, -recreatefiles, -deletefile and -force. XDD_OK, or one line given to log_error(). */
enum xdd_status plan_check_files(struct plan *plan);

#endif
