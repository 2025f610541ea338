/*
 * -stonewall; see the header. Called by QThreads at the end of a pass, by the results manager for
 * the time, and by the thread of the group for other ranks.
 *
 * An operation does not ask: the end of the pass is the same word that -maxerrors sets. The lock
 * keeps it from being set in the next pass of a target that was faster than this thread.
 */
#include "run/coord/stonewall.h"

#include "run/coord/gate.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

void stonewall_init(struct stonewall *s)
{
	pthread_mutex_init(&s->lock, NULL);
}

void stonewall_destroy(struct stonewall *s)
{
	pthread_mutex_destroy(&s->lock);
}

void stonewall_lock(struct run *run)
{
	if (run->plan->stonewall.on)
		pthread_mutex_lock(&run->stonewall.lock);
}

void stonewall_unlock(struct run *run)
{
	if (run->plan->stonewall.on)
		pthread_mutex_unlock(&run->stonewall.lock);
}

static bool is_in(const struct target *t, uint64_t pass)
{
	return atomic_load(&t->pass) == pass;
}

/* Add up the work of all QThreads in the pass until now. With the lock. */
static void count_all(const struct run *run, uint64_t pass, struct tally *sum)
{
	tally_clear(sum);
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];

		for (uint32_t k = 0; is_in(t, pass) && k < t->plan->qthreads; k++)
			tally_add_counters(sum, &t->qthreads[k].counters);
	}
}

/* No operation after those that were issued, for good or until the limit is known. */
static uint64_t halt(struct target *t)
{
	if (t->run->plan->stonewall.wear_out)
		return gate_hold(t);
	atomic_store(&t->state.over, true);
	return 0;
}

/* Returns the greatest number of operations of a target. With the lock. */
static uint64_t halt_all(struct run *run, uint64_t pass)
{
	uint64_t most = 0;

	for (size_t i = 0; i < run->plan->n_targets; i++) {
		uint64_t ops = is_in(&run->targets[i], pass) ? halt(&run->targets[i]) : 0;

		most = ops > most ? ops : most;
	}
	return most;
}

void stonewall_close(struct run *run, uint64_t pass, uint32_t target)
{
	struct stonewall_moment *m = &run->stonewall.last;
	uint64_t most = 0;
	bool first;

	pthread_mutex_lock(&run->stonewall.lock);
	first = m->pass < pass;
	if (first) {
		most = halt_all(run, pass);
		m->pass = pass;
		m->target = target;
		m->limit = UINT64_MAX;
		m->at_ns = clock_now_ns();
		count_all(run, pass, &m->tally);
		for (size_t i = 0; i < run->plan->n_targets; i++)
			gate_wake(&run->targets[i]);
	}
	pthread_mutex_unlock(&run->stonewall.lock);
	if (first && run->group)
		group_wall_tell(run->group, pass, target, most);
	else if (first)
		stonewall_go_on(run, pass, most);
	if (first)
		hold(HOLD_PASS_CLOSED);
}

void stonewall_go_on(struct run *run, uint64_t pass, uint64_t ops)
{
	struct stonewall_moment *m = &run->stonewall.last;

	if (!run->plan->stonewall.wear_out)
		return;
	pthread_mutex_lock(&run->stonewall.lock);
	if (m->pass == pass) {
		m->limit = ops;
		for (size_t i = 0; i < run->plan->n_targets; i++)
			if (is_in(&run->targets[i], pass))
				gate_limit(&run->targets[i], ops);
	}
	pthread_mutex_unlock(&run->stonewall.lock);
}

void stonewall_target_begins(struct target *t)
{
	const struct stonewall_moment *m = &t->run->stonewall.last;

	if (!t->run->plan->stonewall.on || !is_in(t, m->pass))
		return;
	halt(t);
	if (t->run->plan->stonewall.wear_out && m->limit != UINT64_MAX)
		gate_limit(t, m->limit);
}

void stonewall_target_ends(struct target *t)
{
	if (t->run->plan->stonewall.on && !stop_requested(&t->run->stop))
		stonewall_close(t->run, atomic_load(&t->pass), t->plan->number);
}

bool stonewall_get(struct run *run, uint64_t pass, struct stonewall_moment *m, unsigned *rank)
{
	struct group_wall first;

	pthread_mutex_lock(&run->stonewall.lock);
	*m = run->stonewall.last;
	pthread_mutex_unlock(&run->stonewall.lock);
	*rank = group_rank(run->group);
	if (m->pass != pass)
		return false;
	if (run->group && !group_wall_wait(run->group, pass, &first)) {
		*rank = first.rank;
		m->target = first.target;
	}
	return true;
}
