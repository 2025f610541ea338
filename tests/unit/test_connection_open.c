/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making a connection, with calls of the kernel and of the resolver that the test answers, in
 * simulated time: which attempts there are and when, the options of sockets, and the words of
 * errors: src/net/connection_open.c. test_connection.c has real connections.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define MOST 64
#define NEVER UINT64_MAX

/* An attempt: connect(2) fails with `err`; or it takes `ms` and then has this result. */
struct attempt_case {
	int err;
	uint64_t ms;
};

static struct {
	uint64_t now_ns;

	/* connect(2): the attempts, of which the last repeats */
	struct attempt_case attempts[6];
	size_t n_attempts, tried;
	bool no_socket;
	uint64_t at_ms[MOST]; /* of each */
	uint64_t ready_ns;    /* of the one that is in progress */
	int result;	      /* of it */
	unsigned interrupted; /* ppoll(2) fails so many times */
	int poll_err;	      /* and then with this */
	struct stop *stop;    /* is requested at stop_ns */
	uint64_t stop_ns;
	bool self; /* sockets are connected to themselves */

	/* getaddrinfo(3) */
	int lookup;	  /* its result */
	size_t addresses; /* that it has */
	char host[NI_MAXHOST + 8], service[16];
	int flags;
	unsigned lists; /* that are not freed */

	/* setsockopt(2) */
	int fails, fail_errno; /* the option that fails */
	int names[8 * MOST], values[8 * MOST];
	size_t n_set;
} play;

static void begin(void)
{
	memset(&play, 0, sizeof(play));
	play.now_ns = NS_PER_SEC;
	play.n_attempts = 1;
	play.addresses = 1;
	play.ready_ns = NEVER;
	play.stop_ns = NEVER;
	play.fails = -1;
}

static uint64_t fake_now_ns(void)
{
	return play.now_ns;
}

static int fake_connect(int fd, const struct sockaddr *a, socklen_t size)
{
	const size_t last = play.n_attempts - 1;
	const struct attempt_case *c = &play.attempts[play.tried < last ? play.tried : last];

	assert_int_equal(fcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(a->sa_family, AF_INET);
	assert_int_equal(size, sizeof(struct sockaddr_in));
	assert_true(play.tried < MOST);
	play.at_ms[play.tried++] = (play.now_ns - NS_PER_SEC) / NS_PER_MS;
	if (c->ms) {
		play.ready_ns = c->ms == NEVER ? NEVER : play.now_ns + c->ms * NS_PER_MS;
		play.result = c->err;
		errno = EINPROGRESS;
		return -1;
	}
	/* A call that succeeds may change it. */
	errno = c->err ? c->err : EINTR;
	return c->err ? -1 : 0;
}

static int fake_ppoll(struct pollfd *p, nfds_t n, const struct timespec *limit,
		      const sigset_t *mask)
{
	const uint64_t until_ns =
		play.now_ns + (uint64_t)limit->tv_sec * NS_PER_SEC + (uint64_t)limit->tv_nsec;

	assert_int_equal(n, 1);
	assert_null(mask);
	/* A run that stops is noticed soon. */
	assert_true(until_ns - play.now_ns <= 50 * NS_PER_MS);
	if (play.interrupted) {
		play.interrupted--;
		errno = EINTR;
		return -1;
	}
	if (play.poll_err) {
		errno = play.poll_err;
		return -1;
	}
	if (play.stop_ns <= until_ns)
		stop_request(play.stop, STOP_SIGNAL, 2);
	if (p->fd >= 0) {
		assert_int_equal(p->events, POLLOUT);
		if (play.ready_ns <= until_ns) {
			play.now_ns = play.ready_ns;
			p->revents = POLLOUT;
			return 1;
		}
	}
	play.now_ns = until_ns;
	return 0;
}

static int fake_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	if (name != SO_ERROR)
		return getsockopt(fd, level, name, value, size);
	memcpy(value, &play.result, sizeof(play.result));
	return 0;
}

