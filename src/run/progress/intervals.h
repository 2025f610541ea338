/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -intervals and -latency intervals: progress of each interval of time, per target and of all
 * targets together. Private to src/run.
 *
 * The sampler copies counters and histograms of all targets at the end of every interval and passes
 * the difference on to the results manager. The last interval of a pass ends with the pass, so that
 * the intervals add up to it. An interval is held for a tenth of its length: if the pass ends
 * meanwhile, the rest of the pass becomes part of it.
 *
 * Each of the two options has intervals of its own. Those of -intervals have no gaps within a pass;
 * the rows of -latency leave out what has no completions.
 */
#ifndef XDD_RUN_PROGRESS_INTERVALS_H
#define XDD_RUN_PROGRESS_INTERVALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/stat/figures.h"

struct pass_result;
struct qthread;
struct run;
struct target;

enum intervals_kind {
	INTERVALS_LATENCY, /* -latency intervals */
	INTERVALS_SERIES,  /* -intervals */
	INTERVALS_KINDS,
};

/* One target; guarded by target.sample_lock. */
struct interval_series {
	bool open;	     /* in a pass; INTERVALS_LATENCY: or about to begin one */
	bool first;	     /* no interval of the pass has ended */
	struct figures last; /* progress of the pass up to from_ns */
	uint64_t from_ns;
	struct pass_result *held; /* the interval that ended last; NULL: passed on */
};

/* All targets together. */
struct interval_sum {
	pthread_mutex_t lock; /* taken after target.sample_lock */

	/* guarded by lock */
	bool open; /* INTERVALS_SERIES: a target is in a pass; with -nobarrier: a pass has begun */
	bool first;
	struct figures figures; /* since from_ns */
	uint64_t from_ns;
	uint64_t closed;    /* passes that targets have ended */
	uint64_t closed_ns; /* when the last of them did */
	struct pass_result *held;
};

struct intervals {
	/* const after intervals_start(); series NULL: not used, and all functions do nothing */
	struct interval_series *series;
	enum intervals_kind kind;
	uint64_t length_ns;
	bool several; /* targets, so there is a sum of them */
	struct run *run;

	/* owned by the sampler */
	bool holding;	  /* an interval has just ended */
	uint64_t next_ns; /* when the next one ends; 0: no pass has begun */

	/* atomic: clock at which the first pass began, 0 before */
	_Atomic uint64_t begin_ns;

	/* its fields state their owners */
	struct interval_sum sum;
};

/* Set up what the plan needs, and subscribe to the sampler. Returns 0 or -errno. Main thread. */
int intervals_start(struct run *run);

/* A pass begins; the first of the run starts the clock of the intervals. QThreads. */
void intervals_begin(const struct qthread *q, uint64_t release_ns);

/*
 * End the series of a pass. Before the counters and histograms of the target are reset, with NULL:
 * the last QThread to leave the pass. Where the pass will not end, with the figures that are
 * reported, the rest of which becomes the last interval: the results manager.
 */
void intervals_close(struct target *t, const struct figures *figures);

/* After the counters and histograms are reset. The last QThread to leave a pass. */
void intervals_open(struct target *t);

/*
 * No pass follows: pass on the intervals that are held. The results manager, before it takes the
 * last results.
 */
void intervals_finish(struct run *run);

/* Free everything; accepts intervals that were never started. Main thread, after all QThreads. */
void intervals_destroy(struct run *run);

#endif
