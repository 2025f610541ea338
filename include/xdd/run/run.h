/*
 * A run: from a resolved plan to results.
 */
#ifndef XDD_RUN_RUN_H
#define XDD_RUN_RUN_H

#include <stdbool.h>

#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/run/signals.h"
#include "xdd/sync/group.h"

struct globaltime_client;

/*
 * Check that every target can be opened, without opening any. Returns XDD_OK, XDD_TARGET_FAILED or
 * XDD_BAD_ARGUMENT, the latter two reported. Main thread, before anything is opened.
 */
enum xdd_status run_check(const struct plan *plan);

/*
 * As run_check(), for one of many plans that are to run one after another: whether the machine
 * allows the threads is asked only where the plan needs more than `*threads`, which grows. It is 0
 * at first.
 */
enum xdd_status run_check_next(const struct plan *plan, uint64_t *threads);

/*
 * Carry out the plan by the global clock of `client` (timebase_open(); NULL: the wall clock, for a
 * plan without -timeserver), which stays the caller's: open the targets, run the passes, write
 * results to `report` (header, results and trailer), close the targets. A signal that `signals`
 * takes ends the run; if one came before, no target is opened. With a
 * `group`, which may be NULL, the ranks begin each pass together, and end together; all call this.
 *
 * Returns the exit status of the program. `*stuck`: threads are stuck in the kernel; the results
 * are written all the same, and the caller must end the process without freeing the plan. Main
 * thread, while the only other thread is that of `signals`; one run after another, unless one was
 * stuck.
 */
enum xdd_status run_execute(const struct plan *plan, struct report *report, struct signals *signals,
			    struct globaltime_client *client, struct group *group, bool *stuck);

#endif
