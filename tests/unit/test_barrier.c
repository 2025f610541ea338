/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The barrier that can be cancelled: src/sync/wait.c.
 */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define THREADS 8
#define ROUNDS 2000

struct meeting {
	struct barrier barrier;
	_Atomic unsigned entered;	 /* threads that came to the barrier, over all rounds */
	_Atomic unsigned ended;		 /* threads that have ended */
	_Atomic unsigned early;		 /* left before all had come */
	uint64_t times[THREADS][ROUNDS]; /* each row owned by its thread */
	int firsts[THREADS][ROUNDS];
};

struct visitor {
	struct meeting *meeting;
	unsigned number;
	unsigned rounds;
	int ret;
};

static void *visit(void *arg)
{
	struct visitor *v = arg;
	struct meeting *m = v->meeting;

	for (unsigned round = 0; round < v->rounds; round++) {
		atomic_fetch_add(&m->entered, 1);
		v->ret = barrier_wait(&m->barrier, &m->times[v->number][round]);
		if (v->ret < 0)
			break;
		m->firsts[v->number][round] = v->ret;
		if (atomic_load(&m->entered) < (round + 1) * m->barrier.count)
			atomic_fetch_add(&m->early, 1);
	}
	if (v->ret > 0)
		v->ret = 0;
	atomic_fetch_add(&m->ended, 1);
	return NULL;
}

static void start(pthread_t *threads, struct visitor *v, struct meeting *m, unsigned n,
		  unsigned rounds)
{
	for (unsigned i = 0; i < n; i++) {
		v[i] = (struct visitor){ .meeting = m, .number = i, .rounds = rounds };
		assert_int_equal(pthread_create(&threads[i], NULL, visit, &v[i]), 0);
	}
}

static void join(pthread_t *threads, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

TEST(test_alone)
{
	struct barrier b;
	uint64_t before = clock_now_ns(), at = 0;

	barrier_init(&b, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(barrier_wait(&b, &at), 1);
		assert_true(at >= before && at <= clock_now_ns());
		before = at;
	}
	assert_int_equal(barrier_wait(&b, NULL), 1);
}

TEST(test_many_rounds)
{
	static struct meeting m;
	pthread_t threads[THREADS];
	struct visitor v[THREADS];
	uint64_t last = 0;

	memset(&m, 0, sizeof(m));
	barrier_init(&m.barrier, THREADS);
	start(threads, v, &m, THREADS, ROUNDS);
	join(threads, THREADS);

	assert_int_equal(atomic_load(&m.early), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		int firsts = 0;

		assert_true(m.times[0][round] >= last);
		last = m.times[0][round];
		for (unsigned i = 0; i < THREADS; i++) {
			assert_int_equal(v[i].ret, 0);
			assert_int_equal(m.times[i][round], last);
			firsts += m.firsts[i][round];
		}
		assert_int_equal(firsts, 1);
	}
}

TEST(test_cancel_before)
{
	struct barrier b;
	uint64_t at = 42;

	barrier_init(&b, 2);
	barrier_cancel(&b);
	for (int i = 0; i < 3; i++)
		assert_int_equal(barrier_wait(&b, &at), -ECANCELED);
	assert_int_equal(at, 42);

	/* not even when the last one has come */
	barrier_init(&b, 1);
	barrier_cancel(&b);
	assert_int_equal(barrier_wait(&b, NULL), -ECANCELED);
}

TEST(test_cancel_waiting)
{
	static struct meeting m;
	pthread_t threads[THREADS];
	struct visitor v[THREADS];

	memset(&m, 0, sizeof(m));
	barrier_init(&m.barrier, THREADS + 1); /* one never comes */
	start(threads, v, &m, THREADS, 1);
	while (atomic_load(&m.entered) < THREADS)
		usleep(1000);
	/* Wake-ups that mean nothing, as the kernel is free to give. */
	for (int i = 0; i < 5; i++) {
		usleep(10000);
		syscall(SYS_futex, &m.barrier.round, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	}
	usleep(10000);
	assert_int_equal(atomic_load(&m.ended), 0);
	barrier_cancel(&m.barrier);
	join(threads, THREADS);

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(v[i].ret, -ECANCELED);
	assert_int_equal(barrier_wait(&m.barrier, NULL), -ECANCELED);
	barrier_cancel(&m.barrier);
	assert_int_equal(barrier_wait(&m.barrier, NULL), -ECANCELED);
}

/* Cancel at any moment: every thread leaves, and all agree on the last complete round. */
TEST(test_cancel_any_time)
{
	static struct meeting m;
	pthread_t threads[THREADS];
	struct visitor v[THREADS];

	for (unsigned trial = 0; trial < 200; trial++) {
		unsigned completed[THREADS] = { 0 };

		memset(&m, 0, sizeof(m));
		barrier_init(&m.barrier, THREADS);
		start(threads, v, &m, THREADS, ROUNDS);
		usleep(trial * 5);
		barrier_cancel(&m.barrier);
		join(threads, THREADS);

		for (unsigned i = 0; i < THREADS; i++) {
			while (completed[i] < ROUNDS && m.times[i][completed[i]])
				completed[i]++;
			assert_int_equal(completed[i], completed[0]);
			assert_int_equal(v[i].ret, completed[i] == ROUNDS ? 0 : -ECANCELED);
		}
		assert_int_equal(atomic_load(&m.early), 0);
	}
}

RUN_TESTS(NULL, NULL)
