/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data connections of a copy: ports, listening, connecting, and strangers:
 * src/copy/link/data.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copy/link/link.h"
#include "net_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

#define CONNECTIONS 8
/* A limit that no test reaches, and the time in which what does not wait for it has ended. */
#define WAIT_NS (60 * SECOND_NS)
#define HANG_NS (30 * SECOND_NS)

/* Both sides have the same terms, unless a test changes those of one. */
struct fixture {
	struct copy_settings settings[2];
	struct data_terms terms[2];
	struct data_listener *listener;
	struct data_links here, there;
	uint16_t port;
	struct err why;
};

static void set_up(struct fixture *f, bool encrypt)
{
	memset(f, 0, sizeof(*f));
	for (unsigned i = 0; i < 2; i++) {
		f->settings[i] = (struct copy_settings){
			.connections = CONNECTIONS,
			.timeout_ns = WAIT_NS,
			.encrypt = encrypt,
		};
		f->terms[i].settings = &f->settings[i];
		memset(f->terms[i].key, 7, sizeof(f->terms[i].key));
		memset(f->terms[i].session, 9, sizeof(f->terms[i].session));
	}
}

static void tear_down(struct fixture *f)
{
	data_listener_free(f->listener);
	data_links_close(&f->here);
	data_links_close(&f->there);
}

static void listen_at(struct fixture *f, const char *address)
{
	int err = data_listen(&f->listener, &f->terms[0], address, &f->port, &f->why);

	if (err)
		fail_msg("data_listen(): %d, %s", err, f->why.text);
	assert_true(f->port > 0);
}

static int connect_to(struct fixture *f, const char *address)
{
	struct copy_meet to = { .how = COPY_CONNECT, .port = f->port, .n_addresses = 1 };

	snprintf(to.addresses[0], sizeof(to.addresses[0]), "%s", address);
	return data_connect(&f->there, &f->terms[1], &to, WAIT_NS, &f->why);
}

static int accept_all(struct fixture *f)
{
	return data_accept(f->listener, &f->here, WAIT_NS, &f->why);
}

/* Each link leads to that of the same number. */
static void check_links(struct fixture *f)
{
	assert_int_equal(f->here.n, CONNECTIONS);
	assert_int_equal(f->there.n, CONNECTIONS);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		uint8_t sent[64] = { (uint8_t)i }, got[64];
		struct wire_header h;

		assert_int_equal(link_send_body(f->there.links[i], WIRE_COPY_BUNDLE, sent, 64), 0);
		assert_int_equal(link_receive(f->here.links[i], 64, &h, &f->why), 0);
		assert_int_equal(h.length, 64);
		assert_int_equal(link_receive_body(f->here.links[i], &h, got, NULL, &f->why), 0);
		assert_memory_equal(sent, got, 64);
	}
}

/* ---- meetings ---- */

static void meet(const char *listen, const char *connect, bool encrypt)
{
	struct connection_info info;
	uint64_t start_ns, ns;
	struct fixture f;

	set_up(&f, encrypt);
	start_ns = clock_now_ns();
	listen_at(&f, listen);
	if (connect_to(&f, connect) != 0)
		fail_msg("data_connect(): %s", f.why.text);
	if (accept_all(&f) != 0)
		fail_msg("data_accept(): %s", f.why.text);
	ns = clock_now_ns() - start_ns;
	print_message("# %u connections in %llu us\n", CONNECTIONS,
		      (unsigned long long)(ns / 1000));
	check_links(&f);
	link_info(f.here.links[0], &info);
	assert_true(encrypt == (info.cipher[0] != '\0'));
	tear_down(&f);
}

TEST(test_meet)
{
	meet("127.0.0.1", "127.0.0.1", false);
	meet("", "127.0.0.1", false);
	meet("", "localhost", false);
	/* an address of a gateway */
	meet("192.0.2.1", "127.0.0.1", false);
}

TEST(test_meet_encrypted)
{
	meet("127.0.0.1", "127.0.0.1", true);
}

TEST(test_meet_ipv6)
{
	if (!rig_has_ipv6())
		skip();
	meet("::1", "::1", false);
	meet("", "::1", true);
}

