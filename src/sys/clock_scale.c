/*
 * Scales of the clock: see the header. Called by clock.c.
 */
#include "xdd/base/nstime.h"
#include "xdd/base/uint128.h"
#include "xdd/sys/clock_scale.h"

#include <errno.h>
#include <stdbool.h>

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
static uint64_t rate(const struct clock_pair *from, const struct clock_pair *to)
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

int clock_follower_begin(struct clock_follower *f, const struct clock_pair *begin,
			 const struct clock_pair *now)
{
	uint64_t mult = rate(begin, now);

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

static void remember(struct clock_follower *f, const struct clock_pair *now)
{
	f->last_ns = now->ns;
	if (now->ns - f->newer.ns < WINDOW_NS)
		return;
	f->older = f->newer;
	f->newer = *now;
}

int clock_follow(struct clock_follower *f, const struct clock_pair *now)
{
	const struct clock_scale old = f->scale;
	uint64_t mult, lead, kernel_ns;
	struct clock_scale next;

	if (!old.mult || now->ns - f->last_ns < LEAST_NS)
		return -EAGAIN;
	mult = rate(&f->older, now);
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
	remember(f, now);
	return 0;
}

uint64_t clock_follow_again_ns(const struct clock_follower *f)
{
	uint64_t age = f->last_ns - f->began_ns;

	if (!f->scale.mult)
		return UINT64_MAX;
	if (age < SOON_NS)
		age = SOON_NS;
	return f->last_ns + (age < WINDOW_NS ? age : WINDOW_NS);
}
