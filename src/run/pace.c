/*
 * Pacing. Called by QThreads: once a pass, and before operations that are not due yet.
 */
#include "xdd/run/pace.h"

#include <errno.h>
#include <sys/prctl.h>

#define LOOK_NS 200000000
#define TIMER_SLACK_NS 1 /* the kernel's default of 50 us is to save energy */

void pace_start(struct qthread *q, uint64_t start_ns)
{
	uint64_t none = 0;

	q->held_ns = 0;
	if (!schedule_is_paced(q->target->plan))
		return;
	/* A QThread that comes late must not undo what others have moved. */
	atomic_compare_exchange_strong(&q->target->start_ns, &none, start_ns);
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
}

void pace_hold(struct qthread *q, uint64_t now_ns)
{
	if (q->held_ns)
		return;
	q->held_ns = now_ns;
	q->held_start_ns = atomic_load(&q->target->start_ns);
}

void pace_release(struct qthread *q, uint64_t n, uint64_t now_ns)
{
	struct target *t = q->target;
	uint64_t due, from, start;

	if (!q->held_ns)
		return;
	due = q->held_start_ns + schedule_due_ns(t->plan, n);
	from = due > q->held_ns ? due : q->held_ns;
	start = q->held_start_ns + (now_ns > from ? now_ns - from : 0);
	q->held_ns = 0;
	/* What several QThreads waited for at a time counts once. */
	if (start > atomic_load(&t->start_ns))
		atomic_store(&t->start_ns, start);
}

/* Sleep for part of a wait. False: the stop trigger was pulled, which the gate answers for from now on. */
static bool sleep_on(struct target *t, uint64_t until_ns)
{
	if (t->gate.stop_by)
		return gate_rest(t, until_ns) == 0 || stop_requested(&t->run->stop);
	stop_sleep_until(&t->run->stop, until_ns);
	return true;
}

int pace_sleep_until(struct target *t, uint64_t deadline_ns)
{
	struct stop *stop = &t->run->stop;
	uint64_t now = clock_now_ns();

	while (now < deadline_ns) {
		uint64_t left = deadline_ns - now;

		/* Nobody is woken when a pass is over: that is looked at now and then. */
		if (stop_requested(stop) ||
		    atomic_load_explicit(&t->pass_over, memory_order_relaxed))
			return -ECANCELED;
		if (left > PACE_SPIN_NS &&
		    !sleep_on(t, left > LOOK_NS ? now + LOOK_NS : deadline_ns - PACE_SPIN_NS))
			return 0;
		now = clock_now_ns();
	}
	return 0;
}
