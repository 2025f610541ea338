/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The listener, and strangers of all kinds: src/net/listener*.c.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/listener_internal.h"
#include "net_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

#define HOST "127.0.0.1"
#define MESSAGE_BYTES (WIRE_HEADER_BYTES + WIRE_MAX_HELLO_BYTES)
#define REFUSAL "the destination is busy with another source"

static const struct connection_options usual = { .timeout_ns = 20 * SECOND_NS };

/* A listener, and a session that takes connections with the name of software "xdd good". */
struct rig {
	struct listener *l;
	uint16_t port;
	atomic_uint taken, offered;
	struct listener_guest guest; /* the latest that was taken */
};

static bool take(void *arg, const struct listener_guest *guest, struct err *why)
{
	struct rig *r = arg;
	char byte = '!';
	struct iovec iov = { &byte, 1 };

	atomic_fetch_add(&r->offered, 1);
	if (strcmp(guest->hello.software, "xdd good") != 0) {
		if (strcmp(guest->hello.software, "xdd silent") != 0)
			err_set(why, -EACCES, REFUSAL);
		return false;
	}
	r->guest = *guest;
	atomic_fetch_add(&r->taken, 1);
	assert_int_equal(connection_send(guest->connection, &iov, 1), 0);
	connection_close(guest->connection);
	return true;
}

static uint16_t port_of(const struct listener *l, size_t i)
{
	const struct sockaddr_storage *a = &l->sockets[i].address;

	return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port :
						((const struct sockaddr_in *)a)->sin_port);
}

static void start(struct rig *r, const char *host, const struct net_key *key)
{
	struct err why;

	memset(r, 0, sizeof(*r));
	r->l = listener_new(&usual, key);
	assert_non_null(r->l);
	assert_int_equal(listener_add(r->l, host, 0, &why), 0);
	r->port = port_of(r->l, 0);
	assert_int_equal(listener_start(r->l, take, r), 0);
}

/* The first message of a data connection, or of a control connection. Returns its size. */
static size_t hello(uint8_t *out, const char *software, bool control)
{
	struct wire_hello b = { .purpose = control ? WIRE_CONTROL : WIRE_TRANSFER };
	struct wire_header h = {
		.type = WIRE_HELLO,
		.target = 3,
		.connection = control ? WIRE_NO_CONNECTION : 7,
	};

	memset(b.session, 0x5a, sizeof(b.session));
	snprintf(b.software, sizeof(b.software), "%s", software);
	h.length = wire_encode_hello(&b, out + WIRE_HEADER_BYTES);
	h.digest = digest_data(out + WIRE_HEADER_BYTES, h.length);
	wire_encode(&h, NULL, out);
	return WIRE_HEADER_BYTES + h.length;
}

static struct connection *dial(const struct rig *r, const struct net_key *key)
{
	struct connection *c = NULL;
	struct err why;
	int err = connection_open(&c, HOST, r->port, &usual, key, NULL,
				  clock_now_ns() + 20 * SECOND_NS, &why);

	if (err)
		fail_msg("connection_open(): %d, %s", err, why.text);
	return c;
}

static void put(struct connection *c, const void *data, size_t size)
{
	struct iovec iov = { (void *)data, size };

	assert_int_equal(connection_send(c, &iov, 1), 0);
}

static void put_hello(struct connection *c, const char *software, bool control)
{
	uint8_t message[MESSAGE_BYTES];

	put(c, message, hello(message, software, control));
}

static void assert_taken(struct connection *c)
{
	char byte;

	assert_int_equal(connection_receive(c, &byte, 1), 0);
	assert_int_equal(byte, '!');
}

static void assert_closed(struct connection *c)
{
	char byte;

	assert_int_equal(connection_receive(c, &byte, 1), -ECONNRESET);
}

