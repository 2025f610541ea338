/*
 * Pacing: when operations are due by -throttle, and waiting for it precisely. Private to src/run.
 *
 * The schedule is absolute and a pure function of the operation's number, so a stall makes operations late
 * and moves none: they are issued as soon as they can, and their response time says how late they were. Only
 * while another target holds an operation does the schedule rest: lockstep, a start trigger, -syncio.
 */
#ifndef XDD_RUN_PACE_H
#define XDD_RUN_PACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "xdd/io/schedule.h"
#include "xdd/run/internal.h"

/* A sleeper is woken this much early and spins for the rest: what the kernel takes to wake it up. */
#define PACE_SPIN_NS 40000u

/* The pass of the target begins at clock `start_ns`, the same for all of its QThreads. */
void pace_start(struct qthread *q, uint64_t start_ns);

/* Another target holds the next operation of `q`. May be called again while it does. */
void pace_hold(struct qthread *q, uint64_t now_ns);

/*
 * No other target holds operation `n` of `q` any more. If one did, the schedule moves on by the time for which that
 * operation was due and held. With gate.pace_lock, if the target has `others`.
 */
void pace_release(struct qthread *q, uint64_t n, uint64_t now_ns);

/* The clock at which operation `n` of the pass is due; 0 when nothing paces it. Any QThread of it. */
static inline uint64_t pace_due(const struct target *t, uint64_t n)
{
	uint64_t due;

	if (!schedule_is_paced(t->plan))
		return 0;
	if (__builtin_add_overflow(schedule_due_ns(t->plan, n),
				   atomic_load_explicit(&t->start_ns, memory_order_relaxed), &due))
		return UINT64_MAX - 2;
	return due;
}

/*
 * Sleep until clock `deadline_ns`, to the microsecond where the machine lets it. Returns 0, also as soon as the stop
 * trigger of the target is pulled, or -ECANCELED when the run stops or the pass of the target is over.
 */
int pace_sleep_until(struct target *t, uint64_t deadline_ns);

#endif
