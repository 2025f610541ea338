/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client and the server of global time in one process, over loopback; and the client with a
 * server that answers by a script, in simulated time.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#include "net/time_exchange.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* Nothing here takes so long unless it hangs. */
#define LIMIT_S 60

struct running {
	struct time_server *server;
	pthread_t thread;
	int end_fd;
	int64_t offset_ns; /* the wall clock at its start minus clock_now_ns() */
};

static void *serve(void *arg)
{
	struct running *r = arg;

	assert_int_equal(time_server_serve(r->server, r->end_fd), 0);
	return NULL;
}

static void start(struct running *r, const char *host, uint16_t port)
{
	struct err why = { 0 };

	r->offset_ns = clock_wall_offset_ns();
	if (time_server_open(&r->server, host, port, &why))
		fail_msg("%s", why.text);
	r->end_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(pthread_create(&r->thread, NULL, serve, r), 0);
}

static void end(struct running *r)
{
	uint64_t one = 1;

	assert_int_equal(write(r->end_fd, &one, sizeof(one)), sizeof(one));
	pthread_join(r->thread, NULL);
	close(r->end_fd);
	time_server_close(r->server);
}

static struct globaltime_client *begin(const char *host, uint16_t port)
{
	const struct globaltime_settings s = { .host = host, .port = port };
	struct err why = { 0 };
	struct globaltime_client *c;

	if (globaltime_begin(&c, &s, NULL, &why))
		fail_msg("%s", why.text);
	return c;
}

/*
 * The server's clock is the wall clock, read at its start between two readings of the other clock:
 * it is true within the time that this took. Afterwards other programs may set the wall clock.
 */
static void check_time(struct globaltime_client *c, const struct running *r)
{
	const int64_t slack_ns = 2 * (int64_t)NS_PER_MS;
	struct globaltime g;
	int64_t error_ns;

	globaltime_get(c, clock_now_ns(), &g);
	error_ns = g.offset_ns - r->offset_ns;
	if (llabs(error_ns) > (int64_t)g.bound_ns + slack_ns)
		fail_msg("%lld ns off, bound %llu ns; the wall clock was set by %lld ns",
			 (long long)error_ns, (unsigned long long)g.bound_ns,
			 (long long)(clock_wall_offset_ns() - r->offset_ns));
	assert_true(g.answering);
	assert_int_not_equal(g.server_id, 0);
	assert_int_equal(g.steps, 0);
}

TEST(test_server)
{
	struct globaltime_client *c;
	struct globaltime g;
	struct running r;

	start(&r, "127.0.0.1", 0);
	c = begin("127.0.0.1", time_server_port(r.server));
	check_time(c, &r);
	globaltime_get(c, clock_now_ns(), &g);
	assert_true(g.exchanges + g.lost >= GLOBALTIME_BOUNCE);
	assert_true(g.exchanges > 0);
	assert_non_null(strstr(globaltime_server(c), "(UDP)"));
	globaltime_end(c);
	end(&r);
}

TEST(test_all_addresses)
{
	struct globaltime_client *c;
	struct running r;

	start(&r, NULL, 0);
	c = begin("localhost", time_server_port(r.server));
	check_time(c, &r);
	globaltime_end(c);
	c = begin("127.0.0.2", time_server_port(r.server));
	check_time(c, &r);
	globaltime_end(c);
	end(&r);
}

TEST(test_follow)
{
	const uint64_t limit_ns = clock_now_ns() + LIMIT_S * NS_PER_SEC;
	struct globaltime before, after;
	struct globaltime_client *c;
	struct running r;

	start(&r, "127.0.0.1", 0);
	c = begin("127.0.0.1", time_server_port(r.server));
	globaltime_get(c, clock_now_ns(), &before);
	assert_int_equal(globaltime_follow(c), 0);
	do {
		usleep(10000);
		globaltime_get(c, clock_now_ns(), &after);
	} while (after.exchanges == before.exchanges && clock_now_ns() < limit_ns);
	assert_true(after.exchanges > before.exchanges);
	check_time(c, &r);
	globaltime_end(c);
	end(&r);
}