/* The answer is an ERROR with `text`, and then the end. */
/* In words, of the target and the connection that the peer has named. */
static void assert_refused_as(struct connection *c, const char *text, uint32_t target,
			      uint32_t number)
{
	uint8_t body[WIRE_MAX_ERROR_BYTES];
	enum wire_fault fault;
	struct wire_header h;
	struct wire_error e;

	assert_int_equal(connection_receive_header(c, NULL, 0, &h, &fault), 0);
	assert_int_equal(h.type, WIRE_ERROR);
	assert_int_equal(h.connection, number);
	assert_int_equal(h.target, target);
	assert_true(h.length <= sizeof(body));
	assert_int_equal(connection_receive(c, body, h.length), 0);
	assert_int_equal(wire_check_body(&h, body), WIRE_OK);
	assert_int_equal(wire_decode_error(body, h.length, &e), WIRE_OK);
	assert_int_equal(e.status, XDD_IO_ERROR);
	assert_string_equal(e.text, text);
	assert_closed(c);
}

static void assert_refused(struct connection *c, const char *text)
{
	assert_refused_as(c, text, 3, WIRE_NO_CONNECTION);
}

/* ---- known peers ---- */

static void greet(const char *host)
{
	struct err why;
	struct connection *c;
	struct rig r;

	start(&r, host, NULL);
	assert_int_equal(connection_open(&c, host, r.port, &usual, NULL, NULL,
					 clock_now_ns() + 20 * SECOND_NS, &why),
			 0);
	put_hello(c, "xdd good", false);
	assert_taken(c);
	connection_close(c);
	assert_int_equal(r.guest.header.target, 3);
	assert_int_equal(r.guest.header.connection, 7);
	assert_int_equal(r.guest.hello.purpose, WIRE_TRANSFER);
	assert_int_equal(r.guest.hello.session[0], 0x5a);
	assert_false(r.guest.tls);
	assert_int_equal(listener_refused(r.l), 0);
	listener_free(r.l);
}

TEST(test_taken)
{
	greet(HOST);
	if (rig_has_ipv6())
		greet("::1");
}

TEST(test_taken_byte_by_byte)
{
	uint8_t message[MESSAGE_BYTES];
	size_t size = hello(message, "xdd good", true);
	struct connection *c;
	struct rig r;

	start(&r, HOST, NULL);
	c = dial(&r, NULL);
	for (size_t i = 0; i < size; i++)
		put(c, message + i, 1);
	assert_taken(c);
	assert_memory_equal(r.guest.raw, message, WIRE_HEADER_BYTES);
	connection_close(c);
	listener_free(r.l);
}

TEST(test_refused)
{
	struct connection *c;
	struct rig r;

	start(&r, HOST, NULL);
	c = dial(&r, NULL);
	put_hello(c, "xdd other", true);
	assert_refused(c, REFUSAL);
	connection_close(c);
	c = dial(&r, NULL);
	put_hello(c, "xdd other", false);
	assert_refused_as(c, REFUSAL, 3, 7);
	connection_close(c);
	c = dial(&r, NULL);
	put_hello(c, "xdd silent", true);
	assert_closed(c);
	connection_close(c);
	assert_int_equal(listener_refused(r.l), 3);
	assert_int_equal(atomic_load(&r.taken), 0);
	listener_free(r.l);
}

/* The text arrives although the peer has sent more than was read. */
TEST(test_refused_while_sending)
{
	char *more = calloc(1, 1 << 16);
	struct connection *c;
	struct rig r;

	assert_non_null(more);
	start(&r, HOST, NULL);
	for (unsigned i = 0; i < 20; i++) {
		c = dial(&r, NULL);
		put_hello(c, "xdd other", true);
		put(c, more, 1 << 16);
		assert_refused(c, REFUSAL);
		connection_close(c);
	}
	listener_free(r.l);
	free(more);
}

/* ---- strangers ---- */

static void assert_unheard(const uint8_t *message, size_t size)
{
	struct connection *c;
	struct rig r;

	start(&r, HOST, NULL);
	c = dial(&r, NULL);
	put(c, message, size);
	assert_closed(c);
	connection_close(c);
	assert_int_equal(atomic_load(&r.offered), 0);
	assert_int_equal(listener_refused(r.l), 1);
	listener_free(r.l);
}

