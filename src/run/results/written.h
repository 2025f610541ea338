/*
 * Checks of what a run wrote: data that is in memory when the run ends, and zeros. Private to
 * src/run.
 */
#ifndef XDD_RUN_RESULTS_WRITTEN_H
#define XDD_RUN_RESULTS_WRITTEN_H

#include "run/meter/dirty_sample.h"
#include "xdd/plan/plan.h"

struct run;

/*
 * Report writes that were in memory at the end of the last pass of a target, or of several; `what`
 * names them, and `number` is the target's or FINDING_RUN. `direct`: they have -dio. Results
 * manager.
 */
void written_check_dirty(struct run *run, int64_t number, const char *what, bool direct,
			 const struct dirty_sample *dirty);

/*
 * If `t` writes zeros to storage that may compress or drop them, return the reason (static), else
 * NULL. It asks the file system: to be called before the first operation. Results manager.
 */
const char *written_loses_zeros(const struct target_plan *t);

void written_report_zeros(struct run *run, const struct target_plan *t, const char *why);

#endif