/* Before a moment there are enough exchanges for some to be undisturbed, and they end in time. */
TEST(test_refresh)
{
	struct globaltime before, after;
	struct globaltime_client *c;
	struct running r;
	uint64_t until_ns;

	start(&r, "127.0.0.1", 0);
	c = begin("127.0.0.1", time_server_port(r.server));
	globaltime_get(c, clock_now_ns(), &before);
	assert_int_equal(globaltime_refresh(c, clock_now_ns() + LIMIT_S * NS_PER_SEC), 0);
	globaltime_get(c, clock_now_ns(), &after);
	assert_true(after.exchanges + after.lost >= before.exchanges + before.lost + 40);
	end(&r);
	until_ns = clock_now_ns() + NS_PER_SEC / 10;
	assert_int_not_equal(globaltime_refresh(c, until_ns), 0);
	assert_true(clock_now_ns() < until_ns + LIMIT_S * NS_PER_SEC / 2);
	globaltime_end(c);
}

/* Answer one request of those that come. */
static void *answer_one(void *arg)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	uint8_t bytes[TIME_MESSAGE_BYTES];
	struct time_message m;
	const int fd = *(int *)arg;

	assert_int_equal(recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, &size),
			 sizeof(bytes));
	assert_true(time_message_decode(bytes, sizeof(bytes), &m));
	m.type = TIME_REPLY;
	m.server_id = 1;
	m.received_ns = m.sent_ns = NS_PER_SEC;
	time_message_encode(&m, bytes);
	assert_int_equal(sendto(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from, size),
			 sizeof(bytes));
	return NULL;
}

/* When all requests are sent, an answer that is lost is not awaited for the whole time limit. */
TEST(test_lost)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct globaltime_settings s = { .host = "127.0.0.1",
					 .bounce = 2,
					 .timeout_ns = 5 * NS_PER_SEC };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const uint64_t start_ns = clock_now_ns();
	struct globaltime_client *c;
	socklen_t size = sizeof(a);
	struct err why = { 0 };
	struct globaltime g;
	pthread_t thread;

	assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
	s.port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&thread, NULL, answer_one, &fd), 0);
	assert_int_equal(globaltime_begin(&c, &s, NULL, &why), 0);
	assert_true(clock_now_ns() - start_ns < s.timeout_ns);
	pthread_join(thread, NULL);
	globaltime_get(c, clock_now_ns(), &g);
	assert_int_equal(g.exchanges, 1);
	assert_int_equal(g.lost, 1);
	globaltime_end(c);
	close(fd);
}

/* A server that goes away is noticed, and so is another one in its place. */
TEST(test_other_server)
{
	const uint64_t limit_ns = clock_now_ns() + LIMIT_S * NS_PER_SEC;
	struct globaltime_client *c;
	struct globaltime g, last;
	struct running r;
	uint16_t port;

	start(&r, "127.0.0.1", 0);
	port = time_server_port(r.server);
	c = begin("127.0.0.1", port);
	globaltime_get(c, clock_now_ns(), &last);
	assert_int_equal(globaltime_follow(c), 0);
	end(&r);
	do {
		usleep(10000);
		globaltime_get(c, clock_now_ns(), &g);
	} while (g.answering && clock_now_ns() < limit_ns);
	assert_false(g.answering);
	assert_int_equal(g.steps, 0);
	assert_true(g.bound_ns > last.bound_ns);
	start(&r, "127.0.0.1", port);
	do {
		usleep(10000);
		globaltime_get(c, clock_now_ns(), &g);
	} while (!g.answering && clock_now_ns() < limit_ns);
	assert_true(g.answering);
	assert_int_equal(g.steps, 1);
	assert_int_not_equal(g.server_id, last.server_id);
	globaltime_end(c);
	end(&r);
}

