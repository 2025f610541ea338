/*
 * -latency intervals: the latencies of each interval of time, per target and of all targets
 * together. Private to src/run.
 *
 * A thread copies the histograms of all targets at the end of every interval and passes the
 * difference on to the results manager. The last interval of a pass ends with the pass, so that the
 * intervals add up to it. An interval is held for a tenth of its length: if the pass ends
 * meanwhile, the rest of the pass becomes part of it.
 */
#ifndef XDD_RUN_PROGRESS_INTERVALS_H
#define XDD_RUN_PROGRESS_INTERVALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/stat/latency.h"

struct run;
struct target;

/* One target. */
struct interval_series {
	pthread_mutex_t lock;

	/* guarded by lock */
	bool open;	     /* the target is in a pass, or about to begin one */
	struct latency last; /* latencies of the pass up to from_ns */
	uint64_t from_ns;
	struct pass_result *held; /* the interval that ended last; NULL: passed on */
};

/* All targets together. */
struct interval_sum {
	pthread_mutex_t lock; /* taken after interval_series.lock */

	/* guarded by lock */
	struct latency latency; /* since from_ns */
	uint64_t from_ns;
	uint64_t closed; /* passes that targets have ended */
	struct pass_result *held;
};

struct intervals {
	/* const after intervals_start(); NULL: not used, and all functions do nothing */
	struct interval_series *series;
	bool several; /* targets, so there is a sum of them */
	struct run *run;
	pthread_t thread;

	/* atomic: clock at which the first pass began, 0 before */
	_Atomic uint64_t begin_ns;

	/* its fields state their owners */
	struct interval_sum sum;

	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock */
	bool quit;
};

/* Set up and start the thread if the plan has intervals. Returns 0 or -errno. Main thread. */
int intervals_start(struct intervals *i, struct run *run);

/* A pass begins; the first of the run starts the clock of the intervals. QThreads. */
void intervals_begin(struct intervals *i, uint64_t release_ns);

/*
 * Call these before and after the histograms of a target are reset. The last QThread to leave a
 * pass.
 */
void intervals_close(struct intervals *i, struct target *t);
void intervals_open(struct intervals *i, struct target *t);

/*
 * No pass follows: pass on the intervals that are held. The results manager, before it takes the
 * last results.
 */
void intervals_finish(struct intervals *i);

/*
 * End the thread. Later calls, this one too, do nothing. Accepts intervals that were never started.
 * Main thread.
 */
void intervals_end(struct intervals *i);

/* Free everything. Main thread, once all QThreads have ended. */
void intervals_destroy(struct intervals *i);

#endif
