/*
 * The clock's calibration, and CPU time. Called by main at the start, by the results manager between
 * passes, and for CPU time by QThreads for themselves.
 */
#include "xdd/base/clock.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "xdd/base/sysfile.h"

/* Shortest stretch to take a rate from, and how often a pair is read to find a good one. */
#define BASELINE_NS 1000000u
#define PAIR_TRIES 16

/* A rate off by more than this from the one before is no rate: the counter is then not used. */
#define RATE_TOLERANCE 1000u /* one part in so many */

/* const but for clock_calibrate() and clock_resync() */
struct clock_scale clock_scale;

/* owned by the thread that calibrates */
static struct clock_scale first;

/* Counter and clock at the same moment, as near as can be: the pair that took the least time to read. */
static struct clock_scale read_pair(void)
{
	struct clock_scale best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_read_tsc();
		uint64_t ns = clock_kernel_ns();
		uint64_t after = clock_read_tsc();

		if (after - before < least) {
			least = after - before;
			best.tsc = before + (after - before) / 2;
			best.ns = ns;
		}
	}
	return best;
}

/*
 * The kernel keeps time by the counter only after it has made sure that it is constant, never stops and
 * agrees on all processors; ask no less.
 */
static bool kernel_trusts_tsc(void)
{
	char buf[32];
	const char *name =
		sysfile_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			     buf, sizeof(buf));

	return name && strcmp(name, "tsc") == 0;
}

/* Nanoseconds per tick, times 2^32, between two pairs; 0 when the counter does not run with the clock. */
static uint64_t rate(const struct clock_scale *from, const struct clock_scale *to)
{
	uint64_t ticks = to->tsc - from->tsc, ns = to->ns - from->ns;

	if (to->tsc <= from->tsc || to->ns <= from->ns)
		return 0;
	return (uint64_t)(((unsigned __int128)ns << 32) / ticks);
}

void clock_start(void)
{
#if defined(__x86_64__)
	if (kernel_trusts_tsc())
		first = read_pair();
#endif
}

void clock_calibrate(void)
{
	struct clock_scale now;

	if (!first.ns)
		return;
	while (clock_kernel_ns() - first.ns < BASELINE_NS)
		;
	now = read_pair();
	now.mult = rate(&first, &now);
	clock_scale = now;
}

void clock_resync(void)
{
	uint64_t old = clock_scale.mult, shown;
	struct clock_scale now;

	if (!old)
		return;
	now = read_pair();
	now.mult = rate(&first, &now);
	if (now.mult > old + old / RATE_TOLERANCE || now.mult < old - old / RATE_TOLERANCE)
		now.mult = 0;
	/* What was shown before must not be undone: stand still rather than go back. */
	shown = clock_now_ns();
	if (now.mult && now.ns < shown)
		now.ns = shown;
	clock_scale = now;
}

uint64_t clock_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Between two readings of the one clock that are as near as can be to that of the other. */
int64_t clock_wall_offset_ns(void)
{
	uint64_t least = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_now_ns(), wall = clock_wall_ns(), after = clock_now_ns();

		if (after - before >= least)
			continue;
		least = after - before;
		offset = (int64_t)(wall - (before + (after - before) / 2));
	}
	return offset;
}

const char *clock_source(void)
{
	return clock_scale.mult ? "TSC" : "vDSO";
}

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

uint64_t clock_thread_wait_ns(void)
{
	char buf[80];
	const char *line = sysfile_line("/proc/thread-self/schedstat", buf, sizeof(buf));
	uint64_t wait_ns;

	return line && sscanf(line, "%*u %" SCNu64, &wait_ns) == 1 ? wait_ns : 0;
}