TEST(test_unreachable)
{
	struct globaltime_settings s = { .host = "127.0.0.1" };
	struct err why = { 0 };
	struct globaltime_client *c;
	struct running r;

	start(&r, "127.0.0.1", 0);
	s.port = time_server_port(r.server);
	end(&r);
	assert_int_equal(globaltime_begin(&c, &s, NULL, &why), -ECONNREFUSED);
	assert_null(c);
	assert_non_null(strstr(why.text, "no answer from the time server 127.0.0.1:"));
	s.host = "no.such.host.invalid";
	assert_int_not_equal(globaltime_begin(&c, &s, NULL, &why), 0);
	assert_non_null(strstr(why.text, "cannot find the host"));
}

/* A wait for a server that never answers ends when the run does. */
TEST(test_stop)
{
	struct globaltime_settings s = { .host = "127.0.0.1", .timeout_ns = LIMIT_S * NS_PER_SEC };
	struct err why;
	struct globaltime_client *c;
	struct running r = { .end_fd = -1 };
	struct stop stop;

	stop_init(&stop);
	/* It listens, and does not serve. */
	assert_int_equal(time_server_open(&r.server, "127.0.0.1", 0, &why), 0);
	s.port = time_server_port(r.server);
	stop_request(&stop, STOP_SIGNAL, 2);
	assert_int_equal(globaltime_begin(&c, &s, &stop, &why), -ECANCELED);
	assert_null(c);
	time_server_close(r.server);
	stop_destroy(&stop);
}

TEST(test_port_in_use)
{
	struct err why = { 0 };
	struct time_server *second;
	struct running r;

	start(&r, "127.0.0.1", 0);
	assert_int_equal(time_server_open(&second, "127.0.0.1", time_server_port(r.server), &why),
			 -EADDRINUSE);
	assert_null(second);
	assert_non_null(strstr(why.text, "another program has this port"));
	end(&r);
}

/* A host of two addresses, in the order of its name: "A+B". */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **list)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	const char *plus = host ? strchr(host, '+') : NULL;
	char first[64];
	int err;

	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	if (!plus)
		return next(host, service, hints, list);
	snprintf(first, sizeof(first), "%.*s", (int)(plus - host), host);
	err = next(first, service, hints, list);
	return err ? err : next(plus + 1, service, hints, &(*list)->ai_next);
}

/* The first address that answers is the server; one that is silent says more than one without. */
TEST(test_two_addresses)
{
	static const struct {
		const char *host; /* 127.0.0.1 answers, 127.0.0.2 is silent, 127.0.0.3 refuses */
		int err;
	} cases[] = {
		{ "127.0.0.3+127.0.0.1", 0 },	       { "127.0.0.1+127.0.0.3", 0 },
		{ "127.0.0.2+127.0.0.1", 0 },	       { "127.0.0.2+127.0.0.3", -ETIMEDOUT },
		{ "127.0.0.3+127.0.0.2", -ETIMEDOUT }, { "127.0.0.3+127.0.0.3", -ECONNREFUSED },
	};
	struct sockaddr_in silent = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct running r;
	char text[64];

	start(&r, "127.0.0.1", 0);
	inet_pton(AF_INET, "127.0.0.2", &silent.sin_addr);
	silent.sin_port = htons(time_server_port(r.server));
	assert_int_equal(bind(fd, (struct sockaddr *)&silent, sizeof(silent)), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u (UDP)", time_server_port(r.server));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool answers = strstr(cases[i].host, "127.0.0.1") != NULL;
		const struct globaltime_settings settings = {
			.host = cases[i].host,
			.port = time_server_port(r.server),
			/* For each of two addresses one half. */
			.timeout_ns = answers ? 2 * NS_PER_SEC : NS_PER_SEC / 10,
		};
		struct globaltime_client *c;
		struct err why = { 0 };

		assert_int_equal(globaltime_begin(&c, &settings, NULL, &why), cases[i].err);
		assert_int_equal(c != NULL, !cases[i].err);
		if (c) {
			struct globaltime g;

			assert_string_equal(globaltime_server(c), text);
			globaltime_get(c, clock_now_ns(), &g);
			/* Requests to another address do not count. */
			assert_true(g.exchanges > 0);
			assert_true(g.exchanges + g.lost <= GLOBALTIME_BOUNCE);
		}
		globaltime_end(c);
	}
	close(fd);
	end(&r);
}

