/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results of passes, and the queue in which they go from the QThreads to the results manager.
 * Private to src/run.
 */
#ifndef XDD_RUN_METER_RESULTS_H
#define XDD_RUN_METER_RESULTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/pace.h"
#include "run/meter/sample.h"
#include "xdd/report/endtoend.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"

struct target;

enum result_interval {
	RESULT_NO_INTERVAL,
	RESULT_INTERVAL,	 /* of -intervals */
	RESULT_LATENCY_INTERVAL, /* of -latency intervals */
};

/*
 * The result of a target in a pass. The last QThread to leave the pass allocates it, the results
 * manager frees it. An interval uses the same struct, with pass, target, tally and latency only;
 * the result of all targets has their number as `target`.
 */
struct pass_result {
	struct pass_result *next;
	enum result_interval interval;
	bool first, last; /* interval: it begins a pass, or ends one */
	uint64_t from_ns; /* since the first pass began */
	uint64_t to_ns;	  /* since the first pass began */
	uint32_t target;
	uint64_t pass;
	uint64_t shift_ns;
	uint64_t first_issue_ns; /* the tally of a paced pass begins when operation 0 was due */
	struct figures figures;
	struct throttle_times paced;
	struct dirty_sample dirty;
	bool partial; /* interval: shorter than others, because the pass begins or ends in it */
	struct flow *flow; /* owned; NULL without -deskew, and of a pass that was not finished */
	struct endtoend_result *endtoend; /* owned; NULL: not end-to-end, or not finished */
	uint32_t n_queues;		  /* 0 without -qthreadinfo and -jsonout */
	struct figures queues[];	  /* of each QThread */
};

struct results_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock */
	struct pass_result *first;
	struct pass_result **tail;
	size_t intervals; /* intervals among these */
	uint32_t alive;	  /* QThreads that may still deliver */

	/* atomic: QThreads between results_settle() and results_settled() */
	_Atomic uint32_t settling;
};

/*
 * Results of the pass that `t` is in, allocated; NULL: out of memory. The last QThread to leave, or
 * the results manager.
 */
struct pass_result *target_snapshot(const struct target *t);
void pass_result_free(struct pass_result *r);

/* Set up for `alive` QThreads. Returns 0 or -errno. */
int results_init(struct results_queue *q, uint32_t alive);

/* Free the queue and the results in it. Accepts a zeroed queue. */
void results_destroy(struct results_queue *q);

/* Pass `r` on to the results manager, which owns it from now on. Any thread. */
void results_put(struct results_queue *q, struct pass_result *r);

/* Intervals that the results manager has not taken. Any thread. */
size_t results_waiting_intervals(struct results_queue *q);

/* `n` QThreads deliver nothing more. Any thread, once per QThread. */
void results_gone(struct results_queue *q, uint32_t n);

/*
 * The calling QThread has nothing outstanding, and flushes, closes or unmaps until
 * results_settled(). If the run stops meanwhile, the results manager waits for it.
 */
void results_settle(struct results_queue *q);
void results_settled(struct results_queue *q);

/* Wake the results manager: the run stops. Any thread. */
void results_wake(struct results_queue *q);

#endif
