/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slots of strangers: which is evicted, when the next one is late, and how many are accepted:
 * src/net/listener.c, in the thread of the test, with sockets and a clock of the test.
 * test_listener.c has strangers of all kinds.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "net/listener_internal.h"
#include "xdd/sys/clock.h"

#define SLOTS LISTENER_MAX_STRANGERS
#define MANY 100u
#define NOW_NS 7000000000ull
#define FIRST_FD 0
#define LISTENING_FD 500

static struct {
	uint64_t now_ns;
	struct connection connections[MANY];
	unsigned n_connections;
	bool no_connection, no_watch;
	unsigned comes; /* so many connections wait in the queue of the kernel */
	int accept_err; /* after them */
	int family;
	int accepted_from; /* the socket */
	unsigned closed;
	int closed_fd;
	char watched[256]; /* the calls of epoll_ctl(2) */
} play;

static struct listener rig;

static uint64_t fake_now_ns(void)
{
	return play.now_ns;
}

static struct connection *fake_new(int fd, const struct connection_options *options)
{
	struct connection *c = &play.connections[play.n_connections];

	assert_ptr_equal(options, rig.options);
	if (play.no_connection)
		return NULL;
	assert_true(play.n_connections++ < MANY);
	c->fd = fd;
	return c;
}

static void fake_close(struct connection *c)
{
	play.closed += c != NULL;
}

static int fake_close_fd(int fd)
{
	play.closed_fd = fd;
	return 0;
}

static int fake_epoll_ctl(int epoll, int how, int fd, struct epoll_event *e)
{
	const size_t n = strlen(play.watched);

	assert_int_equal(epoll, rig.epoll);
	snprintf(play.watched + n, sizeof(play.watched) - n, "%s %d %s %d, ",
		 how == EPOLL_CTL_ADD ? "add" :
		 how == EPOLL_CTL_MOD ? "mod" :
					"del",
		 fd,
		 e->events == EPOLLIN  ? "in" :
		 e->events == EPOLLOUT ? "out" :
					 "?",
		 (int)e->data.u64);
	errno = EIO;
	return play.no_watch ? -1 : 0;
}

static int fake_accept(int listening, struct sockaddr *address, socklen_t *size, int flags)
{
	assert_int_equal(flags, SOCK_CLOEXEC | SOCK_NONBLOCK);
	play.accepted_from = listening;
	if (!play.comes) {
		errno = play.accept_err;
		return -1;
	}
	play.comes--;
	address->sa_family = (sa_family_t)play.family;
	if (play.family == AF_INET6) {
		assert_true(*size >= sizeof(struct sockaddr_in6));
		inet_pton(AF_INET6, "fe80::7", &((struct sockaddr_in6 *)address)->sin6_addr);
	} else {
		inet_pton(AF_INET, "10.1.2.3", &((struct sockaddr_in *)address)->sin_addr);
	}
	return FIRST_FD + (int)play.n_connections;
}

/* A stranger that waits has nothing to read. */
static ssize_t fake_recv(int fd, void *buf, size_t size, int flags)
{
	assert_int_equal(flags & MSG_DONTWAIT, MSG_DONTWAIT);
	errno = EAGAIN;
	return -1;
}

#define clock_now_ns fake_now_ns
#define connection_new fake_new
#define connection_close fake_close
#define epoll_ctl fake_epoll_ctl
#define accept4 fake_accept
#define recv fake_recv
#define close fake_close_fd
#include "../../src/net/listener.c"
#undef close

static void begin(void)
{
	static struct listener_socket sockets[2] = { { .fd = LISTENING_FD },
						     { .fd = LISTENING_FD + 1 } };

	memset(&play, 0, sizeof(play));
	memset(&rig, 0, sizeof(rig));
	play.now_ns = NOW_NS;
	play.accept_err = EAGAIN;
	play.closed_fd = -1;
	play.family = AF_INET;
	rig.epoll = 99;
	rig.sockets = sockets;
	rig.n_sockets = 2;
}

static struct stranger *put(unsigned i, uint64_t number, uint64_t until_ns)
{
	struct stranger *s = &rig.strangers[i];

