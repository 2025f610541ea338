/*
 * CPU time. Called by QThreads for themselves and by the results manager for the process.
 */
#include "xdd/base/clock.h"

#include <sys/resource.h>

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000ull + (uint64_t)tv->tv_usec * 1000ull;
}

static void usage_of(int who, struct cpu_time *cpu)
{
	struct rusage usage = { 0 };

	getrusage(who, &usage);
	cpu->user_ns = timeval_ns(&usage.ru_utime);
	cpu->sys_ns = timeval_ns(&usage.ru_stime);
}

void clock_thread_cpu(struct cpu_time *cpu)
{
	usage_of(RUSAGE_THREAD, cpu);
}

void clock_process_cpu(struct cpu_time *cpu)
{
	usage_of(RUSAGE_SELF, cpu);
}
