/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Channels over pipes and sockets, data connections, and data inside of a channel:
 * src/copy/link/link.c.
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
#include <unistd.h>

#include "copy/link/link.h"
#include "net_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

#define BIG_BYTES (3u << 20)

static const struct connection_options usual = { .timeout_ns = 20 * SECOND_NS };
static const struct connection_options hasty = { .timeout_ns = 200 * MS_NS };

static const uint8_t filler[64] = { 1, 2, 3 };

/* Both ends of a channel; an end without a link has bare descriptors. */
struct pair {
	struct link *a, *b;
	int read_fd, write_fd; /* of the bare end */
};

static void open_pipes(int there[2], int back[2])
{
	assert_int_equal(pipe2(there, O_CLOEXEC), 0);
	assert_int_equal(pipe2(back, O_CLOEXEC), 0);
}

static void open_pair(struct pair *p, uint64_t timeout_ns)
{
	int there[2], back[2];

	open_pipes(there, back);
	p->a = link_on_fds(back[0], there[1], timeout_ns);
	p->b = link_on_fds(there[0], back[1], timeout_ns);
	assert_non_null(p->a);
	assert_non_null(p->b);
}

/* Only end `a` has a link. */
static void open_half(struct pair *p, uint64_t timeout_ns)
{
	int there[2], back[2];

	open_pipes(there, back);
	p->a = link_on_fds(back[0], there[1], timeout_ns);
	assert_non_null(p->a);
	p->b = NULL;
	p->read_fd = there[0];
	p->write_fd = back[1];
}

static void close_pair(struct pair *p)
{
	link_close(p->a);
	link_close(p->b);
}

static uint8_t *sample(size_t size)
{
	uint8_t *data = malloc(size);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	return data;
}

/* Receive a message and compare it. */
static void expect(struct link *l, uint64_t max_data, enum wire_type type, const void *body,
		   size_t size)
{
	uint8_t *got = malloc(size + 1);
	struct err why = { 0 };
	uint64_t ns[2] = { 0 };
	struct wire_header h;

	assert_non_null(got);
	if (link_receive(l, max_data, &h, &why) != 0)
		fail_msg("link_receive(): %s", why.text);
	assert_int_equal(h.type, type);
	assert_int_equal(h.length, size);
	assert_int_equal(link_receive_body(l, &h, got, ns, &why), 0);
	assert_memory_equal(got, body, size);
	free(got);
}