/*
 * Simulated time: the client runs in the thread of the test, each reading of a clock takes READ_NS,
 * and the server works when the client waits.
 */

#define READ_NS 1000
#define MOST_REQUESTS 400
#define SCRIPT_OFFSET_NS (1000 * NS_PER_SEC)

/*
 * The server has one letter for each request, and the last one for all that follow:
 *   a  answers at once
 *   b  answers after 5 ms
 *   A  answers after 30 ms
 *   d  drops it
 *   l  answers it together with the next one
 *   f  sends messages that are no answers before the answer, and the answer once more
 *   i  answers with impossible times
 *   o  answers as another server
 *   s  answers after its clock has stepped
 */
static struct {
	const char *script; /* NULL: real time */
	int fd;
	uint64_t now_ns, at_ns[MOST_REQUESTS], id, step_ns;
	size_t n;
	struct time_message late;
} play;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!play.script)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	play.now_ns += READ_NS;
	*ts = (struct timespec){ (time_t)(play.now_ns / NS_PER_SEC),
				 (long)(play.now_ns % NS_PER_SEC) };
	return 0;
}

static void play_send(const struct sockaddr_storage *to, struct time_message m, size_t size)
{
	uint8_t bytes[TIME_MESSAGE_BYTES + 1] = { 0 };

	time_message_encode(&m, bytes);
	assert_int_equal(sendto(play.fd, bytes, size, 0, (const struct sockaddr *)to,
				sizeof(struct sockaddr_in)),
			 size);
}

static struct time_message answer_to(struct time_message m)
{
	m.type = TIME_REPLY;
	m.server_id = play.id;
	m.received_ns = m.sent_ns = play.now_ns + SCRIPT_OFFSET_NS + play.step_ns;
	return m;
}

static void play_forge(const struct sockaddr_storage *to, struct time_message request)
{
	struct time_message m = answer_to(request);

	play_send(to, request, TIME_MESSAGE_BYTES);
	play_send(to, m, TIME_MESSAGE_BYTES - 1);
	play_send(to, m, TIME_MESSAGE_BYTES + 1);
	play_send(to, m, 0);
	m.client_ns++;
	play_send(to, m, TIME_MESSAGE_BYTES);
	m.client_ns--;
	m.nonce += 64;
	play_send(to, m, TIME_MESSAGE_BYTES);
	m.nonce -= 63;
	play_send(to, m, TIME_MESSAGE_BYTES);
}

static void play_answer(const struct sockaddr_storage *to, struct time_message request, char how)
{
	struct time_message m;

	if (how == 'd')
		return;
	if (how == 'l') {
		play.late = request;
		return;
	}
	if (play.late.type)
		play_send(to, answer_to(play.late), TIME_MESSAGE_BYTES);
	play.late.type = 0;
	play.now_ns += how == 'A' ? 30 * NS_PER_MS : how == 'b' ? 5 * NS_PER_MS : 0;
	play.id += how == 'o';
	play.step_ns += how == 's' ? NS_PER_SEC : 0;
	if (how == 'f')
		play_forge(to, request);
	m = answer_to(request);
	m.sent_ns += how == 'i' ? NS_PER_SEC : 0;
	play_send(to, m, TIME_MESSAGE_BYTES);
	if (how == 'f')
		play_send(to, m, TIME_MESSAGE_BYTES);
}

