/*
 * When operations of a pass are due, as -throttle has it: a pure function of the plan and the number of
 * the operation. Any thread.
 */
#ifndef XDD_IO_SCHEDULE_H
#define XDD_IO_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/plan/plan.h"

static inline bool schedule_is_paced(const struct target_plan *t)
{
	return t->throttle.interval_ns > 0;
}

/*
 * Nanoseconds from the start of a pass to when operation `n` is due. Ascends with n; 0 for all without a
 * throttle. At a rate of operations that is n over the rate, at one of bytes the bytes before operation n
 * over the rate. -throttle var moves each by a random part of the interval to its neighbour, the same in every
 * pass and run of the same seed.
 */
uint64_t schedule_due_ns(const struct target_plan *t, uint64_t n);

/*
 * Nanoseconds that `n` operations take by the schedule, each its interval: from the start of a pass to when the next
 * one would be due, without -throttle var. 0 without a throttle.
 */
uint64_t schedule_span_ns(const struct target_plan *t, uint64_t n);

#endif
