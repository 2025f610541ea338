/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs: from a resolved plan to results, with their global clock, signals, and a program that
 * watches.
 */
#ifndef XDD_RUN_RUN_H
#define XDD_RUN_RUN_H

#include <pthread.h>
#include <stdbool.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"

struct attached;
struct globaltime_client;
struct group;
struct progress_line;
struct report;
struct run;
struct stop;

/*
 * The global clock of a run, from -timeserver, before the run.
 */

/*
 * Reach the server of -timeserver, and check its clock against -timeserver maxerror and -starttime.
 * `*client` is for run_execute() and to be ended with globaltime_end(); NULL without -timeserver.
 * Returns XDD_OK; XDD_CANCELED when `stop` ends it; or another status with one line given to
 * log_error(). Main thread, before anything is opened or created.
 */
enum xdd_status timebase_open(const struct plan *plan, struct stop *stop,
			      struct globaltime_client **client);

/*
 * The signals that end a run, SIGINT, SIGTERM and SIGHUP, and SIGUSR1, which requests a line of
 * the heartbeat.
 */

/* Phases of the process between signals_start() and signals_end(). */
enum signals_when {
	SIGNALS_BEFORE, /* no run has begun */
	SIGNALS_DURING,
	SIGNALS_AFTER, /* its results are being written */
};

/* The caller owns the memory; the contents are private to signals.c. */
struct signals {
	struct signal_thread thread;
	struct stop before;   /* ends the waits before a run, with the first signal; any thread */
	pthread_mutex_t lock; /* guards all fields below */
	enum signals_when when;
	struct run *run; /* while SIGNALS_DURING */
	int sig;	 /* the first one; 0: none */
};

/*
 * Block SIGUSR1 until signals_start() has started the thread that takes it, so that it does not end
 * the process. Main thread, before anything else.
 */
void signals_block_progress(void);

/*
 * Start the thread that takes the signals, for all runs of the process; threads that are started
 * later have them blocked. The first signal ends the run, or prevents the next one, and limits how
 * long outputs may wait for their readers (output.h). The second, 0.1 s later or more, ends the
 * process at once. Returns 0 or -errno. Main thread, once, before any output is opened.
 */
int signals_start(struct signals *s);

/* From now on a signal stops `run`; one that came before stops it here. run_execute(). */
void signals_attach(struct signals *s, struct run *run);

/*
 * The run is over: signals no longer touch it or change how it ended. The results manager before it
 * writes the end, and run_execute(), also where no run was attached. May be called again.
 */
void signals_detach(struct signals *s);

/* The first signal that came, or 0. Any thread. */
int signals_taken(struct signals *s);

/* End the thread; the signals stay blocked. Main thread, after signals_start() has succeeded. */
void signals_end(struct signals *s);

/*
 * A run that another program has started and watches: -attached. Used by the command that carries
 * out a plan.
 */

/*
 * Start the thread that ends the process as by SIGINT once the other program is gone, and that
 * writes a line (heartbeat.h) to standard error every second. Without -attached `*a` is NULL.
 * Returns 0 or -errno. Main thread, after signals_start().
 */
int attached_start(struct attached **a, const struct plan *plan, struct signals *signals);

/* End it. Accepts NULL. Main thread, before signals_end(). */
void attached_end(struct attached *a);

/*
 * A run: from a resolved plan to results.
 */

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
 * thread, while the only other thread is the thread of `signals`; one run after another, unless one
 * was stuck.
 */
enum xdd_status run_execute(const struct plan *plan, struct report *report, struct signals *signals,
			    struct globaltime_client *client, struct group *group, bool *stuck);

#endif
