/*
 * How long a run will still take; see heartbeat.h. Called by the heartbeat's thread, and where a
 * signal asks.
 */
#include <math.h>

#include "xdd/base/units.h"
#include "xdd/report/heartbeat.h"

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

/*
 * How long a pass of the target takes; infinite where only the end of the run ends it, NAN where
 * it is not known.
 */
static double pass_seconds(const struct heartbeat_sample *s)
{
	uint64_t limit_ns = s->target->time_limit_ns, ops = s->target->pass_ops;
	double limit = limit_ns ? seconds(limit_ns) : INFINITY;

	if (s->state == HEARTBEAT_COMPLETE)
		return seconds(s->elapsed_ns);
	if (ops == PLAN_UNLIMITED)
		return limit;
	if (s->state == HEARTBEAT_WAITING || !s->done_ops || !s->elapsed_ns)
		return NAN;
	/* A limit comes first where the operations would take longer. */
	return fmin(seconds(s->elapsed_ns) * (double)ops / (double)s->done_ops, limit);
}

static double left_of_pass(const struct heartbeat_sample *s, double whole)
{
	double elapsed = s->state == HEARTBEAT_WAITING ? 0 : seconds(s->elapsed_ns);

	return s->state == HEARTBEAT_COMPLETE ? 0 : fmax(whole - elapsed, 0);
}

/* How much of the time between two passes has gone by; `between` is all of it. */
static double rested(const struct heartbeat_sample *s, double between)
{
	return s->state == HEARTBEAT_COMPLETE ? fmin(seconds(s->rested_ns), between) : 0;
}

/* Of a target by itself, which waits for no other one between its passes. */
static double left_alone(const struct plan *plan, const struct heartbeat_sample *s)
{
	double whole = pass_seconds(s);
	double later = s->pass < plan->passes ? (double)(plan->passes - s->pass) : 0;
	double between = seconds(s->target->delay_ns) + seconds(plan->pass_delay_ns);

	if (!later)
		return left_of_pass(s, whole);
	return left_of_pass(s, whole) + later * (whole + between) - rested(s, between);
}

/* Of all targets, which begin each pass together. */
static double left_together(const struct plan *plan, const struct heartbeat_sample *samples)
{
	const double pass_delay = seconds(plan->pass_delay_ns);
	double longest = 0, left = 0, rest = INFINITY, later;
	uint64_t pass = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct heartbeat_sample *s = &samples[i];
		double whole = pass_seconds(s);

		if (isnan(whole))
			return NAN;
		longest = fmax(longest, whole + seconds(s->target->delay_ns));
		left = fmax(left, left_of_pass(s, whole));
		rest = fmin(rest, rested(s, pass_delay + seconds(s->target->delay_ns)));
		pass = s->pass > pass ? s->pass : pass;
	}
	later = pass < plan->passes ? (double)(plan->passes - pass) : 0;
	return later ? left + later * (longest + pass_delay) - rest : left;
}

double heartbeat_left(const struct plan *plan, const struct heartbeat_sample *samples,
		      double limit_s)
{
	double left = 0;

	if (plan->no_barrier) {
		for (size_t i = 0; i < plan->n_targets && !isnan(left); i++) {
			double own = left_alone(plan, &samples[i]);

			left = isnan(own) ? NAN : fmax(left, own);
		}
	} else {
		left = left_together(plan, samples);
	}
	/* The number of passes is not known beforehand. */
	if (plan->until_percent)
		left = NAN;
	left = isnan(left) ? limit_s : fmin(left, limit_s);
	return isfinite(left) ? left : HEARTBEAT_UNKNOWN;
}
