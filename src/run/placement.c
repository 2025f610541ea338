/*
 * Priority, locked memory and processors of the threads of a run. Called when a run begins, and by
 * each QThread for itself.
 */
#include "run/placement.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/sys/machine.h"

static int bind_to(pthread_t thread, const struct idset *processors)
{
	const cpu_set_t *set = (const cpu_set_t *)processors->words;

	return -pthread_setaffinity_np(thread, sizeof(processors->words), set);
}

/*
 * Round robin among threads of the same real-time priority: QThreads that never sleep must share
 * processors with each other and with the results manager.
 */
static void raise_priority(struct placement *p, pthread_t signals)
{
	struct sched_param highest = { .sched_priority = sched_get_priority_max(SCHED_RR) };
	int err = pthread_getschedparam(pthread_self(), &p->policy, &p->priority);

	if (!err)
		err = pthread_setschedparam(pthread_self(), SCHED_RR, &highest);
	p->raised = !err;
	if (!err)
		err = pthread_setschedparam(signals, SCHED_RR, &highest);
	if (err)
		log_warning("-maxpri: cannot raise the priority (%s); use CAP_SYS_NICE or a "
			    "real-time limit (ulimit -r) of %d",
			    strerror(err), highest.sched_priority);
}

int placement_begin(struct placement *p, const struct plan *plan, pthread_t signals)
{
	const struct idset *set = plan->round_robin ? NULL : plan->processors;
	int err;

	if (plan->max_priority)
		raise_priority(p, signals);
	if (!set)
		return 0;
	err = -pthread_getaffinity_np(pthread_self(), sizeof(p->processors), &p->processors);
	if (err)
		return err;
	p->bound = true;
	err = bind_to(signals, set);
	return err ? err : bind_to(pthread_self(), set);
}

/*
 * With a limit on locked memory MCL_FUTURE would make later mappings fail once it is reached: lock
 * only the memory that exists.
 */
static int lock_all(void)
{
	int flags = memlock_limit_bytes() == UINT64_MAX ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT;

	return mlockall(flags) ? -errno : 0;
}

void placement_lock(struct run *run)
{
	int err;

	if (!run->plan->process_lock)
		return;
	err = lock_all();
	if (err) {
		log_warning("-processlock: the process is not locked in memory: %s; it takes "
			    "CAP_IPC_LOCK, or a higher memlock limit (ulimit -l)",
			    strerror(-err));
		return;
	}
	run->placement.locked = true;
	for (size_t i = 0; run->plan->no_memory_lock && i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];

		for (uint32_t k = 0; k < t->plan->qthreads; k++) {
			const struct io_buffer *b = &t->qthreads[k].buffer;

			if (b->data)
				munlock(b->data, b->map_size);
		}
	}
}

int placement_bind(const struct qthread *q)
{
	struct idset alone = { 0 };
	const struct target *t = q->target;
	int one;
	const struct idset *set = plan_processors_of(t->run->plan, t->plan, q->number, &one);

	if (!set)
		return 0;
	if (one >= 0) {
		idset_add(&alone, (unsigned)one);
		set = &alone;
	}
	return bind_to(pthread_self(), set);
}

void placement_end(const struct placement *p, pthread_t signals)
{
	if (p->locked)
		munlockall();
	if (p->bound) {
		pthread_setaffinity_np(signals, sizeof(p->processors), &p->processors);
		pthread_setaffinity_np(pthread_self(), sizeof(p->processors), &p->processors);
	}
	if (p->raised) {
		pthread_setschedparam(signals, p->policy, &p->priority);
		pthread_setschedparam(pthread_self(), p->policy, &p->priority);
	}
}
