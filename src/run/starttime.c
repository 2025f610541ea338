/*
 * -starttime: the first pass begins at a time of the wall clock. Called by the results manager, which all
 * others wait for.
 */
#include "run/starttime.h"

#include "run/run_state.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/base/units.h"
#include "xdd/sync/stop.h"
#include "xdd/sys/clock.h"

/* The clock may be set while it is waited for: look again this often. */
#define LOOK_NS (5 * NS_PER_SEC)

int starttime_wait(struct run *run)
{
	uint64_t at = run->plan->start_time_ns, now = clock_wall_ns();
	int err = 0;

	if (at && now < at)
		log_notice("the targets start in %.1f seconds (-starttime)",
			   (double)(at - now) / 1e9);
	while (at && now < at && !err) {
		uint64_t rest = at - now < LOOK_NS ? at - now : LOOK_NS;

		err = stop_sleep_until(&run->stop, clock_now_ns() + rest);
		now = clock_wall_ns();
	}
	return err;
}

void starttime_check(const struct run *run)
{
	uint64_t at = run->plan->start_time_ns, now = clock_wall_ns();

	if (at && now > at + NS_PER_SEC / 100)
		log_warning("the targets were not ready at the time of -starttime: they start %.3f "
			    "seconds after it",
			    (double)(now - at) / 1e9);
}