static void expect_failure(struct link *l, uint64_t max_data, int err, const char *text)
{
	struct err why = { 0 };
	struct wire_header h;
	uint8_t body[256];
	int got = link_receive(l, max_data, &h, &why);

	if (got == 0) {
		assert_true(h.length <= sizeof(body));
		got = link_receive_body(l, &h, body, NULL, &why);
	}
	assert_int_equal(got, err);
	if (!strstr(why.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, why.text);
}

/* ---- a sender in a thread ---- */

struct sender {
	struct link *l;
	enum wire_type type;
	const uint8_t *data;
	size_t size, part; /* parts of this size; 0: one */
	unsigned times;
	int err;
	uint64_t ns[2];
	pthread_t thread;
};

static int send_once(struct sender *s)
{
	size_t part = s->part ? s->part : s->size;
	size_t n = (s->size + part - 1) / part;
	struct iovec *iov = calloc(n, sizeof(*iov));
	struct wire_header h = { .type = s->type };
	int err;

	for (size_t i = 0, at = 0; i < n; i++, at += part)
		iov[i] = (struct iovec){ (void *)(s->data + at),
					 at + part < s->size ? part : s->size - at };
	err = link_send(s->l, &h, iov, (int)n, s->ns);
	free(iov);
	return err;
}

static void *send_all(void *arg)
{
	struct sender *s = arg;

	for (unsigned i = 0; i < s->times && !s->err; i++)
		s->err = send_once(s);
	return NULL;
}

static void start(struct sender *s)
{
	assert_int_equal(pthread_create(&s->thread, NULL, send_all, s), 0);
}

static int join(struct sender *s)
{
	pthread_join(s->thread, NULL);
	return s->err;
}

/* ---- channels ---- */

TEST(test_channel)
{
	struct pair p;

	open_pair(&p, 20 * SECOND_NS);
	assert_true(link_is_channel(p.a));
	assert_int_equal(link_send_body(p.a, WIRE_COPY_OFFER, filler, 64), 0);
	assert_int_equal(link_send_body(p.a, WIRE_COPY_BEGIN, NULL, 0), 0);
	assert_int_equal(link_send_body(p.b, WIRE_COPY_RESULT, "12345678", 8), 0);
	expect(p.b, 0, WIRE_COPY_OFFER, filler, 64);
	expect(p.b, 0, WIRE_COPY_BEGIN, NULL, 0);
	expect(p.a, 0, WIRE_COPY_RESULT, "12345678", 8);
	close_pair(&p);
}

/* Standard input and output of ssh may be one socket. */
TEST(test_one_socket)
{
	struct pair p;
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s), 0);
	p.a = link_on_fds(s[0], s[0], SECOND_NS);
	p.b = link_on_fds(s[1], s[1], SECOND_NS);
	assert_int_equal(link_send_body(p.a, WIRE_COPY_BEGIN, NULL, 0), 0);
	expect(p.b, 0, WIRE_COPY_BEGIN, NULL, 0);
	link_close(p.a);
	expect_failure(p.b, 0, -ECONNRESET, "closed");
	link_close(p.b);
}

/* More than a pipe holds, in one part and in many, and from several threads. */
TEST(test_large)
{
	const size_t size = 1u << 20;
	uint8_t *data = sample(size);
	struct sender senders[3];
	struct pair p;

	open_pair(&p, 20 * SECOND_NS);
	for (unsigned i = 0; i < 3; i++) {
		senders[i] = (struct sender){ .l = p.a,
					      .type = WIRE_COPY_OFFER,
					      .data = data,
					      .size = size,
					      .part = i == 1 ? 333 :
						      i == 2 ? 99999 :
							       0,
					      .times = 5 };
		start(&senders[i]);
	}
	for (unsigned i = 0; i < 15; i++)
		expect(p.b, 0, WIRE_COPY_OFFER, data, size);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(join(&senders[i]), 0);
		assert_true(senders[i].ns[0] > 0);
		assert_true(senders[i].ns[1] > 0);
	}
	close_pair(&p);
	free(data);
}

TEST(test_inside)
{
	uint8_t *data = sample(BIG_BYTES);
	struct sender s = { .type = WIRE_COPY_BLOCK, .data = data, .size = BIG_BYTES, .times = 3 };
	struct pair p;

	open_pair(&p, 20 * SECOND_NS);
	s.l = link_inside(p.a);
	assert_non_null(s.l);
	assert_true(link_is_channel(s.l));
	start(&s);
	for (unsigned i = 0; i < 3; i++)
		expect(p.b, BIG_BYTES, WIRE_COPY_BLOCK, data, BIG_BYTES);
	assert_int_equal(join(&s), 0);
	assert_int_equal(link_send_body(p.a, WIRE_COPY_BEGIN, NULL, 0), 0);
	expect(p.b, 0, WIRE_COPY_BEGIN, NULL, 0);

	/* A channel without a data stream refuses its messages. */
	assert_int_equal(link_send_body(s.l, WIRE_COPY_FILE_END, data, 64), 0);
	expect_failure(p.b, 0, -EBADMSG, "out of range");
	link_close(s.l);
	close_pair(&p);
	free(data);
}

