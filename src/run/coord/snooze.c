/*
 * Rests of -snooze. Called by the issue loop when an operation is complete.
 */
#include "run/coord/snooze.h"

#include "xdd/io/engine.h"
#include "xdd/plan/plan.h"

/* A rest of three decades ends with the run, and the clock does not overflow. */
#define LONGEST_NS 1e18

uint64_t snooze_ns(struct snooze *s, const struct target_plan *plan, const struct io_request *req,
		   uint64_t done_ns)
{
	const uint64_t took_ns = done_ns > req->issue_ns ? done_ns - req->issue_ns : 0;
	double mean_ns = (double)took_ns, rest_ns;

	if (plan->snooze_percent <= 0)
		return 0;
	if (!req->error) {
		s->ops[req->dir]++;
		s->took_ns[req->dir] += took_ns;
	}
	if (s->ops[req->dir])
		mean_ns = (double)s->took_ns[req->dir] / (double)s->ops[req->dir];
	rest_ns = mean_ns * plan->snooze_percent / 100;
	return (uint64_t)(rest_ns < LONGEST_NS ? rest_ns : LONGEST_NS);
}
