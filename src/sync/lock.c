/*
 * The lock that can be cancelled. Called by QThreads whose target has its operations in order.
 *
 * As in glibc's mutex, one word says whether the lock is held and whether threads may sleep on it,
 * so a lock without waiters costs no system call. A third bit, which stays set, cancels the lock.
 */
#include "xdd/sync/lock.h"

#include <errno.h>
#include <stddef.h>

#include "xdd/sync/futex.h"

#define LOCK_HELD 1u
#define LOCK_WAITERS 2u /* threads may sleep on the word */
#define LOCK_CANCELED 4u

void lock_init(struct lock *l)
{
	atomic_init(&l->word, 0);
}

bool lock_try(struct lock *l)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong_explicit(&l->word, &free, LOCK_HELD,
						       memory_order_acquire, memory_order_relaxed);
}

int lock_take(struct lock *l)
{
	uint32_t word = atomic_load_explicit(&l->word, memory_order_relaxed), next;
	uint32_t mine = LOCK_HELD;

	for (;;) {
		if (word & LOCK_CANCELED)
			return -ECANCELED;
		next = word & LOCK_HELD ? word | LOCK_WAITERS : word | mine;
		if (next != word && !atomic_compare_exchange_weak_explicit(&l->word, &word, next,
									   memory_order_acquire,
									   memory_order_relaxed))
			continue;
		if (!(word & LOCK_HELD))
			return 0;
		futex_wait(&l->word, next, NULL);
		/* Other threads may still sleep: a thread that has slept leaves the bit set. */
		mine = LOCK_HELD | LOCK_WAITERS;
		word = atomic_load_explicit(&l->word, memory_order_relaxed);
	}
}

void lock_release(struct lock *l)
{
	uint32_t word = atomic_fetch_and_explicit(&l->word, LOCK_CANCELED, memory_order_release);

	if (word & LOCK_WAITERS)
		futex_wake(&l->word, 1);
}

void lock_release_quietly(struct lock *l)
{
	atomic_fetch_and_explicit(&l->word, ~LOCK_HELD, memory_order_release);
}

void lock_cancel(struct lock *l)
{
	atomic_fetch_or_explicit(&l->word, LOCK_CANCELED, memory_order_acq_rel);
	futex_wake_all(&l->word);
}
