/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of a connection when the kernel or TLS takes a part of the bytes, is interrupted, fails
 * or is late, and its facts: src/net/connection.c, with calls that the test answers.
 * test_connection.c and test_tls.c have real connections.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/* Results of calls: a number of bytes, -errno, or one of these. */
#define ABORT 1000   /* -EIO, in a connection that another thread has just aborted */
#define READABLE 100 /* of ppoll(2): the first descriptor, or its events */
#define WOKEN 101    /* the second one */
#define OVER 0	     /* the time limit */

#define MOST 8

static struct {
	int results[MOST];
	size_t done;
	char bytes[64]; /* that were sent */
	size_t n;
	char next; /* to be received */
	int flags; /* of the last call */
	size_t size, parts;
	uint64_t now_ns, wait_ns[MOST]; /* UINT64_MAX: without limit */
	size_t waits;
	short events, tls_events; /* of the wait, and those that TLS wants */
	bool pending;
	struct tcp_info info;
	bool no_info, no_value, no_name;
	int buffers[2];
	char line[256];
} play;

static struct connection own;

static void begin(bool tls, const int results[MOST])
{
	memset(&play, 0, sizeof(play));
	memset(&own, 0, sizeof(own));
	if (results)
		memcpy(play.results, results, sizeof(play.results));
	play.next = 'a';
	play.tls_events = POLLIN;
	own.fd = 7;
	own.timeout_ns = 20 * NS_PER_SEC + 5;
	own.tls = tls ? (struct tls *)&play : NULL;
}

static int next_result(void)
{
	int r;

	assert_true(play.done < MOST);
	r = play.results[play.done++];
	if (r == ABORT)
		atomic_store(&own.aborted, true);
	errno = r == ABORT ? EIO : r < 0 ? -r : 0;
	return r == ABORT ? -EIO : r;
}

static void take(const char *bytes, size_t n)
{
	assert_true(play.n + n <= sizeof(play.bytes));
	if (n)
		memcpy(play.bytes + play.n, bytes, n);
	play.n += n;
}

static ssize_t give(char *to, size_t size, int n)
{
	assert_true(n <= (int)size);
	for (int i = 0; i < n; i++)
		to[i] = play.next++;
	return n < 0 ? -1 : n;
}

static ssize_t fake_sendmsg(int fd, const struct msghdr *m, int flags)
{
	int left = next_result(), all = left;

	play.parts = m->msg_iovlen;
	assert_int_equal(fd, 7);
	play.flags = flags;
	for (size_t i = 0; left > 0; i++) {
		const size_t n = m->msg_iov[i].iov_len;

		assert_true(i < m->msg_iovlen);
		take(m->msg_iov[i].iov_base, n < (size_t)left ? n : (size_t)left);
		left -= n < (size_t)left ? (int)n : left;
	}
	return all < 0 ? -1 : all;
}

static ssize_t fake_send(int fd, const void *buf, size_t size, int flags)
{
	int n = next_result();

	assert_int_equal(fd, 7);
	play.flags = flags;
	play.size = size;
	if (n > 0)
		take(buf, (size_t)n);
	return n < 0 ? -1 : n;
}

static ssize_t fake_recv(int fd, void *buf, size_t size, int flags)
{
	assert_int_equal(fd, 7);
	play.flags = flags;
	play.size = size;
	return give(buf, size, next_result());
}

/* As tls_read(), which returns -errno. */
static ssize_t fake_tls_read(struct tls *t, void *buf, size_t size, short *events)
{
	int n = next_result();

	assert_ptr_equal(t, &play);
	*events = play.tls_events;
	play.size = size;
	return n < 0 ? n : give(buf, size, n);
}

static ssize_t fake_tls_write(struct tls *t, const void *buf, size_t size, short *events)
{
	int n = next_result();

	assert_ptr_equal(t, &play);
	*events = play.tls_events;
	play.size = size;
	if (n > 0)
		take(buf, (size_t)n);
	return n;
}

