/*
 * Stops of this process; see the header. Called by the results manager.
 */
#include "run/results/stopped.h"

#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/* Less is not told from a busy machine. */
#define LEAST_NS (NS_PER_SEC / 2)

uint64_t stopped_part_ns(uint64_t late_ns, uint64_t waited_ns)
{
	const uint64_t ns = late_ns > waited_ns ? late_ns - waited_ns : 0;

	return ns >= LEAST_NS ? ns : 0;
}

void stopped_after(struct stopped *s, uint64_t due_ns)
{
	const uint64_t now_ns = clock_kernel_ns();
	uint64_t wait_ns;

	/* Where the kernel does not tell, a thread without a processor looks like one. */
	if (now_ns < due_ns + LEAST_NS || !clock_has_thread_wait())
		return;
	wait_ns = clock_thread_wait_ns();
	s->total_ns += stopped_part_ns(now_ns - due_ns, wait_ns - s->wait_ns);
	s->wait_ns = wait_ns;
}