static int fake_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	/* Options of TCP, in a space of their own. */
	const int number = level == IPPROTO_TCP ? 1000 + name : name;

	if (number == play.fails) {
		errno = play.fail_errno;
		return -1;
	}
	assert_true(play.n_set < 8 * MOST);
	play.names[play.n_set] = number;
	memcpy(&play.values[play.n_set++], value, sizeof(int));
	return setsockopt(fd, level, name, value, size);
}

/* The value that an option was given; -1: none. */
static int value_of(int number)
{
	for (size_t i = 0; i < play.n_set; i++)
		if (play.names[i] == number)
			return play.values[i];
	return -1;
}

static int fake_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
			    struct addrinfo **list)
{
	snprintf(play.host, sizeof(play.host), "%s", host ? host : "(none)");
	snprintf(play.service, sizeof(play.service), "%s", service);
	assert_int_equal(hints->ai_family, AF_UNSPEC);
	assert_int_equal(hints->ai_socktype, SOCK_STREAM);
	play.flags = hints->ai_flags;
	errno = ENFILE;
	if (play.lookup)
		return play.lookup;
	for (size_t i = 0; i < play.addresses; i++) {
		assert_int_equal(getaddrinfo("127.0.0.1", service, hints, list), 0);
		list = &(*list)->ai_next;
	}
	play.lists++;
	return 0;
}

static void fake_freeaddrinfo(struct addrinfo *list)
{
	play.lists--;
	freeaddrinfo(list);
}

static int fake_socket(int family, int type, int protocol)
{
	if (!play.no_socket)
		return socket(family, type, protocol);
	errno = EMFILE;
	return -1;
}

static int fake_getpeername(int fd, struct sockaddr *a, socklen_t *size)
{
	return play.self ? getsockname(fd, a, size) : getpeername(fd, a, size);
}

#define clock_now_ns fake_now_ns
#define connect fake_connect
#define socket fake_socket
#define ppoll fake_ppoll
#define getsockopt fake_getsockopt
#define setsockopt fake_setsockopt
#define getaddrinfo fake_getaddrinfo
#define freeaddrinfo fake_freeaddrinfo
#define getpeername fake_getpeername
#include "../../src/net/connection_open.c"
#undef getsockopt
#undef socket

static const struct connection_options usual = { .timeout_ns = 20 * NS_PER_SEC };

/* connection_open() until `ms`, or connection_try(). Nothing of it is left. */
static int open_until(uint64_t ms, bool one, struct err *why)
{
	const uint64_t until_ns = NS_PER_SEC + ms * NS_PER_MS;
	const unsigned before = open_descriptors();
	struct connection *c = NULL;
	int err = (one ? connection_try : connection_open)(&c, "there", 7, &usual, NULL, play.stop,
							   until_ns, why);

	assert_int_equal(c != NULL, err == 0);
	assert_string_equal(play.host, "there");
	assert_string_equal(play.service, "7");
	assert_int_equal(play.flags, AI_NUMERICSERV);
	assert_int_equal(play.lists, 0);
	if (c)
		assert_false(fcntl(c->fd, F_GETFL) & O_NONBLOCK);
	connection_close(c);
	assert_int_equal(open_descriptors(), before);
	return err;
}

/* ---- attempts ---- */

#define REFUSED                 \
	{                       \
		ECONNREFUSED, 0 \
	}
#define SILENT           \
	{                \
		0, NEVER \
	}

