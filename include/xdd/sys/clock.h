/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one clock: monotonic nanoseconds. Wall-clock time is only an offset from it.
 *
 * Where the kernel itself keeps time by the processor's time stamp counter, the counter is read
 * directly, which takes less than half the time of a call into the vDSO; elsewhere the vDSO is
 * called. The clock follows CLOCK_MONOTONIC to about a microsecond: clock_resync() measures the
 * rate of the counter again and again.
 */
#ifndef XDD_SYS_CLOCK_H
#define XDD_SYS_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "xdd/base/arith.h"
#include "xdd/base/units.h"

/*
 * How ticks of the time stamp counter become nanoseconds that follow the kernel's clock. Private
 * to the clock.
 *
 * All of it is arithmetic on values: no function here reads a clock, so a test can simulate hours.
 */

/* Counter and kernel clock, read at the same moment. */
struct clock_pair {
	uint64_t tsc;
	uint64_t ns;
};

/*
 * A piece of the clock: tick `tsc` is nanosecond `ns`, with `mult` nanoseconds per tick for `span`
 * ticks and `mult_after` from then on. Both are multiplied by 2^32. Where `mult` is 0 the counter
 * is not used, and `ns` is added to the kernel's clock.
 */
struct clock_scale {
	uint64_t tsc;
	uint64_t ns;
	uint64_t span;
	uint64_t mult;
	uint64_t mult_after;
};

/* Nanoseconds of so many ticks. */
static inline uint64_t clock_ticks_ns(uint64_t ticks, uint64_t mult)
{
	return (uint64_t)((uint128)ticks * mult >> 32);
}

/* The clock at a tick that is not before `s->tsc`; for a scale that uses the counter. */
static inline uint64_t clock_scale_at(const struct clock_scale *s, uint64_t tsc)
{
	uint64_t past = tsc - s->tsc;

	if (past <= s->span)
		return s->ns + clock_ticks_ns(past, s->mult);
	return s->ns + clock_ticks_ns(s->span, s->mult) +
	       clock_ticks_ns(past - s->span, s->mult_after);
}

/* The measurements that scales are made from; one thread at a time. */
struct clock_follower {
	struct clock_pair older;  /* the rate is measured from here */
	struct clock_pair newer;  /* replaces `older` when it is old enough */
	uint64_t began_ns;	  /* kernel's clock at clock_follower_begin() */
	uint64_t last_ns;	  /* and at the newest scale */
	uint64_t mult;		  /* the rate that was measured first */
	struct clock_scale scale; /* the newest one */
};

/*
 * Private to the clock: the latest scales. No reader waits for a writer: the slot of a scale is not
 * written again before three more scales have followed it. Where the counter is not used, `span` is
 * 0.
 */
#define CLOCK_SCALES 4u
#define CLOCK_SLOT_BYTES 64u

struct clock_slot {
	_Atomic uint64_t tsc, ns, span, mult, mult_after; /* see struct clock_scale */
} __attribute__((aligned(CLOCK_SLOT_BYTES)));

struct clock_state {
	/*
	 * atomic: the bytes of all slots written so far. Written by clock_calibrate() and
	 * clock_resync(), after the slot.
	 */
	_Atomic uint64_t turn;

	/* atomic: the same; the entry of `turn` and the one before do not change */
	struct clock_slot slots[CLOCK_SCALES];
};

extern struct clock_state clock_state;

/* The slot of the scale that was written at `turn`. */
static inline struct clock_slot *clock_slot_of(uint64_t turn)
{
	uint64_t offset = turn % (CLOCK_SCALES * CLOCK_SLOT_BYTES);

	return (struct clock_slot *)((char *)clock_state.slots + offset);
}