/* A message between two that are seconds apart: ALIVE is not seen, and keeps the channel up. */
TEST(test_alive)
{
	struct pair p;

	open_pair(&p, 1500 * MS_NS);
	usleep(2200 * 1000);
	assert_int_equal(link_send_body(p.a, WIRE_COPY_BEGIN, NULL, 0), 0);
	expect(p.b, 0, WIRE_COPY_BEGIN, NULL, 0);
	close_pair(&p);
}

/* Signs of life do not put a deadline off. */
TEST(test_deadline)
{
	struct pair p;

	open_pair(&p, 20 * SECOND_NS);
	assert_int_equal(link_send_body(p.a, WIRE_COPY_BEGIN, NULL, 0), 0);
	expect(p.b, 0, WIRE_COPY_BEGIN, NULL, 0);
	link_set_deadline(p.b, 1);
	expect_failure(p.b, 0, -ETIMEDOUT, "only signs of life");
	link_set_deadline(p.b, 0);
	assert_int_equal(link_send_body(p.a, WIRE_COPY_BEGIN, NULL, 0), 0);
	expect(p.b, 0, WIRE_COPY_BEGIN, NULL, 0);
	close_pair(&p);
}

TEST(test_stall)
{
	uint64_t start_ns = clock_now_ns();
	struct pair p;

	open_half(&p, 200 * MS_NS);
	expect_failure(p.a, 0, -ETIMEDOUT, "nothing came from the other side for 0.2 s");
	assert_true(clock_now_ns() - start_ns >= 200 * MS_NS);
	close(p.read_fd);
	close(p.write_fd);
	close_pair(&p);
}

/* A peer that neither receives nor sends is not there. */
TEST(test_send_stall)
{
	uint8_t *data = sample(1u << 20);
	struct sender s = { .type = WIRE_COPY_OFFER, .data = data, .size = 1u << 20, .times = 1 };
	struct pair p;

	open_half(&p, 200 * MS_NS);
	s.l = p.a;
	start(&s);
	assert_int_equal(join(&s), -ETIMEDOUT);
	/* Half a message is out: nothing may follow. */
	assert_int_equal(link_send_body(p.a, WIRE_COPY_BEGIN, NULL, 0), -ETIMEDOUT);
	close(p.read_fd);
	close(p.write_fd);
	close_pair(&p);
	free(data);
}

static void *abort_soon(void *arg)
{
	usleep(50 * 1000);
	link_abort(arg);
	return NULL;
}

/* After several time limits of `hasty`. */
static void *abort_later(void *arg)
{
	usleep(700 * 1000);
	return abort_soon(arg);
}

TEST(test_abort)
{
	uint8_t *data = sample(1u << 20);
	struct sender s = { .type = WIRE_COPY_OFFER, .data = data, .size = 1u << 20, .times = 1 };
	pthread_t thread;
	struct pair p;

	open_half(&p, 100 * SECOND_NS);
	s.l = p.a;
	start(&s);
	pthread_create(&thread, NULL, abort_soon, p.a);
	expect_failure(p.a, 0, -ECONNABORTED, "ended");
	assert_int_equal(join(&s), -ECONNABORTED);
	pthread_join(thread, NULL);
	close(p.read_fd);
	close(p.write_fd);
	close_pair(&p);
	free(data);
}

TEST(test_peer_closes)
{
	uint8_t *data = sample(1u << 20);
	struct sender s = { .type = WIRE_COPY_OFFER, .data = data, .size = 1u << 20, .times = 2 };
	struct pair p;

	open_half(&p, 20 * SECOND_NS);
	s.l = p.a;
	start(&s);
	usleep(10 * 1000);
	assert_int_equal(write(p.write_fd, "half", 4), 4);
	close(p.read_fd);
	close(p.write_fd);
	expect_failure(p.a, 0, -ECONNRESET, "closed");
	assert_int_equal(join(&s), -ECONNRESET);
	close_pair(&p);
	free(data);
}

/* ---- what a channel refuses ---- */