TEST(test_garbage)
{
	uint8_t message[MESSAGE_BYTES];
	size_t size;

	memset(message, 'G', sizeof(message));
	assert_unheard(message, sizeof(message));

	size = hello(message, "xdd good", true);
	message[WIRE_HEADER_BYTES] ^= 1;
	assert_unheard(message, size);

	size = hello(message, "xdd good", true);
	message[WIRE_HEADER_BYTES - 1] ^= 1;
	assert_unheard(message, size);

	/* The start of a TLS handshake, without a key here. */
	memcpy(message, "\x16\x03\x01\x02\x00", 5);
	assert_unheard(message, 5);
}

TEST(test_other_messages)
{
	struct wire_header h = {
		.type = WIRE_HELLO,
		.connection = WIRE_NO_CONNECTION,
		.length = 1ull << 62,
		.digest = { 1, 1 },
	};
	uint8_t message[MESSAGE_BYTES] = { 0 };

	wire_encode(&h, NULL, message);
	assert_unheard(message, WIRE_HEADER_BYTES);
	h.length = WIRE_MAX_HELLO_BYTES + 1;
	wire_encode(&h, NULL, message);
	assert_unheard(message, WIRE_HEADER_BYTES);
	h = (struct wire_header){ .type = WIRE_BYE, .connection = WIRE_NO_CONNECTION };
	wire_encode(&h, NULL, message);
	assert_unheard(message, WIRE_HEADER_BYTES);
}

/* Peers that leave at once keep no place, which another would have to leave for the next one. */
TEST(test_leave_at_once)
{
	struct connection *c;
	struct rig r;

	start(&r, HOST, NULL);
	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++)
		connection_close(dial(&r, NULL));
	c = dial(&r, NULL);
	put_hello(c, "xdd good", true);
	assert_taken(c);
	assert_int_equal(listener_refused(r.l), 0);
	connection_close(c);
	listener_free(r.l);
}

TEST(test_version)
{
	uint8_t message[MESSAGE_BYTES];
	struct connection *c;
	char text[128];
	struct rig r;
	uint64_t sum;

	start(&r, HOST, NULL);
	hello(message, "xdd good", true);
	message[4] = 9;
	sum = digest_short(message, WIRE_HEADER_BYTES - 8);
	for (unsigned i = 0; i < 8; i++)
		message[WIRE_HEADER_BYTES - 8 + i] = (uint8_t)(sum >> 8 * i);
	c = dial(&r, NULL);
	put(c, message, WIRE_HEADER_BYTES);
	snprintf(text, sizeof(text),
		 "the source speaks version 9 of the protocol, the destination version %u",
		 WIRE_VERSION);
	assert_refused_as(c, text, 0, WIRE_NO_CONNECTION);
	connection_close(c);
	listener_free(r.l);
}

/* Connections that send nothing, or a part of a message, do not delay others, and are closed. */
TEST(test_idle)
{
	uint8_t message[MESSAGE_BYTES];
	struct connection *idle[1000], *c;
	uint64_t start_ns;
	struct rig r;

	start(&r, HOST, NULL);
	hello(message, "xdd good", true);
	for (unsigned i = 0; i < 1000; i++) {
		idle[i] = dial(&r, NULL);
		if (i % 2)
			put(idle[i], message, 1 + i % WIRE_HEADER_BYTES);
	}
	start_ns = clock_now_ns();
	c = dial(&r, NULL);
	put_hello(c, "xdd good", true);
	assert_taken(c);
	assert_true(clock_now_ns() - start_ns < 4 * SECOND_NS);
	connection_close(c);
	for (unsigned i = 0; i < 1000; i++) {
		assert_closed(idle[i]);
		connection_close(idle[i]);
	}
	assert_true(clock_now_ns() - start_ns < 15 * SECOND_NS);
	assert_int_equal(listener_refused(r.l), 1000);
	assert_int_equal(atomic_load(&r.offered), 1);
	listener_free(r.l);
}

struct flood {
	const struct rig *r;
	atomic_bool over;
	atomic_uint n;
};

static int dial_from(const char *address, uint16_t port)
{
	struct sockaddr_in own = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &own.sin_addr);
	inet_pton(AF_INET, HOST, &to.sin_addr);
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0)
		connect(fd, (struct sockaddr *)&to, sizeof(to));
	return fd;
}

