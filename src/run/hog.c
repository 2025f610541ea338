/*
 * Occupying memory. Called by run.c before the threads of targets start, and when the run is over.
 *
 * The memory may be that of a host whose other users matter more than this run: all is checked
 * again while it is touched, and should the kernel run out of memory, it ends this process first.
 */
#include "run/hog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/run_state.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/machine.h"

/* After so much the run looks for a stop, and at the memory that is left. */
#define STEP_BYTES (32ull << 20)
#define MIB (UINT64_C(1) << 20)

static int refuse(const struct hog *h, uint64_t done, const char *why, int err)
{
	log_error("-hogmemory: cannot occupy %" PRIu64 " MiB, only %" PRIu64 " MiB (%s)",
		  h->bytes / MIB, done / MIB, why);
	return err;
}

/* Write to each page; equal ones could be merged or compressed. */
static void touch(char *at, size_t bytes, size_t page)
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
				return refuse(h, done, "others use what was available", -ENOMEM);
		}
		touch((char *)h->memory + done, (size_t)step, page);
	}
	return 0;
}

/* Memory that can be swapped out makes room for the page cache after all. */
static bool lock(const struct hog *h)
{
	const uint64_t limit = memlock_limit_bytes();
	char why[64] = "";

	if (limit < h->bytes)
		snprintf(why, sizeof(why), "the memlock limit (ulimit -l) is %" PRIu64 " KiB",
			 limit / 1024);
	else if (mlock(h->memory, h->bytes))
		snprintf(why, sizeof(why), "%s", strerror(errno));
	else
		return true;
	log_warning("-hogmemory: the memory is not locked and may be swapped out: %s; needs "
		    "CAP_IPC_LOCK, or a higher limit",
		    why);
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
		return refuse(h, 0, strerror(-err), err);
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
