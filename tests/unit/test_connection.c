/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections without TLS: src/net/connection*.c.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

#define BIG_BYTES (8u << 20)

static const struct connection_options usual = { .timeout_ns = 20 * SECOND_NS };
static const struct connection_options hasty = { .timeout_ns = 200 * MS_NS };

static void sleep_ms(unsigned ms)
{
	usleep(ms * 1000);
}

/* ---- transfers ---- */

static void transfer(const char *host)
{
	char a[] = "header", b[] = "", c[] = "payload", got[13];
	struct iovec iov[3] = { { a, 6 }, { b, 0 }, { c, 7 } };
	struct connection_info client, server;
	struct rig_pair p;

	rig_pair(&p, host, &usual, NULL, NULL);
	assert_int_equal(connection_send(p.client, iov, 3), 0);
	assert_int_equal(connection_receive(p.server, got, 13), 0);
	assert_memory_equal(got, "headerpayload", 13);
	assert_int_equal(connection_receive(p.server, got, 0), 0);

	connection_info(p.client, &client);
	connection_info(p.server, &server);
	assert_string_equal(client.local, server.peer);
	assert_string_equal(client.peer, server.local);
	assert_string_equal(client.peer, connection_peer(p.client));
	assert_string_equal(client.cipher, "");
	rig_close(&p);
}

TEST(test_ipv4)
{
	transfer("127.0.0.1");
}

TEST(test_ipv6)
{
	if (!rig_has_ipv6())
		skip();
	transfer("::1");
}

TEST(test_address_texts)
{
	const struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(40010),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	struct sockaddr_storage a = { 0 };
	char text[CONNECTION_PEER_SIZE];

	memcpy(&a, &v6, sizeof(v6));
	connection_address_text(&a, text, sizeof(text));
	assert_string_equal(text, "[::1]:40010");
	a.ss_family = AF_UNSPEC;
	connection_address_text(&a, text, sizeof(text));
	assert_string_equal(text, "?");
	connection_host_text("fe80::1%eth0", 1, text, sizeof(text));
	assert_string_equal(text, "[fe80::1%eth0]:1");
}

struct sender {
	struct connection *c;
	char *data;
	size_t size;
	int err;
};

static void *send_all(void *arg)
{
	struct sender *s = arg;
	struct iovec iov[2] = {
		{ s->data, s->size / 3 },
		{ s->data + s->size / 3, s->size - s->size / 3 },
	};

	s->err = connection_send(s->c, iov, 2);
	return NULL;
}

/* More than the socket buffers hold: calls of both sides are cut into parts. */
TEST(test_big)
{
	struct connection_info client, server;
	struct sender s = { .size = BIG_BYTES };
	char *got = malloc(BIG_BYTES);
	struct rig_pair p;
	pthread_t thread;

	rig_pair(&p, "127.0.0.1", &usual, NULL, NULL);
	s.c = p.client;
	s.data = malloc(BIG_BYTES);
	assert_non_null(s.data);
	assert_non_null(got);
	for (size_t i = 0; i < BIG_BYTES; i++)
		s.data[i] = (char)(i * 7 + i / 251);
	assert_int_equal(pthread_create(&thread, NULL, send_all, &s), 0);
	assert_int_equal(connection_receive(p.server, got, BIG_BYTES), 0);
	pthread_join(thread, NULL);
	assert_int_equal(s.err, 0);
	assert_memory_equal(got, s.data, BIG_BYTES);

	connection_info(p.client, &client);
	connection_info(p.server, &server);
	assert_int_equal(client.sent_bytes, BIG_BYTES);
	assert_int_equal(server.received_bytes, BIG_BYTES);
	assert_true(client.rtt_ns > 0 && client.rtt_ns < 10 * SECOND_NS);
	assert_true(client.window_segments > 0);
	assert_true(client.segment_bytes > 0);
	assert_true(client.send_buffer_bytes > 0);
	assert_true(client.receive_buffer_bytes > 0);
	assert_true(strlen(client.congestion) > 0);
	assert_string_equal(client.cipher, "");
	rig_close(&p);
	free(s.data);
	free(got);
}

/* ---- options ---- */

TEST(test_buffers)
{
	struct connection_options o = usual;
	struct connection_info info;
	struct rig_pair p;

	o.send_buffer_bytes = 32768;
	o.receive_buffer_bytes = 65536;
	rig_pair(&p, "127.0.0.1", &o, NULL, NULL);
	connection_info(p.client, &info);
	assert_int_equal(info.send_buffer_bytes, 32768);
	assert_int_equal(info.receive_buffer_bytes, 65536);
	rig_close(&p);
}