/* The second address is the right one. */
TEST(test_addresses)
{
	struct copy_meet to = { .how = COPY_CONNECT, .n_addresses = 2 };
	struct fixture f;

	set_up(&f, false);
	listen_at(&f, "127.0.0.1");
	to.port = f.port;
	strcpy(to.addresses[0], "127.0.0.2");
	strcpy(to.addresses[1], "127.0.0.1");
	assert_int_equal(data_connect(&f.there, &f.terms[1], &to, WAIT_NS, &f.why), 0);
	assert_int_equal(accept_all(&f), 0);
	check_links(&f);
	tear_down(&f);
}

/* The number of connections that were made to `fd`, and that no one has accepted. */
static unsigned pending(int fd)
{
	unsigned n = 0;
	int one;

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while ((one = accept(fd, NULL, NULL)) >= 0) {
		close(one);
		n++;
	}
	return n;
}

/* The first failure is told; a name and its number are one address, which is tried once. */
TEST(test_first_failure)
{
	struct copy_meet to = { .how = COPY_CONNECT, .n_addresses = 3 };
	struct fixture f;
	int fd;

	set_up(&f, false);
	fd = rig_listen("127.0.0.1", &to.port);
	strcpy(to.addresses[0], "127.0.0.1");
	strcpy(to.addresses[1], "localhost");
	strcpy(to.addresses[2], "127.0.0.2");
	assert_int_equal(data_connect(&f.there, &f.terms[1], &to, SECOND_NS, &f.why), -ETIMEDOUT);
	assert_non_null(strstr(f.why.text, "127.0.0.1 port"));
	assert_int_equal(pending(fd), CONNECTIONS);
	strcpy(to.addresses[0], "no..host");
	to.n_addresses = 1;
	assert_true(data_connect(&f.there, &f.terms[1], &to, SECOND_NS, &f.why) < 0);
	assert_non_null(strstr(f.why.text, "cannot find the host \"no..host\""));
	to.n_addresses = 0;
	assert_true(data_connect(&f.there, &f.terms[1], &to, SECOND_NS, &f.why) < 0);
	assert_string_equal(f.why.text, "the other side has no address");
	close(fd);
	tear_down(&f);
}

/* ---- failures ---- */

TEST(test_refused)
{
	uint64_t start_ns = clock_now_ns();
	struct fixture f;

	set_up(&f, false);
	f.port = rig_free_port("127.0.0.1");
	assert_int_equal(connect_to(&f, "127.0.0.1"), -ECONNREFUSED);
	assert_non_null(strstr(f.why.text, "cannot connect to 127.0.0.1:"));
	assert_true(clock_now_ns() - start_ns < HANG_NS);
	assert_int_equal(f.there.n, 0);
	tear_down(&f);
}

/* A port that accepts, and then is silent. */
TEST(test_silent)
{
	struct copy_meet to = { .how = COPY_CONNECT, .n_addresses = 1 };
	static const char *const texts[] = {
		"does not answer as the other side of this copy (Connection timed out)",
		"did not prove that it has the key of this copy",
	};
	uint64_t start_ns = clock_now_ns();

	for (unsigned encrypt = 0; encrypt < 2; encrypt++) {
		char whole[128];
		struct fixture f;
		int fd;

		set_up(&f, encrypt);
		fd = rig_listen("127.0.0.1", &to.port);
		strcpy(to.addresses[0], "127.0.0.1");
		assert_int_equal(data_connect(&f.there, &f.terms[1], &to, 200 * MS_NS, &f.why),
				 -ETIMEDOUT);
		snprintf(whole, sizeof(whole), "127.0.0.1 port %u %s", to.port, texts[encrypt]);
		assert_string_equal(f.why.text, whole);
		close(fd);
		tear_down(&f);
	}
	assert_true(clock_now_ns() - start_ns < HANG_NS);
}

static void fails(bool encrypt, void (*change)(struct fixture *f), const char *text)
{
	struct fixture f;
	char whole[128];

	set_up(&f, encrypt);
	change(&f);
	listen_at(&f, "127.0.0.1");
	assert_true(connect_to(&f, "127.0.0.1") < 0);
	snprintf(whole, sizeof(whole), "127.0.0.1 port %u %s", f.port, text);
	assert_string_equal(f.why.text, whole);
	assert_int_equal(data_accept(f.listener, &f.here, 1, &f.why), -ETIMEDOUT);
	snprintf(whole, sizeof(whole), "0 of 8 data connections arrived on port %u", f.port);
	assert_string_equal(f.why.text, whole);
	tear_down(&f);
}