static void put(int fd, const struct wire_header *h, struct wire_key *key, const void *body)
{
	uint8_t raw[WIRE_HEADER_BYTES];

	wire_encode(h, key, raw);
	assert_int_equal(write(fd, raw, sizeof(raw)), sizeof(raw));
	if (h->length)
		assert_int_equal(write(fd, body, h->length), h->length);
}

static void refuses(struct wire_header h, uint64_t max_data, const char *text)
{
	struct pair p;

	open_half(&p, 20 * SECOND_NS);
	put(p.write_fd, &h, NULL, "12345678");
	expect_failure(p.a, max_data, -EBADMSG, text);
	close(p.read_fd);
	close(p.write_fd);
	close_pair(&p);
}

TEST(test_hostile_channel)
{
	struct digest right = digest_data("12345678", 8), wrong = digest_data("x", 1);
	struct wire_header good = { .type = WIRE_COPY_RESULT,
				    .connection = WIRE_NO_CONNECTION,
				    .length = 8,
				    .digest = right };
	struct wire_header h;

	h = good;
	h.digest = wrong;
	refuses(h, 0, "data with a wrong checksum");
	h = good;
	h.sequence = 1;
	refuses(h, 0, "sent message 1, not 0");
	h = good;
	h.target = 1;
	refuses(h, 0, "out of range");
	h = good;
	h.connection = 0;
	refuses(h, 100, "out of range");
	h = (struct wire_header){ .type = WIRE_COPY_BLOCK, .length = 8, .digest = right };
	refuses(h, 0, "length out of range");
	refuses(h, 7, "length out of range");
	h.connection = 1;
	refuses(h, 8, "out of range");
}

TEST(test_garbage)
{
	uint8_t noise[WIRE_HEADER_BYTES];
	struct pair p;

	memset(noise, 'x', sizeof(noise));
	open_half(&p, 20 * SECOND_NS);
	assert_int_equal(write(p.write_fd, noise, sizeof(noise)), sizeof(noise));
	expect_failure(p.a, 0, -EBADMSG, "no message of xdd");
	close(p.read_fd);
	close(p.write_fd);
	close_pair(&p);
}

/* ---- data connections ---- */

static struct wire_key *key_of(uint8_t byte)
{
	struct net_key key = rig_key(byte);
	struct wire_key *k = wire_key_new(key.bytes);

	assert_non_null(k);
	return k;
}

struct data {
	struct link *source, *destination;
	struct connection *bare; /* the source, of a half */
	struct wire_key *key;
};

static void open_data(struct data *d, const struct connection_options *options)
{
	struct rig_pair p;

	rig_pair(&p, "127.0.0.1", options, NULL, NULL);
	d->source = link_on_connection(p.client, key_of(1), 5);
	d->destination = link_on_connection(p.server, key_of(1), 5);
	assert_non_null(d->source);
	assert_non_null(d->destination);
}

/* A source that may break all rules. */
static void open_bare(struct data *d, const struct connection_options *options)
{
	struct rig_pair p;

	rig_pair(&p, "127.0.0.1", options, NULL, NULL);
	d->bare = p.client;
	d->key = key_of(1);
	d->destination = link_on_connection(p.server, key_of(1), 5);
}

static void close_bare(struct data *d)
{
	connection_close(d->bare);
	wire_key_free(d->key);
	link_close(d->destination);
}