#if defined(__x86_64__)
static inline uint64_t clock_read_tsc(void)
{
	/* Without a fence, which would double the cost: the clock times system calls. */
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t clock_read_tsc(void)
{
	return 0;
}
#endif

/*
 * Private to the clock: clock_now_ns() where the counter is not used, or scales follow each other
 * at this moment.
 */
uint64_t clock_read_slowly(void);

/* The clocks of two processes on one machine differ by no more. */
#define CLOCK_SAME_MACHINE_NS 5000

/* Nanoseconds since an arbitrary start; never goes backwards. Any thread. */
static inline uint64_t clock_now_ns(void)
{
	uint64_t turn = atomic_load_explicit(&clock_state.turn, memory_order_acquire);
	const struct clock_slot *s = clock_slot_of(turn);
	uint64_t mult = atomic_load_explicit(&s->mult, memory_order_acquire);
	uint64_t ns = atomic_load_explicit(&s->ns, memory_order_acquire);
	uint64_t span = atomic_load_explicit(&s->span, memory_order_acquire);
	uint64_t past = clock_read_tsc() - atomic_load_explicit(&s->tsc, memory_order_acquire);

	if (__builtin_expect(turn != atomic_load_explicit(&clock_state.turn, memory_order_relaxed),
			     0))
		return clock_read_slowly();
	if (__builtin_expect(past >= span, 0))
		return clock_read_slowly();
	return ns + clock_ticks_ns(past, mult);
}

/*
 * A thread's own copy of the scale, for one that reads the clock for each operation: it saves the
 * loads of a shared one and a third of the instructions. All zero at first. Owned by its thread.
 */
struct clock_reader {
	struct clock_scale scale;
	uint64_t turn; /* at which it was written */
};

/* Private to the clock: the copy may have become old. */
uint64_t clock_reader_renew(struct clock_reader *r);

/* As clock_now_ns(). */
static inline uint64_t clock_reader_now_ns(struct clock_reader *r)
{
	uint64_t past = clock_read_tsc() - r->scale.tsc;

	if (__builtin_expect(past >= r->scale.span, 0) ||
	    __builtin_expect(
		    r->turn != atomic_load_explicit(&clock_state.turn, memory_order_relaxed), 0))
		return clock_reader_renew(r);
	return r->scale.ns + clock_ticks_ns(past, r->scale.mult);
}

/* A time of the kernel's clock, or a length of time, as system calls take it. */
static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000ull),
		.tv_nsec = (long)(ns % 1000000000ull),
	};
}

/*
 * The time of the kernel's clock at which clock_now_ns() reaches `deadline_ns`, for a system call
 * to sleep until. The two clocks may differ: a deadline of one is not a deadline of the other. Any
 * thread.
 */
struct timespec clock_deadline(uint64_t deadline_ns);

/*
 * Measure the counter against the kernel's clock, from now until clock_calibrate(), which settles
 * what clock_now_ns() reads first. Called by main, before there are other threads: the first as
 * early as possible, because the rate is measured in between.
 */
void clock_start(void);
void clock_calibrate(void);

/*
 * Measure the rate again and lead the clock, without a step, to the time of the kernel's. Cheap
 * enough to be called at any time. Any thread, while others read the clock. Returns the time of the
 * kernel's clock at which to call it again, or UINT64_MAX where there is no counter to follow.
 */
uint64_t clock_resync(void);

/* The wall clock: nanoseconds since 1970. Any thread. */
uint64_t clock_wall_ns(void);

/* The wall clock minus clock_now_ns(), now. */
int64_t clock_wall_offset_ns(void);

/* The source of clock_now_ns(), for messages: "TSC" or "vDSO". */
const char *clock_source(void);

/* CPU time of the calling thread and of the process, user and system apart, in nanoseconds. */
struct cpu_time {
	uint64_t user_ns;
	uint64_t sys_ns;
};

void clock_thread_cpu(struct cpu_time *cpu);
void clock_process_cpu(struct cpu_time *cpu);

/*
 * How long the calling thread has been ready to run and had no processor, in nanoseconds; 0 where
 * the kernel does not tell (CONFIG_SCHED_INFO). Reads a file of /proc.
 */
uint64_t clock_thread_wait_ns(void);

/* True where the kernel keeps that time. Any thread. */
bool clock_has_thread_wait(void);

#endif
