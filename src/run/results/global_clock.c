/*
 * The global clock of a run; see the header.
 *
 * Without a time server it is the wall clock as it was when the run began: a clock that is set
 * during the run must not move results against each other.
 */
#include "run/results/global_clock.h"

#include "run/meter/results.h"
#include "run/run_state.h"
#include "xdd/report/clock_result.h"
#include "xdd/report/result.h"

uint64_t global_clock_ns(const struct run *run, uint64_t at_ns)
{
	return at_ns + (uint64_t)run->wall_ns;
}

void global_clock_fill(const struct run *run, struct result *result)
{
	const struct tally *t = &result->figures.tally;

	if (!t->last_done_ns || t->first_issue_ns == UINT64_MAX)
		return;
	result->begin_ns = global_clock_ns(run, t->first_issue_ns);
	result->finish_ns = global_clock_ns(run, t->last_done_ns);
}

void global_clock_first(uint64_t *first_ns, const struct pass_result *r)
{
	if (r->pass != 1 || r->first_issue_ns == UINT64_MAX)
		return;
	if (r->first_issue_ns - r->shift_ns < *first_ns)
		*first_ns = r->first_issue_ns - r->shift_ns;
}

void global_clock_report(const struct run *run, uint64_t first_ns)
{
	const struct clock_result clock = { .server = NULL };
	struct start_result start = { .requested_ns = run->plan->start_time_ns };

	report_clock(run->report, &clock);
	if (first_ns == UINT64_MAX)
		return;
	start.achieved_ns = global_clock_ns(run, first_ns);
	report_start(run->report, &start);
}
