/*
 * Nanoseconds: their units, and the kernel's monotonic clock, for waits and deadlines. Measurements
 * use clock_now_ns() of xdd/sys/clock.h instead.
 */
#ifndef XDD_BASE_NSTIME_H
#define XDD_BASE_NSTIME_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_SEC 1000000000ull

/* The earlier and the later of two times. */
static inline uint64_t ns_earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static inline uint64_t ns_later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* A time of a file, in nanoseconds since 1970; the nearest one that fits. */
static inline int64_t timespec_ns(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, (int64_t)NS_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* CLOCK_MONOTONIC in nanoseconds. Any thread. */
static inline uint64_t clock_kernel_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
