/*
 * The one clock: monotonic nanoseconds. Wall-clock time is only an offset from it.
 *
 * Where the kernel itself keeps time by the processor's time stamp counter, the counter is read
 * directly, which takes less than half the time of a call into the vDSO; elsewhere the vDSO is
 * asked. Both give the time of CLOCK_MONOTONIC.
 */
#ifndef XDD_BASE_CLOCK_H
#define XDD_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* A point at which counter and clock were read together, and the rate from there on. */
struct clock_scale {
	uint64_t tsc;
	uint64_t ns;
	uint64_t mult; /* nanoseconds per tick, times 2^32; 0: the counter is not used */
};

/* Private to the clock: const but for clock_calibrate() and clock_resync(). */
extern struct clock_scale clock_scale;

static inline uint64_t clock_kernel_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__)
static inline uint64_t clock_read_tsc(void)
{
	/* Without a fence, which costs as much again: what is timed here are system calls. */
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t clock_read_tsc(void)
{
	return 0;
}
#endif

/* Nanoseconds since an arbitrary start; never goes backwards. Any thread. */
static inline uint64_t clock_now_ns(void)
{
	const struct clock_scale *s = &clock_scale;

	if (__builtin_expect(!s->mult, 0))
		return clock_kernel_ns();
	return s->ns + (uint64_t)((unsigned __int128)(clock_read_tsc() - s->tsc) * s->mult >> 32);
}

/* A time of this clock, or a length of time, as system calls take it. */
static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000ull),
		.tv_nsec = (long)(ns % 1000000000ull),
	};
}

/*
 * Measure the counter against the kernel's clock, from now until clock_calibrate(), which settles
 * what clock_now_ns() reads. Called by main, before there are other threads: the first as early as
 * can be, for the longer the stretch, the better the rate is known.
 */
void clock_start(void);
void clock_calibrate(void);

/*
 * Measure the rate anew over all the time since clock_start(), and set the clock by the kernel's.
 * Called while no other thread may read the clock: between passes, by whoever the others wait for.
 */
void clock_resync(void);

/* The wall clock: nanoseconds since 1970. Any thread. */
uint64_t clock_wall_ns(void);

/* The wall clock minus clock_now_ns(), now. */
int64_t clock_wall_offset_ns(void);

/* What clock_now_ns() reads, for people: "TSC" or "vDSO". */
const char *clock_source(void);

/* CPU time of the calling thread and of the process, user and system apart, in nanoseconds. */
struct cpu_time {
	uint64_t user_ns;
	uint64_t sys_ns;
};

void clock_thread_cpu(struct cpu_time *cpu);
void clock_process_cpu(struct cpu_time *cpu);

/*
 * How long the calling thread has been ready to run and had no processor, in nanoseconds; 0 where the
 * kernel does not tell (CONFIG_SCHED_INFO). Reads a file of /proc.
 */
uint64_t clock_thread_wait_ns(void);

#endif
