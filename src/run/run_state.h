/*
 * A run: the state that its threads share. Private to src/run.
 */
#ifndef XDD_RUN_RUN_STATE_H
#define XDD_RUN_RUN_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/syncio.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/results/cputime.h"
#include "run/results/results.h"
#include "run/timerinfo.h"
#include "xdd/io/guard.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/sync/barrier.h"
#include "xdd/sync/event.h"
#include "xdd/sync/stop.h"

struct signals;
struct target;

struct run {
	/* const during a run: the devices that it may write to */
	struct guard guard;

	/* const after creation */
	const struct plan *plan;
	struct report *report;
	struct signals *signals;
	struct target *targets;
	uint32_t n_qthreads;
	bool private_fds;   /* QThreads may have open files of their own: private_fd.h */
	bool reshapes;	    /* a file is recreated or reshaped once all targets are open */
	uint64_t id;	    /* wall clock at the start, nanoseconds since 1970 */
	bool keep_overhead; /* a column shows OVERHEADTIME */
	bool keep_latency;  /* a column, -latency or the like needs histograms */

	struct timer_info timer; /* -timerinfo */
	int64_t wall_ns;	 /* wall clock minus clock_now_ns() when the run began */

	/* their fields state their owners */
	struct stop stop;
	struct results_queue results;
	struct heartbeat heartbeat;
	struct intervals intervals;
	struct syncio syncio; /* with -syncio only */

	/* all QThreads and the results manager meet here: once ready, then before each pass */
	struct barrier start;

	/* targets that read files which others create wait here for those to be opened */
	struct event opened;

	/* atomic: targets that are set up for the next pass; with -dropcache system only */
	_Atomic uint32_t ready_targets;

	/* atomic: QThreads that are not ready for the first pass yet */
	_Atomic uint32_t unready;

	/* atomic: processor time within passes; set-up, tear-down and the time between passes are not in it */
	struct run_cpu cpu;

	/* atomic: clock at which -runtime is over, UINT64_MAX without it; set when the first pass starts */
	_Atomic uint64_t end_ns;

	/* atomic: operations that failed, and those that got a line of their own or that of their target */
	_Atomic uint64_t errors;
	_Atomic uint64_t errors_shown;

	/* atomic: extents of wrong data, and their bytes */
	_Atomic uint64_t miscompares;
	_Atomic uint64_t miscompared_bytes;

	/* written by the results manager before it joins run->start, read by QThreads after that */
	bool more;

	/* written by the results manager before it ends, read after joining it */
	bool stuck;
	bool output_failed; /* an output is incomplete */
};

/* End the run; the first reason wins. Returns true for the first. Any thread. */
bool run_stop(struct run *run, enum stop_reason reason, int detail);

#endif
