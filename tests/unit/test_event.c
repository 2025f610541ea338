/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: src/sync/wait.c. A wake-up that is lost ends the test, badly: it is stopped from
 * outside.
 */
#include "unit.h"

#include <pthread.h>
#include <unistd.h>

#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define STEPS 20000
#define WAITERS 4

struct game {
	struct event to_follower, to_leader;
	_Atomic uint64_t lead, follow;
};

static void wait_for(struct event *e, _Atomic uint64_t *what, uint64_t value)
{
	while (atomic_load(what) < value) {
		uint32_t key = event_listen(e);

		if (atomic_load(what) >= value)
			event_leave(e);
		else
			event_wait(e, key, UINT64_MAX);
	}
}

static void *follow(void *arg)
{
	struct game *g = arg;

	for (uint64_t i = 1; i <= STEPS; i++) {
		wait_for(&g->to_follower, &g->lead, i);
		atomic_fetch_add(&g->follow, 1);
		event_signal(&g->to_leader);
	}
	return NULL;
}

/* In turn, one step each, and no thread waits for ever. */
TEST(test_turns)
{
	static struct game g;
	pthread_t thread;

	event_init(&g.to_follower);
	event_init(&g.to_leader);
	assert_int_equal(pthread_create(&thread, NULL, follow, &g), 0);
	for (uint64_t i = 1; i <= STEPS; i++) {
		atomic_fetch_add(&g.lead, 1);
		event_signal(&g.to_follower);
		wait_for(&g.to_leader, &g.follow, i);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&g.to_follower.listeners), 0);
	assert_int_equal(atomic_load(&g.to_leader.listeners), 0);
}

static void *wait_for_lead(void *arg)
{
	struct game *g = arg;

	wait_for(&g->to_follower, &g->lead, STEPS);
	return NULL;
}

/* All that wait are woken. */
TEST(test_all)
{
	static struct game g;
	pthread_t threads[WAITERS];

	event_init(&g.to_follower);
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_lead, &g), 0);
	for (uint64_t i = 1; i <= STEPS; i++) {
		atomic_fetch_add(&g.lead, 1);
		event_signal(&g.to_follower);
	}
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

TEST(test_time)
{
	struct event e;
	uint64_t until = clock_now_ns() + 20000000;

	event_init(&e);
	event_wait(&e, event_listen(&e), until);
	assert_true(clock_now_ns() >= until);
	assert_int_equal(atomic_load(&e.listeners), 0);
	event_wait(&e, event_listen(&e), 0);
}

/*
 * A signal between listening and waiting counts; one before it does not; without a listener nothing
 * changes.
 */
TEST(test_signal_before_wait)
{
	struct event e;
	uint32_t key;

	event_init(&e);
	event_signal(&e);
	assert_int_equal(atomic_load(&e.count), 0);
	key = event_listen(&e);
	event_signal(&e);
	event_wait(&e, key, UINT64_MAX);
	key = event_listen(&e);
	event_wake(&e);
	event_wait(&e, key, UINT64_MAX);
	assert_int_equal(atomic_load(&e.listeners), 0);
}

RUN_TESTS(NULL, NULL)
