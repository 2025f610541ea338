/* The schedule of -throttle. Called by the gate for each operation, and by -seek save. */
#include "xdd/io/throttle_schedule.h"

#include "xdd/base/random.h"
#include "xdd/plan/mix.h"

/* Later than any pass lasts, and early enough to add a clock reading. */
#define FOREVER_NS (UINT64_MAX / 4)

/* Evenly spread over [-1/2, 1/2). */
static double draw(const struct target_plan *t, uint64_t n)
{
	const struct random_key key = {
		.seed = t->seek.seed,
		.pass = 1,
		.target = (uint16_t)t->number,
		.rank = t->throttle.rank,
		.stream = RANDOM_STREAM_PACE,
	};
	const struct random_sequence sequence = random_sequence(&key);

	return (double)(random_u64(&sequence, n) >> 11) / 9007199254740992.0 - 0.5;
}

/* Operations before operation `n`, in intervals of a request of full size. */
static double intervals_before(const struct target_plan *t, uint64_t n)
{
	const uint64_t *bytes = t->throttle.bytes_before;
	uint64_t rows = n < t->n_rows ? n : t->n_rows;

	if (t->mix && t->throttle.by == THROTTLE_BANDWIDTH)
		return (double)mix_bytes(t->mix, n) / (double)t->req_bytes;
	if (!bytes)
		return (double)n;
	return (double)bytes[rows] / (double)t->req_bytes + (double)(n - rows);
}

/*
 * By how much operation `n`, due after so many intervals, is moved: by half of the interval to its
 * neighbour on that side at most. So neighbours keep their order, whatever their sizes.
 */
static double moved_by(const struct target_plan *t, uint64_t n, double intervals)
{
	double part = draw(t, n) * t->throttle.var_percent / 100;

	if (part > 0)
		return part * (intervals_before(t, n + 1) - intervals);
	return n ? part * (intervals - intervals_before(t, n - 1)) : 0;
}

static uint64_t to_ns(const struct target_plan *t, double intervals)
{
	double ns = intervals * t->throttle.interval_ns;

	return ns >= (double)FOREVER_NS ? FOREVER_NS : (uint64_t)ns;
}

void throttle_arrivals(struct poisson *arrivals, const struct target_plan *t, uint64_t pass)
{
	const struct random_key key = {
		.seed = t->seek.seed,
		.pass = (uint32_t)pass,
		.target = (uint16_t)t->number,
		.rank = t->throttle.rank,
		.stream = RANDOM_STREAM_ARRIVAL,
	};

	poisson_init(arrivals, &key);
}

static uint64_t arrival_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n)
{
	return to_ns(t, (double)poisson_arrival(arrivals, n) / POISSON_UNIT);
}

uint64_t throttle_due_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n)
{
	double intervals;

	if (!throttle_is_on(t))
		return 0;
	if (t->throttle.poisson)
		return arrival_ns(t, arrivals, n);
	intervals = intervals_before(t, n);
	if (t->throttle.var_percent > 0)
		intervals += moved_by(t, n, intervals);
	return to_ns(t, intervals);
}

uint64_t throttle_span_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n)
{
	double intervals;

	if (!throttle_is_on(t))
		return 0;
	if (t->throttle.poisson)
		return arrival_ns(t, arrivals, n);
	if (t->mix && t->throttle.by == THROTTLE_BANDWIDTH && n == t->pass_ops)
		return to_ns(t, (double)t->pass_bytes / (double)t->req_bytes);
	intervals = intervals_before(t, n);
	/* At a rate of bytes, a last operation that is shorter has a shorter interval. */
	if (t->throttle.by == THROTTLE_BANDWIDTH && !t->throttle.bytes_before && n &&
	    n == t->pass_ops && t->last_op_bytes)
		intervals -= 1 - (double)t->last_op_bytes / (double)t->req_bytes;
	return to_ns(t, intervals);
}
