/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of many threads in one mapping: who has one, and the pages between them.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#include "xdd/sync/thread.h"

#define THREADS 5

/* The size of the stack of the latest thread. */
static size_t stack_bytes;

/* Use much of the stack, and store in `*arg` where it is. */
static void *where(void *arg)
{
	volatile char used[64 * 1024];
	pthread_attr_t attr;

	memset((char *)used, 1, sizeof(used));
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstacksize(&attr, &stack_bytes);
		pthread_attr_destroy(&attr);
	}
	*(uintptr_t *)arg = (uintptr_t)used;
	return NULL;
}

/* The number of the stack that `at` is in, or -1. */
static int stack_of(const struct thread_stacks *s, uintptr_t at)
{
	const uintptr_t map = (uintptr_t)s->map;

	return at >= map && at < map + s->n * s->each ? (int)((at - map) / s->each) : -1;
}

/* Start a thread; the number of its stack. */
static int run_thread(struct thread_stacks *s)
{
	pthread_t thread;
	uintptr_t at = 0;

	assert_int_equal(thread_start_on(s, &thread, where, &at), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(at);
	return stack_of(s, at);
}

TEST(test_in_turn)
{
	struct thread_stacks s;

	thread_stacks_open(&s, THREADS);
	/* The sanitizers need larger stacks than these. */
	if (!s.map)
		skip();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(run_thread(&s), i);
	/* More threads than stacks: a thread gets its own, of the same size. */
	assert_int_equal(run_thread(&s), -1);
	assert_int_equal(stack_bytes, s.each - s.guard);
	thread_stacks_close(&s);
	assert_null(s.map);
	thread_stacks_close(&s);
}

/* A stack that overflows meets a page that cannot be accessed. */
TEST(test_guards)
{
	struct thread_stacks s;
	int ends[2];

	thread_stacks_open(&s, THREADS);
	if (!s.map)
		skip();
	for (int i = 0; i < THREADS; i++)
		run_thread(&s);
	assert_int_equal(pipe(ends), 0);
	for (size_t i = 0; i < THREADS; i++) {
		const char *stack = s.map + i * s.each + s.guard;

		assert_int_equal(write(ends[1], stack, 1), 1);
		assert_int_equal(write(ends[1], stack - 1, 1), -1);
		assert_int_equal(errno, EFAULT);
	}
	close(ends[0]);
	close(ends[1]);
	thread_stacks_close(&s);
}

/* Where there is no room for all of them, each thread has its own. */
TEST(test_no_room)
{
	struct thread_stacks s;

	thread_stacks_open(&s, SIZE_MAX);
	assert_null(s.map);
	thread_stacks_open(&s, (size_t)1 << 40);
	assert_null(s.map);
	assert_int_equal(run_thread(&s), -1);
	thread_stacks_close(&s);
}

RUN_TESTS(NULL, NULL)