	s->c = &play.connections[play.n_connections++];
	s->c->fd = FIRST_FD + (int)i;
	s->number = number;
	s->until_ns = until_ns;
	return s;
}

static unsigned taken(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		n += rig.strangers[i].c != NULL;
	return n;
}

/* ---- eviction ---- */

/*
 * A letter is the address of a stranger, in its first or last byte; ".": a free slot. A digit is
 * the number of the connection.
 */
TEST(test_evict)
{
	static const struct {
		const char *addresses, *numbers;
		int victim;
	} cases[] = {
		{ "", "", -1 },
		{ "..", "00", -1 },
		{ "A", "0", 0 },
		{ "AB", "01", 0 },
		{ "AB", "10", 1 },
		{ "Aa", "10", 1 },
		{ "ABB", "012", 1 },
		{ "ABB", "021", 2 },
		{ "aBB", "021", 2 },
		{ ".ABBA", "03102", 3 },
		{ "ABABA", "52341", 4 },
		{ "AABBB.", "014320", 4 },
		{ "A.BB.C", "203100", 3 },
		{ "aaAAA", "01342", 4 },
	};

	for (size_t k = 0; k < 2 * sizeof(cases) / sizeof(cases[0]); k++) {
		const unsigned n = (unsigned)strlen(cases[k / 2].addresses);
		/* In the first slots, and in the last ones. */
		const unsigned first = k % 2 ? SLOTS - n : 0;
		const int victim = cases[k / 2].victim;
		struct stranger *s, *got;

		begin();
		for (unsigned i = 0; i < n; i++) {
			const char letter = cases[k / 2].addresses[i];

			/* A free slot keeps what it had. */
			s = put(first + i, (uint64_t)(cases[k / 2].numbers[i] - '0'), 0);
			s->from.s6_addr[letter < 'a' ? 15 : 0] = (uint8_t)letter;
			if (letter == '.')
				s->c = NULL;
		}
		got = evict(&rig);
		if (victim < 0) {
			assert_null(got);
		} else {
			assert_ptr_equal(got, &rig.strangers[first + (unsigned)victim]);
			assert_null(got->c);
		}
		assert_int_equal(play.closed, victim >= 0);
		assert_int_equal(listener_refused(&rig), victim >= 0);
	}
}

TEST(test_slot)
{
	begin();
	for (unsigned i = 0; i < SLOTS; i++) {
		assert_ptr_equal(slot(&rig), &rig.strangers[i]);
		put(i, 1000 - i, 0);
	}
	assert_int_equal(play.closed, 0);
	assert_ptr_equal(slot(&rig), &rig.strangers[SLOTS - 1]);
	assert_int_equal(play.closed, 1);
	free_slot(&rig.strangers[5]);
	assert_ptr_equal(slot(&rig), &rig.strangers[5]);
}

/* ---- times ---- */

