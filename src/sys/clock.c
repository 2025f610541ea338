/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scales of the clock, its calibration, and CPU time. Called by main at the start, by the results
 * manager, and for CPU time by QThreads for themselves.
 */
#include "xdd/sys/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "xdd/base/arith.h"
#include "xdd/base/units.h"
#include "xdd/sys/sysfile.h"

/* A new scale begins this much after the readings it was made from: time to publish it. */
#define LEAD_NS 1000000u

/* Shortest time between two scales: by then the one before has begun. */
#define LEAST_NS (5 * LEAD_NS)

/*
 * The rate is measured over one to two times this: readings are 100 ns off at most, which is then
 * negligible.
 */
#define WINDOW_NS NS_PER_SEC

/*
 * A difference to the kernel's clock is removed in this time, at this deviation from the true rate
 * at most.
 */
#define SLEW_NS NS_PER_SEC
#define SLEW_MOST 5000 /* one part in so many */

/* A rate off by more than this from the first one is wrong: the counter is then not used. */
#define RATE_TOLERANCE 1000u /* one part in so many */

/*
 * The first rates are taken over short times: they are corrected after this, and then after twice
 * the time.
 */
#define SOON_NS (10 * LEAD_NS)

/* 0 when the counter does not run with the clock. */
static uint64_t clock_scale_rate(const struct clock_pair *from, const struct clock_pair *to)
{
	if (to->tsc <= from->tsc || to->ns <= from->ns)
		return 0;
	return (uint64_t)(((uint128)(to->ns - from->ns) << 32) / (to->tsc - from->tsc));
}

static bool is_plausible(uint64_t mult, uint64_t usual)
{
	return mult && mult < usual + usual / RATE_TOLERANCE &&
	       mult > usual - usual / RATE_TOLERANCE;
}

static uint64_t ticks(uint64_t ns, uint64_t mult)
{
	return (uint64_t)(((uint128)ns << 32) / mult);
}

/*
 * The rate between two pairs makes the first scale, which begins at `now`. Returns 0, or -EINVAL
 * when the counter does not run with the clock.
 */
static int clock_follower_begin(struct clock_follower *f, const struct clock_pair *begin,
				const struct clock_pair *now)
{
	uint64_t mult = clock_scale_rate(begin, now);

	if (!mult)
		return -EINVAL;
	*f = (struct clock_follower){
		.older = *begin,
		.newer = *now,
		.began_ns = now->ns,
		.last_ns = now->ns,
		.mult = mult,
		.scale = { now->tsc, now->ns, ticks(SLEW_NS, mult), mult, mult },
	};
	return 0;
}

/*
 * The kernel's clock from now on. A lead is added, so that the clock does not go back for threads
 * that still read the counter.
 */
static struct clock_scale without_counter(const struct clock_scale *old,
					  const struct clock_pair *now)
{
	uint64_t shown = now->tsc < old->tsc ? old->ns : clock_scale_at(old, now->tsc);

	return (struct clock_scale){ .ns = shown + LEAD_NS - now->ns };
}

/* `mult`, changed by the part of it that makes up for `off_ns` within SLEW_NS. */
static uint64_t slewed(uint64_t mult, int64_t off_ns)
{
	const int64_t most = (int64_t)(SLEW_NS / SLEW_MOST);

	if (off_ns > most)
		off_ns = most;
	if (off_ns < -most)
		off_ns = -most;
	return mult + (uint64_t)((__int128)mult * off_ns / (__int128)SLEW_NS);
}

static void clock_scale_remember(struct clock_follower *f, const struct clock_pair *now)
{
	f->last_ns = now->ns;
	if (now->ns - f->newer.ns < WINDOW_NS)
		return;
	f->older = f->newer;
	f->newer = *now;
}

/*
 * Make the next scale from what both clocks read `now`: the rate measured over the last seconds,
 * and a bounded deviation from it that removes the difference to the kernel's clock within a
 * second. The new scale continues the one before without a step, from a tick a little later than
 * `now` on: it has to be published before that tick. Returns 0, or -EAGAIN when the last one was
 * made too recently.
 *
 * A counter whose rate changed by more than a part in thousand is not used any more.
 */