static bool fake_tls_pending(struct tls *t)
{
	assert_ptr_equal(t, &play);
	return play.pending;
}

static int fake_ppoll(struct pollfd *p, nfds_t n, const struct timespec *limit,
		      const sigset_t *mask)
{
	int r;

	assert_null(mask);
	assert_int_equal(p[0].fd, 7);
	assert_true(play.waits < MOST);
	play.wait_ns[play.waits++] =
		limit ? (uint64_t)limit->tv_sec * NS_PER_SEC + (uint64_t)limit->tv_nsec :
			UINT64_MAX;
	play.events = p[0].events;
	if (n == 2) {
		assert_int_equal(p[1].fd, 9);
		assert_int_equal(p[1].events, POLLIN);
	}
	r = next_result();
	/* A signal comes after a second. */
	if (r == -EINTR)
		play.now_ns += NS_PER_SEC;
	p[0].revents = r == READABLE ? p[0].events : 0;
	if (r == WOKEN)
		p[1].revents = POLLIN;
	return r == READABLE || r == WOKEN ? 1 : r < 0 ? -1 : 0;
}

static uint64_t fake_now_ns(void)
{
	return play.now_ns;
}

static int fake_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	if (fd != 7)
		return getsockopt(fd, level, name, value, size);
	if (level == IPPROTO_TCP && name == TCP_INFO && !play.no_info)
		memcpy(value, &play.info, *size);
	else if (level == IPPROTO_TCP && name == TCP_CONGESTION && !play.no_name)
		memset(value, 'c', *size);
	else if (level == SOL_SOCKET && !play.no_value)
		memcpy(value, &play.buffers[name == SO_RCVBUF], sizeof(int));
	else
		return -1;
	return 0;
}

static void fake_debug_print(enum debug_kind kind, const char *fmt, ...)
{
	va_list ap;

	assert_int_equal(kind, DEBUG_E2E);
	va_start(ap, fmt);
	vsnprintf(play.line, sizeof(play.line), fmt, ap);
	va_end(ap);
}

static const char *fake_tls_cipher(const struct tls *t)
{
	return t ? "TLS_TEST" : "";
}

static bool fake_tls_kernel(const struct tls *t)
{
	return t != NULL;
}

#define sendmsg fake_sendmsg
#define send fake_send
#define recv fake_recv
#define ppoll fake_ppoll
#define getsockopt fake_getsockopt
#define clock_now_ns fake_now_ns
#define debug_print fake_debug_print
#define tls_read fake_tls_read
#define tls_write fake_tls_write
#define tls_pending fake_tls_pending
#define tls_cipher fake_tls_cipher
#define tls_kernel fake_tls_kernel
#include "../../src/net/connection.c"
#undef getsockopt

/* ---- sending and receiving ---- */

enum call {
	SEND,	 /* "abc", nothing, and "defg" */
	RECEIVE, /* 7 bytes */
	FIRST,	 /* 7 bytes, of which all may be late */
};

static int do_call(enum call call, char got[8])
{
	char a[] = "abc", b[] = "defg";
	struct iovec iov[] = { { a, 3 }, { NULL, 0 }, { b, 4 } };

	memset(got, 0, 8);
	if (call == SEND) {
		int err = connection_send(&own, iov, 3);

		memcpy(got, play.bytes, 7);
		return err;
	}
	return call == RECEIVE ? connection_receive(&own, got, 7) :
				 connection_receive_first(&own, got, 7);
}

