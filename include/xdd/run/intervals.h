/*
 * -latency intervals: the latencies of each stretch of time. A thread copies the histograms of all
 * targets at the end of every interval and hands what has come since to the results manager; the last
 * interval of a pass ends with the pass, so that intervals add up to it. Private to src/run.
 */
#ifndef XDD_RUN_INTERVALS_H
#define XDD_RUN_INTERVALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/base/latency.h"

struct run;
struct target;

/* One target. */
struct interval_series {
	pthread_mutex_t lock;

	/* guarded by lock */
	bool open;	     /* the target is in a pass, or about to begin one */
	struct latency last; /* of the pass, up to from_ns */
	uint64_t from_ns;
};

struct intervals {
	/* const after intervals_start(); NULL: not asked for, and nothing here does anything */
	struct interval_series *series;
	struct run *run;
	pthread_t thread;

	/* atomic: clock at which the first pass began, 0 before */
	_Atomic uint64_t begin_ns;

	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock */
	bool quit;
};

/* Set up and start the thread, where the plan asks for intervals. Returns 0 or -errno. */
int intervals_start(struct intervals *i, struct run *run);

/* A pass begins; the first of the run sets the clock that intervals count from. QThreads. */
void intervals_begin(struct intervals *i, uint64_t release_ns);

/* Around the emptying of a target's histograms, by the last QThread to leave a pass. */
void intervals_close(struct intervals *i, struct target *t);
void intervals_open(struct intervals *i, struct target *t);

/* End the thread. What follows of the other calls does no harm. Accepts one that was never started. */
void intervals_end(struct intervals *i);

/* Free all, once no QThread runs any more. */
void intervals_destroy(struct intervals *i);

#endif