static int clock_follow(struct clock_follower *f, const struct clock_pair *now)
{
	const struct clock_scale old = f->scale;
	uint64_t mult, lead, kernel_ns;
	struct clock_scale next;

	if (!old.mult || now->ns - f->last_ns < LEAST_NS)
		return -EAGAIN;
	mult = clock_scale_rate(&f->older, now);
	if (!is_plausible(mult, f->mult)) {
		f->scale = without_counter(&old, now);
		return 0;
	}
	lead = ticks(LEAD_NS, mult);
	next = (struct clock_scale){
		.tsc = now->tsc + lead,
		.ns = clock_scale_at(&old, now->tsc + lead),
		.span = ticks(SLEW_NS, mult),
		.mult_after = mult,
	};
	kernel_ns = now->ns + clock_ticks_ns(lead, mult);
	next.mult = slewed(mult, (int64_t)(kernel_ns - next.ns));
	f->scale = next;
	clock_scale_remember(f, now);
	return 0;
}

/*
 * The time of the kernel's clock at which another clock_follow() is due: soon while the rate is
 * known from a short time only; UINT64_MAX once the counter is not used.
 */
static uint64_t clock_follow_again_ns(const struct clock_follower *f)
{
	uint64_t age = f->last_ns - f->began_ns;

	if (!f->scale.mult)
		return UINT64_MAX;
	if (age < SOON_NS)
		age = SOON_NS;
	return f->last_ns + (age < WINDOW_NS ? age : WINDOW_NS);
}

/*
 * The clock's calibration, and CPU time. Called by main at the start, by the results manager, and
 * for CPU time by QThreads for themselves.
 */

#define SCHEDSTAT "/proc/thread-self/schedstat"

/* Shortest time to take the first rate from, and how often a pair is read to find a good one. */
#define BASELINE_NS 1000000u
#define PAIR_TRIES 16

/* A pair that took longer to read is too inaccurate to follow. */
#define PAIR_MOST_NS 2000u

/* How often a scale is made again that came too late, and when that is tried again. */
#define FOLLOW_TRIES 3
#define RETRY_NS 10000000u

struct clock_state clock_state;

/* owned by the thread that calibrates */
static struct clock_pair first_pair;

/* owned by the thread that has set `following` */
static atomic_flag following = ATOMIC_FLAG_INIT;
static struct clock_follower follower;

/* The pair that took the least time to read, which is returned in ticks. */
static uint64_t read_pair(struct clock_pair *best)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = clock_read_tsc();
		uint64_t ns = clock_kernel_ns();
		uint64_t after = clock_read_tsc();

		if (after - before < least) {
			least = after - before;
			best->tsc = before + (after - before) / 2;
			best->ns = ns;
		}
	}
	return least;
}

/*
 * The kernel keeps time by the counter only after it has made sure that it is constant, never stops
 * and agrees on all processors; require no less.
 */
static bool kernel_trusts_tsc(void)
{
	char buf[32];
	const char *name =
		sysfile_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			     buf, sizeof(buf));

	return name && strcmp(name, "tsc") == 0;
}

void clock_start(void)
{
#if defined(__x86_64__)
	if (kernel_trusts_tsc())
		read_pair(&first_pair);
#endif
}

/* Each store is a release: a reader that sees a new field does not see an older `turn`. */
static void write_field(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_release);
}

static uint64_t read_field(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_acquire);
}

static void publish(const struct clock_scale *scale)
{
	uint64_t turn =
		atomic_load_explicit(&clock_state.turn, memory_order_relaxed) + CLOCK_SLOT_BYTES;
	struct clock_slot *s = clock_slot_of(turn);

	write_field(&s->tsc, scale->tsc);
	write_field(&s->ns, scale->ns);
	write_field(&s->span, scale->mult ? scale->span : 0);
	write_field(&s->mult, scale->mult);
	write_field(&s->mult_after, scale->mult_after);
	write_field(&clock_state.turn, turn);
}