/* Connections of another host as fast as they go, each with a part of a message. */
static void *flood(void *arg)
{
	struct flood *f = arg;
	uint8_t message[MESSAGE_BYTES];
	int open[LISTENER_MAX_STRANGERS];

	memset(open, -1, sizeof(open));
	hello(message, "xdd good", true);
	while (!atomic_load(&f->over)) {
		unsigned n = atomic_fetch_add(&f->n, 1);
		int *fd = &open[n % LISTENER_MAX_STRANGERS];

		close(*fd);
		*fd = dial_from("127.0.0.3", f->r->port);
		send(*fd, message, 1 + n % WIRE_HEADER_BYTES, MSG_NOSIGNAL);
	}
	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++)
		close(open[i]);
	return NULL;
}

/* The answer to a client of HOST that sends its message late. */
static int answer_in_flood(const struct rig *r)
{
	struct connection *c = dial(r, NULL);
	char byte = 0;
	int err;

	usleep(20000);
	put_hello(c, "xdd good", true);
	err = connection_receive(c, &byte, 1);
	connection_close(c);
	return err ? err : byte;
}

/* A flood takes the places of its own address, and never that of another host. */
TEST(test_flood)
{
	pthread_t threads[2];
	struct flood floods[2];
	unsigned good = 0;
	int answer = '!';
	struct rig r;

	start(&r, HOST, NULL);
	for (unsigned i = 0; i < 2; i++) {
		floods[i] = (struct flood){ .r = &r };
		assert_int_equal(pthread_create(&threads[i], NULL, flood, &floods[i]), 0);
	}
	while (answer == '!' &&
	       (good < 50 || atomic_load(&floods[0].n) < 200 || atomic_load(&floods[1].n) < 200)) {
		answer = answer_in_flood(&r);
		good++;
	}
	/* First the end of the flood: a failed assertion leaves this function. */
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&floods[i].over, true);
		pthread_join(threads[i], NULL);
	}
	assert_int_equal(answer, '!');
	assert_int_equal(atomic_load(&r.taken), good);
	assert_true(listener_refused(r.l) > 0);
	listener_free(r.l);
}

/* A copy that has all its connections does not pay for strangers, who are served slowly then. */
TEST(test_quiet)
{
	struct connection *c[200];
	uint64_t start_ns;
	struct rig r;

	start(&r, HOST, NULL);
	listener_set_quiet(r.l, true);
	start_ns = clock_now_ns();
	for (unsigned i = 0; i < 100; i++) {
		c[i] = dial(&r, NULL);
		put_hello(c[i], "xdd silent", true);
	}
	for (unsigned i = 0; i < 100; i++) {
		assert_closed(c[i]);
		connection_close(c[i]);
	}
	assert_true(clock_now_ns() - start_ns >= 2 * SECOND_NS);
	assert_true(clock_now_ns() - start_ns < 20 * SECOND_NS);
	assert_int_equal(atomic_load(&r.offered), 100);

	listener_set_quiet(r.l, false);
	start_ns = clock_now_ns();
	for (unsigned i = 0; i < 200; i++) {
		c[i] = dial(&r, NULL);
		put_hello(c[i], "xdd silent", true);
	}
	for (unsigned i = 0; i < 200; i++) {
		assert_closed(c[i]);
		connection_close(c[i]);
	}
	assert_true(clock_now_ns() - start_ns < 4 * SECOND_NS);
	listener_free(r.l);
}

/* ---- keys ---- */

