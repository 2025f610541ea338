/*
 * -stonewall; see the header. Called by QThreads at the end of a pass, and by the results manager
 * for the time.
 *
 * An operation does not ask: the end of the pass is the same word that -maxerrors sets. The lock
 * keeps it from being set in the next pass of a target that was faster than this thread.
 */
#include "run/coord/stonewall.h"

#include "run/coord/gate.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/stop.h"
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

/* Add up the work of all QThreads until now. With the lock. */
static void count_all(const struct run *run, struct tally *sum)
{
	tally_clear(sum);
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];

		for (uint32_t k = 0; k < t->plan->qthreads; k++)
			tally_add_counters(sum, &t->qthreads[k].counters);
	}
}

void stonewall_close(struct run *run, uint64_t pass, uint32_t target)
{
	struct stonewall_moment *m = &run->stonewall.last;

	pthread_mutex_lock(&run->stonewall.lock);
	if (m->pass < pass) {
		for (size_t i = 0; i < run->plan->n_targets; i++) {
			struct target *t = &run->targets[i];

			if (atomic_load(&t->pass) == pass)
				atomic_store(&t->state.over, true);
		}
		m->pass = pass;
		m->target = target;
		m->at_ns = clock_now_ns();
		count_all(run, &m->tally);
		for (size_t i = 0; i < run->plan->n_targets; i++)
			gate_wake(&run->targets[i]);
	}
	pthread_mutex_unlock(&run->stonewall.lock);
}

void stonewall_target_ends(struct target *t)
{
	if (t->run->plan->stonewall.on && !stop_requested(&t->run->stop))
		stonewall_close(t->run, atomic_load(&t->pass), t->plan->number);
}

bool stonewall_get(struct run *run, uint64_t pass, struct stonewall_moment *m)
{
	pthread_mutex_lock(&run->stonewall.lock);
	*m = run->stonewall.last;
	pthread_mutex_unlock(&run->stonewall.lock);
	return m->pass == pass;
}