TEST(test_next_wait)
{
	/* Of the first slot, of the last one, and of the pause; 0: none. From now on, less 1. */
	static const struct {
		int64_t first_ns, last_ns, paused_ns;
		int ms;
	} cases[] = {
		{ 0, 0, 0, -1 },
		{ 1, 0, 0, 0 },
		{ 0, 1, 0, 0 },
		{ -10, 0, 0, 0 },
		{ 2, 0, 0, 1 },
		{ NS_PER_MS, 0, 0, 1 },
		{ NS_PER_MS + 1, 0, 0, 2 },
		{ 5 * NS_PER_MS, 8 * NS_PER_MS, 0, 5 },
		{ 8 * NS_PER_MS, 5 * NS_PER_MS, 0, 5 },
		{ 0, 0, 3 * NS_PER_MS, 3 },
		{ 0, 5 * NS_PER_MS, 3 * NS_PER_MS, 3 },
		{ 0, 2 * NS_PER_MS, 3 * NS_PER_MS, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		if (cases[i].first_ns)
			put(0, 0, NOW_NS - 1 + (uint64_t)cases[i].first_ns);
		if (cases[i].last_ns)
			put(SLOTS - 1, 0, NOW_NS - 1 + (uint64_t)cases[i].last_ns);
		if (cases[i].paused_ns)
			rig.paused_until_ns = NOW_NS - 1 + (uint64_t)cases[i].paused_ns;
		assert_int_equal(next_wait_ms(&rig, NOW_NS), cases[i].ms);
	}
}

/* Strangers that are late count as refused, unless they have been sent away already. */
TEST(test_end_late)
{
	for (int at = STRANGER_FIRST_BYTE; at <= STRANGER_DRAIN; at++) {
		begin();
		put(0, 0, NOW_NS)->state = (enum stranger_state)at;
		put(1, 0, NOW_NS + 1)->state = (enum stranger_state)at;
		put(SLOTS - 1, 0, NOW_NS - 1)->state = (enum stranger_state)at;
		end_late(&rig, NOW_NS);
		assert_non_null(rig.strangers[1].c);
		assert_int_equal(taken(), 1);
		assert_int_equal(play.closed, 2);
		assert_int_equal(listener_refused(&rig), at < STRANGER_ANSWER ? 2 : 0);
	}
}

/* In a quiet time 40 per second, in windows of 100 ms. */
TEST(test_may_accept)
{
	begin();
	for (unsigned i = 0; i < MANY; i++)
		assert_true(may_accept(&rig));
	listener_set_quiet(&rig, true);
	for (unsigned window = 0; window < 3; window++) {
		const uint64_t begin_ns = play.now_ns;

		for (unsigned i = 0; i < 4; i++) {
			play.now_ns = begin_ns + i * (100 * NS_PER_MS - 1) / 3;
			assert_true(may_accept(&rig));
		}
		assert_int_equal(rig.paused_until_ns, 0);
		assert_string_equal(play.watched, "");
		assert_false(may_accept(&rig));
		assert_int_equal(rig.paused_until_ns, begin_ns + 100 * NS_PER_MS);
		/* Each socket. */
		assert_string_equal(play.watched, "del 500 in 65, del 501 in 66, ");
		*play.watched = '\0';
		rig.paused_until_ns = 0;
		play.now_ns = begin_ns + 100 * NS_PER_MS;
	}
	listener_set_quiet(&rig, false);
	for (unsigned i = 0; i < MANY; i++)
		assert_true(may_accept(&rig));
}

TEST(test_watch)
{
	begin();
	assert_int_equal(watch_sockets(&rig, true), 0);
	assert_string_equal(play.watched, "add 500 in 65, add 501 in 66, ");
	play.no_watch = true;
	assert_int_equal(watch_sockets(&rig, false), -EIO);
}

/* ---- accepting ---- */

TEST(test_origin)
{
	static const struct in6_addr wanted = { { { [12] = 127, 0, 0, 1 } } };
	const struct sockaddr_in address = { AF_INET, 7, { htonl(INADDR_LOOPBACK) }, "1234567" };
	struct sockaddr_storage from = { 0 };
	struct stranger s;

	memset(&s, 0x55, sizeof(s));
	memcpy(&from, &address, sizeof(address));
	set_origin(&s, &from);
	assert_memory_equal(&s.from, &wanted, sizeof(wanted));
	assert_int_equal(*((const char *)&s.from + sizeof(s.from)), 0x55);
}

TEST(test_welcome)
{
	static const struct in6_addr from_4 = { { { [12] = 10, 1, 2, 3 } } },
				     from_6 = { { { 0xfe, 0x80, [15] = 7 } } };
	struct stranger *s = &rig.strangers[1];

	for (int six = 0; six < 2; six++) {
		begin();
		put(0, 0, 0);
		/* The slot still has what its last stranger left. */
		memset(s, 0x55, sizeof(*s));
		s->c = NULL;
		rig.accepted = 17;
		play.family = six ? AF_INET6 : AF_INET;
		play.comes = 1;
		accept_some(&rig, LISTENING_FD);
		assert_int_equal(play.accepted_from, LISTENING_FD);
		assert_int_equal(s->c->fd, FIRST_FD + 1);
		assert_int_equal(s->state, STRANGER_FIRST_BYTE);
		assert_int_equal(s->number, 17);
		assert_int_equal(rig.accepted, 18);
		assert_int_equal(s->until_ns, NOW_NS + 5 * NS_PER_SEC);
		assert_memory_equal(&s->from, six ? &from_6 : &from_4, sizeof(s->from));
		assert_false(s->tls);
		assert_int_equal(s->done, 0);
		assert_int_equal(s->size, 0);
		assert_string_equal(play.watched, "add 1 in 1, ");
		assert_int_equal(taken(), 2);
	}
	/* One that cannot be watched, and one without memory. */
	begin();
	play.comes = 1;
	play.no_watch = true;
	accept_some(&rig, LISTENING_FD);
	assert_int_equal(taken(), 0);
	assert_int_equal(play.closed, 1);
	begin();
	play.comes = 1;
	play.no_connection = true;
	accept_some(&rig, LISTENING_FD);
	assert_int_equal(taken(), 0);
	assert_int_equal(play.closed_fd, FIRST_FD);
}

TEST(test_accept_batch)
{
	begin();
	play.comes = 70;
	accept_some(&rig, LISTENING_FD);
	assert_int_equal(play.comes, 70 - 32);
	assert_int_equal(taken(), 32);
	accept_some(&rig, LISTENING_FD);
	assert_int_equal(taken(), 64);
	*play.watched = '\0';
	accept_some(&rig, LISTENING_FD);
	assert_int_equal(taken(), 64);
	assert_int_equal(listener_refused(&rig), 6);
	/* The oldest ones made room. */
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(rig.strangers[i].number, i < 6 ? 64 + i : i);
}

TEST(test_accept_fails)
{
	static const struct {
		int err;
		bool pauses;
	} cases[] = {
		{ EMFILE, true },  { ENFILE, true },	    { ENOBUFS, true }, { ENOMEM, true },
		{ EAGAIN, false }, { ECONNABORTED, false }, { EPERM, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		put(3, 0, 0);
		play.comes = 1;
		play.accept_err = cases[i].err;
		accept_some(&rig, LISTENING_FD);
		assert_int_equal(play.comes, 0);
		assert_int_equal(taken(), cases[i].pauses ? 1 : 2);
		assert_int_equal(listener_refused(&rig), cases[i].pauses);
		assert_int_equal(rig.paused_until_ns,
				 cases[i].pauses ? NOW_NS + 100 * NS_PER_MS : 0);
		assert_string_equal(play.watched,
				    cases[i].pauses ? "add 1 in 0, del 500 in 65, del 501 in 66, " :
						      "add 1 in 0, ");
	}
}

/* ---- events ---- */

TEST(test_events)
{
	struct epoll_event events[] = { { .data.u64 = EVENT_SOCKET + 1 },
					{ .data.u64 = 2 },
					{ .data.u64 = SLOTS - 1 },
					{ .data.u64 = 0 } },
			   wake[] = { { .data.u64 = EVENT_WAKE }, { .data.u64 = 2 } };

	begin();
	put(2, 0, UINT64_MAX);
	put(SLOTS - 1, 0, UINT64_MAX);
	play.comes = 1;
	assert_true(listener_serve(&rig, events, 4));
	assert_string_equal(play.watched, "mod 2 in 2, mod 63 in 63, add 2 in 0, ");
	assert_int_equal(play.accepted_from, LISTENING_FD + 1);
	*play.watched = '\0';
	play.comes = 1;
	rig.paused_until_ns = 1;
	assert_true(listener_serve(&rig, events, 3));
	assert_true(listener_serve(&rig, events + 1, 1));
	assert_false(listener_serve(&rig, wake, 2));
	assert_string_equal(play.watched, "mod 2 in 2, mod 63 in 63, mod 2 in 2, ");
	assert_int_equal(play.comes, 1);
	rig.paused_until_ns = 0;
	events[0].data.u64 = EVENT_SOCKET;
	assert_true(listener_serve(&rig, events, 1));
	assert_int_equal(play.accepted_from, LISTENING_FD);
	/* One that is to send an answer. */
	*play.watched = '\0';
	listener_watch(&rig, &rig.strangers[2], POLLOUT, EPOLL_CTL_MOD);
	assert_string_equal(play.watched, "mod 2 out 2, ");
}

RUN_TESTS(NULL, NULL)