TEST(test_key)
{
	struct net_key key, other;
	struct connection *c = NULL;
	struct err why;
	struct rig r;

	if (!rig_has_tls())
		skip();
	key = rig_key(1);
	other = rig_key(2);
	start(&r, HOST, &key);

	c = dial(&r, &key);
	put_hello(c, "xdd good", true);
	assert_taken(c);
	assert_true(r.guest.tls);
	connection_close(c);

	c = dial(&r, &key);
	put_hello(c, "xdd other", true);
	assert_refused(c, REFUSAL);
	connection_close(c);

	assert_int_equal(connection_open(&c, HOST, r.port, &usual, &other, NULL,
					 clock_now_ns() + 20 * SECOND_NS, &why),
			 -EACCES);
	assert_non_null(strstr(why.text, "another key"));

	/* Data connections of a session without encryption. */
	c = dial(&r, NULL);
	put_hello(c, "xdd good", false);
	assert_taken(c);
	assert_false(r.guest.tls);
	connection_close(c);

	c = dial(&r, NULL);
	put_hello(c, "xdd good", true);
	assert_refused(c, "the destination has a key, the source has none: give both sides the "
			  "same -e2e key");
	connection_close(c);
	assert_int_equal(listener_refused(r.l), 3);
	listener_free(r.l);
}

TEST(test_no_key_here)
{
	struct connection *c = NULL;
	struct err why;
	struct net_key key;
	struct rig r;

	if (!rig_has_tls())
		skip();
	key = rig_key(1);
	start(&r, HOST, NULL);
	assert_int_equal(connection_open(&c, HOST, r.port, &usual, &key, NULL,
					 clock_now_ns() + 20 * SECOND_NS, &why),
			 -ECONNRESET);
	assert_non_null(strstr(why.text, "it may have no key"));
	listener_free(r.l);
}

/* ---- addresses ---- */

TEST(test_addresses)
{
	struct listener *l = listener_new(&usual, NULL), *other = listener_new(&usual, NULL);
	char text[ERR_TEXT_SIZE];
	struct err why;
	uint16_t port;

	assert_non_null(l);
	assert_non_null(other);
	assert_int_equal(listener_add(l, HOST, 0, &why), 0);
	port = port_of(l, 0);
	assert_int_equal(listener_add(l, HOST, port, &why), 0);
	assert_int_equal(l->n_sockets, 1);
	assert_int_equal(listener_add(l, "127.0.0.2", port, &why), 0);
	assert_int_equal(l->n_sockets, 2);

	assert_int_equal(listener_add(other, HOST, port, &why), -EADDRINUSE);
	snprintf(text, sizeof(text),
		 "cannot listen on 127.0.0.1:%u (Address already in use); another program has "
		 "this port",
		 port);
	assert_string_equal(why.text, text);
	assert_int_equal(listener_add(other, "192.0.2.1", 7, &why), -EADDRNOTAVAIL);
	assert_string_equal(why.text,
			    "cannot listen on 192.0.2.1:7 (Cannot assign requested address); "
			    "it must be an address of this host");
	assert_int_equal(listener_add(other, "no..host", 7, &why), -ENXIO);
	assert_non_null(strstr(why.text, "cannot find the host"));
	listener_free(other);

	/* The port is free again at once. */
	listener_free(l);
	l = listener_new(&usual, NULL);
	assert_non_null(l);
	assert_int_equal(listener_add(l, HOST, port, &why), 0);
	listener_free(l);
	listener_free(NULL);
}

/*
 * A host of several addresses, which no machine has to have: "A+B" is the addresses A and B, in
 * that order. It replaces the function of the C library, which frees the list.
 */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **list)
{
	int (*resolve)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	char first[64];
	const char *plus = host ? strchr(host, '+') : NULL;
	int err;

	/* POSIX makes a pointer to a function of it in this way. */
	*(void **)&resolve = dlsym(RTLD_NEXT, "getaddrinfo");
	if (!plus)
		return resolve(host, service, hints, list);
	snprintf(first, sizeof(first), "%.*s", (int)(plus - host), host);
	err = resolve(first, service, hints, list);
	return err ? err : getaddrinfo(plus + 1, service, hints, &(*list)->ai_next);
}

