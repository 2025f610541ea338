/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Priority, locked memory and processors of the threads of a run, and memory that it occupies.
 * Called when a run begins and when it is over, and by each QThread for itself.
 */
#include "run/placement.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"
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

/*
 * Occupying memory. It may belong to a host whose other users matter more than this run: all is
 * checked again while it is touched, and should the kernel run out of memory, it ends this process
 * first.
 */

/* After so much the run looks for a stop, and at the memory that is left. */
#define STEP_BYTES (32ull << 20)
#define MIB (UINT64_C(1) << 20)

static int hog_refuse(const struct hog *h, uint64_t done, const char *why, int err)
{
	return log_fail(err, "-hogmemory: cannot occupy %" PRIu64 " MiB, only %" PRIu64 " MiB (%s)",
			h->bytes / MIB, done / MIB, why);
}

/* Write to each page; equal ones could be merged or compressed. */
static void hog_touch(char *at, size_t bytes, size_t page)
{
	for (size_t i = 0; i < bytes; i += page) {
		const uintptr_t place = (uintptr_t)(at + i);

		memcpy(at + i, &place, sizeof(place));
	}
}

static int touch_all(const struct hog *h, struct run *run)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t reserve, step;
	struct hostmemory m;

	for (uint64_t done = 0; done < h->bytes; done += step) {
		step = h->bytes - done < STEP_BYTES ? h->bytes - done : STEP_BYTES;
		if (stop_requested(&run->stop))
			return -ECANCELED;
		if (hostmemory_read(&m) == 0) {
			reserve = plan_hog_reserve_bytes(m.total_bytes);
			if (m.room_bytes < step + reserve / 2)
				return hog_refuse(h, done, "others use what was available",
						  -ENOMEM);
		}
		hog_touch((char *)h->memory + done, (size_t)step, page);
	}
	return 0;
}

/* Memory that can be swapped out makes room for the page cache after all. */
static bool lock(const struct hog *h)
{
	const uint64_t limit = memlock_limit_bytes();
	struct err why;

	if (limit < h->bytes)
		err_set(&why, -ENOMEM, "the memlock limit (ulimit -l) is %" PRIu64 " KiB",
			limit / 1024);
	else if (mlock(h->memory, h->bytes))
		err_errno(&why, -errno);
	else
		return true;
	log_warning("-hogmemory: the memory is not locked and may be swapped out: %s; needs "
		    "CAP_IPC_LOCK, or a higher limit",
		    why.text);
	return false;
}

int hog_begin(struct hog *h, struct run *run)
{
	const uint64_t begin_ns = clock_now_ns();
	void *memory;
	bool locked;
	int err;

	h->oom_before = -1;
	if (!run->plan->hog_bytes)
		return 0;
	h->bytes = (size_t)run->plan->hog_bytes;
	memory = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		err = -errno;
		return hog_refuse(h, 0, strerror(-err), err);
	}
	h->memory = memory;
	h->oom_before = hostmemory_oom_first();
	madvise(memory, h->bytes, MADV_HUGEPAGE);
	err = touch_all(h, run);
	if (err)
		return err;
	locked = lock(h);
	report_detail(run->report, "Memory occupied, %zu, bytes, %s, %.3f, seconds", h->bytes,
		      locked ? "locked" : "not locked",
		      (double)(clock_now_ns() - begin_ns) / (double)NS_PER_SEC);
	return 0;
}

void hog_end(struct hog *h)
{
	if (!h->memory)
		return;
	munmap(h->memory, h->bytes);
	h->memory = NULL;
	hostmemory_oom_restore(h->oom_before);
}
