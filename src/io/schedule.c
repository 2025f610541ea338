/*
 * The schedule of -throttle. Called by QThreads for each operation, and by -seek save.
 */
#include "xdd/io/schedule.h"

#include "xdd/base/random.h"

/* Later than any pass lasts, and not so late that a clock reading cannot be added. */
#define FOREVER_NS (UINT64_MAX / 4)

/* Evenly spread over [-1/2, 1/2). */
static double draw(const struct target_plan *t, uint64_t n)
{
	const struct random_key key = {
		.seed = t->seek.seed,
		.pass = 1,
		.target = (uint16_t)t->number,
		.stream = RANDOM_STREAM_PACE,
	};

	return (double)(random_u64(&key, n) >> 11) / 9007199254740992.0 - 0.5;
}

uint64_t schedule_due_ns(const struct target_plan *t, uint64_t n)
{
	const struct throttle_options *throttle = &t->throttle;
	double due_ns, intervals = (double)n;

	if (!schedule_is_paced(t))
		return 0;
	if (throttle->bytes_before && n < t->n_rows)
		intervals = (double)throttle->bytes_before[n] / (double)t->req_bytes;
	/* Neighbours move by half an interval at most and so keep their order. */
	if (throttle->var_percent > 0)
		intervals += draw(t, n) * throttle->var_percent / 100;
	due_ns = intervals * throttle->interval_ns;
	if (due_ns >= (double)FOREVER_NS)
		return FOREVER_NS;
	return due_ns > 0 ? (uint64_t)due_ns : 0;
}