/* Within a host they stay small, so that data is still in the cache when it is received. */
TEST(test_buffers_of_a_host)
{
	static const char *const hosts[] = { "127.0.0.1", "::1" };
	struct connection_info info[2];
	struct rig_pair p;

	for (size_t i = 0; i < 2; i++) {
		rig_pair(&p, hosts[i], &usual, NULL, NULL);
		connection_info(p.client, &info[0]);
		connection_info(p.server, &info[1]);
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(info[k].send_buffer_bytes, 131072);
			assert_int_equal(info[k].receive_buffer_bytes, 131072);
		}
		rig_close(&p);
	}
}

TEST(test_congestion)
{
	struct connection_options o = usual;
	struct connection_info info;
	struct connection *c = NULL;
	struct err why;
	struct rig_pair p;
	uint16_t port;
	int fd;

	o.congestion = "reno";
	rig_pair(&p, "127.0.0.1", &o, NULL, NULL);
	connection_info(p.client, &info);
	assert_string_equal(info.congestion, "reno");
	rig_close(&p);

	fd = rig_listen("127.0.0.1", &port);
	o.congestion = "no-such";
	assert_int_equal(connection_open(&c, "127.0.0.1", port, &o, NULL, NULL,
					 clock_now_ns() + SECOND_NS, &why),
			 -ENOENT);
	assert_non_null(strstr(why.text, "\"no-such\""));
	assert_non_null(strstr(why.text, "available: "));
	assert_non_null(strstr(why.text, "reno"));
	close(fd);
}

/* ---- connecting ---- */

struct late {
	const char *host;
	uint16_t port;
	int fd;
};

static void *listen_late(void *arg)
{
	struct late *l = arg;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(l->port) };
	int on = 1;

	sleep_ms(400);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(l->fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(l->fd, 1) != 0)
		perror("listen_late");
	return NULL;
}

TEST(test_retries)
{
	struct late l = { .port = rig_free_port("127.0.0.1") };
	uint64_t start_ns = clock_now_ns();
	struct connection *c = NULL;
	struct err why;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, listen_late, &l), 0);
	assert_int_equal(connection_open(&c, "127.0.0.1", l.port, &usual, NULL, NULL,
					 start_ns + 60 * SECOND_NS, &why),
			 0);
	assert_true(clock_now_ns() - start_ns >= 390 * MS_NS);
	pthread_join(thread, NULL);
	connection_close(c);
	close(l.fd);
}

TEST(test_deadline)
{
	uint16_t port = rig_free_port("127.0.0.1");
	uint64_t start_ns = clock_now_ns(), took_ns;
	char text[ERR_TEXT_SIZE];
	struct err why;
	struct connection *c = NULL;

	assert_int_equal(connection_open(&c, "127.0.0.1", port, &usual, NULL, NULL,
					 start_ns + 700 * MS_NS, &why),
			 -ECONNREFUSED);
	took_ns = clock_now_ns() - start_ns;
	assert_true(took_ns >= 690 * MS_NS && took_ns < 20 * SECOND_NS);
	snprintf(text, sizeof(text), "cannot connect to 127.0.0.1:%u (Connection refused)", port);
	assert_string_equal(why.text, text);
}

/* The host "several" has the addresses 127.0.0.2, 127.0.0.3 and 127.0.0.4. */
int getaddrinfo(const char *restrict host, const char *restrict port,
		const struct addrinfo *restrict hints, struct addrinfo **restrict list)
{
	static const char *const numbers[] = { "127.0.0.2", "127.0.0.3", "127.0.0.4" };
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (!host || strcmp(host, "several") != 0)
		return real(host, port, hints, list);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_int_equal(real(numbers[i], port, hints, list), 0);
		list = &(*list)->ai_next;
	}
	return 0;
}

/* Listen without waiting; `port` 0: any, which is returned. */
static const char *const numbers[] = { "127.0.0.2", "127.0.0.3", "127.0.0.4" };

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* Sockets with one port, which the kernel chooses, at all addresses: nothing else has it there. */
static uint16_t bind_all(int fd[NUMBERS])
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t size = sizeof(a);
	size_t n = 0;

	/* A port that is taken at one of the addresses is left for another one. */
	while (n < NUMBERS) {
		fd[n] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		inet_pton(AF_INET, numbers[n], &a.sin_addr);
		if (bind(fd[n], (struct sockaddr *)&a, size)) {
			assert_int_equal(errno, EADDRINUSE);
			assert_true(n > 0);
			for (size_t i = 0; i <= n; i++)
				close(fd[i]);
			a.sin_port = 0;
			n = 0;
			continue;
		}
		assert_int_equal(getsockname(fd[n], (struct sockaddr *)&a, &size), 0);
		n++;
	}
	return ntohs(a.sin_port);
}

