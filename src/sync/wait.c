/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits: the barrier and the lock that can be cancelled, events, and the end of a run. Called by
 * target threads, QThreads and the results manager.
 */
#include "xdd/sync/wait.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "xdd/base/memory.h"
#include "xdd/sys/clock.h"

int cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = clock_timespec(until_ns);

	if (until_ns == UINT64_MAX)
		return -pthread_cond_wait(changed, lock);
	return -pthread_cond_clockwait(changed, lock, CLOCK_MONOTONIC, &until);
}

/*
 * All decisions of a barrier are made on one word, `round`: the last thread to arrive adds two
 * with a compare and exchange, barrier_cancel() sets the lowest bit. The first of the two settles
 * the round for all of its threads. The waiters sleep on that word, so no wake-up is lost.
 */

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
static int barrier_release(struct barrier *b, uint32_t round)
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
		ret = barrier_release(b, round);
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

/*
 * Events: sleeping on a counter, by the QThreads of targets that wait for each other.
 */

void event_init(struct event *e)
{
	atomic_init(&e->count, 0);
	atomic_init(&e->listeners, 0);
}

uint32_t event_listen(struct event *e)
{
	atomic_fetch_add(&e->listeners, 1);
	return atomic_load(&e->count);
}

void event_leave(struct event *e)
{
	atomic_fetch_sub(&e->listeners, 1);
}

void event_wait(struct event *e, uint32_t key, uint64_t until_ns)
{
	const bool limited = until_ns != UINT64_MAX;
	struct timespec until;

	while (atomic_load(&e->count) == key && (!limited || clock_now_ns() < until_ns)) {
		if (limited)
			until = clock_deadline(until_ns);
		futex_wait(&e->count, key, limited ? &until : NULL);
	}
	event_leave(e);
}

void event_wake(struct event *e)
{
	atomic_fetch_add(&e->count, 1);
	futex_wake_all(&e->count);
}

/*
 * The lock of QThreads whose target has its operations in order. As in glibc's mutex, one word
 * says whether the lock is held and whether threads may sleep on it, so a lock without waiters
 * costs no system call. A third bit, which stays set, cancels the lock.
 */

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

/*
 * The end of a run. stop_request() is called by the signal thread, by threads that could not start
 * and by -stoponerror; stop_sleep_until() by the throttle and the other waits for a time.
 */

void stop_init(struct stop *s)
{
	memset(s, 0, sizeof(*s));
	atomic_init(&s->first, 0);
	atomic_init(&s->reason, STOP_NONE);
	atomic_init(&s->detail, 0);
	atomic_init(&s->wake, 0);
}

int stop_on_request(struct stop *s, void (*cancel)(void *arg), void *arg)
{
	struct stop_hook *hooks = array_room(s->hooks, s->n_hooks, sizeof(*hooks));

	if (!hooks)
		return -ENOMEM;
	s->hooks = hooks;
	s->hooks[s->n_hooks++] = (struct stop_hook){ cancel, arg };
	return 0;
}

static void cancel_barrier(void *arg)
{
	barrier_cancel(arg);
}

int stop_register(struct stop *s, struct barrier *b)
{
	return stop_on_request(s, cancel_barrier, b);
}

bool stop_request(struct stop *s, enum stop_reason reason, int detail)
{
	uint64_t mine = (uint64_t)reason << 32 | (uint32_t)detail;
	uint64_t first = 0;
	bool won;

	if (reason == STOP_NONE)
		return false;
	won = atomic_compare_exchange_strong(&s->first, &first, mine);
	if (won)
		first = mine;

	/*
	 * Every caller publishes the first request, its own or not, so that each of them finds the
	 * run stopped when it returns. The detail is stored first, so that readers of the reason
	 * find it.
	 */
	atomic_store(&s->detail, (int)(uint32_t)first);
	atomic_store(&s->reason, (int)(first >> 32));
	if (!won)
		return false;

	atomic_store(&s->wake, 1);
	futex_wake_all(&s->wake);
	for (size_t i = 0; i < s->n_hooks; i++)
		s->hooks[i].cancel(s->hooks[i].arg);
	return true;
}

int stop_sleep_until(struct stop *s, uint64_t deadline_ns)
{
	for (;;) {
		struct timespec deadline;

		if (stop_why(s) != STOP_NONE)
			return -ECANCELED;
		if (clock_now_ns() >= deadline_ns)
			return 0;
		deadline = clock_deadline(deadline_ns);
		futex_wait(&s->wake, 0, &deadline);
	}
}

void stop_destroy(struct stop *s)
{
	free(s->hooks);
	s->hooks = NULL;
	s->n_hooks = 0;
}
