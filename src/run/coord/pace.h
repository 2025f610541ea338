/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pace of a pass, and its common end: -throttle, -snooze and -stonewall. Private to src/run.
 */
#ifndef XDD_RUN_COORD_PACE_H
#define XDD_RUN_COORD_PACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/group.h"

struct io_request;
struct poisson;
struct qthread;
struct run;
struct tally;
struct target;
struct target_plan;

/*
 * -throttle as a member of the gate: the clock at which operations are due, and precise waits for
 * it. Private to src/run.
 *
 * The schedule is absolute and a pure function of the operation's number. So a stall of the
 * machine makes operations late and moves none of them: they are issued as soon as possible, and
 * their response time includes the delay. Only while another target holds an operation does the
 * schedule stop: lockstep, a start trigger, -syncio.
 */

/*
 * A sleep ends this early, and the thread spins for the rest: the time that the kernel takes to
 * wake a thread.
 */
#define THROTTLE_SPIN_NS 40000u

/* The operation that a QThread brings to the gate. Owned by the QThread. */
struct throttle_op {
	struct poisson *arrivals; /* of the pass, owned; NULL without -throttle poisson */
	uint64_t due_ns;	  /* since start_ns of the pass; 0 without a throttle */
	uint64_t held_ns;	  /* clock from which on other targets hold it; 0: they do not */
	uint64_t held_start_ns;	  /* start_ns of the pass at that time */
};

/* Operations of a pass or several: the time by the schedule, and by the clock. */
struct throttle_times {
	uint64_t due_ns;  /* of the operations that were issued, by the schedule */
	uint64_t took_ns; /* elapsed, without the time for which other targets held operations */
};

/* Allocate what the schedule of `q` needs. Returns 0 or -ENOMEM. QThread. */
int throttle_open(struct qthread *q);

/* Accepts a QThread that throttle_open() has not seen. After the QThread has ended. */
void throttle_close(struct qthread *q);

/*
 * The pass of the target begins at clock `start_ns`, the same for all of its QThreads. Each
 * QThread.
 */
void throttle_begin_pass(struct qthread *q, uint64_t start_ns);

/*
 * Another target holds the operation that `q` brings. May be called again while it does. QThread.
 */
void throttle_hold(struct qthread *q, uint64_t now_ns);

/*
 * No other target holds the operation any more. If one did, the schedule moves forward by the time
 * for which the operation was due and held. QThread; with gate.throttle_lock, if the target has
 * gate.others.
 */
void throttle_release(struct qthread *q, uint64_t now_ns);

/* The clock at which the operation is due; 0 without a throttle. QThread. */
uint64_t throttle_due_at(const struct qthread *q);

/*
 * `q` issues nothing more in this pass. A throttled pass of n operations lasts n intervals, or
 * until its limit at `end_ns`: sleep until then, unless the pass was stopped before. QThread.
 */
void throttle_end_pass(struct qthread *q, uint64_t end_ns);

/*
 * Let the pass of `tally` begin and end with its schedule; no change without a throttle. After
 * throttle_end_pass().
 */
void throttle_extend(const struct target *t, struct tally *tally);

/* The times of `tally`, after throttle_extend(). */
struct throttle_times throttle_measure(const struct target *t, const struct tally *tally);

/*
 * At the end of a run: warn if the rate of a target was not reached; with -verbose, report it.
 * Results manager.
 */
void throttle_report(const struct run *run, const struct target_plan *t,
		     const struct throttle_times *times);

/*
 * Sleep until clock `deadline_ns`, to the microsecond if the machine allows it. Returns early when
 * the run stops, the pass of the target is over, or its stop trigger is pulled. QThread.
 */
void throttle_sleep_until(struct target *t, uint64_t deadline_ns);

/*
 * -snooze: rests that are a share of the mean response time. Private to src/run.
 *
 * Each QThread has means of its own, one for each direction, of the operations of the pass that
 * have not failed. Rests change when operations are issued, never which ones.
 */

/* Operations of the pass so far. Owned by the QThread. */
struct snooze {
	uint64_t ops[DIR_COUNT];
	uint64_t took_ns[DIR_COUNT]; /* total */
};

/* The QThread begins a pass. */
static inline void snooze_begin_pass(struct snooze *s)
{
	*s = (struct snooze){ 0 };
}

/*
 * Add `req`, which has completed at clock `done_ns`, to the mean of its direction. Returns how long
 * its slot rests: 0 without -snooze. Of a first operation that has failed, its own time counts.
 */
uint64_t snooze_ns(struct snooze *s, const struct target_plan *plan, const struct io_request *req,
		   uint64_t done_ns);

/*
 * -stonewall: no target issues any more in a pass that one of them has ended, or whose time is
 * over; with wearout each goes on to the operation that the one that had come furthest had issued.
 * Private to src/run.
 *
 * Whatever ends it first, the decision is made once for each pass. Another rank of the run may
 * make it as well: the thread that learns of it calls stonewall_close().
 */

/* The moment at which no target issued any more. */
struct stonewall_moment {
	uint64_t pass; /* 0: none yet */
	uint64_t at_ns;
	uint32_t target;
	struct tally tally; /* of all targets until then */
	/* with wearout, all targets may issue so many operations; UINT64_MAX: not known yet */
	uint64_t limit;
};

struct stonewall {
	pthread_mutex_t lock;
	struct stonewall_moment last; /* guarded by lock */
};

void stonewall_init(struct stonewall *s);
void stonewall_destroy(struct stonewall *s);

/*
 * The target, or with STONEWALL_BY_TIME none of them, ends `pass` for all targets that have begun
 * it; later calls for the same pass do nothing. Any thread.
 */
void stonewall_close(struct run *run, uint64_t pass, uint32_t target);

/* With wearout: the operations that all targets of all ranks may issue in `pass`. Any thread. */
void stonewall_go_on(struct run *run, uint64_t pass, uint64_t ops);

/*
 * A target is set up for a pass, which another rank may have ended already. Between
 * stonewall_lock() and stonewall_unlock().
 */
void stonewall_target_begins(struct target *t);

/* The last QThread of `t` to leave its pass. */
void stonewall_target_ends(struct target *t);

/*
 * The state of a target changes from one pass to the next between these. Any thread; without
 * -stonewall nothing.
 */
void stonewall_lock(struct run *run);
void stonewall_unlock(struct run *run);

/*
 * The moment of `pass`, once all targets have ended it; `rank` is the one that did so first, as all
 * ranks know it. False: there was none. Results manager.
 */
bool stonewall_get(struct run *run, uint64_t pass, struct stonewall_moment *m, unsigned *rank);

#endif
