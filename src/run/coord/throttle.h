/*
 * Pacing: when operations are due by -throttle, and waiting for it precisely. Private to src/run.
 *
 * The schedule is absolute and a pure function of the operation's number, so a stall makes operations late
 * and moves none: they are issued as soon as they can, and their response time says how late they were. Only
 * while another target holds an operation does the schedule rest: lockstep, a start trigger, -syncio.
 */
#ifndef XDD_RUN_COORD_THROTTLE_H
#define XDD_RUN_COORD_THROTTLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "run/target.h"
#include "xdd/io/throttle_schedule.h"

/* A sleeper is woken this much early and spins for the rest: what the kernel takes to wake it up. */
#define THROTTLE_SPIN_NS 40000u

struct qthread;
struct run;
struct target_plan;
struct tally;

/* The schedule of -throttle in a pass or several, against the clock. */
struct throttle_times {
	uint64_t due_ns; /* time of the operations that were issued, by the schedule */
	uint64_t took_ns; /* elapsed time, without the time for which other targets held operations */
};

/* The pass of the target begins at clock `start_ns`, the same for all of its QThreads. */
void throttle_begin_pass(struct qthread *q, uint64_t start_ns);

/* Another target holds the next operation of `q`. May be called again while it does. */
void throttle_hold(struct qthread *q, uint64_t now_ns);

/*
 * No other target holds operation `n` of `q` any more. If one did, the schedule moves on by the time for which that
 * operation was due and held. With gate.throttle_lock, if the target has `others`.
 */
void throttle_release(struct qthread *q, uint64_t n, uint64_t now_ns);

/* The clock at which operation `n` of the pass is due; 0 when nothing paces it. Any QThread of it. */
static inline uint64_t throttle_due(const struct target *t, uint64_t n)
{
	uint64_t due;

	if (!throttle_is_on(t->plan))
		return 0;
	if (__builtin_add_overflow(throttle_due_ns(t->plan, n),
				   atomic_load_explicit(&t->state.start_ns, memory_order_relaxed),
				   &due))
		return UINT64_MAX - 2;
	return due;
}

/*
 * `q` has nothing more to issue in this pass. A paced pass of n operations lasts n intervals, or until its limit at
 * `end_ns`: sleep so long, unless the pass was stopped before.
 */
void throttle_end_pass(struct qthread *q, uint64_t end_ns);

/* Let the pass that `tally` is of begin and end with its schedule. After throttle_end_pass(); without a throttle nothing changes. */
void throttle_extend(const struct target *t, struct tally *tally);

/* How long the operations of `tally`, which throttle_extend() has seen, should have taken, and did. */
struct throttle_times throttle_measure(const struct target *t, const struct tally *tally);

/* Say at the end of a run whether the rate of a target was reached: a warning when not, a line with -verbose. */
void throttle_report(const struct run *run, const struct target_plan *t,
		     const struct throttle_times *paced);

/*
 * Sleep until clock `deadline_ns`, to the microsecond where the machine lets it. Returns 0, also as soon as the stop
 * trigger of the target is pulled, or -ECANCELED when the run stops or the pass of the target is over.
 */
int throttle_sleep_until(struct target *t, uint64_t deadline_ns);

#endif
