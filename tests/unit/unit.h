/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmocka.h, after the headers that it requires, and tests that register themselves:
 *
 *	TEST(test_name)
 *	{
 *		assert_int_equal(1, 1);
 *	}
 *
 *	RUN_TESTS(NULL, NULL)
 *
 * They run in the order of the file. Their parameter is `state`, which most of them do not use.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* cmocka passes over the places that are empty. */
__attribute__((unused)) static struct CMUnitTest tests[64];

#define TEST_(name_, setup_, teardown_, number)                                                \
	static void name_(void **state);                                                       \
	_Static_assert((number) < sizeof(tests) / sizeof(tests[0]), "too many tests");         \
	__attribute__((constructor)) static void add_##name_(void)                             \
	{                                                                                      \
		tests[number] = (struct CMUnitTest){ #name_, name_, setup_, teardown_, NULL }; \
	}                                                                                      \
	static void name_(void **state)

#define TEST(name) TEST_SETUP_TEARDOWN(name, NULL, NULL)
#define TEST_SETUP(name, setup) TEST_SETUP_TEARDOWN(name, setup, NULL)
#define TEST_TEARDOWN(name, teardown) TEST_SETUP_TEARDOWN(name, NULL, teardown)
#define TEST_SETUP_TEARDOWN(name, setup, teardown) TEST_(name, setup, teardown, __COUNTER__)

/*
 * A thread that unlocks what it has not locked, or destroys what is locked, ends the program. The
 * linker takes one of all objects that include this header. The thread sanitizer looks itself.
 */
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
static inline void lock_misused(const char *problem)
{
	fprintf(stderr, "# %s\n", problem);
	_exit(1);
}

__attribute__((weak)) int pthread_mutex_unlock(pthread_mutex_t *m)
{
	static int (*next)(pthread_mutex_t *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (m->__data.__owner != gettid())
		lock_misused("a thread unlocks a mutex that it has not locked");
	return next(m);
}

__attribute__((weak)) int pthread_mutex_destroy(pthread_mutex_t *m)
{
	static int (*next)(pthread_mutex_t *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_destroy");
	if (m->__data.__owner)
		lock_misused("a mutex is destroyed while it is locked");
	return next(m);
}
#endif

/* Descriptors that a program keeps to its end, such as the one of its log. */
__attribute__((unused)) static unsigned keeps_open;

/* Those that are open. */
static inline unsigned open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static inline int run_and_count(int (*run)(void))
{
	const unsigned before = open_descriptors();
	int failed = run();
	const unsigned after = open_descriptors();

	if (after <= before + keeps_open)
		return failed;
	printf("# the tests leave %u descriptors open\n", after - before);
	return failed + 1;
}

/*
 * The end of a program: all tests, between two functions that may be NULL. Without `available`,
 * which sets `reason`, none. They must close what they open. run-test ends a program that hangs.
 */
#define RUN_TESTS(setup, teardown) RUN_TESTS_IF(true, setup, teardown)
#define RUN_TESTS_IF(available, setup, teardown)                       \
	static int run_all(void)                                       \
	{                                                              \
		return cmocka_run_group_tests(tests, setup, teardown); \
	}                                                              \
                                                                       \
	int main(void)                                                 \
	{                                                              \
		const char *reason = "";                               \
                                                                       \
		if (!(available)) {                                    \
			printf("1..0 # SKIP %s\n", reason);            \
			return 0;                                      \
		}                                                      \
		return run_and_count(run_all);                         \
	}

/* For RUN_TESTS() of what writes to sockets: as in the program. */
static inline int ignore_sigpipe(void **state)
{
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR;
}

#endif
