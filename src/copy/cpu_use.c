/*
 * Processor time of data threads; see the header. Called by source/ and destination/.
 */
#include "copy/cpu_use.h"

#include <time.h>

#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define LEAST_NS (5 * NS_PER_MS)

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void cpu_use_add(struct cpu_use *u, struct cpu_sums *sums)
{
	const struct cpu_use before = *u;
	const uint64_t now_ns = clock_now_ns();
	struct timespec used;

	if (before.at_ns && now_ns < before.at_ns + LEAST_NS)
		return;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	u->cpu_ns = (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
	u->wait_ns = clock_thread_wait_ns();
	u->at_ns = now_ns;
	if (!before.at_ns)
		return;
	atomic_fetch_add(&sums->cpu_ns, since(u->cpu_ns, before.cpu_ns));
	atomic_fetch_add(&sums->wait_ns, since(u->wait_ns, before.wait_ns));
}
