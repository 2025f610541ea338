/*
 * Runs that follow each other: xdd/plan/runs.h. Private to src/commands.
 */
#ifndef XDD_COMMANDS_RUN_SERIES_H
#define XDD_COMMANDS_RUN_SERIES_H

#include "xdd/base/status.h"
#include "xdd/plan/runs.h"

/*
 * Check all runs, and carry them out. Messages that are held (log_hold()) are written first.
 * Returns the greatest status of a run. Main thread.
 */
enum xdd_status series_run(struct plan_runs *runs);

#endif