/* Addresses that this host lacks are left out, while it has one; any other problem counts. */
TEST(test_several_addresses)
{
	static const struct {
		const char *host; /* 127.0.0.1 is bound, 192.0.2.1 is absent */
		int err;
		size_t sockets;
	} cases[] = {
		{ "127.0.0.4+127.0.0.5", 0, 2 },
		{ "127.0.0.4+192.0.2.1", 0, 1 },
		{ "192.0.2.1+127.0.0.4", 0, 1 },
		{ "192.0.2.1+127.0.0.4+192.0.2.1", 0, 1 },
		{ "127.0.0.4+127.0.0.4", 0, 1 },
		{ "192.0.2.1+192.0.2.1", -EADDRNOTAVAIL, 0 },
		{ "127.0.0.1+127.0.0.4", -EADDRINUSE, 0 },
		{ "127.0.0.4+127.0.0.1", -EADDRINUSE, 1 },
		{ "127.0.0.4+127.0.0.1+192.0.2.1", -EADDRINUSE, 1 },
	};
	struct listener *bound = listener_new(&usual, NULL);
	struct err why;
	uint16_t port;

	assert_non_null(bound);
	assert_int_equal(listener_add(bound, HOST, 0, &why), 0);
	port = port_of(bound, 0);
	assert_int_equal(listener_port(bound), port);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct listener *l = listener_new(&usual, NULL);

		assert_non_null(l);
		assert_int_equal(listener_add(l, cases[i].host, port, &why), cases[i].err);
		if (l->n_sockets != cases[i].sockets)
			fail_msg("%s: %zu sockets", cases[i].host, l->n_sockets);
		assert_true((why.no != 0) == (cases[i].err != 0));
		listener_free(l);
	}
	listener_free(bound);
}

/* A listener whose sockets cannot be watched does not start. */
TEST(test_not_watched)
{
	struct listener *l = listener_new(&usual, NULL);
	struct err why;
	int fd;

	assert_non_null(l);
	assert_int_equal(listener_add(l, HOST, 0, &why), 0);
	/* A file is always ready: epoll refuses it. */
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, l->sockets[0].fd), l->sockets[0].fd);
	close(fd);
	assert_int_equal(listener_start(l, take, NULL), -EPERM);
	listener_free(l);
}

/* ---- limits ---- */

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* ".", ".." and its own */
}

static uint64_t cpu_ns(void)
{
	struct cpu_time t;

	clock_process_cpu(&t);
	return t.user_ns + t.sys_ns;
}

/* Without descriptors for what connects, the thread does not spin, and works again later. */
TEST(test_no_descriptors)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct rlimit old, few;
	struct connection *c[3];
	uint64_t cpu_before_ns;
	struct rig r;
	int spare[8];

	start(&r, HOST, NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (unsigned i = 0; i < 8; i++)
		spare[i] = dup(0);
	few = old;
	few.rlim_cur = (rlim_t)spare[7] + 1;
	for (unsigned i = 0; i < 3; i++)
		close(spare[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	/* Clients take all that are left: nothing can be accepted. */
	for (unsigned i = 0; i < 3; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_true(fd >= 0);
		c[i] = connection_new(fd, &usual);
		assert_non_null(c[i]);
	}
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons(r.port);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(connect(c[i]->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	cpu_before_ns = cpu_ns();
	usleep(500 * 1000);
	assert_true(cpu_ns() - cpu_before_ns < 100 * MS_NS);
	assert_int_equal(atomic_load(&r.taken), 0);

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (unsigned i = 0; i < 3; i++) {
		put_hello(c[i], "xdd good", true);
		assert_taken(c[i]);
		connection_close(c[i]);
	}
	for (unsigned i = 3; i < 8; i++)
		close(spare[i]);
	listener_free(r.l);
}

TEST(test_nothing_stays_open)
{
	unsigned before = descriptors();
	uint8_t message[MESSAGE_BYTES];
	struct connection *c[10];
	struct rig r;

	start(&r, HOST, NULL);
	hello(message, "xdd good", true);
	for (unsigned i = 0; i < 10; i++) {
		c[i] = dial(&r, NULL);
		put(c[i], message, 50 * (i % 2));
	}
	usleep(50 * 1000);
	listener_free(r.l);
	for (unsigned i = 0; i < 10; i++) {
		assert_closed(c[i]);
		connection_close(c[i]);
	}
	assert_int_equal(descriptors(), before);
}

int main(void)
{
	const char *why;

	if (!digest_available(&why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	/* As the program does: OpenSSL writes with write(2). */
	signal(SIGPIPE, SIG_IGN);
	clock_start();
	clock_calibrate();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