/* The first address that takes the connection gets it, and only one. */
TEST(test_several_addresses)
{
	for (size_t first = 0; first <= NUMBERS; first++) {
		struct connection *c = NULL;
		char text[ERR_TEXT_SIZE];
		struct err why;
		int fd[NUMBERS];
		const uint16_t port = bind_all(fd);
		int err;

		for (size_t i = first; i < NUMBERS; i++)
			assert_int_equal(listen(fd[i], 1), 0);
		err = connection_try(&c, "several", port, &usual, NULL, NULL,
				     clock_now_ns() + 20 * SECOND_NS, &why);
		if (first < NUMBERS) {
			assert_int_equal(err, 0);
			snprintf(text, sizeof(text), "%s:%u", numbers[first], port);
			assert_string_equal(connection_peer(c), text);
			connection_close(c);
		} else {
			assert_int_equal(err, -ECONNREFUSED);
			snprintf(text, sizeof(text),
				 "cannot connect to several:%u (Connection refused)", port);
			assert_string_equal(why.text, text);
		}
		for (size_t i = 0; i < NUMBERS; i++) {
			const int got = i < first ? -1 : accept(fd[i], NULL, NULL);

			assert_int_equal(got >= 0, i == first);
			if (got >= 0)
				close(got);
			close(fd[i]);
		}
	}
}

static void *stop_soon(void *arg)
{
	sleep_ms(200);
	stop_request(arg, STOP_SIGNAL, SIGINT);
	return NULL;
}

TEST(test_stop)
{
	uint64_t start_ns = clock_now_ns();
	struct connection *c = NULL;
	struct err why;
	pthread_t thread;
	struct stop stop;

	stop_init(&stop);
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stop), 0);
	assert_int_equal(connection_open(&c, "127.0.0.1", rig_free_port("127.0.0.1"), &usual, NULL,
					 &stop, start_ns + 60 * SECOND_NS, &why),
			 -ECANCELED);
	assert_true(clock_now_ns() - start_ns < 30 * SECOND_NS);
	pthread_join(thread, NULL);
	stop_destroy(&stop);
}

/*
 * In a network of its own that has ten ports for clients, an attempt to connect to one of these
 * soon comes from that port itself. Runs in a child. Returns its exit status; 77: not permitted.
 */
static int connect_to_self(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct err why;
	struct connection *c;
	FILE *range;
	int fd;

	if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return 77;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0 || !range ||
	    fputs("40000 40009", range) < 0 || fclose(range) != 0)
		return 77;
	for (unsigned i = 0; i < 300; i++) {
		int err = connection_try(&c, "127.0.0.1", 40004, &usual, NULL, NULL,
					 clock_now_ns() + 5 * SECOND_NS, &why);

		if (err != -ECONNREFUSED)
			return 1;
	}
	return 0;
}

TEST(test_not_to_itself)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(connect_to_self());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- time limits ---- */

TEST(test_nothing_arrives)
{
	uint64_t start_ns = clock_now_ns(), took_ns;
	struct rig_pair p;
	char buf[8];

	rig_pair(&p, "127.0.0.1", &hasty, NULL, NULL);
	assert_int_equal(connection_receive(p.server, buf, sizeof(buf)), -ETIMEDOUT);
	took_ns = clock_now_ns() - start_ns;
	assert_true(took_ns >= 190 * MS_NS && took_ns < 20 * SECOND_NS);
	rig_close(&p);
}

TEST(test_first)
{
	char data[8] = "abcdefgh", got[8];
	struct iovec all = { data, 8 }, half = { data, 4 };
	struct rig_pair p;

	rig_pair(&p, "127.0.0.1", &hasty, NULL, NULL);
	assert_int_equal(connection_receive_first(p.server, got, 8), -EAGAIN);
	assert_int_equal(connection_send(p.client, &all, 1), 0);
	assert_int_equal(connection_receive_first(p.server, got, 8), 0);
	assert_memory_equal(got, data, 8);
	assert_int_equal(connection_send(p.client, &half, 1), 0);
	assert_int_equal(connection_receive_first(p.server, got, 8), -ETIMEDOUT);
	rig_close(&p);
}

