/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processor time and latencies of passes, and their results. Private to src/run.
 */
#ifndef XDD_RUN_METER_METER_H
#define XDD_RUN_METER_METER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/pace.h"
#include "run/meter/sample.h"
#include "xdd/report/endtoend.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sys/clock.h"

struct latency;
struct qthread;
struct target;

/*
 * Processor time in the elapsed time of passes.
 *
 * The elapsed time of a pass begins with the first issue of its target and ends with the last
 * completion, which is not known before. So a QThread reads its processor time when it begins, at
 * its own first issue and at its end, together with the time of day, and of each part at most as
 * much counts as lies in the elapsed time.
 */

struct cpu_reading {
	uint64_t at_ns;		 /* clock_now_ns() */
	uint64_t used_ns;	 /* exact */
	struct cpu_time divided; /* rounded by the kernel; says how the exact time is divided */
};

/* Of one QThread in one pass. Owned by the QThread, read by the last to leave the pass. */
struct cpu_meter {
	struct cpu_reading begin, first, last;
	struct cpu_time end;
	bool issued;   /* there is `first` */
	bool finished; /* there is `last`: the work after the last operation is left out */
	bool early;    /* others were in their passes still */
};

/*
 * Processor time of the process while any QThread was in a pass, as sums of the readings when the
 * first entered (subtracted) and when the last left (added), and the part of it that is the
 * QThreads' own.
 */
struct run_cpu {
	/* const during a run: QThreads that enter each pass together; 0 with -nobarrier */
	uint32_t together;

	/* atomic: QThreads in a pass, and the pass that they have entered together */
	_Atomic uint32_t active;
	_Atomic uint64_t pass;

	/* atomic */
	_Atomic uint64_t wall_ns, user_ns, sys_ns;
	_Atomic uint64_t own_user_ns, own_sys_ns;
};

/*
 * Around the operations of a QThread in a pass, all called by it: before them; right before the
 * first is issued; before what follows one that is probably the last, and after a flush that counts
 * as part of the pass; after the operations; and once it has done what there was to do after the
 * pass.
 */
void cputime_begin(struct qthread *q);
void cputime_first(struct qthread *q);
void cputime_last(struct qthread *q);
void cputime_end(struct qthread *q);
void cputime_left(struct qthread *q);

/*
 * Processor time of a QThread from `first_ns` to `last_ns`, times of the clock. By the last to
 * leave the pass.
 */
struct cpu_time cputime_within(const struct cpu_meter *m, uint64_t first_ns, uint64_t last_ns);

/*
 * The wait of a QThread for a processor from `first_ns` to `last_ns`, in which it used `cpu`: some
 * of it was before its first operation. With FIGURES_WAIT; by the last to leave the pass.
 */
uint64_t cputime_waited(const struct qthread *q, uint64_t first_ns, uint64_t last_ns,
			struct cpu_time cpu);

/*
 * Processor time of threads other than QThreads in `elapsed_ns`, the elapsed time of all passes:
 * threads of the kernel for io_uring, the heartbeat and others. The kernel counts a thread that
 * runs on another processor late; no more than `most_ns`, which processors had left, counts. Any
 * thread.
 */
struct cpu_time cputime_of_others(const struct run_cpu *c, uint64_t elapsed_ns, uint64_t most_ns);

/*
 * The latency histograms of QThreads.
 */

/* Allocate the histograms that the run keeps, perhaps none. Returns 0 or -ENOMEM. QThread. */
int qthread_latency_init(struct qthread *q);

/*
 * Touch the memory for the first operations of the first pass, before it begins: histogram_touch().
 * QThread.
 */
void qthread_latency_touch(struct qthread *q);

/* Accepts histograms that were not allocated. After the QThread has ended. */
void qthread_latency_free(struct qthread *q);

/* Empty them for the next pass. The last QThread to leave a pass. */
void qthread_latency_reset(struct qthread *q);

/*
 * Initialize `l` with the sum over all QThreads of `t` at present; free `l` in any case. Returns 0
 * or -ENOMEM. Any thread.
 */
int target_latency_copy(struct latency *l, const struct target *t);

/*
 * Initialize `f` with the tally and the latencies of all QThreads of `t` at present; free `f` in
 * any case. Operations and bytes of a QThread are of the same moment, to within one operation if it
 * is interrupted while it counts that. So are its latencies, unless it completes operations faster
 * than they can be copied: they may then count a few more or less.
 *
 * Returns 0 or -ENOMEM. Any thread.
 */
int target_progress_copy(struct figures *f, const struct target *t);

/*
 * Results of passes, and the queue in which they go from the QThreads to the results manager.
 */

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
