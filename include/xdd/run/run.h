/*
 * A run: from a frozen plan to results.
 */
#ifndef XDD_RUN_RUN_H
#define XDD_RUN_RUN_H

#include <stdbool.h>

#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/run/signals.h"

/*
 * Check that every target could be opened, without opening any. Returns XDD_OK, or XDD_TARGET_FAILED
 * with one line given to log_error(). Called by main before anything is opened.
 */
enum xdd_status run_check(const struct plan *plan);

/*
 * Do what the plan says: open the targets, run the passes, write results to `report` (header, results
 * and trailer), close the targets. A signal that `signals` takes ends it; after one that has come
 * already, no target is opened.
 *
 * Returns the exit status of the program. `*stuck` tells whether threads are left behind that are stuck
 * in the kernel: the results of what was done are written all the same, and the caller must end the
 * process without freeing the plan. Called once, by main, with no other threads about but that of `signals`.
 */
enum xdd_status run_execute(const struct plan *plan, struct report *report, struct signals *signals,
			    bool *stuck);

#endif