static struct clock_scale read_slot(uint64_t turn)
{
	const struct clock_slot *s = clock_slot_of(turn);

	return (struct clock_scale){
		.tsc = read_field(&s->tsc),
		.ns = read_field(&s->ns),
		.span = read_field(&s->span),
		.mult = read_field(&s->mult),
		.mult_after = read_field(&s->mult_after),
	};
}

uint64_t clock_read_slowly(void)
{
	for (;;) {
		uint64_t turn = read_field(&clock_state.turn);
		struct clock_scale now = read_slot(turn),
				   before = read_slot(turn - CLOCK_SLOT_BYTES);
		uint64_t tsc = clock_read_tsc();

		/* Writing the next scale changes neither of the two; the one after it does. */
		if (read_field(&clock_state.turn) - turn > CLOCK_SLOT_BYTES)
			continue;
		if (!now.mult)
			return clock_kernel_ns() + now.ns;
		if (tsc >= now.tsc)
			return clock_scale_at(&now, tsc);
		/* The scale begins in a moment. */
		return before.mult && tsc >= before.tsc ? clock_scale_at(&before, tsc) : now.ns;
	}
}

uint64_t clock_reader_renew(struct clock_reader *r)
{
	uint64_t turn = read_field(&clock_state.turn);

	while (turn != r->turn) {
		r->scale = read_slot(turn);
		r->turn = turn;
		turn = read_field(&clock_state.turn);
	}
	return clock_read_slowly();
}

void clock_calibrate(void)
{
	struct clock_pair now;

	/* An earlier run may have found that the counter does not run with the clock. */
	if (!first_pair.ns || (follower.mult && !follower.scale.mult))
		return;
	while (clock_kernel_ns() - first_pair.ns < BASELINE_NS)
		;
	read_pair(&now);
	if (!clock_follower_begin(&follower, &first_pair, &now))
		publish(&follower.scale);
}

/* The next scale, if it can be made in time. */
static void follow(void)
{
	for (int i = 0; i < FOLLOW_TRIES; i++) {
		struct clock_follower next = follower;
		struct clock_pair now;
		uint64_t took = read_pair(&now);

		if (clock_ticks_ns(took, next.mult) > PAIR_MOST_NS)
			continue;
		if (clock_follow(&next, &now))
			return;
		if (next.scale.mult && clock_read_tsc() >= next.scale.tsc)
			continue;
		publish(&next.scale);
		follower = next;
		return;
	}
}

uint64_t clock_resync(void)
{
	uint64_t again, soonest;

	if (!first_pair.ns)
		return UINT64_MAX;
	soonest = clock_kernel_ns() + RETRY_NS;
	if (atomic_flag_test_and_set_explicit(&following, memory_order_acquire))
		return soonest;
	follow();
	again = clock_follow_again_ns(&follower);
	atomic_flag_clear_explicit(&following, memory_order_release);
	return again > soonest ? again : soonest;
}

struct timespec clock_deadline(uint64_t deadline_ns)
{
	uint64_t kernel = clock_kernel_ns(), now = clock_now_ns(), at;

	if (deadline_ns <= now)
		return clock_timespec(kernel);
	return clock_timespec(__builtin_add_overflow(kernel, deadline_ns - now, &at) ? UINT64_MAX :
										       at);
}

uint64_t clock_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Read one clock between two readings of the other that are as close as possible. */
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
	uint64_t turn = atomic_load(&clock_state.turn);

	return read_slot(turn).mult ? "TSC" : "vDSO";
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

bool clock_has_thread_wait(void)
{
	return access(SCHEDSTAT, R_OK) == 0;
}

uint64_t clock_thread_wait_ns(void)
{
	char buf[80];
	const char *line = sysfile_line(SCHEDSTAT, buf, sizeof(buf));
	uint64_t wait_ns;

	return line && sscanf(line, "%*u %" SCNu64, &wait_ns) == 1 ? wait_ns : 0;
}
