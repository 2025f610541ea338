/*
 * The ranks of a run with -mpi; see the header. Called by run_execute() and the results manager.
 */
#include "run/progress/ranks.h"

#include "run/coord/stonewall.h"
#include "run/run_state.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/plan.h"
#include "xdd/report/clock_result.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* This run stops: tell the other ranks. In the thread that stops it. */
static void tell_others(void *arg)
{
	struct run *run = arg;

	group_stop(run->group, stop_why(&run->stop), atomic_load(&run->stop.detail));
}

/* Another rank has stopped. In the thread of the group. */
static void stop_too(void *arg, enum stop_reason reason, int detail)
{
	run_stop(arg, reason, detail);
}

/* A rank has ended the pass. In the thread of the group. */
static void wall_over(void *arg, const struct group_wall *wall)
{
	stonewall_close(arg, wall->pass, wall->target);
}

static void wall_counted(void *arg, uint64_t pass, uint64_t most)
{
	stonewall_go_on(arg, pass, most);
}

int ranks_attach(struct run *run)
{
	static const struct group_wall_calls calls = { wall_over, wall_counted };
	int err = run->group ? stop_on_request(&run->stop, tell_others, run) : 0;

	if (!run->group || err)
		return err;
	group_on_stop(run->group, stop_too, run);
	if (run->plan->stonewall.on)
		group_on_wall(run->group, &calls, run);
	return 0;
}

void ranks_leave(struct group *g, struct run *run, enum xdd_status status)
{
	bool failed = !run || (status && status <= XDD_TARGET_FAILED);

	if (!g)
		return;
	if (failed)
		group_stop(g, STOP_START, 0);
	if (run) {
		group_on_stop(g, NULL, NULL);
		group_on_wall(g, NULL, NULL);
	}
	failed |= run && stop_requested(&run->stop);
	group_leave(g, failed ? GROUP_STOP : GROUP_END);
}

void ranks_clock(const struct run *run, struct clock_result *clock)
{
	if (!run->group)
		return;
	clock->ranks = true;
	clock->server = group_host(run->group, 0);
	clock->offset_ns = ranks_wall_ns(run) - clock_wall_offset_ns();
	clock->bound_ns = clock->bound_at_end_ns = group_clock(run->group).bound_ns;
}

void ranks_globaltime(const struct run *run, struct globaltime *g)
{
	*g = (struct globaltime){
		.offset_ns = ranks_wall_ns(run),
		.bound_ns = group_clock(run->group).bound_ns,
	};
}

int64_t ranks_wall_ns(const struct run *run)
{
	return group_wall_ns(run->group) + group_clock(run->group).offset_ns;
}

bool ranks_begin_pass(struct run *run, bool more, bool over)
{
	unsigned votes = (more ? GROUP_MORE : 0) | (over ? GROUP_END : 0);

	if (!run->group)
		return more && !over;
	if (stop_requested(&run->stop))
		votes |= GROUP_STOP;
	if (group_vote(run->group, votes, &votes) || votes & (GROUP_STOP | GROUP_END) ||
	    !(votes & GROUP_MORE))
		return false;
	/* All ranks go there, also those that are stopped meanwhile. */
	return group_barrier(run->group, NULL, NULL) == 0;
}

void ranks_released(struct run *run, uint64_t pass, uint64_t at_ns)
{
	if (run->group)
		group_released(run->group, pass, at_ns);
}