static void play_serve(void)
{
	uint8_t bytes[TIME_MESSAGE_BYTES];
	struct sockaddr_storage from;
	struct time_message m;
	socklen_t size = sizeof(from);

	while (recvfrom(play.fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from,
			&size) == sizeof(bytes)) {
		const size_t last = strlen(play.script) - 1;

		assert_true(time_message_decode(bytes, sizeof(bytes), &m));
		assert_int_equal(m.type, TIME_REQUEST);
		assert_true(play.n < MOST_REQUESTS);
		play.at_ns[play.n] = m.client_ns;
		play_answer(&from, m, play.script[play.n < last ? play.n : last]);
		play.n++;
	}
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit, const sigset_t *mask)
{
	const struct timespec none = { 0 };
	int ready;

	if (play.script)
		play_serve();
	ready = (int)syscall(SYS_ppoll, fds, n, play.script ? &none : limit, mask, _NSIG / 8);
	if (play.script && !ready)
		play.now_ns += (uint64_t)limit->tv_sec * NS_PER_SEC + (uint64_t)limit->tv_nsec;
	return ready;
}

/* Begin a client with a server that follows `script`. Returns the result, and the port. */
static int play_begin(struct globaltime_client **c, const char *script, unsigned n,
		      uint64_t timeout_ms, struct err *why, uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct globaltime_settings s = { .host = "127.0.0.1",
					 .bounce = n,
					 .timeout_ns = timeout_ms * NS_PER_MS };
	socklen_t size = sizeof(a);

	memset(&play, 0, sizeof(play));
	play.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(play.fd, (struct sockaddr *)&a, size), 0);
	assert_int_equal(getsockname(play.fd, (struct sockaddr *)&a, &size), 0);
	s.port = *port = ntohs(a.sin_port);
	play.now_ns = NS_PER_SEC;
	play.id = 1;
	play.script = script;
	return globaltime_begin(c, &s, NULL, why);
}

static void play_end(struct globaltime_client *c)
{
	globaltime_end(c);
	play.script = NULL;
	close(play.fd);
}

