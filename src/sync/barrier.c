/*
 * The barrier that can be cancelled. Called by target threads, QThreads and the results manager
 * where passes begin and end.
 *
 * All decisions are made on one word, `round`: the last thread to arrive adds two with a compare
 * and exchange, barrier_cancel() sets the lowest bit. The first of the two settles the round for
 * all of its threads. The waiters sleep on that word, so no wake-up is lost.
 */
#include "xdd/sync/barrier.h"

#include <errno.h>
#include <stddef.h>

#include "xdd/sync/futex.h"
#include "xdd/sys/clock.h"

#define BARRIER_CANCELED 1u /* bit of `round` */
#define BARRIER_ROUND 2u    /* step of `round` */

void barrier_init(struct barrier *b, uint32_t count)
{
	b->count = count;
	atomic_init(&b->arrived, 0);
	atomic_init(&b->round, 0);
	b->release_ns = 0;
}

/* End `round`: called by the last thread to arrive. */
static int release(struct barrier *b, uint32_t round)
{
	/*
	 * No other thread reads or changes these now: all others of the round wait, or are
	 * cancelled.
	 */
	b->release_ns = clock_now_ns();
	atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);

	if (!atomic_compare_exchange_strong_explicit(&b->round, &round, round + BARRIER_ROUND,
						     memory_order_acq_rel, memory_order_acquire))
		return -ECANCELED;
	futex_wake_all(&b->round);
	return 1;
}

/* Sleep until `round` is over, either way. */
static int wait_for_end(struct barrier *b, uint32_t round)
{
	uint32_t now = atomic_load_explicit(&b->round, memory_order_acquire);

	while (now == round) {
		futex_wait(&b->round, round, NULL);
		now = atomic_load_explicit(&b->round, memory_order_acquire);
	}
	/*
	 * A round that completed before it was cancelled stays complete, also for threads that wake
	 * late.
	 */
	return (now & ~BARRIER_CANCELED) == round ? -ECANCELED : 0;
}

int barrier_wait(struct barrier *b, uint64_t *release_ns)
{
	uint32_t round = atomic_load_explicit(&b->round, memory_order_acquire);
	int ret;

	if (round & BARRIER_CANCELED)
		return -ECANCELED;
	if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) + 1 == b->count)
		ret = release(b, round);
	else
		ret = wait_for_end(b, round);

	/* No later round can be complete, and write it, before this thread arrives again. */
	if (ret >= 0 && release_ns)
		*release_ns = b->release_ns;
	return ret;
}

void barrier_cancel(struct barrier *b)
{
	atomic_fetch_or_explicit(&b->round, BARRIER_CANCELED, memory_order_acq_rel);
	futex_wake_all(&b->round);
}
