/*
 * The gates of a run: which targets hold which, and which targets watch others. Called by
 * run_execute() before and after its threads run.
 */
#include <errno.h>
#include <stdlib.h>

#include "run/coord/gate.h"
#include "run/coord/lockstep.h"
#include "run/coord/syncio.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/memory.h"
#include "xdd/io/throttle_schedule.h"
#include "xdd/sync/wait.h"

/* Wake `watcher` each time another `each` of `t` is complete, and when `t` begins and ends. */
static int watch(struct target *t, struct target *watcher, struct measure each)
{
	struct gate *g = &t->gate;
	struct gate_watch *watches = array_room(g->watches, g->n_watches, sizeof(*watches));

	if (!watches)
		return -ENOMEM;
	g->watches = watches;
	g->watches[g->n_watches++] = (struct gate_watch){ watcher, each };
	t->followed = true;
	return 0;
}

/* A slave that may hold its master, as both sides are counted. */
static int add_counted_slave(struct target *master, struct target *slave)
{
	struct gate *g = &master->gate;
	struct target **slaves =
		array_room(g->counted_slaves, g->n_counted_slaves, sizeof(struct target *));

	if (!slaves)
		return -ENOMEM;
	g->counted_slaves = slaves;
	g->counted_slaves[g->n_counted_slaves++] = slave;
	master->gated = g->others = true;
	return watch(slave, master, slave->plan->lockstep.what);
}

static int link_trigger(struct run *run, struct target *t, const struct trigger_plan *plan,
			struct target **by)
{
	if (!plan->on)
		return 0;
	*by = &run->targets[plan->by];
	t->gated = true;
	return watch(*by, t, plan->when);
}

/* The end of the last operation uses the page cache. A source decides late for its destination. */
static bool may_have_tail(const struct target_plan *t)
{
	return t->tail_bytes || (t->endtoend.role == E2E_DESTINATION && t->direct_io);
}

static int link_target(struct run *run, struct target *t)
{
	const struct lockstep_plan *l = &t->plan->lockstep;
	int err = 0;

	if (l->on) {
		t->gate.master = &run->targets[l->master];
		t->gated = true;
		err = watch(t->gate.master, t, l->when);
		if (!err && lockstep_is_counted(l))
			err = add_counted_slave(t->gate.master, t);
	}
	if (!err)
		err = link_trigger(run, t, &t->plan->start_trigger, &t->gate.start_by);
	if (!err)
		err = link_trigger(run, t, &t->plan->stop_trigger, &t->gate.stop_by);
	t->gate.last_alone = may_have_tail(t->plan) && plan_writes(t->plan) &&
			     t->plan->queue_depth > 1 && t->plan->pass_ops > 1;
	t->gate.others |= t->gate.master || t->gate.start_by || run->plan->syncio_ops;
	if (run->plan->syncio_ops || t->gate.last_alone)
		t->gated = t->followed = true;
	t->gated |= throttle_is_on(t->plan) || run->plan->stonewall.wear_out;
	return err;
}

static void cancel(void *arg)
{
	struct run *run = arg;

	for (size_t i = 0; i < run->plan->n_targets; i++)
		event_wake(&run->targets[i].gate.event);
}

int gate_init(struct run *run)
{
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < run->plan->n_targets && !err; i++) {
		struct gate *g = &run->targets[i].gate;

		event_init(&g->event);
		err = -pthread_mutex_init(&g->slice_lock, NULL);
		if (!err)
			err = -pthread_mutex_init(&g->throttle_lock, NULL);
	}
	for (size_t i = 0; i < run->plan->n_targets && !err; i++) {
		err = link_target(run, &run->targets[i]);
		any |= run->targets[i].gated;
	}
	if (!err && run->plan->syncio_ops)
		err = syncio_init(&run->syncio, run->plan->n_targets);
	return err || !any ? err : stop_on_request(&run->stop, cancel, run);
}

void gate_destroy(struct run *run)
{
	for (size_t i = 0; run->targets && i < run->plan->n_targets; i++) {
		free(run->targets[i].gate.watches);
		free(run->targets[i].gate.counted_slaves);
	}
	syncio_destroy(&run->syncio);
}