/* Bursts with an answer: what counts, when requests are sent, and when a burst ends. */
TEST(test_bursts)
{
	static const struct {
		const char *script;
		unsigned n;
		size_t requests;
		unsigned exchanges, lost, steps;
		unsigned gap_ms, end_ms; /* before the last request, and after it */
	} cases[] = {
		{ "a", 1, 1, 1, 0, 0, 0, 0 },
		{ "a", 100, 100, 100, 0, 0, 0, 0 },
		/* Answered after the usual time, and never. */
		{ "la", 2, 2, 2, 0, 0, 100, 0 },
		{ "da", 2, 2, 1, 1, 0, 100, 20 },
		{ "dad", 3, 3, 1, 2, 0, 100, 20 },
		{ "ad", 3, 3, 1, 2, 0, 1, 20 },
		{ "add", 4, 4, 1, 3, 0, 1, 20 },
		/* An answer after the pace is no reason for one more request. */
		{ "adb", 3, 3, 2, 1, 0, 1, 20 },
		/* The pace and the end follow the round trip. */
		{ "Ad", 4, 4, 1, 3, 0, 20, 120 },
		{ "A", 3, 3, 3, 0, 0, 30, 30 },
		/* A place that is needed again is lost. */
		{ "da", 70, 70, 69, 1, 0, 0, 0 },
		{ "lda", 64, 64, 63, 1, 0, 1, 20 },
		/* Silence for the time limit. */
		{ "ad", 1000, 350, 1, 349, 0, 1, 0 },
		/* Messages that are no answers. */
		{ "f", 3, 3, 3, 0, 0, 0, 0 },
		{ "ia", 3, 3, 2, 1, 0, 0, 0 },
		{ "aaoaa", 5, 5, 5, 0, 1, 0, 0 },
		{ "aasaa", 5, 5, 5, 0, 1, 0, 0 },
		{ "aoo", 3, 3, 3, 0, 2, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct globaltime_client *c;
		struct err why = { 0 };
		struct globaltime g;
		uint64_t last_ns;
		uint16_t port;

		printf("# %s, %u exchanges\n", cases[i].script, cases[i].n);
		assert_int_equal(play_begin(&c, cases[i].script, cases[i].n, 350, &why, &port), 0);
		assert_int_equal(play.n, cases[i].requests);
		last_ns = play.at_ns[play.n - 1];
		assert_int_equal((play.now_ns - last_ns) / NS_PER_MS, cases[i].end_ms);
		if (play.n > 1)
			assert_int_equal((last_ns - play.at_ns[play.n - 2]) / NS_PER_MS,
					 cases[i].gap_ms);
		globaltime_get(c, play.now_ns, &g);
		assert_int_equal(g.exchanges, cases[i].exchanges);
		assert_int_equal(g.lost, cases[i].lost);
		assert_int_equal(g.steps, cases[i].steps);
		assert_int_equal(g.server_id, play.id);
		assert_true(g.answering);
		assert_false(g.drift_known);
		play_end(c);
	}
}

/* Bursts without an answer. */
TEST(test_bursts_fail)
{
	static const struct {
		const char *script;
		int err;
		unsigned ms;
		const char *why;
	} cases[] = {
		{ "d", -ETIMEDOUT, 350,
		  "Connection timed out); start xdd timeserver there, and let UDP pass" },
		{ "i", -EPROTO, 0, "its times are impossible)" },
		{ "di", -EPROTO, 350, "its times are impossible)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct globaltime_client *c;
		struct err why = { 0 };
		char text[200];
		uint16_t port;

		assert_int_equal(play_begin(&c, cases[i].script, 3, 350, &why, &port),
				 cases[i].err);
		snprintf(text, sizeof(text),
			 "no answer from the time server 127.0.0.1:%u by UDP (%s", port,
			 cases[i].why);
		assert_string_equal(why.text, text);
		assert_int_equal(play.n, 3);
		assert_int_equal((play.now_ns - NS_PER_SEC) / NS_PER_MS, cases[i].ms);
		assert_null(c);
		play_end(c);
	}
}

/* Later bursts: none counts what the one before has lost, and a silent server is noticed. */
TEST(test_later_bursts)
{
	static const struct {
		const char *script;
		uint64_t until_ms; /* 0: the usual patience */
		int err;
		unsigned exchanges, lost, ms;
		bool answering;
	} cases[] = {
		{ "a", 0, 0, 40, 0, 0, true },
		{ "d", 50, -ETIMEDOUT, 0, 1, 50, true },
		{ "d", 0, -ETIMEDOUT, 0, 10, 1000, false },
		{ "ad", 0, 0, 1, 39, 58, true },
		{ "d", 250, -ETIMEDOUT, 0, 3, 250, true },
	};
	struct globaltime_client *c;
	struct globaltime before, g;
	struct err why = { 0 };
	uint16_t port;

	assert_int_equal(play_begin(&c, "da", 2, 350, &why, &port), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t begin_ns = play.now_ns;

		globaltime_get(c, begin_ns, &before);
		play.script = cases[i].script;
		play.n = 0;
		assert_int_equal(
			globaltime_refresh(c, cases[i].until_ms ?
						      begin_ns + cases[i].until_ms * NS_PER_MS :
						      UINT64_MAX),
			cases[i].err);
		globaltime_get(c, play.now_ns, &g);
		assert_int_equal(g.exchanges - before.exchanges, cases[i].exchanges);
		assert_int_equal(g.lost - before.lost, cases[i].lost);
		assert_int_equal((play.now_ns - begin_ns) / NS_PER_MS, cases[i].ms);
		assert_int_equal(g.answering, cases[i].answering);
		assert_int_equal(g.steps, 0);
	}
	play_end(c);
}

RUN_TESTS(NULL, NULL)