/* All of it moves, in whatever parts, or the error says why not. */
TEST(test_parts)
{
	static const struct {
		enum call call;
		bool tls;
		int results[MOST];
		int err;
		const char *moved; /* NULL: all */
		size_t waits;
	} cases[] = {
		{ SEND, false, { 7 }, 0, NULL, 0 },
		{ SEND, false, { 3, 4 }, 0, NULL, 0 },
		{ SEND, false, { 1, -EINTR, 3, 0, 3 }, 0, NULL, 0 },
		{ SEND, false, { 2, -EPIPE }, -ECONNRESET, "ab", 0 },
		{ SEND, false, { 4, -ECONNRESET }, -ECONNRESET, "abcd", 0 },
		{ SEND, false, { 4, -EAGAIN }, -ETIMEDOUT, "abcd", 0 },
		{ SEND, false, { -EHOSTUNREACH }, -EHOSTUNREACH, "", 0 },
		{ SEND, false, { 2, ABORT }, -ECONNABORTED, "ab", 0 },
		{ RECEIVE, false, { 7 }, 0, NULL, 0 },
		{ RECEIVE, false, { 3, -EINTR, 4 }, 0, NULL, 0 },
		{ RECEIVE, false, { 3, 0 }, -ECONNRESET, "abc", 0 },
		{ RECEIVE, false, { 6, -EAGAIN }, -ETIMEDOUT, "abcdef", 0 },
		{ RECEIVE, false, { -EAGAIN }, -ETIMEDOUT, "", 0 },
		{ RECEIVE, false, { -EHOSTUNREACH }, -EHOSTUNREACH, "", 0 },
		{ RECEIVE, false, { 2, ABORT }, -ECONNABORTED, "ab", 0 },
		{ FIRST, false, { 7 }, 0, NULL, 0 },
		{ FIRST, false, { -EINTR, 1, 6 }, 0, NULL, 0 },
		{ FIRST, false, { -EAGAIN }, -EAGAIN, "", 0 },
		{ FIRST, false, { 1, -EAGAIN }, -ETIMEDOUT, "a", 0 },
		{ FIRST, false, { 0 }, -ECONNRESET, "", 0 },
		{ FIRST, false, { -EHOSTUNREACH }, -EHOSTUNREACH, "", 0 },
		{ FIRST, false, { ABORT }, -ECONNABORTED, "", 0 },
		{ SEND, true, { 3, 4 }, 0, NULL, 0 },
		{ SEND, true, { 2, -EAGAIN, READABLE, 1, -EAGAIN, -EINTR, READABLE, 4 }, 0, NULL, 3 },
		{ SEND, true, { 2, -EAGAIN, OVER }, -ETIMEDOUT, "ab", 1 },
		{ SEND, true, { 2, -EAGAIN, -ENOMEM }, -ENOMEM, "ab", 1 },
		{ SEND, true, { 2, -EAGAIN, ABORT }, -ECONNABORTED, "ab", 1 },
		{ SEND, true, { 3, -ECONNRESET }, -ECONNRESET, "abc", 0 },
		{ SEND, true, { 3, 2, ABORT }, -ECONNABORTED, "abcde", 0 },
		{ RECEIVE, true, { 3, -EAGAIN, READABLE, 4 }, 0, NULL, 1 },
		{ RECEIVE, true, { 3, -EAGAIN, OVER }, -ETIMEDOUT, "abc", 1 },
		{ RECEIVE, true, { 3, -EAGAIN, ABORT }, -ECONNABORTED, "abc", 1 },
		{ RECEIVE, true, { -EBADMSG }, -EBADMSG, "", 0 },
		{ FIRST, true, { -EAGAIN, OVER }, -EAGAIN, "", 1 },
		{ FIRST, true, { 4, -EAGAIN, OVER }, -ETIMEDOUT, "abcd", 1 },
		{ FIRST, true, { -EAGAIN, ABORT }, -ECONNABORTED, "", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char got[8];

		printf("# case %zu\n", i);
		begin(cases[i].tls, cases[i].results);
		play.tls_events = i % 2 ? POLLIN : POLLOUT;
		assert_int_equal(do_call(cases[i].call, got), cases[i].err);
		assert_string_equal(got, cases[i].moved ? cases[i].moved : "abcdefg");
		assert_int_equal(play.waits, cases[i].waits);
		/* Each wait has all of the time limit, and waits for what TLS wants. */
		for (size_t k = 0; k < play.waits; k++)
			assert_int_equal(play.wait_ns[k], own.timeout_ns);
		if (play.waits)
			assert_int_equal(play.events, play.tls_events);
		if (!cases[i].tls)
			assert_int_equal(play.flags,
					 cases[i].call == SEND ? MSG_NOSIGNAL : MSG_WAITALL);
	}
}

/* Nothing to send or to receive takes no call. */
TEST(test_nothing)
{
	struct iovec iov[] = { { NULL, 0 }, { NULL, 0 } };
	char got;

	for (int tls = 0; tls < 2; tls++) {
		begin(tls, NULL);
		assert_int_equal(connection_send(&own, iov, 2), 0);
		assert_int_equal(connection_send(&own, iov, 0), 0);
		assert_int_equal(connection_receive(&own, &got, 0), 0);
		assert_int_equal(play.done, 0);
	}
}

TEST(test_advance)
{
	static const struct {
		size_t done;
		int n;
		char first;
		size_t length;
	} cases[] = {
		{ 0, 3, 'a', 3 }, { 2, 3, 'c', 1 }, { 3, 1, 'd', 4 },
		{ 6, 1, 'g', 1 }, { 7, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char a[] = "abc", b[] = "defg";
		struct iovec iov[] = { { a, 3 }, { NULL, 0 }, { b, 4 } }, *at = iov;

		assert_int_equal(connection_advance(&at, 3, cases[i].done), cases[i].n);
		if (!cases[i].n)
			continue;
		assert_int_equal(*(char *)at->iov_base, cases[i].first);
		assert_int_equal(at->iov_len, cases[i].length);
	}
}

/* One attempt, with the events to wait for. */
TEST(test_tries)
{
	static const struct {
		int results[MOST];
		ssize_t received, sent;
	} cases[] = {
		{ { 3 }, 3, 3 },
		{ { -EINTR, -EINTR, 4 }, 4, 4 },
		{ { 0 }, -ECONNRESET, 0 },
		{ { -EAGAIN }, -EAGAIN, -EAGAIN },
		{ { -EPIPE }, -EPIPE, -EPIPE },
	};

	for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
		const bool send = i % 2, tls = i / 2 % 2;
		char buf[7] = "abcdefg";
		short events = 0;
		ssize_t n, expected = send ? cases[i / 4].sent : cases[i / 4].received;

		begin(tls, cases[i / 4].results);
		play.tls_events = POLLPRI;
		n = send ? connection_try_send(&own, buf, 7, &events) :
			   connection_try_receive(&own, buf, 7, &events);
		assert_int_equal(play.size, 7);
		assert_int_equal(events, tls ? POLLPRI : send ? POLLOUT : POLLIN);
		if (tls) {
			assert_int_equal(n, cases[i / 4].results[0]);
			continue;
		}
		assert_int_equal(n, expected);
		assert_int_equal(play.flags, send ? MSG_DONTWAIT | MSG_NOSIGNAL : MSG_DONTWAIT);
	}
}

/* ---- waiting ---- */

TEST(test_wait)
{
	static const struct {
		int results[MOST];
		uint64_t timeout_ns;
		int result;
		uint64_t wait_ns[3];
	} cases[] = {
		{ { READABLE }, 5 * NS_PER_SEC, 1, { 5 * NS_PER_SEC } },
		{ { WOKEN }, 5 * NS_PER_SEC, 0, { 5 * NS_PER_SEC } },
		{ { OVER }, 5 * NS_PER_SEC, 0, { 5 * NS_PER_SEC } },
		{ { OVER }, 0, 0, { 0 } },
		{ { READABLE }, UINT64_MAX, 1, { UINT64_MAX } },
		{ { -EINTR, READABLE }, UINT64_MAX, 1, { UINT64_MAX, UINT64_MAX } },
		/* A signal leaves the rest of the time. */
		{ { -EINTR, -EINTR, OVER }, 2 * NS_PER_SEC, 0, { 2 * NS_PER_SEC, NS_PER_SEC, 0 } },
		{ { -EINTR, OVER }, NS_PER_SEC / 2, 0, { NS_PER_SEC / 2, 0 } },
		{ { -ENOMEM }, 1, -ENOMEM, { 1 } },
		{ { ABORT }, 1, -ECONNABORTED, { 1 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(i % 2, cases[i].results);
		assert_int_equal(connection_wait(&own, 9, cases[i].timeout_ns), cases[i].result);
		assert_int_equal(play.events, POLLIN);
		for (size_t k = 0; k < play.waits; k++)
			assert_int_equal(play.wait_ns[k], cases[i].wait_ns[k]);
	}
	/* Bytes that TLS has read are there; an abort counts more. */
	begin(true, (int[MOST]){ ABORT });
	play.pending = true;
	assert_int_equal(connection_wait(&own, 9, 1), 1);
	assert_int_equal(play.waits, 0);
	atomic_store(&own.aborted, true);
	assert_int_equal(connection_wait(&own, 9, 1), -ECONNABORTED);
}

/* ---- messages ---- */

/* The line of -debug e2e. */
TEST(test_debug)
{
	const struct wire_header headers[] = {
		{ .type = WIRE_DATA,
		  .target = 1,
		  .connection = 2,
		  .pass = 3,
		  .sequence = 4,
		  .offset = 5,
		  .length = 6 },
		{ .type = WIRE_BYE, .connection = WIRE_NO_CONNECTION },
	};
	static const char *const lines[] = {
		"DATA to there: target 1, connection 2, pass 3, sequence 4, offset 5, 6 bytes",
		"BYE to there: target 0, connection control, pass 0, sequence 0, offset 0, 0 bytes",
	};

	for (int on = 0; on < 2; on++) {
		atomic_store(&debug_kinds, on ? DEBUG_E2E : 0);
		for (size_t i = 0; i < 2; i++) {
			begin(false, (int[MOST]){ -EPIPE });
			snprintf(own.peer, sizeof(own.peer), "there");
			assert_int_equal(connection_send_message(&own, &headers[i], NULL, "abcdef"),
					 -ECONNRESET);
			assert_string_equal(play.line, on ? lines[i] : "");
			/* The header, and a body that is not empty. */
			assert_int_equal(play.parts, headers[i].length ? 2 : 1);
		}
	}
	atomic_store(&debug_kinds, 0);
}

/* ---- facts ---- */

TEST(test_info)
{
	struct connection_info info;

	begin(false, NULL);
	snprintf(own.local, sizeof(own.local), "here");
	snprintf(own.peer, sizeof(own.peer), "there");
	play.buffers[0] = 2000;
	play.buffers[1] = 4001;
	play.info = (struct tcp_info){ .tcpi_rtt = 1,
				       .tcpi_min_rtt = 2,
				       .tcpi_rttvar = 3,
				       .tcpi_snd_cwnd = 4,
				       .tcpi_snd_mss = 5,
				       .tcpi_total_retrans = 6,
				       .tcpi_busy_time = 17,
				       .tcpi_rwnd_limited = 10,
				       .tcpi_bytes_sent = 108,
				       .tcpi_bytes_retrans = 100,
				       .tcpi_bytes_received = 9 };
	memset(&info, 0xee, sizeof(info));
	connection_info(&own, &info);
	assert_string_equal(info.local, "here");
	assert_string_equal(info.peer, "there");
	assert_string_equal(info.congestion, "ccccccccccccccc");
	assert_string_equal(info.cipher, "");
	assert_false(info.kernel_tls);
	assert_int_equal(info.send_buffer_bytes, 1000);
	assert_int_equal(info.receive_buffer_bytes, 2000);
	assert_int_equal(info.rtt_ns, 1000);
	assert_int_equal(info.rtt_min_ns, 2000);
	assert_int_equal(info.rtt_variance_ns, 3000);
	assert_int_equal(info.window_segments, 4);
	assert_int_equal(info.segment_bytes, 5);
	assert_int_equal(info.retransmits, 6);
	assert_int_equal(info.transit_ns, 7000);
	assert_int_equal(info.sent_bytes, 8);
	assert_int_equal(info.received_bytes, 9);

	/* A figure that was never measured, and a peer that never had room. */
	play.info.tcpi_min_rtt = UINT32_MAX;
	play.info.tcpi_rwnd_limited = 17;
	own.tls = (struct tls *)&play;
	connection_info(&own, &info);
	assert_int_equal(info.rtt_min_ns, 0);
	assert_int_equal(info.transit_ns, 0);
	assert_string_equal(info.cipher, "TLS_TEST");
	assert_true(info.kernel_tls);
	play.info.tcpi_rwnd_limited = 18;
	play.info.tcpi_min_rtt--;
	connection_info(&own, &info);
	assert_int_equal(info.transit_ns, 0);
	assert_int_equal(info.rtt_min_ns, (UINT32_MAX - 1) * NS_PER_US);

	/* Without a fact: zero. */
	play.no_info = play.no_name = play.no_value = true;
	memset(&info, 0xee, sizeof(info));
	connection_info(&own, &info);
	assert_string_equal(info.congestion, "");
	assert_int_equal(info.send_buffer_bytes, 0);
	assert_int_equal(info.receive_buffer_bytes, 0);
	assert_int_equal(info.rtt_ns, 0);
	assert_int_equal(info.sent_bytes, 0);
}

/* The kernel keeps the time limit of a socket in microseconds; zero would be no limit. */
TEST(test_time_limits)
{
	static const struct {
		uint64_t timeout_ns;
		time_t s;
		suseconds_t us;
	} cases[] = {
		{ 0, 0, 1 },	      { 999, 0, 1 },
		{ 1000, 0, 1 },	      { 3 * NS_PER_US, 0, 3 },
		{ NS_PER_SEC, 1, 0 }, { 2 * NS_PER_SEC + 3 * NS_PER_MS, 2, 3000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct connection_options o = { .timeout_ns = cases[i].timeout_ns };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct connection *n = connection_new(fd, &o);
		static const int names[] = { SO_SNDTIMEO, SO_RCVTIMEO };

		assert_non_null(n);
		assert_int_equal(n->timeout_ns, cases[i].timeout_ns);
		assert_string_equal(n->local, "0.0.0.0:0");
		assert_string_equal(n->peer, "");
		for (size_t k = 0; k < 2; k++) {
			struct timeval tv;
			socklen_t size = sizeof(tv);

			assert_int_equal(getsockopt(fd, SOL_SOCKET, names[k], &tv, &size), 0);
			/* The kernel rounds up to its ticks. */
			assert_int_equal(tv.tv_sec, cases[i].s);
			assert_true(tv.tv_usec >= cases[i].us);
			assert_true(tv.tv_usec < cases[i].us + 10001);
			assert_true(tv.tv_sec || tv.tv_usec);
			assert_true(cases[i].us || !tv.tv_usec);
		}
		connection_close(n);
	}
}

/* With TLS a socket never blocks. */
TEST(test_blocking)
{
	struct connection *n =
		connection_new(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
			       &(const struct connection_options){ 0 });

	assert_non_null(n);
	for (int i = 0; i < 8; i++) {
		const bool blocking = i % 2;

		n->tls = i / 4 ? (struct tls *)&play : NULL;
		assert_int_equal(connection_set_blocking(n, blocking), 0);
		assert_int_equal(fcntl(n->fd, F_GETFL),
				 O_RDWR | (blocking && !n->tls ? 0 : O_NONBLOCK));
	}
	n->tls = NULL;
	assert_int_equal(connection_export_key(n, "label", NULL), -ENOTSUP);
	connection_close(n);
	connection_close(NULL);
	begin(false, NULL);
	own.fd = -1;
	assert_int_equal(connection_set_blocking(&own, true), -EBADF);
}

RUN_TESTS(NULL, NULL)
