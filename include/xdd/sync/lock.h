/*
 * A lock that can be held across a system call and whose waits can be cancelled: what a mutex
 * cannot do. It is not fair: a thread that releases the lock and takes it again at once gets it, so
 * threads that take turns on short work do not wait for each other to wake up.
 */
#ifndef XDD_SYNC_LOCK_H
#define XDD_SYNC_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock {
	/* atomic: the bits of lock.c; threads that wait sleep on it */
	_Atomic uint32_t word;
};

void lock_init(struct lock *l);

/* Take the lock. Returns 0, or -ECANCELED without it once the lock is cancelled. Not recursive. */
int lock_take(struct lock *l);

/* Take the lock if it is free and not cancelled. Returns true if the caller holds it now. */
bool lock_try(struct lock *l);

/* Release the lock. Its holder only. */
void lock_release(struct lock *l);

/*
 * Release the lock without waking a waiter, for a holder that is about to take it again: its next
 * lock_release() wakes as this one would have. Waiters sleep until then, although the lock may be
 * free.
 */
void lock_release_quietly(struct lock *l);

/* End all present and future waits with -ECANCELED; the holder keeps the lock. Any thread. */
void lock_cancel(struct lock *l);

#endif
