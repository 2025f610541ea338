/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a run: src/sync/wait.c.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define HOUR_NS (3600ull * 1000000000ull)
#define MS_NS 1000000ull

TEST(test_first_reason_wins)
{
	struct stop s;

	stop_init(&s);
	assert_false(stop_requested(&s));
	assert_int_equal(stop_why(&s), STOP_NONE);
	assert_false(stop_request(&s, STOP_NONE, 5));
	assert_false(stop_requested(&s));

	assert_true(stop_request(&s, STOP_ERROR, -5));
	assert_true(stop_requested(&s));
	assert_int_equal(stop_why(&s), STOP_ERROR);
	assert_int_equal(atomic_load(&s.detail), -5);

	assert_false(stop_request(&s, STOP_SIGNAL, 2));
	assert_int_equal(stop_why(&s), STOP_ERROR);
	assert_int_equal(atomic_load(&s.detail), -5);
	stop_destroy(&s);
}

TEST(test_sleep_to_the_end)
{
	uint64_t start = clock_now_ns();
	struct stop s;

	stop_init(&s);
	assert_int_equal(stop_sleep_until(&s, 0), 0);
	assert_int_equal(stop_sleep_until(&s, start), 0);
	for (unsigned i = 1; i <= 5; i++) {
		uint64_t deadline = start + i * 5 * MS_NS;

		assert_int_equal(stop_sleep_until(&s, deadline), 0);
		assert_true(clock_now_ns() >= deadline);
	}
	/* at once, even when there is nothing to wait for */
	stop_request(&s, STOP_SIGNAL, 2);
	assert_int_equal(stop_sleep_until(&s, start), -ECANCELED);
	assert_int_equal(stop_sleep_until(&s, UINT64_MAX), -ECANCELED);
	stop_destroy(&s);
}

struct waiter {
	struct stop *stop;
	struct barrier *barrier; /* NULL: sleep instead */
	_Atomic unsigned *started;
	int ret;
};

static void *wait_for_stop(void *arg)
{
	struct waiter *w = arg;

	atomic_fetch_add(w->started, 1);
	w->ret = w->barrier ? barrier_wait(w->barrier, NULL) :
			      stop_sleep_until(w->stop, clock_now_ns() + HOUR_NS);
	return NULL;
}

/* Sleepers and waiters at several barriers all end with one request. */
static void run_waiters(unsigned delay_us)
{
	enum {
		SLEEPERS = 4,
		WAITERS = 6
	};
	struct waiter w[SLEEPERS + WAITERS];
	pthread_t threads[SLEEPERS + WAITERS];
	struct barrier barriers[WAITERS];
	_Atomic unsigned started = 0;
	struct stop s;

	stop_init(&s);
	for (unsigned i = 0; i < WAITERS; i++) {
		barrier_init(&barriers[i], 2);
		assert_int_equal(stop_register(&s, &barriers[i]), 0);
	}
	for (unsigned i = 0; i < SLEEPERS + WAITERS; i++) {
		w[i] = (struct waiter){ .stop = &s, .started = &started };
		if (i >= SLEEPERS)
			w[i].barrier = &barriers[i - SLEEPERS];
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_stop, &w[i]), 0);
	}
	while (delay_us && atomic_load(&started) < SLEEPERS + WAITERS)
		usleep(1000);
	usleep(delay_us);
	assert_true(stop_request(&s, STOP_SIGNAL, 15));
	for (unsigned i = 0; i < SLEEPERS + WAITERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(w[i].ret, -ECANCELED);
	}
	stop_destroy(&s);
}

TEST(test_all_waits_end)
{
	run_waiters(20000); /* asleep */
	for (unsigned i = 0; i < 100; i++)
		run_waiters(i % 4 * 20); /* on their way there */
}

struct sleeper {
	struct stop stop;
	_Atomic bool ready;
	int ret;
};

static void *sleep_once(void *arg)
{
	struct sleeper *s = arg;

	atomic_store(&s->ready, true);
	s->ret = stop_sleep_until(&s->stop, clock_now_ns() + HOUR_NS);
	return NULL;
}

/* The request comes while the sleeper is between looking and falling asleep. */
TEST(test_no_lost_wake_up)
{
	for (unsigned trial = 0; trial < 3000; trial++) {
		static struct sleeper s;
		pthread_t thread;
		uint64_t until;

		stop_init(&s.stop);
		atomic_store(&s.ready, false);
		assert_int_equal(pthread_create(&thread, NULL, sleep_once, &s), 0);
		while (!atomic_load(&s.ready))
			sched_yield();
		until = clock_now_ns() + trial % 100 * 10;
		while (clock_now_ns() < until)
			;
		assert_true(stop_request(&s.stop, STOP_SIGNAL, 15));
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(s.ret, -ECANCELED);
		stop_destroy(&s.stop);
	}
}

struct asker {
	struct stop *stop;
	int number;
	bool first;
	int seen_reason;
	int seen_detail;
};

static void *ask(void *arg)
{
	struct asker *a = arg;

	a->first = stop_request(a->stop, a->number % 3 + 1, a->number);
	a->seen_reason = (int)stop_why(a->stop);
	a->seen_detail = atomic_load(&a->stop->detail);
	return NULL;
}

/* One of many is first, and all see its reason together with its detail. */
TEST(test_many_ask)
{
	enum {
		ASKERS = 8
	};
	struct asker askers[ASKERS];
	pthread_t threads[ASKERS];

	for (int trial = 0; trial < 300; trial++) {
		struct stop s;
		int first = -1;

		stop_init(&s);
		for (int i = 0; i < ASKERS; i++) {
			askers[i] = (struct asker){ .stop = &s, .number = i + 100 };
			assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
		}
		for (int i = 0; i < ASKERS; i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			if (askers[i].first) {
				assert_int_equal(first, -1);
				first = askers[i].number;
			}
		}
		assert_int_not_equal(first, -1);
		for (int i = 0; i < ASKERS; i++) {
			assert_int_equal(askers[i].seen_detail, first);
			assert_int_equal(askers[i].seen_reason, first % 3 + 1);
		}
		stop_destroy(&s);
	}
}

RUN_TESTS(NULL, NULL)