TEST(test_attempts)
{
	static const struct {
		struct attempt_case attempts[3];
		size_t n;
		uint64_t until_ms;
		bool one;
		int err;
		uint64_t at_ms[8], end_ms; /* 0 ends the list, after the first */
	} cases[] = {
		{ { { 0, 0 } }, 1, 0, false, 0, { 0 }, 0 },
		/* The pauses grow from 100 ms to 500 ms; there is an attempt at the end. */
		{ { REFUSED }, 1, 0, false, -ECONNREFUSED, { 0 }, 0 },
		{ { REFUSED }, 1, 50, false, -ECONNREFUSED, { 0, 50 }, 50 },
		{ { REFUSED }, 1, 100, false, -ECONNREFUSED, { 0, 100 }, 100 },
		{ { REFUSED },
		  1,
		  2000,
		  false,
		  -ECONNREFUSED,
		  { 0, 100, 300, 700, 1200, 1700, 2000 },
		  2000 },
		{ { REFUSED }, 1, 2000, true, -ECONNREFUSED, { 0 }, 0 },
		{ { REFUSED, REFUSED, { 0, 0 } }, 3, 2000, false, 0, { 0, 100, 300 }, 300 },
		/* One that takes its time, and one that is never answered. */
		{ { { 0, 170 } }, 1, 2000, false, 0, { 0 }, 170 },
		{ { { 0, 170 } }, 1, 170, true, 0, { 0 }, 170 },
		{ { { 0, 171 } }, 1, 170, true, -ETIMEDOUT, { 0 }, 170 },
		{ { { ECONNREFUSED, 170 }, { 0, 0 } }, 2, 2000, false, 0, { 0, 270 }, 270 },
		{ { { EACCES, 170 } }, 1, 2000, false, -EACCES, { 0 }, 170 },
		{ { SILENT }, 1, 4999, false, -ETIMEDOUT, { 0 }, 4999 },
		{ { SILENT }, 1, 12000, false, -ETIMEDOUT, { 0, 5100, 10300 }, 12000 },
		{ { SILENT, { 0, 0 } }, 2, 12000, false, 0, { 0, 5100 }, 5100 },
		{ { SILENT }, 1, 12000, true, -ETIMEDOUT, { 0 }, 5000 },
		/* The deadline cuts the last one, and the one before says more. */
		{ { REFUSED, SILENT }, 2, 3000, false, -ECONNREFUSED, { 0, 100 }, 3000 },
		{ { REFUSED, SILENT, REFUSED },
		  3,
		  9000,
		  false,
		  -ECONNREFUSED,
		  { 0, 100, 5300, 5700, 6200, 6700, 7200, 7700 },
		  9000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[ERR_TEXT_SIZE];
		struct err why;

		printf("# case %zu\n", i);
		begin();
		memcpy(play.attempts, cases[i].attempts, sizeof(cases[i].attempts));
		play.n_attempts = cases[i].n;
		assert_int_equal(open_until(cases[i].until_ms, cases[i].one, &why), cases[i].err);
		for (size_t k = 0; k < 8 && (!k || cases[i].at_ms[k]); k++) {
			assert_true(k < play.tried);
			assert_int_equal(play.at_ms[k], cases[i].at_ms[k]);
			assert_true(k == 7 || cases[i].at_ms[k + 1] || play.tried == k + 1);
		}
		assert_int_equal((play.now_ns - NS_PER_SEC) / NS_PER_MS, cases[i].end_ms);
		text[0] = '\0';
		if (cases[i].err)
			snprintf(text, sizeof(text), "cannot connect to there:7 (%s)",
				 strerror(-cases[i].err));
		assert_string_equal(why.text, text);
	}
}

/* The errors after which the other side, or the network, may be up later. */
TEST(test_worth_retrying)
{
	static const int later[] = { ECONNREFUSED, ECONNRESET,	  EHOSTDOWN,
				     EHOSTUNREACH, ENETDOWN,	  ENETUNREACH,
				     ETIMEDOUT,	   EADDRNOTAVAIL, EAGAIN };

	for (int no = 1; no < 134; no++) {
		bool again = false;
		struct err why;

		/* An attempt that goes on. */
		if (no == EINPROGRESS)
			continue;
		for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
			again = again || later[i] == no;
		begin();
		play.attempts[0].err = no;
		assert_int_equal(open_until(100, false, &why), -no);
		if (play.tried != (again ? 2 : 1))
			fail_msg("%s: %zu attempts", strerror(no), play.tried);
	}
}

/* Of several addresses the error counts that is the most hopeful, or else the first. */
TEST(test_several_addresses)
{
	static const struct {
		int errs[3], err;
		size_t tried;
	} cases[] = {
		{ { EACCES, EPERM, EINVAL }, -EACCES, 3 },
		{ { EACCES, ECONNREFUSED, EINVAL }, -ECONNREFUSED, 3 },
		{ { ECONNREFUSED, EACCES, EPERM }, -ECONNREFUSED, 3 },
		{ { ECONNREFUSED, EHOSTUNREACH, EPERM }, -EHOSTUNREACH, 3 },
		{ { EACCES, 0, EPERM }, 0, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err why;

		begin();
		play.addresses = 3;
		play.n_attempts = 3;
		for (size_t k = 0; k < 3; k++)
			play.attempts[k].err = cases[i].errs[k];
		assert_int_equal(open_until(100, true, &why), cases[i].err);
		assert_int_equal(play.tried, cases[i].tried);
	}
}

/* A wait that a signal interrupts goes on, one that fails does not. */
TEST(test_interrupted)
{
	struct err why;

	begin();
	play.attempts[0] = (struct attempt_case){ 0, 70 };
	play.interrupted = 3;
	assert_int_equal(open_until(1000, false, &why), 0);
	assert_int_equal(play.now_ns, NS_PER_SEC + 70 * NS_PER_MS);
	begin();
	play.attempts[0] = (struct attempt_case){ 0, 70 };
	play.poll_err = ENOMEM;
	assert_int_equal(open_until(1000, false, &why), -ENOMEM);
	assert_int_equal(play.now_ns, NS_PER_SEC);
}

/* A run that stops ends an attempt, and a pause, within 50 ms. */
TEST(test_stop)
{
	static const struct {
		struct attempt_case attempt;
		uint64_t stop_ms, end_ms;
		size_t tried; /* of two addresses */
	} cases[] = {
		{ SILENT, 130, 150, 1 },
		{ REFUSED, 130, 150, 4 },
		{ REFUSED, 50, 50, 2 },
		{ SILENT, 0, 50, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stop stop;
		struct err why;

		begin();
		stop_init(&stop);
		play.stop = &stop;
		play.stop_ns = NS_PER_SEC + cases[i].stop_ms * NS_PER_MS;
		play.attempts[0] = cases[i].attempt;
		play.addresses = 2;
		assert_int_equal(open_until(5000, false, &why), -ECANCELED);
		assert_string_equal(why.text, "");
		assert_int_equal((play.now_ns - NS_PER_SEC) / NS_PER_MS, cases[i].end_ms);
		assert_int_equal(play.tried, cases[i].tried);
		stop_destroy(&stop);
	}
}

/* No name, and no socket: that is said at once. */
TEST(test_nothing_to_try)
{
	struct err why;

	begin();
	play.lookup = EAI_NONAME;
	assert_int_equal(open_until(1000, false, &why), -ENXIO);
	assert_string_equal(why.text, "cannot find the host \"there\" (Name or service not known)");
	begin();
	play.no_socket = true;
	assert_int_equal(open_until(1000, false, &why), -EMFILE);
	assert_string_equal(why.text, "cannot connect to there:7 (Too many open files)");
	assert_int_equal(play.now_ns, NS_PER_SEC);
}

/* A socket that is connected to itself is closed at once, and the attempt counts as refused. */
TEST(test_self)
{
	struct err why;

	begin();
	play.self = true;
	assert_int_equal(open_until(100, true, &why), -ECONNREFUSED);
	assert_int_equal(value_of(SO_LINGER), 1);
	begin();
	assert_int_equal(open_until(100, true, &why), 0);
	assert_int_equal(value_of(SO_LINGER), -1);
}

/* ---- names ---- */

/* The name that is looked up, and the words where there is none. */
TEST(test_names)
{
	static const char port[] = "; give its port by the option or word \"port\"";
	static const struct {
		const char *host, *name;
		bool has_port;
	} cases[] = {
		{ "there", "there", false },
		{ "[fe80::1]", "fe80::1", false },
		{ "[fe80::1%eth0]", "fe80::1%eth0", false },
		{ "[::]", "::", false },
		{ "[]", "[]", false },
		{ "[", "[", false },
		{ "]", "]", false },
		{ "", "", false },
		{ "[there]", "[there]", false },
		{ "[fe80::1", "[fe80::1", false },
		{ "fe80::1]", "fe80::1]", false },
		{ "fe80::1", "fe80::1", false },
		/* With a port. */
		{ "there:2000", "there:2000", true },
		{ "t:0", "t:0", true },
		{ "[fe80::1]:2000", "[fe80::1]:2000", true },
		{ ":2000", ":2000", false },
		{ "there:", "there:", false },
		{ "there:20x", "there:20x", false },
		{ "there:x", "there:x", false },
		{ "fe80::2000", "fe80::2000", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct addrinfo *list;
		char text[ERR_TEXT_SIZE];
		struct err why;

		begin();
		play.lookup = EAI_NONAME;
		assert_int_equal(connection_resolve(cases[i].host, 65535, AI_PASSIVE, &list, &why),
				 -ENXIO);
		assert_string_equal(play.host, cases[i].name);
		assert_string_equal(play.service, "65535");
		assert_int_equal(play.flags, AI_PASSIVE | AI_NUMERICSERV);
		snprintf(text, sizeof(text), "cannot find the host \"%s\" (%s)%s", cases[i].host,
			 gai_strerror(EAI_NONAME), cases[i].has_port ? port : "");
		assert_string_equal(why.text, text);
	}
}

/* The longest name that is taken out of brackets. */
TEST(test_longest_name)
{
	for (size_t n = NI_MAXHOST - 2; n <= NI_MAXHOST; n++) {
		const bool fits = n < NI_MAXHOST;
		char host[NI_MAXHOST + 3];
		struct addrinfo *list;
		struct err why;

		host[0] = '[';
		memset(host + 1, ':', n);
		host[n + 1] = ']';
		host[n + 2] = '\0';
		begin();
		play.lookup = EAI_NONAME;
		assert_int_equal(connection_resolve(host, 1, 0, &list, &why), -ENXIO);
		assert_int_equal(strlen(play.host), fits ? n : n + 2);
		assert_int_equal(play.host[0], fits ? ':' : '[');
	}
}

TEST(test_lookups_fail)
{
	static const struct {
		const char *host;
		int lookup, err;
		const char *text;
	} cases[] = {
		{ "there", EAI_MEMORY, -ENOMEM,
		  "cannot find the host \"there\" (Memory allocation failure)" },
		{ "there", EAI_SYSTEM, -ENXIO,
		  "cannot find the host \"there\" (Too many open files in system)" },
		{ "th\033re", EAI_AGAIN, -ENXIO,
		  "cannot find the host \"th\\x1bre\" (Temporary failure in name resolution)" },
		{ NULL, EAI_AGAIN, -ENXIO,
		  "cannot find the addresses of this host (Temporary failure in name resolution)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct addrinfo *list;
		struct err why;

		begin();
		play.lookup = cases[i].lookup;
		assert_int_equal(connection_resolve(cases[i].host, 1, 0, &list, &why),
				 cases[i].err);
		assert_string_equal(why.text, cases[i].text);
	}
}

TEST(test_addresses)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *text;
	} cases[] = {
		{ "10.1.2.3", 40010, "10.1.2.3:40010" },
		{ "::1", 65535, "[::1]:65535" },
		{ "[::1]", 0, "[::1]:0" },
		{ "a\033b", 1, "a\\x1bb:1" },
	};
	char text[CONNECTION_PEER_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		connection_host_text(cases[i].host, cases[i].port, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

/* ---- listening ---- */

TEST(test_not_bound)
{
	static const struct {
		int err;
		const char *host, *text;
		bool absent;
	} cases[] = {
		{ -EADDRINUSE, "there",
		  "cannot listen on there:7 (Address already in use); another program has this port",
		  false },
		{ -EADDRNOTAVAIL, "::2",
		  "cannot listen on [::2]:7 (Cannot assign requested address); it must be an "
		  "address of this host",
		  true },
		{ -EAFNOSUPPORT, NULL,
		  "cannot listen on port 7 (Address family not supported by protocol)", true },
		{ -EACCES, NULL, "cannot listen on port 7 (Permission denied)", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err why;

		assert_int_equal(connection_say_not_bound(cases[i].err, cases[i].host, 7, &why),
				 cases[i].err);
		assert_string_equal(why.text, cases[i].text);
		assert_int_equal(connection_is_absent(cases[i].err), cases[i].absent);
	}
}

/* ---- options of sockets ---- */

static int prepare(const struct connection_options *o, struct err *why)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	err_clear(why);
	err = connection_prepare_socket(fd, o, why);
	close(fd);
	return err;
}

/* The kernel ends a connection whose peer is silent for the time limit: its thirds are seconds. */
TEST(test_liveness)
{
	static const struct {
		uint64_t timeout_ns;
		int limit_ms, third_s;
	} cases[] = {
		{ 1, 1, 1 },
		{ NS_PER_MS - 1, 1, 1 },
		{ NS_PER_MS, 1, 1 },
		{ 2 * NS_PER_MS, 2, 1 },
		{ 3 * NS_PER_SEC, 3000, 1 },
		{ 6 * NS_PER_SEC - 1, 5999, 1 },
		{ 6 * NS_PER_SEC, 6000, 2 },
		{ 10800 * NS_PER_SEC, 10800000, 3600 },
		{ 10803 * NS_PER_SEC, 10803000, 3600 },
		{ INT32_MAX * NS_PER_MS, INT32_MAX, 3600 },
		{ (INT32_MAX + 1ull) * NS_PER_MS, INT32_MAX, 3600 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct connection_options o = { .timeout_ns = cases[i].timeout_ns };
		struct err why;

		begin();
		assert_int_equal(prepare(&o, &why), 0);
		assert_int_equal(value_of(1000 + TCP_NODELAY), 1);
		assert_int_equal(value_of(SO_KEEPALIVE), 1);
		assert_int_equal(value_of(1000 + TCP_KEEPIDLE), cases[i].third_s);
		assert_int_equal(value_of(1000 + TCP_KEEPINTVL), cases[i].third_s);
		assert_int_equal(value_of(1000 + TCP_KEEPCNT), 3);
		assert_int_equal(value_of(1000 + TCP_USER_TIMEOUT), cases[i].limit_ms);
		assert_int_equal(play.n_set, 6);
	}
}

TEST(test_buffers)
{
	struct connection_options o = usual;
	struct err why;

	begin();
	o.send_buffer_bytes = 5;
	o.receive_buffer_bytes = INT32_MAX;
	assert_int_equal(prepare(&o, &why), 0);
	assert_int_equal(value_of(SO_SNDBUF), 5);
	assert_int_equal(value_of(SO_RCVBUF), INT32_MAX);
	begin();
	o.receive_buffer_bytes++;
	assert_int_equal(prepare(&o, &why), 0);
	assert_int_equal(value_of(SO_RCVBUF), INT32_MAX);
	begin();
	play.fails = SO_RCVBUF;
	play.fail_errno = ENOBUFS;
	assert_int_equal(prepare(&o, &why), -ENOBUFS);
	assert_string_equal(why.text, "cannot set the receive buffer of a socket to 2147483648 "
				      "bytes (No buffer space available)");
	begin();
	play.fails = SO_SNDBUF;
	play.fail_errno = ENOBUFS;
	assert_int_equal(prepare(&o, &why), -ENOBUFS);
	assert_string_equal(why.text,
			    "cannot set the send buffer of a socket to 5 bytes (No buffer "
			    "space available)");
	assert_int_equal(value_of(SO_RCVBUF), -1);
	/* The attempt ends with it. */
	o.receive_buffer_bytes = 0;
	{
		struct connection *c = NULL;

		assert_int_equal(connection_open(&c, "there", 7, &o, NULL, NULL, NEVER, &why),
				 -ENOBUFS);
		assert_int_equal(play.tried, 0);
		assert_non_null(strstr(why.text, "cannot set the send buffer"));
	}
}

/* The list in the words is of those that the user may have. */
TEST(test_congestion)
{
	static const struct {
		int fail_errno;
		const char *text, *path;
	} cases[] = {
		{ ENOENT,
		  "cannot use the congestion control \"x\\x1b\" (No such file or directory); "
		  "available: %s",
		  "/proc/sys/net/ipv4/tcp_available_congestion_control" },
		{ EPERM,
		  "cannot use the congestion control \"x\\x1b\" (not permitted); permitted: %s",
		  "/proc/sys/net/ipv4/tcp_allowed_congestion_control" },
	};
	struct connection_options o = usual;
	struct err why;

	o.congestion = "x\033";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[256] = "", text[ERR_TEXT_SIZE];
		const char *list = sysfile_line(cases[i].path, line, sizeof(line));

		begin();
		play.fails = 1000 + TCP_CONGESTION;
		play.fail_errno = cases[i].fail_errno;
		assert_int_equal(prepare(&o, &why), -cases[i].fail_errno);
		snprintf(text, sizeof(text), cases[i].text, list ? list : "unknown");
		assert_string_equal(why.text, text);
	}
}

/* Within a host the buffers are small, except those that an option has. */
TEST(test_same_host)
{
	static const struct {
		const char *local, *peer;
		uint32_t scope; /* of the peer */
		bool same;
	} cases[] = {
		{ "10.0.0.1", "10.0.0.1", 0, true }, { "10.0.0.1", "10.0.0.2", 0, false },
		{ "10.0.0.1", "::1", 0, false },     { "::1", "10.0.0.1", 0, false },
		{ "fe80::1", "fe80::1", 0, true },   { "fe80::1", "fe80::1", 1, false },
		{ "fe80::1", "fe80::2", 0, false },
	};

	for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *texts[2] = { cases[i / 4].local, cases[i / 4].peer };
		const bool same = cases[i / 4].same;
		const struct connection_options o = { .send_buffer_bytes = i % 2,
						      .receive_buffer_bytes = i / 2 % 2 };
		struct sockaddr_storage a[2] = { { 0 } };

		for (size_t k = 0; k < 2; k++) {
			struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a[k];
			struct sockaddr_in *v4 = (struct sockaddr_in *)&a[k];
			const bool six = strchr(texts[k], ':') != NULL;

			a[k].ss_family = six ? AF_INET6 : AF_INET;
			assert_int_equal(inet_pton(a[k].ss_family, texts[k],
						   six ? (void *)&v6->sin6_addr :
							 (void *)&v4->sin_addr),
					 1);
			/* Ports differ. */
			v4->sin_port = htons((uint16_t)(7 + k));
			if (six && k)
				v6->sin6_scope_id = cases[i / 4].scope;
		}
		begin();
		connection_keep_in_cache(-1, &o, &a[0], &a[1]);
		assert_int_equal(value_of(SO_SNDBUF), same && !(i % 2) ? 131072 : -1);
		assert_int_equal(value_of(SO_RCVBUF), same && !(i / 2 % 2) ? 131072 : -1);
	}
	/* Addresses of other families are no addresses of this host. */
	{
		const struct sockaddr_storage none = { .ss_family = AF_UNIX };

		begin();
		connection_keep_in_cache(-1, &usual, &none, &none);
		assert_int_equal(play.n_set, 0);
	}
}

RUN_TESTS(NULL, NULL)
