/*
 * -throttle as a member of the gate: the clock at which operations are due, and precise waits for
 * it. Private to src/run.
 *
 * The schedule is absolute and a pure function of the operation's number. So a stall of the machine
 * makes operations late and moves none of them: they are issued as soon as possible, and their
 * response time includes the delay. Only while another target holds an operation does the schedule
 * stop: lockstep, a start trigger, -syncio.
 */
#ifndef XDD_RUN_COORD_THROTTLE_H
#define XDD_RUN_COORD_THROTTLE_H

#include <stdint.h>

#include "xdd/plan/plan.h"

struct poisson;
struct qthread;
struct run;
struct tally;
struct target;

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

#endif
