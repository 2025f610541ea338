/*
 * Pacing. Called by QThreads: once a pass, and before operations that are not due yet.
 */
#include "xdd/run/pace.h"

#include <errno.h>
#include <sys/prctl.h>

#define TIMER_SLACK_NS 1 /* the kernel's default of 50 us is to save energy */

void pace_start(struct target *t, uint64_t start_ns)
{
	if (!schedule_is_paced(t->plan))
		return;
	atomic_store_explicit(&t->start_ns, start_ns, memory_order_relaxed);
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
}

int pace_sleep_until(struct stop *s, uint64_t deadline_ns)
{
	int err = deadline_ns > PACE_SPIN_NS ? stop_sleep_until(s, deadline_ns - PACE_SPIN_NS) : 0;

	while (!err && clock_now_ns() < deadline_ns) {
		if (stop_requested(s))
			err = -ECANCELED;
	}
	return err;
}