static void other_key(struct fixture *f)
{
	f->terms[1].key[5] ^= 1;
}

static void other_session(struct fixture *f)
{
	f->terms[1].session[5] ^= 1;
}

static void one_encrypts(struct fixture *f)
{
	f->settings[0].encrypt = true;
}

static void other_encrypts(struct fixture *f)
{
	f->settings[1].encrypt = true;
}

TEST(test_other_terms)
{
	static const char other[] = "belongs to another program, or to another copy",
			  unproven[] = "did not prove that it has the key of this copy";

	fails(false, other_key, other);
	fails(false, other_session, other);
	fails(true, other_key, unproven);
	fails(true, other_session, other);
	fails(false, one_encrypts, other);
	fails(false, other_encrypts, unproven);
}

/* More connections than are expected are refused, and cost the others nothing. */
TEST(test_too_many)
{
	struct data_links first;
	struct fixture f;

	set_up(&f, false);
	f.settings[1].connections = CONNECTIONS + 1;
	listen_at(&f, "127.0.0.1");
	assert_true(connect_to(&f, "127.0.0.1") < 0);
	tear_down(&f);

	/* And the second of the same number. */
	set_up(&f, false);
	listen_at(&f, "127.0.0.1");
	assert_int_equal(connect_to(&f, "127.0.0.1"), 0);
	first = f.there;
	assert_true(connect_to(&f, "127.0.0.1") < 0);
	f.there = first;
	assert_int_equal(accept_all(&f), 0);
	check_links(&f);
	tear_down(&f);
}

/* Strangers that connect and say nothing, or garbage. */
TEST(test_strangers)
{
	struct sockaddr_storage a;
	struct fixture f;
	socklen_t size;
	int fds[100];

	set_up(&f, false);
	listen_at(&f, "127.0.0.1");
	size = rig_address("127.0.0.1", f.port, &a);
	for (unsigned i = 0; i < 100; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&a, size), 0);
		if (i % 2)
			assert_int_equal(send(fds[i], "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
	}
	assert_int_equal(connect_to(&f, "127.0.0.1"), 0);
	assert_int_equal(accept_all(&f), 0);
	check_links(&f);
	for (unsigned i = 0; i < 100; i++)
		close(fds[i]);
	tear_down(&f);
}

/* The first message of a connection, recorded: it gets no further than the one it was. */
TEST(test_replayed_hello)
{
	static const struct connection_options options = { .timeout_ns = 5 * SECOND_NS };
	char buf[1024];
	struct err why;
	struct sockaddr_storage a;
	struct stream_terms terms;
	struct data_keys keys;
	struct connection *c;
	struct wire_key *key;
	struct fixture f;
	socklen_t size;
	ssize_t n, m;
	int tap, fd;

	set_up(&f, false);
	f.settings[0].connections = f.settings[1].connections = 1;

	/* Record it. */
	assert_int_equal(data_keys_derive(&keys, &f.terms[1], &why), 0);
	key = wire_key_new(keys.codes);
	tap = rig_listen("127.0.0.1", &f.port);
	assert_int_equal(connection_open(&c, "127.0.0.1", f.port, &options, NULL, NULL,
					 clock_now_ns() + SECOND_NS, &why),
			 0);
	terms = data_streams(&f.terms[1], &keys);
	assert_int_equal(stream_send_hello(c, WIRE_HELLO, &terms, 0, key), 0);
	fd = accept(tap, NULL, NULL);
	n = recv(fd, buf, sizeof(buf), 0);
	assert_true(n > WIRE_HEADER_BYTES);
	close(fd);
	close(tap);
	connection_close(c);
	wire_key_free(key);

	/* It is there already, so the copy is refused. */
	listen_at(&f, "127.0.0.1");
	assert_int_equal(connect_to(&f, "127.0.0.1"), 0);
	size = rig_address("127.0.0.1", f.port, &a);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, size), 0);
	assert_int_equal(send(fd, buf, (size_t)n, MSG_NOSIGNAL), n);
	m = recv(fd, buf, sizeof(buf), 0);
	assert_true(m > WIRE_HEADER_BYTES);
	buf[sizeof(buf) - 1] = '\0';
	assert_string_equal(buf + WIRE_HEADER_BYTES + 4, "this data connection is there already");
	close(fd);
	tear_down(&f);
}

