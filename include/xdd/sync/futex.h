/*
 * Sleep on a word in memory and wake its sleepers: futex(2), for threads of one process. The kernel
 * puts no thread to sleep whose word has changed, so a change followed by a wake-up is never
 * missed. Any thread.
 */
#ifndef XDD_SYNC_FUTEX_H
#define XDD_SYNC_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Sleep while `*word` is `value`, until CLOCK_MONOTONIC reaches `deadline` (NULL: without limit).
 * May return early for any reason: callers check their condition in a loop.
 */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value,
			      const struct timespec *deadline)
{
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

/* Wake at most `n` threads that sleep on `word`. */
static inline void futex_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
	futex_wake(word, INT_MAX);
}

#endif
