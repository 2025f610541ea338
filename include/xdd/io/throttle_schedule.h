/*
 * The schedule of -throttle: when operations of a pass are due. A pure function of the plan and the
 * number of the operation; any thread.
 */
#ifndef XDD_IO_THROTTLE_SCHEDULE_H
#define XDD_IO_THROTTLE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/base/random.h"
#include "xdd/plan/plan.h"

static inline bool throttle_is_on(const struct target_plan *t)
{
	return t->throttle.interval_ns > 0;
}

/*
 * The arrivals of -throttle poisson in `pass`, as the functions below take them. Every pass has its
 * own, so that passes are independent; every target, too. They are the same in each run of the same
 * seed. The requests of a list with a rate of bytes arrive at the rate of requests of mean size.
 */
void throttle_arrivals(struct poisson *arrivals, const struct target_plan *t, uint64_t pass);

/*
 * Nanoseconds from the start of a pass to the time at which operation `n` is due; at most
 * UINT64_MAX / 4, so that a clock reading can be added. Ascends with n; 0 for all without a
 * throttle. With a rate of operations that is n over the rate, with a rate of bytes the bytes
 * before operation n over the rate. -throttle var moves each operation by a random part of the
 * interval to its neighbour, the same in every pass and run of the same seed. With -throttle
 * poisson it is the time of arrival n in `arrivals`, which only then is used, by one thread at a
 * time.
 */
uint64_t throttle_due_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n);

/*
 * Nanoseconds that `n` operations take by the schedule, each its interval: from the start of a pass
 * to the time at which the next operation would be due, without -throttle var. 0 without a
 * throttle.
 */
uint64_t throttle_span_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n);

#endif
