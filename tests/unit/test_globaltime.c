/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client and the server of global time in one process, over loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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
 * it is true within the time that this took.
 */
static void check_time(struct globaltime_client *c)
{
	const int64_t slack_ns = 2 * (int64_t)NS_PER_MS;
	struct globaltime g;
	int64_t error_ns;

	globaltime_get(c, clock_now_ns(), &g);
	error_ns = g.offset_ns - clock_wall_offset_ns();
	assert_true(llabs(error_ns) <= (int64_t)g.bound_ns + slack_ns);
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
	check_time(c);
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
	check_time(c);
	globaltime_end(c);
	c = begin("127.0.0.2", time_server_port(r.server));
	check_time(c);
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
	check_time(c);
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

RUN_TESTS(NULL, NULL)
