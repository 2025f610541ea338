/*
 * The one clock: monotonic nanoseconds. Wall-clock time is only an offset from it.
 */
#ifndef XDD_BASE_CLOCK_H
#define XDD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since an arbitrary start; never goes backwards. Any thread. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* CPU time of the calling thread and of the process, user and system apart, in nanoseconds. */
struct cpu_time {
	uint64_t user_ns;
	uint64_t sys_ns;
};

void clock_thread_cpu(struct cpu_time *cpu);
void clock_process_cpu(struct cpu_time *cpu);

#endif
