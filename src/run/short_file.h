/*
 * Files that are shorter than what a run reads of them. Private to src/run.
 */
#ifndef XDD_RUN_SHORT_FILE_H
#define XDD_RUN_SHORT_FILE_H

#include <stdbool.h>

#include "xdd/plan/plan.h"

/*
 * Report the first target that reads past the end of its file, and past all that the run writes there, with one line to
 * log_error(). Targets that may end before their amount is reached are left out. Opens nothing; called by run_check().
 */
bool short_file_found(const struct plan *plan);

#endif
