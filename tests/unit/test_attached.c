/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread of -attached: src/run/progress/signals.c, with a clock, a poll and signals that are
 * made here. func/attached.py has runs.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "run/coord/pace.h"
#include "run/progress/heartbeat.h"
#include "run/progress/ranks.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/run/run.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define SECOND_NS 1000000000ull
#define QUIT_FD 77

/* ---- what is called ---- */

static uint64_t time_ns;

/* A line that begins with the time, in seconds. */
__attribute__((format(printf, 1, 2))) static void say_at(const char *fmt, ...)
{
	va_list args;

	say("%.3f ", (double)time_ns / SECOND_NS);
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
}

static struct {
	uint64_t event_ns, quit_ns; /* something comes on the descriptor; the run is over */
	short event;
	ssize_t reads[4]; /* of standard input: bytes, or -errno */
	unsigned n_reads;
	int eventfd_err, thread_err;
	unsigned closed;
} fake;

static uint64_t fake_now(void)
{
	return time_ns;
}

static int fake_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	const uint64_t until = time_ns + (uint64_t)(timeout_ms ? timeout_ms : 1) * 1000000;
	const bool watched = fds[1].fd >= 0 && fake.event_ns < fake.quit_ns;
	const uint64_t next = watched ? fake.event_ns : fake.quit_ns;

	assert_true(n == 2 && timeout_ms >= 0 && fds[0].fd == QUIT_FD && fds[0].events == POLLIN);
	if (next > until) {
		time_ns = until;
		return 0;
	}
	time_ns = next > time_ns ? next : time_ns;
	fds[watched].revents = watched ? fake.event : POLLIN;
	return 1;
}

static int fake_kill(pid_t pid, int sig)
{
	assert_int_equal(pid, getpid());
	say_at("signal %d", sig);
	return 0;
}

static ssize_t fake_read(int fd, void *buf, size_t size)
{
	const ssize_t n = fake.reads[fake.n_reads++];

	(void)buf;
	assert_true(fd == STDIN_FILENO && size > 0);
	if (n < 0)
		errno = (int)-n;
	return n < 0 ? -1 : n;
}

static int fake_write(int fd, const void *data, size_t size, int *err)
{
	(void)data, (void)size, (void)err;
	say_at("line to %d", fd);
	return 0;
}

static void fake_limit(uint64_t until_ns)
{
	assert_int_equal(until_ns, time_ns + SECOND_NS / 10);
}

static int fake_eventfd(unsigned count, int flags)
{
	assert_true(count == 0 && flags == EFD_CLOEXEC);
	errno = fake.eventfd_err;
	return fake.eventfd_err ? -1 : QUIT_FD;
}

static int fake_close(int fd)
{
	assert_int_equal(fd, QUIT_FD);
	fake.closed++;
	return 0;
}

static int fake_thread_start(pthread_t *id, void *(*fn)(void *), void *arg)
{
	(void)id, (void)fn, (void)arg;
	return fake.thread_err;
}

#define clock_kernel_ns fake_now
#define poll fake_poll
#define kill fake_kill
#define read fake_read
#define close fake_close
#define eventfd(count, flags) fake_eventfd(count, flags)
#define thread_start fake_thread_start
#define outwait_write fake_write
#define outwait_limit fake_limit
#undef log_notice
#define log_notice(...) say_at(__VA_ARGS__)

#include "../../src/run/progress/signals.c"

static struct signals signals;
static struct plan plan;

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&signals, 0, sizeof(signals));
	pthread_mutex_init(&signals.lock, NULL);
	said[0] = '\0';
	time_ns = 5 * SECOND_NS;
	fake.event_ns = fake.quit_ns = UINT64_MAX;
	fake.event = POLLIN;
	return 0;
}

static void watch(int fd)
{
	struct attached a = { .signals = &signals,
			      .watched = { .fd = fd, .events = fd == STDIN_FILENO ? POLLIN : 0 },
			      .quit_fd = QUIT_FD,
			      .end_ns = UINT64_MAX };

	attached_main(&a);
}

/* ---- the thread ---- */

/* A line each second, until the run is over. */
TEST_SETUP(test_lines, set_up)
{
	fake.quit_ns = 6500000000;
	watch(STDOUT_FILENO);
	assert_said("5.000 line to 2\n6.001 line to 2\n");
	fake.quit_ns = time_ns;
	watch(STDIN_FILENO);
	assert_said("6.500 line to 2\n");
}

/* The run ends when the other program is gone, and 30 s later it ends at once. */
TEST_SETUP(test_gone, set_up)
{
	char text[2000];
	size_t n;

	fake.event_ns = 5030000000;
	fake.event = POLLERR;
	fake.quit_ns = 40 * SECOND_NS;
	watch(STDOUT_FILENO);
	n = (size_t)snprintf(text, sizeof(text),
			     "5.000 line to 2\n"
			     "5.030 -attached: standard output has no reader, so the run ends\n"
			     "5.030 signal 2\n");
	for (unsigned i = 0; i < 34; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u.%03u line to 2\n", 6 + i,
				      1 + i);
		if (i == 29)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "35.030 signal 2\n");
	}
	assert_said(text);
}

/* Standard input has ended, or cannot be read; bytes mean nothing. */
TEST_SETUP(test_input, set_up)
{
	static const struct {
		ssize_t reads[4];
		unsigned n;
	} cases[] = {
		{ { 0 }, 1 },	       { { 9, 256, 0 }, 3 },  { { -EINTR, 0 }, 2 },
		{ { -EAGAIN, 0 }, 2 }, { { 5, -EIO, 0 }, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up(state);
		memcpy(fake.reads, cases[i].reads, sizeof(fake.reads));
		fake.event_ns = 5500000000;
		fake.quit_ns = 5600000000;
		watch(STDIN_FILENO);
		assert_said("5.000 line to 2\n"
			    "5.500 -attached: standard input has ended, so the run ends\n"
			    "5.500 signal 2\n");
		assert_int_equal(fake.n_reads, cases[i].n);
	}
}

/* ---- its start ---- */

TEST_SETUP(test_start, set_up)
{
	struct attached *a = (struct attached *)&fake;

	assert_int_equal(attached_start(&a, &plan, &signals), 0);
	assert_null(a);
	plan.attached = ATTACHED_INPUT;
	assert_int_equal(attached_start(&a, &plan, &signals), 0);
	assert_true(a->watched.fd == STDIN_FILENO && a->watched.events == POLLIN);
	assert_true(a->quit_fd == QUIT_FD && a->end_ns == UINT64_MAX && a->signals == &signals);
	free(a);
	plan.attached = ATTACHED_OUTPUT;
	assert_int_equal(attached_start(&a, &plan, &signals), 0);
	assert_true(a->watched.fd == STDOUT_FILENO && !a->watched.events);
	free(a);
	fake.eventfd_err = EMFILE;
	assert_int_equal(attached_start(&a, &plan, &signals), -EMFILE);
	assert_true(!a && !fake.closed);
	fake.eventfd_err = 0;
	fake.thread_err = -EAGAIN;
	assert_int_equal(attached_start(&a, &plan, &signals), -EAGAIN);
	assert_true(!a && fake.closed == 1);
	attached_end(NULL);
}

RUN_TESTS(NULL, NULL)
