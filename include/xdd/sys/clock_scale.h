/*
 * How ticks of the time stamp counter become nanoseconds that follow the kernel's clock. Private to
 * the clock.
 *
 * All of it is arithmetic on values: no function here reads a clock, so a test can simulate hours.
 */
#ifndef XDD_SYS_CLOCK_SCALE_H
#define XDD_SYS_CLOCK_SCALE_H

#include <stdint.h>

#include "xdd/base/uint128.h"

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
 * The rate between two pairs makes the first scale, which begins at `now`. Returns 0, or -EINVAL
 * when the counter does not run with the clock.
 */
int clock_follower_begin(struct clock_follower *f, const struct clock_pair *begin,
			 const struct clock_pair *now);

/*
 * Make the next scale from what both clocks read `now`: the rate measured over the last seconds,
 * and a bounded deviation from it that removes the difference to the kernel's clock within a
 * second. The new scale continues the one before without a step, from a tick a little later than
 * `now` on: it has to be published before that tick. Returns 0, or -EAGAIN when the last one was
 * made too recently.
 *
 * A counter whose rate changed by more than a part in thousand is not used any more.
 */
int clock_follow(struct clock_follower *f, const struct clock_pair *now);

/*
 * The time of the kernel's clock at which another clock_follow() is due: soon while the rate is
 * known from a short time only; UINT64_MAX once the counter is not used.
 */
uint64_t clock_follow_again_ns(const struct clock_follower *f);

#endif
