/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hold points: src/base/log.c.
 */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "xdd/base/log.h"

#define LIMIT_MS 60000

static struct sockaddr_un address = { .sun_family = AF_UNIX };

static int start(const char *points)
{
	char value[256];

	snprintf(value, sizeof(value), "%s@%s", points, address.sun_path);
	setenv("XDD_TEST_HOLD", value, 1);
	hold_points = 0;
	return hold_start();
}

TEST(test_none)
{
	unsetenv("XDD_TEST_HOLD");
	assert_int_equal(hold_start(), 0);
	for (int i = 0; i < HOLD_POINTS; i++)
		assert_false(hold_wants((enum hold_point)i));
	hold(HOLD_SIGNALS_READY);
}

TEST(test_refused)
{
	static const char *const wrong[] = {
		"no such point",
		"operation:",
		"operation:x",
		"operation:1x",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(start(wrong[i]), -EINVAL);
	/* The name of a socket has an end. */
	for (size_t length = sizeof(address.sun_path) - 1; length <= sizeof(address.sun_path);
	     length++) {
		char value[256] = "signals ready@";

		memset(value + strlen(value), 'x', length);
		setenv("XDD_TEST_HOLD", value, 1);
		assert_int_equal(hold_start(), length < sizeof(address.sun_path) ? 0 : -EINVAL);
		hold_points = 0;
	}
	setenv("XDD_TEST_HOLD", "signals ready", 1);
	assert_int_equal(hold_start(), -EINVAL);
}

static int listen_there(void)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* A connection whose line is `expected`. */
static int accept_line(int listener, const char *expected)
{
	char line[80] = { 0 }, whole[100];
	struct pollfd look = { .fd = listener, .events = POLLIN };
	int fd;

	assert_int_equal(poll(&look, 1, LIMIT_MS), 1);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_true(recv(fd, line, sizeof(line) - 1, 0) > 0);
	snprintf(whole, sizeof(whole), "%s\t%d\n", expected, getpid());
	assert_string_equal(line, whole);
	return fd;
}

/* The reads of threads that wait; the next one is interrupted. */
static atomic_uint reads;
static atomic_bool interrupts;

ssize_t read(int fd, void *buf, size_t size)
{
	atomic_fetch_add(&reads, 1);
	if (!atomic_exchange(&interrupts, false))
		return recv(fd, buf, size, 0);
	errno = EINTR;
	return -1;
}

static atomic_int passed;

static void *pass_points(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++) {
		hold(HOLD_BLOCK_SENT);
		hold_operation((uint64_t)i);
		atomic_store(&passed, i + 1);
	}
	return NULL;
}

TEST(test_held)
{
	const int listener = listen_there();
	pthread_t thread;
	int fd;

	assert_int_equal(start("block sent:2,operation:3"), 0);
	assert_false(hold_wants(HOLD_SIGNALS_READY));
	atomic_store(&interrupts, true);
	assert_int_equal(pthread_create(&thread, NULL, pass_points, NULL), 0);
	fd = accept_line(listener, "block sent\t2");
	assert_int_equal(atomic_load(&passed), 1);
	/* Neither a signal nor bytes of the test end the wait. */
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	close(fd);
	fd = accept_line(listener, "operation\t3");
	assert_int_equal(atomic_load(&passed), 3);
	close(fd);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&passed), 5);
	assert_int_equal(atomic_load(&reads), 3 + 1);
	close(listener);
	unlink(address.sun_path);
}

static void *pass_each(void *arg)
{
	(void)arg;
	hold(HOLD_AFTER_RENAME);
	hold(HOLD_AFTER_RENAME);
	return NULL;
}

TEST(test_each_time)
{
	const int listener = listen_there();
	pthread_t thread;

	assert_int_equal(start("after rename"), 0);
	assert_int_equal(pthread_create(&thread, NULL, pass_each, NULL), 0);
	close(accept_line(listener, "after rename\t1"));
	close(accept_line(listener, "after rename\t2"));
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* After the test has ended, no thread waits. */
	close(listener);
	hold(HOLD_AFTER_RENAME);
	unlink(address.sun_path);
	hold(HOLD_AFTER_RENAME);
}

int main(void)
{
	char directory[] = "/tmp/xddtest.hold.XXXXXX";
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