/* ---- ports ---- */

/* `n` ports in a row on which nothing listens, or 0. */
static uint16_t free_row(unsigned n)
{
	for (unsigned i = 0; i < 100; i++) {
		uint16_t first = (uint16_t)(32001 + (rig_free_port("127.0.0.1") % 760));
		unsigned free = 0;

		while (free < n) {
			struct sockaddr_storage a;
			socklen_t size = rig_address("127.0.0.1", (uint16_t)(first + free), &a);
			int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			bool bound = bind(fd, (struct sockaddr *)&a, size) == 0;

			close(fd);
			if (!bound)
				break;
			free++;
		}
		if (free == n)
			return first;
	}
	fail_msg("there are no %u free ports in a row", n);
	return 0;
}

/* Listen on `port`. */
static int occupy(uint16_t port)
{
	struct sockaddr_storage a;
	socklen_t size = rig_address("127.0.0.1", port, &a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

TEST(test_next_port)
{
	uint16_t first = free_row(3);
	int fds[2] = { occupy(first), occupy((uint16_t)(first + 1)) };
	struct fixture f;

	set_up(&f, false);
	f.settings[0].port = first;
	listen_at(&f, "127.0.0.1");
	assert_int_equal(f.port, first + 2);
	tear_down(&f);

	set_up(&f, false);
	f.settings[0].port = first;
	listen_at(&f, "");
	assert_int_equal(f.port, first + 2);
	tear_down(&f);
	close(fds[0]);
	close(fds[1]);
}

/* The first of two ports belongs to this program. */
static void assert_taken(const struct fixture *f, unsigned first, const char *end)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "no port from %u to %u is free: %u belongs to process %d (test_copy_ports)%s",
		 first, first + 1, first, (int)getpid(), end);
	assert_string_equal(f->why.text, text);
}

TEST(test_exact_ports)
{
	uint16_t first = free_row(3);
	int fds[2] = { occupy(first), occupy((uint16_t)(first + 1)) };
	struct fixture f;

	set_up(&f, false);
	f.settings[0].port = first;
	f.settings[0].port_given = true;
	f.settings[0].connections = 2;
	assert_int_equal(data_listen(&f.listener, &f.terms[0], "127.0.0.1", &f.port, &f.why),
			 -EADDRINUSE);
	assert_taken(&f, first,
		     "; give another one with -p, or -f to end copies of yours that have them");
	/* This program is not xdd. */
	f.settings[0].free_ports = true;
	assert_int_equal(data_listen(&f.listener, &f.terms[0], "127.0.0.1", &f.port, &f.why),
			 -EADDRINUSE);
	assert_taken(&f, first, ", which -f does not end; give another one with -p");
	f.settings[0].connections = 3;
	listen_at(&f, "127.0.0.1");
	assert_int_equal(f.port, first + 2);
	tear_down(&f);
	close(fds[0]);
	close(fds[1]);
}

/* The last port has none after it. */
TEST(test_last_port)
{
	struct fixture f;

	set_up(&f, false);
	f.settings[0].port = 65535;
	f.settings[0].connections = 128;
	listen_at(&f, "127.0.0.1");
	tear_down(&f);
}

TEST(test_owner)
{
	char text[PORT_OWNER_SIZE];
	uint16_t port, other_port;
	int fd = rig_listen("127.0.0.1", &port), other = rig_listen("127.0.0.1", &other_port);

	assert_true(port_owner(port, text));
	assert_non_null(strstr(text, "test_copy_ports"));
	close(fd);
	/* This process listens on another port. */
	assert_false(port_owner(port, text));
	close(other);
	if (!rig_has_ipv6())
		return;
	fd = rig_listen("::1", &port);
	assert_true(port_owner(port, text));
	close(fd);
}

RUN_TESTS_IF(digest_available(&reason) && net_key_available(&reason), ignore_sigpipe, NULL)
