/*
 * Files that are shorter than the range that a run reads. Private to src/run.
 */
#ifndef XDD_RUN_SHORT_FILE_H
#define XDD_RUN_SHORT_FILE_H

#include <stdbool.h>

#include "xdd/plan/plan.h"

/*
 * Report the first target that reads past the end of its file and past all data that the run writes
 * there. Targets that may end before their amount is reached are left out. Opens nothing. Returns
 * true if there is one. Main thread.
 */
bool short_file_found(const struct plan *plan);

#endif
