/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits of threads for each other, all of which a stop can end.
 */
#ifndef XDD_SYNC_WAIT_H
#define XDD_SYNC_WAIT_H

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct barrier;

/*
 * Sleep on a word in memory and wake its sleepers: futex(2), for threads of one process. The
 * kernel puts no thread to sleep whose word has changed, so a change followed by a wake-up is
 * never missed. Any thread.
 */

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

/*
 * As pthread_cond_wait(), until clock_kernel_ns() reaches `until_ns` at most; UINT64_MAX: without
 * limit. Returns 0, or -ETIMEDOUT then.
 */
int cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock, uint64_t until_ns);

/*
 * A barrier that can be cancelled: `count` threads meet, all leave together, and all see the same
 * time of release. Reusable, round after round, by the same number of threads.
 */

struct barrier {
	/* const after barrier_init() */
	uint32_t count;

	/* atomic: threads that have arrived in this round */
	_Atomic uint32_t arrived;

	/* atomic: round number times two; the lowest bit is set for good by barrier_cancel() */
	_Atomic uint32_t round;

	/* written by the last to arrive, before it starts the next round */
	uint64_t release_ns;
};

/* `count` is at least 1. The caller owns the memory; there is nothing to destroy. */
void barrier_init(struct barrier *b, uint32_t count);

/*
 * Wait for the others. Returns 1 in exactly one of the threads of a round, 0 in the others, or
 * -ECANCELED when the barrier is or becomes cancelled. `*release_ns` (may be NULL) is the clock at
 * which the round was complete, the same for all.
 */
int barrier_wait(struct barrier *b, uint64_t *release_ns);

/* End all present and future waits with -ECANCELED. Any thread. */
void barrier_cancel(struct barrier *b);

/*
 * A condition that threads wait for without a lock. A thread that changes the condition signals
 * the event, at the cost of one load while no thread waits.
 *
 *	key = event_listen(e);
 *	if (the condition holds)
 *		event_leave(e);
 *	else
 *		event_wait(e, key, until_ns);
 *
 * in a loop. The condition lies in atomics that are stored and loaded in sequential consistency:
 * then either the waiter sees the change or the signal finds the waiter.
 */

struct event {
	/* atomic: changes with every signal that has a listener; the waiters sleep on it */
	_Atomic uint32_t count;

	/* atomic: threads between event_listen() and the end of their wait */
	_Atomic uint32_t listeners;
};

/* The caller owns the memory; there is nothing to destroy. */
void event_init(struct event *e);

/* Begin to count signals; one event_leave() or event_wait() ends it. Any thread. */
uint32_t event_listen(struct event *e);
void event_leave(struct event *e);

/*
 * Sleep until there was a signal since event_listen() gave `key`, or clock_now_ns() reaches
 * `until_ns`.
 */
void event_wait(struct event *e, uint32_t key, uint64_t until_ns);

/* Wake all that listen. Any thread. */
void event_wake(struct event *e);

/*
 * As event_wake(), without a system call while no thread listens: for changes that are frequent.
 * Any thread.
 */
static inline void event_signal(struct event *e)
{
	if (__builtin_expect(atomic_load(&e->listeners) != 0, 0))
		event_wake(e);
}

/*
 * A lock that can be held across a system call and whose waits can be cancelled: what a mutex
 * cannot do. It is not fair: a thread that releases the lock and takes it again at once gets it,
 * so threads that take turns on short work do not wait for each other to wake up.
 */

struct lock {
	/* atomic: the bits of wait.c; threads that wait sleep on it */
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

/*
 * The end of a run, which any thread may request: a reason that is set once, and waits that end
 * with it.
 *
 * Every wait in the program is either registered here or stop_sleep_until(), so one stop_request()
 * ends them all. Any thread may call these functions, except stop_init(), stop_register(),
 * stop_on_request() and stop_destroy(), which belong to the thread that sets up the run.
 */

enum stop_reason {
	STOP_NONE,
	STOP_START,  /* a target or a thread could not start */
	STOP_SIGNAL, /* the user asked */
	STOP_ERROR,  /* -stoponerror */
};

/* A kind of wait, and the function that ends it. */
struct stop_hook {
	void (*cancel)(void *arg);
	void *arg;
};

struct stop {
	/*
	 * atomic: reason and detail of the first stop_request() in one word; 0: none. wait.c only
	 */
	_Atomic uint64_t first;

	/* atomic: enum stop_reason; the first reason wins */
	_Atomic int reason;

	/* atomic: detail of the reason: a signal number or an errno; read it after stop_why() */
	_Atomic int detail;

	/* atomic: the word that sleepers wait on; changes when the run stops */
	_Atomic uint32_t wake;

	/* const once the threads run */
	struct stop_hook *hooks;
	size_t n_hooks;
};

void stop_init(struct stop *s);

/* Have `b` cancelled by stop_request(). Returns 0 or -ENOMEM. `b` must outlive `s`. */
int stop_register(struct stop *s, struct barrier *b);

/*
 * Have stop_request() call `cancel(arg)`, in its thread. Returns 0 or -ENOMEM. `arg` must outlive
 * `s`.
 */
int stop_on_request(struct stop *s, void (*cancel)(void *arg), void *arg);

/* Ask the run to stop. Returns true when this call was the first. Not for signal handlers. */
bool stop_request(struct stop *s, enum stop_reason reason, int detail);

static inline bool stop_requested(const struct stop *s)
{
	return atomic_load_explicit(&s->reason, memory_order_relaxed) != STOP_NONE;
}

static inline enum stop_reason stop_why(const struct stop *s)
{
	return (enum stop_reason)atomic_load(&s->reason);
}

/*
 * Sleep until clock_now_ns() reaches `deadline_ns`. Returns 0, or -ECANCELED at once when the run
 * stops or had stopped already.
 */
int stop_sleep_until(struct stop *s, uint64_t deadline_ns);

/* Free the list of registered waits. The objects themselves belong to the caller. */
void stop_destroy(struct stop *s);

#endif