/* The time limit of the socket decides, without the one that TCP has for data on its way. */
TEST(test_nothing_leaves)
{
	char *data = calloc(1, BIG_BYTES);
	struct iovec iov = { data, BIG_BYTES };
	struct rig_pair p;
	int none = 0;

	assert_non_null(data);
	rig_pair(&p, "127.0.0.1", &hasty, NULL, NULL);
	assert_int_equal(
		setsockopt(p.client->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &none, sizeof(none)), 0);
	assert_int_equal(connection_send(p.client, &iov, 1), -ETIMEDOUT);
	rig_close(&p);
	free(data);
}

struct trickle {
	struct connection *c;
	uint64_t sent_ns, longest_ns; /* of the last byte; between two of them */
};

static void *trickle(void *arg)
{
	struct trickle *t = arg;

	for (unsigned i = 0; i < 10; i++) {
		char byte = (char)('a' + i);
		struct iovec iov = { &byte, 1 };
		uint64_t now_ns;

		sleep_ms(60);
		connection_send(t->c, &iov, 1);
		now_ns = clock_now_ns();
		if (now_ns - t->sent_ns > t->longest_ns)
			t->longest_ns = now_ns - t->sent_ns;
		t->sent_ns = now_ns;
	}
	return NULL;
}

/* The whole takes three times the limit, but something arrives all the time. */
TEST(test_progress)
{
	struct rig_pair p;
	pthread_t thread;
	struct trickle t;
	char got[10];
	int err;

	/* Bytes that a busy machine sends late may arrive too late: that is measured again. */
	for (unsigned i = 0; i < 10; i++) {
		rig_pair(&p, "127.0.0.1", &hasty, NULL, NULL);
		t = (struct trickle){ .c = p.client, .sent_ns = clock_now_ns() };
		assert_int_equal(pthread_create(&thread, NULL, trickle, &t), 0);
		err = connection_receive(p.server, got, 10);
		pthread_join(thread, NULL);
		rig_close(&p);
		if (err != -ETIMEDOUT || t.longest_ns <= 100 * MS_NS)
			break;
	}
	assert_int_equal(err, 0);
	assert_memory_equal(got, "abcdefghij", 10);
}

/* ---- ends ---- */

TEST(test_peer_closes)
{
	struct rig_pair p;

	rig_pair(&p, "127.0.0.1", &usual, NULL, NULL);
	rig_check_peer_closes(&p);
}

TEST(test_abort)
{
	for (enum rig_call in = 0; in < RIG_CALLS; in++) {
		struct rig_pair p;

		rig_pair(&p, "127.0.0.1", &usual, NULL, NULL);
		rig_check_abort(&p, in);
	}
}

/* Data that had arrived before does not hide it. */
TEST(test_abort_before)
{
	char data[4] = "data", got[4];
	struct iovec iov = { data, 4 };
	struct rig_pair p;

	rig_pair(&p, "127.0.0.1", &usual, NULL, NULL);
	assert_int_equal(connection_send(p.server, &iov, 1), 0);
	assert_int_equal(connection_wait(p.client, -1, UINT64_MAX), 1);
	connection_abort(p.client);
	iov = (struct iovec){ data, 4 };
	assert_int_equal(connection_send(p.client, &iov, 1), -ECONNABORTED);
	assert_int_equal(connection_receive(p.client, got, 4), -ECONNABORTED);
	assert_int_equal(connection_wait(p.client, -1, UINT64_MAX), -ECONNABORTED);
	rig_close(&p);
}

TEST(test_wait)
{
	int wake = eventfd(0, EFD_CLOEXEC);
	uint64_t start_ns = clock_now_ns();
	char data[4] = "data", got[4];
	struct iovec iov = { data, 4 };
	struct rig_pair p;

	assert_true(wake >= 0);
	rig_pair(&p, "127.0.0.1", &usual, NULL, NULL);
	assert_int_equal(connection_wait(p.server, wake, 50 * MS_NS), 0);
	assert_true(clock_now_ns() - start_ns >= 50 * MS_NS);
	assert_int_equal(eventfd_write(wake, 1), 0);
	assert_int_equal(connection_wait(p.server, wake, UINT64_MAX), 0);
	assert_int_equal(connection_send(p.client, &iov, 1), 0);
	assert_int_equal(connection_wait(p.server, -1, UINT64_MAX), 1);
	assert_int_equal(connection_wait(p.server, -1, 0), 1);
	assert_int_equal(connection_receive(p.server, got, 4), 0);
	connection_close(p.client);
	p.client = NULL;
	assert_int_equal(connection_wait(p.server, -1, UINT64_MAX), 1);
	rig_close(&p);
	close(wake);
}

int main(void)
{
	signal(SIGPIPE, SIG_DFL);
	clock_start();
	clock_calibrate();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
