/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target operation table: src/run/issue/order.c.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/issue/order.h"

#define THREADS 8u
#define LAPS 10u /* how often the table is gone through */

static struct tot make(uint64_t queue_depth)
{
	struct tot t = { 0 };

	assert_int_equal(tot_init(&t, queue_depth), 0);
	return t;
}

TEST(test_turns_of_one)
{
	struct tot t = make(3);

	assert_int_equal(t.n_slots, 3 * TOT_SLOTS_PER_OPERATION);
	for (uint64_t n = 0; n < 5 * t.n_slots; n++) {
		assert_true(tot_is_turn(&t, n));
		assert_int_equal(tot_wait(&t, n), 0);
		/* neither its neighbours', nor that of another lap in the same slot */
		assert_false(tot_is_turn(&t, n + 1));
		assert_false(tot_is_turn(&t, n + t.n_slots));
		assert_false(n >= t.n_slots && tot_is_turn(&t, n - t.n_slots));
		tot_pass_on(&t, n);
		assert_true(tot_is_turn(&t, n + 1));
	}
	tot_reset(&t);
	assert_true(tot_is_turn(&t, 0));
	for (uint64_t n = 1; n < t.n_slots; n++)
		assert_false(tot_is_turn(&t, n));
	tot_destroy(&t);
	tot_destroy(&t);
}

/* Laps are told apart by a count of 30 bits; a pass of a run of years comes round to zero. */
TEST(test_count_comes_round)
{
	struct tot t = make(1);
	uint64_t n = ((1ull << 30) - 2) * t.n_slots;

	/* as if operation n - 1 had passed on */
	tot_pass_on(&t, n - 1);
	for (uint64_t end = n + 4 * t.n_slots; n < end; n++) {
		assert_int_equal(tot_wait(&t, n), 0);
		assert_false(tot_is_turn(&t, n + 1));
		tot_pass_on(&t, n);
		assert_true(tot_is_turn(&t, n + 1));
	}
	tot_destroy(&t);
}

/* Threads that take their numbers early, delay, and then wait for their turn. */
struct queue {
	struct tot tot;
	_Atomic uint64_t next;
	uint64_t ops;
	bool poll; /* ask now and then before waiting */

	/* whose turn it is may touch them: no atomics, for ThreadSanitizer */
	uint64_t issued;
	uint64_t breaks;
};

struct worker {
	struct queue *queue;
	unsigned seed;
	uint64_t canceled;
};

/* sched_yield() would wait for a time slice of each other busy process of the machine. */
static void delay(struct worker *w)
{
	if (rand_r(&w->seed) % 8 == 0)
		usleep((useconds_t)(rand_r(&w->seed) % 100));
}

static void *take_turns(void *arg)
{
	struct worker *w = arg;
	struct queue *q = w->queue;
	uint64_t n;

	while ((n = atomic_fetch_add(&q->next, 1)) < q->ops) {
		delay(w);
		for (int i = 0; q->poll && i < 100 && !tot_is_turn(&q->tot, n); i++)
			;
		if (tot_wait(&q->tot, n)) {
			w->canceled++;
			return NULL;
		}
		q->breaks += q->issued++ != n;
		tot_pass_on(&q->tot, n);
	}
	return NULL;
}

static uint64_t run_pass(struct queue *q, unsigned seed, unsigned cancel_us)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	uint64_t canceled = 0;

	q->breaks = q->issued = 0;
	atomic_store(&q->next, 0);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .queue = q, .seed = seed * THREADS + i };
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &workers[i]), 0);
	}
	if (cancel_us) {
		usleep(cancel_us);
		tot_cancel(&q->tot);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		canceled += workers[i].canceled;
	}
	assert_int_equal(q->breaks, 0);
	return canceled;
}

TEST(test_order_of_threads)
{
	struct queue q = { .tot = make(THREADS) };

	q.ops = LAPS * q.tot.n_slots + 7;
	for (unsigned pass = 0; pass < 4; pass++) {
		q.poll = pass % 2;
		/* a pass that ends anywhere in the table, and the next from its start */
		tot_reset(&q.tot);
		assert_int_equal(run_pass(&q, pass + 1, 0), 0);
		assert_int_equal(q.issued, q.ops);
	}
	tot_destroy(&q.tot);
}

/* No more slots than operations in flight: each slot is needed again at once. */
TEST(test_shortest_table)
{
	struct queue q = { .tot = make(1) };

	q.tot.n_slots = THREADS;
	q.ops = 5000;
	tot_reset(&q.tot);
	assert_int_equal(run_pass(&q, 99, 0), 0);
	assert_int_equal(q.issued, q.ops);
	tot_destroy(&q.tot);
}

TEST(test_cancel)
{
	for (unsigned round = 0; round < 20; round++) {
		struct queue q = { .tot = make(THREADS), .ops = UINT64_MAX };

		run_pass(&q, round, 1 + round * 500);
		/*
		 * one had the turn at most, and the others were told; those that come later are,
		 * too
		 */
		assert_int_equal(tot_wait(&q.tot, q.issued + 1), -ECANCELED);
		assert_int_equal(tot_wait(&q.tot, q.issued + q.tot.n_slots), -ECANCELED);
		tot_reset(&q.tot);
		assert_int_equal(tot_wait(&q.tot, 1), -ECANCELED);
		tot_destroy(&q.tot);
	}
}

struct waiter {
	struct tot *tot;
	uint64_t n;
	_Atomic unsigned *started;
	int ret;
};

static void *wait_for_turn(void *arg)
{
	struct waiter *w = arg;

	atomic_fetch_add(w->started, 1);
	w->ret = tot_wait(w->tot, w->n);
	return NULL;
}

/*
 * The turn is held for good, as by an operation that never completes: all after it can be
 * cancelled.
 */
TEST(test_cancel_sleepers)
{
	struct tot t = make(THREADS);
	struct waiter waiters[THREADS];
	pthread_t threads[THREADS];
	_Atomic unsigned started = 0;

	assert_int_equal(tot_wait(&t, 0), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		waiters[i] = (struct waiter){ &t, i + 1, &started, 1 };
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_turn, &waiters[i]), 0);
	}
	while (atomic_load(&started) < THREADS)
		usleep(100);
	usleep(20000);
	tot_cancel(&t);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(waiters[i].ret, -ECANCELED);
	}
	tot_destroy(&t);
}

RUN_TESTS(NULL, NULL)
