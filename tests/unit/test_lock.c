/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock that can be cancelled: src/sync/wait.c.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "xdd/sync/wait.h"

#define THREADS 16u
#define ROUNDS 20000u

TEST(test_one_thread)
{
	struct lock l;

	lock_init(&l);
	assert_true(lock_try(&l));
	assert_false(lock_try(&l));
	lock_release(&l);
	assert_int_equal(lock_take(&l), 0);
	assert_false(lock_try(&l));
	lock_release(&l);
	assert_true(lock_try(&l));
	lock_release(&l);
}

/* Guarded by the lock: no atomics, so that ThreadSanitizer sees a lock that fails. */
struct shared {
	struct lock lock;
	uint64_t count;
	unsigned inside;
	unsigned worst;	     /* threads inside at the same time, the most that was seen */
	uint64_t tries;	     /* rounds that lock_try() got */
	_Atomic bool sleepy; /* hold it long enough that others go to sleep over it */
};

static void enter_and_leave(struct shared *s, unsigned round)
{
	s->inside++;
	if (s->inside > s->worst)
		s->worst = s->inside;
	s->count++;
	if (s->sleepy && round % 64 == 0)
		usleep(50);
	else if (round % 16 == 0)
		sched_yield();
	s->inside--;
}

struct worker {
	struct shared *shared;
	unsigned number;
	uint64_t canceled;
};

static void *take_turns(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;
	unsigned rounds = s->sleepy ? ROUNDS / 50 : ROUNDS;

	for (unsigned i = 0; i < rounds; i++) {
		/* Some try first, as the issuing path does. */
		if (w->number % 2 && lock_try(&s->lock)) {
			s->tries++;
		} else if (lock_take(&s->lock)) {
			w->canceled++;
			continue;
		}
		enter_and_leave(s, i + w->number);
		lock_release(&s->lock);
	}
	return NULL;
}

static void run_workers(bool sleepy)
{
	struct shared s = { .sleepy = sleepy };
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	unsigned rounds = sleepy ? ROUNDS / 50 : ROUNDS;

	lock_init(&s.lock);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .shared = &s, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(workers[i].canceled, 0);
	}
	assert_int_equal(s.worst, 1);
	assert_int_equal(s.inside, 0);
	assert_int_equal(s.count, (uint64_t)THREADS * rounds);
	/* and it is free at the end */
	assert_true(lock_try(&s.lock));
}

TEST(test_mutual_exclusion)
{
	run_workers(false);
}

TEST(test_mutual_exclusion_of_sleepers)
{
	run_workers(true);
}

struct waiter {
	struct lock *lock;
	_Atomic unsigned *started;
	int ret;
};

static void *wait_for_lock(void *arg)
{
	struct waiter *w = arg;

	atomic_fetch_add(w->started, 1);
	w->ret = lock_take(w->lock);
	return NULL;
}

/*
 * Waiters that sleep, that are about to, and that come later are all told; who holds the lock keeps
 * it.
 */
static void cancel_waiters(unsigned delay_us)
{
	struct waiter waiters[THREADS];
	pthread_t threads[THREADS];
	_Atomic unsigned started = 0;
	struct lock l;

	lock_init(&l);
	assert_int_equal(lock_take(&l), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		waiters[i] = (struct waiter){ .lock = &l, .started = &started, .ret = 1 };
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_lock, &waiters[i]), 0);
	}
	while (delay_us && atomic_load(&started) < THREADS)
		usleep(100);
	usleep(delay_us);
	lock_cancel(&l);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(waiters[i].ret, -ECANCELED);
	}
	/* still held: no thread gets it, also after its release */
	assert_false(lock_try(&l));
	lock_release(&l);
	assert_false(lock_try(&l));
	assert_int_equal(lock_take(&l), -ECANCELED);
	lock_cancel(&l);
	assert_int_equal(lock_take(&l), -ECANCELED);
}

TEST(test_cancel)
{
	for (unsigned i = 0; i < 50; i++)
		cancel_waiters(0);
	for (unsigned i = 0; i < 5; i++)
		cancel_waiters(20000);
}

static void *take_until_canceled(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;

	for (unsigned i = 0; lock_take(&s->lock) == 0; i++) {
		enter_and_leave(s, i);
		lock_release(&s->lock);
	}
	w->canceled++;
	return NULL;
}

/*
 * Cancelled in the middle of the traffic: all end, whatever they were doing, and one was inside at
 * most.
 */
TEST(test_cancel_in_traffic)
{
	for (unsigned round = 0; round < 30; round++) {
		struct shared s = { .sleepy = round % 2 };
		struct worker workers[THREADS];
		pthread_t threads[THREADS];

		lock_init(&s.lock);
		for (unsigned i = 0; i < THREADS; i++) {
			workers[i] = (struct worker){ .shared = &s, .number = i };
			assert_int_equal(pthread_create(&threads[i], NULL, take_until_canceled,
							&workers[i]),
					 0);
		}
		usleep(round * 300);
		lock_cancel(&s.lock);
		for (unsigned i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(workers[i].canceled, 1);
		}
		assert_true(s.worst <= 1);
	}
}

RUN_TESTS(NULL, NULL)