TEST(test_data)
{
	uint8_t *data = sample(BIG_BYTES);
	struct sender s = { .type = WIRE_COPY_BLOCK, .data = data, .size = BIG_BYTES, .times = 4 };
	struct connection_info info;
	struct data d;

	if (!rig_has_tls())
		skip();
	open_data(&d, &usual);
	assert_false(link_is_channel(d.source));
	link_info(d.source, &info);
	assert_true(info.peer[0]);
	s.l = d.source;
	start(&s);
	for (unsigned i = 0; i < 4; i++)
		expect(d.destination, BIG_BYTES, WIRE_COPY_BLOCK, data, BIG_BYTES);
	assert_int_equal(join(&s), 0);
	/* 3000 parts */
	s = (struct sender){ .l = d.source,
			     .type = WIRE_COPY_BUNDLE,
			     .data = data,
			     .size = 1u << 20,
			     .part = 350,
			     .times = 2 };
	start(&s);
	for (unsigned i = 0; i < 2; i++)
		expect(d.destination, 1u << 20, WIRE_COPY_BUNDLE, data, 1u << 20);
	assert_int_equal(join(&s), 0);
	link_close(d.source);
	expect_failure(d.destination, 0, -ECONNRESET, "data connection 5 (127.0.0.1:");
	link_close(d.destination);
	free(data);
}

/* The wait for a message has no limit, that within a message has. */
TEST(test_data_pause)
{
	struct wire_header h = { .type = WIRE_COPY_BLOCK, .connection = 5, .sequence = 1 };
	struct iovec half = { (void *)"half", 4 };
	pthread_t thread;
	struct data d;

	if (!rig_has_tls())
		skip();
	h.length = 8;
	h.digest = digest_data("12345678", 8);
	open_bare(&d, &hasty);
	assert_int_equal(connection_send_message(d.bare, &h, d.key, "12345678"), 0);
	expect(d.destination, 8, WIRE_COPY_BLOCK, "12345678", 8);
	pthread_create(&thread, NULL, abort_later, d.destination);
	expect_failure(d.destination, 8, -ECONNABORTED, "ended");
	pthread_join(thread, NULL);
	close_bare(&d);

	open_bare(&d, &hasty);
	assert_int_equal(connection_send(d.bare, &half, 1), 0);
	expect_failure(d.destination, 8, -ETIMEDOUT, "stopped in a message");
	close_bare(&d);
}

static void data_refuses(struct wire_header h, struct wire_key *key, const char *text)
{
	struct data d;

	open_bare(&d, &usual);
	assert_int_equal(connection_send_message(d.bare, &h, key ? key : d.key, "12345678"), 0);
	expect_failure(d.destination, 8, -EBADMSG, text);
	wire_key_free(key);
	close_bare(&d);
}

TEST(test_hostile_data)
{
	struct wire_header good = { .type = WIRE_COPY_BLOCK, .connection = 5, .sequence = 1 };
	struct wire_header h;

	if (!rig_has_tls())
		skip();
	good.length = 8;
	good.digest = digest_data("12345678", 8);
	data_refuses(good, key_of(2), "wrong authentication code");
	h = good;
	h.sequence = 0;
	data_refuses(h, NULL, "sent message 0, not 1");
	h = good;
	h.sequence = 2;
	data_refuses(h, NULL, "sent message 2, not 1");
	h = good;
	h.connection = 4;
	data_refuses(h, NULL, "out of range");
	h = good;
	h.digest.low ^= 1;
	data_refuses(h, NULL, "data with a wrong checksum");
	h = good;
	h.type = WIRE_COPY_BUNDLE;
	h.target = 1;
	data_refuses(h, NULL, "length out of range");
}

/* A message that was recorded is refused the second time. */
TEST(test_replay)
{
	struct wire_header h = { .type = WIRE_COPY_BLOCK, .connection = 5, .sequence = 1 };
	struct data d;

	if (!rig_has_tls())
		skip();
	h.length = 8;
	h.digest = digest_data("12345678", 8);
	open_bare(&d, &usual);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(connection_send_message(d.bare, &h, d.key, "12345678"), 0);
	expect(d.destination, 8, WIRE_COPY_BLOCK, "12345678", 8);
	expect_failure(d.destination, 8, -EBADMSG, "sent message 1, not 2");
	close_bare(&d);
}

RUN_TESTS_IF(digest_available(&reason), ignore_sigpipe, NULL)
