/*
 * The global clock of a run, before the run: that of -timeserver.
 */
#ifndef XDD_RUN_TIMEBASE_H
#define XDD_RUN_TIMEBASE_H

#include "xdd/base/status.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/plan.h"

struct stop;

/*
 * Reach the server of -timeserver, and check its clock against -timeserver maxerror and -starttime.
 * `*client` is for run_execute() and to be ended with globaltime_end(); NULL without -timeserver.
 * Returns XDD_OK; XDD_CANCELED when `stop` ends it; or another status with one line given to
 * log_error(). Main thread, before anything is opened or created.
 */
enum xdd_status timebase_open(const struct plan *plan, struct stop *stop,
			      struct globaltime_client **client);

#endif
