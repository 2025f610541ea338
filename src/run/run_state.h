/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run: the state that its threads share. Private to src/run.
 */
#ifndef XDD_RUN_RUN_STATE_H
#define XDD_RUN_RUN_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/gate.h"
#include "run/coord/pace.h"
#include "run/endtoend/endtoend.h"
#include "run/meter/meter.h"
#include "run/placement.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/target/data.h"
#include "xdd/io/guard.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/ticker.h"
#include "xdd/sync/wait.h"

struct globaltime_client;
struct group;
struct signals;
struct target;

/* State that the results manager tells others. */
struct manager_state {
	/* written before it joins run->start, read by QThreads after that: there is another pass */
	bool more;

	/* the same: clock_now_ns() at -starttime; 0: without one */
	uint64_t start_ns;

	/* written before it ends, read after joining it */
	bool stuck;	    /* QThreads are stuck in the kernel */
	bool released;	    /* the first pass has begun */
	bool output_failed; /* an output is incomplete */
};

/* Cost of the clock and of time stamps on this machine, for -timerinfo. */
struct timer_info {
	uint64_t resolution_ns; /* the least difference seen between two readings */
	double reading_ns;	/* one call of clock_now_ns() */
	double stamp_ns;	/* one entry of a time stamp, beside the readings */
};

struct run {
	/* const during a run: the devices that it may write to */
	struct guard guard;

	/* const after creation */
	const struct plan *plan;
	struct report *report;
	/* const: the report takes each failure; a QThread left behind may outlive the report */
	bool takes_failures;
	struct signals *signals;
	struct group *group; /* -mpi; NULL: this process is alone */
	struct target *targets;
	uint32_t n_qthreads;
	bool private_fds;    /* QThreads may have open files of their own: target_file_ops.h */
	bool opens_together; /* all targets are opened before a file or a cache is changed */
	uint64_t id;	     /* wall clock at the start, nanoseconds since 1970 */
	unsigned needs;	     /* figures to measure, enum figures_part: report_needs() */

	struct timer_info timer;	 /* -timerinfo */
	struct globaltime_client *clock; /* of -timeserver; NULL: the wall clock; the caller's */
	int64_t wall_ns;		 /* wall clock minus clock_now_ns() when the run began */

	/* their fields state their owners */
	struct thread_stacks stacks; /* of the QThreads */
	struct placement placement;
	struct stop stop;
	struct results_queue results;
	struct ticker sampler; /* copies the progress of targets, for the subscribers below */
	struct heartbeat heartbeat;
	struct intervals intervals[INTERVALS_KINDS];
	struct syncio syncio; /* with -syncio only */
	struct stonewall stonewall;
	struct endtoend_run endtoend;

	/* all QThreads and the results manager meet here: once ready, then before each pass */
	struct barrier start;

	/*
	 * targets that read files which others create wait here for those to be opened, and those
	 * that recreate a file together for each other
	 */
	struct event opened;

	/* atomic: targets that are set up for the next pass; with -dropcache system only */
	_Atomic uint32_t ready_targets;

	/* atomic: QThreads that are not ready for the first pass yet */
	_Atomic uint32_t unready;

	/*
	 * atomic: processor time within passes; set-up, tear-down and the time between passes are
	 * not in it
	 */
	struct run_cpu cpu;

	/*
	 * atomic: clock at which -runtime is over, UINT64_MAX without it; set when the first pass
	 * starts
	 */
	_Atomic uint64_t end_ns;

	/* atomic, all of its fields */
	struct run_failures failures;

	/* owned by the results manager */
	struct manager_state manager;

	/* owned by the main thread: the threads of targets were started, or one could not be */
	bool begun;
	struct hog hog; /* with -hogmemory only */
};

/* End the run; the first reason wins. Returns true for the first. Any thread. */
bool run_stop(struct run *run, enum stop_reason reason, int detail);

/*
 * Something has gone wrong with `t`, in the words that this side reports; the other sides of the
 * run get them too, as the reason for what follows. The first counts. Any thread, before it stops
 * the run; accepts targets that are not end-to-end.
 */
void run_explain(struct target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * `t` cannot go on: end the run, and report why unless it stops already; the other sides of the run
 * get the reason too. Returns `err`, -errno. Any thread.
 */
int run_fail(struct target *t, enum stop_reason reason, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Report that a run cannot be set up, for `err`, a -errno. Returns the exit status for it. */
enum xdd_status run_not_set_up(int err);

/* Report a device that must not be written to. Returns the exit status for it. */
enum xdd_status run_refuse(const struct guard_refusal *r);

#endif
