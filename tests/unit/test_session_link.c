/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data connections of a session, and connections that the listener offers: the fields of each
 * message, the limits of what a source may send, the words of each error, and which are taken:
 * src/net/session_link.c, in the thread of the test, with a connection and a clock of the test.
 * test_session*.c have both sides.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/session_internal.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define MOST 8
#define TIMEOUT_NS (20 * NS_PER_SEC)
#define REQ_BYTES 4096u

static struct {
	uint64_t now_ns;

	/* messages */
	struct wire_header sent, in;
	const void *body;
	enum wire_type hello;
	int send_err, in_errs[MOST], data_err, welcome, wait, open_err;
	size_t received;
	uint32_t ends_pass; /* the session hears of the end of this pass once a wait is over */
	enum wire_fault fault;
	uint8_t data[REQ_BYTES];

	/* connections */
	uint16_t port;
	bool keyed;
	unsigned closed;

	/* waits of the session */
	uint64_t until_ns;
	unsigned sleeps;
	int breaks; /* the session fails while it waits, with this */
	bool comes; /* the connection comes while it waits */

	int quiet; /* -1: not set */
	unsigned failures;
} play;

/* Where the session ends its calls, it shuts down the descriptor in here: -1, by its bytes. */
static _Alignas(max_align_t) char the_connection[4096];

#define CONNECTION ((struct connection *)&the_connection)

static struct session *rig;

static uint64_t fake_now_ns(void)
{
	return play.now_ns += 10;
}

static const char *fake_peer(const struct connection *c)
{
	assert_ptr_equal(c, &the_connection);
	return "there:1";
}

static void fake_close(struct connection *c)
{
	play.closed += c != NULL;
}

static int fake_open(struct connection **c, const char *host, uint16_t port,
		     const struct connection_options *options, const struct net_key *key,
		     struct stop *stop, uint64_t until_ns, struct err *why)
{
	assert_string_equal(host, port < 10 ? "there" : "elsewhere");
	assert_int_equal(options->timeout_ns, TIMEOUT_NS);
	assert_ptr_equal(stop, &rig->halt);
	assert_int_equal(until_ns, play.now_ns + TIMEOUT_NS);
	play.port = port;
	play.keyed = key != NULL;
	if (play.open_err)
		return err_set(why, play.open_err, "cannot open it");
	*c = CONNECTION;
	return 0;
}

static int fake_send_hello(struct connection *c, enum wire_type type, const struct stream_terms *t,
			   uint32_t number, struct wire_key *key)
{
	assert_ptr_equal(c, &the_connection);
	assert_int_equal(t->target, 3);
	assert_int_equal(t->n, 3);
	assert_int_equal(number, 1);
	assert_int_equal(key != NULL, rig->have_key);
	play.hello = type;
	return play.send_err;
}

static int fake_receive_welcome(struct connection *c, const struct stream_terms *t, uint32_t number,
				struct wire_key *key, struct wire_error *refusal,
				enum wire_fault *fault)
{
	assert_ptr_equal(c, &the_connection);
	assert_int_equal(t->target, 3);
	assert_int_equal(number, 1);
	assert_int_equal(key != NULL, rig->have_key);
	snprintf(refusal->text, sizeof(refusal->text), "no room");
	*fault = play.fault;
	return play.welcome;
}

static int fake_send_message(struct connection *c, const struct wire_header *h,
			     struct wire_key *key, const void *body)
{
	assert_ptr_equal(c, &the_connection);
	assert_null(key);
	play.sent = *h;
	play.body = body;
	return play.send_err;
}

static int fake_receive_header(struct connection *c, struct wire_key *key, uint64_t max_data,
			       struct wire_header *h, enum wire_fault *fault)
{
	assert_ptr_equal(c, &the_connection);
	assert_null(key);
	assert_int_equal(max_data, REQ_BYTES);
	assert_true(play.received < MOST);
	*h = play.in;
	*fault = play.fault;
	if (play.received && play.ends_pass)
		atomic_store(&rig->ended_pass, play.ends_pass);
	return play.in_errs[play.received++];
}

static int fake_receive(struct connection *c, void *buf, size_t size)
{
	assert_ptr_equal(c, &the_connection);
	memcpy(buf, play.data, size);
	return play.data_err;
}

static int fake_wait(struct connection *c, int wake_fd, uint64_t timeout_ns)
{
	assert_ptr_equal(c, &the_connection);
	assert_int_equal(wake_fd, -1);
	assert_int_equal(timeout_ns, 77);
	return play.wait;
}

static void on_failed(void *arg);

/* Something happens in the first wait, or nothing, to its end. */
static int fake_sleep(struct session *own, uint64_t until_ns)
{
	play.until_ns = until_ns;
	if (!play.sleeps++ && (play.breaks || play.comes)) {
		if (play.breaks)
			err_set(&own->failed, play.breaks, "the cause");
		if (play.comes)
			own->data[1].connection = CONNECTION;
		return 0;
	}
	play.now_ns = until_ns;
	return -ETIMEDOUT;
}

static void fake_set_quiet(struct listener *l, bool quiet)
{
	assert_null(l);
	play.quiet = quiet;
}

#define clock_now_ns fake_now_ns
#define clock_kernel_ns fake_now_ns
#define connection_peer fake_peer
#define connection_close fake_close
#define connection_open fake_open
#define connection_send_message fake_send_message
#define connection_receive_header fake_receive_header
#define connection_receive fake_receive
#define connection_wait fake_wait
#define stream_send_hello fake_send_hello
#define stream_receive_welcome fake_receive_welcome
#define session_sleep fake_sleep
#define listener_set_quiet fake_set_quiet
#include "../../src/net/session_link.c"
#undef session_sleep

/* ---- a session ---- */

static struct stop run_stop;
static struct endtoend_address addresses[2];
static struct endtoend_options options;
static struct net_key key;

static void on_failed(void *arg)
{
	assert_ptr_equal(arg, &play);
	play.failures++;
}

static void begin(bool source)
{
	struct session_params params = {
		.target = 3,
		.options = &options,
		.key = &key,
		.stop = &run_stop,
		.failed = on_failed,
		.arg = &play,
	};

	memset(the_connection, 0xff, sizeof(the_connection));
	memset(&play, 0, sizeof(play));
	play.now_ns = 100 * NS_PER_SEC;
	play.quiet = -1;
	stop_init(&run_stop);
	addresses[0] = (struct endtoend_address){ "there", 7, 1 };
	addresses[1] = (struct endtoend_address){ "elsewhere", 20, 2 };
	options = (struct endtoend_options){ .role = source ? E2E_SOURCE : E2E_DESTINATION,
					     .addresses = addresses,
					     .n_addresses = 2,
					     .timeout_ns = TIMEOUT_NS };
	rig = session_new(&params);
	assert_non_null(rig);
	rig->own = (struct wire_plan){
		.req_bytes = REQ_BYTES, .bytes = 10 * REQ_BYTES - 96, .ops = 10, .connections = 3
	};
	rig->peer = rig->own;
	rig->state = SESSION_OPENING;
	rig->data = calloc(3, sizeof(*rig->data));
	assert_non_null(rig->data);
	memset(rig->id, 9, sizeof(rig->id));
}

static void end(void)
{
	rig->control = NULL;
	for (unsigned i = 0; rig->data && i < 3; i++)
		rig->data[i].connection = NULL;
	session_free(rig);
	stop_destroy(&run_stop);
}

static void assert_failed(int err, const char *why)
{
	assert_int_equal(session_error(rig), err);
	assert_string_equal(session_why(rig), why);
	assert_string_equal(rig->last_words.text, why);
	assert_int_equal(play.failures, 1);
}

/* A link of connection 1 that has joined. */
static struct link *join(void)
{
	struct link *link;

	rig->data[1].connection = CONNECTION;
	assert_int_equal(session_join(rig, 1, &link), 0);
	assert_non_null(link);
	return link;
}

/* ---- join ---- */

TEST(test_source_joins)
{
	static const struct {
		int open_err, send_err, welcome;
		enum wire_fault fault;
		int expected;
		const char *why;
		unsigned closed;
	} cases[] = {
		{ 0, 0, 0, WIRE_OK, 0, "", 0 },
		{ -EHOSTUNREACH, 0, 0, WIRE_OK, -EHOSTUNREACH, "connection 1: cannot open it", 0 },
		{ 0, -EHOSTUNREACH, 0, WIRE_OK, -EHOSTUNREACH,
		  "connection 1 to the destination at there:1 was lost: No route to host", 1 },
		{ 0, 0, 1, WIRE_OK, -ECONNREFUSED, "connection 1: no room", 1 },
		{ 0, 0, -EBADMSG, WIRE_BAD_BODY, -EBADMSG,
		  "the destination at there:1 sent a message whose contents are malformed on "
		  "connection 1",
		  1 },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct link *link = (struct link *)&play;

		begin(true);
		rig->have_key = i % 2;
		play.open_err = cases[i / 2].open_err;
		play.send_err = cases[i / 2].send_err;
		play.welcome = cases[i / 2].welcome;
		play.fault = cases[i / 2].fault;
		assert_int_equal(session_join(rig, 1, &link), cases[i / 2].expected);
		assert_int_equal(play.port, 20);
		assert_string_equal(session_why(rig), cases[i / 2].why);
		assert_int_equal(play.closed, cases[i / 2].closed);
		assert_int_equal(link != NULL, !cases[i / 2].expected);
		if (link) {
			assert_int_equal(play.hello, WIRE_HELLO);
			assert_ptr_equal(rig->data[1].connection, CONNECTION);
			session_leave(link);
			assert_null(rig->data[1].connection);
			assert_int_equal(play.closed, 1);
		}
		end();
	}
	session_leave(NULL);
}

/* A data connection has TLS where both a key and encryption are given. */
TEST(test_encryption)
{
	for (int i = 0; i < 4; i++) {
		struct link *link;

		begin(true);
		rig->keyed = i % 2;
		options.encrypt = i / 2;
		assert_int_equal(session_join(rig, 1, &link), 0);
		assert_int_equal(play.keyed, i == 3);
		session_leave(link);
		end();
	}
}

/* The session may fail while a connection is made. */
TEST(test_joins_late)
{
	struct link *link;

	begin(true);
	err_set(&rig->failed, -EREMOTEIO, "the cause");
	assert_int_equal(session_join(rig, 1, &link), -EREMOTEIO);
	assert_null(link);
	assert_int_equal(play.hello, 0);
	assert_int_equal(play.closed, 1);
	end();
	/* The refusal of a connection may have a cause that says more. */
	begin(true);
	play.welcome = 1;
	play.breaks = -EREMOTEIO;
	assert_int_equal(session_join(rig, 1, &link), -EREMOTEIO);
	assert_string_equal(session_why(rig), "the cause");
	end();
}

TEST(test_destination_joins)
{
	static const uint8_t bytes[WIRE_KEY_BYTES] = "a key";
	struct link *link;

	/* It is there, or comes in time. */
	for (int comes = 0; comes < 2; comes++) {
		begin(false);
		play.comes = comes;
		rig->data[1].connection = comes ? NULL : CONNECTION;
		rig->data[1].key = wire_key_new(bytes);
		rig->have_key = rig->data[1].key != NULL;
		assert_int_equal(session_join(rig, 1, &link), 0);
		assert_int_equal(play.hello, WIRE_WELCOME);
		assert_int_equal(play.sleeps, comes);
		assert_ptr_equal(link->connection, CONNECTION);
		assert_int_equal(link->key != NULL, rig->have_key);
		assert_null(rig->data[1].key);
		session_leave(link);
		end();
	}
	begin(false);
	assert_int_equal(session_join(rig, 1, &link), -ETIMEDOUT);
	assert_null(link);
	assert_failed(-ETIMEDOUT, "the source did not open connection 1 within 20 s");
	assert_int_equal(play.until_ns, 120 * NS_PER_SEC + 10);
	assert_int_equal(play.sleeps, 1);
	end();
	begin(false);
	play.breaks = -EREMOTEIO;
	assert_int_equal(session_join(rig, 1, &link), -EREMOTEIO);
	assert_int_equal(play.sleeps, 1);
	assert_int_equal(play.hello, 0);
	end();
}

/* ---- errors ---- */

/* The words, unless the session learns of the cause within its time. */
TEST(test_broken)
{
	static const struct {
		int err;
		enum wire_fault fault;
		const char *why;
		bool waits[2]; /* for the cause: the destination, the source */
	} cases[] = {
		{ -EBADMSG,
		  WIRE_BAD_DATA,
		  "the %1$s at there:1 sent data with a wrong checksum on connection 1",
		  { false, false } },
		/* A destination that refuses has no key for a code. */
		{ -EBADMSG,
		  WIRE_BAD_CODE,
		  "the %1$s at there:1 sent a message with a wrong authentication code on "
		  "connection 1",
		  { false, true } },
		{ -ECONNRESET,
		  WIRE_OK,
		  "connection 1 to the %1$s at there:1 was closed before the end",
		  { true, true } },
		{ -ETIMEDOUT,
		  WIRE_OK,
		  "connection 1 to the %1$s at there:1: no data moved for 20 s",
		  { true, true } },
		{ -EPIPE,
		  WIRE_OK,
		  "connection 1 to the %1$s at there:1 was lost: Broken pipe",
		  { true, true } },
	};

	for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
		const bool source = i % 2, known = i / 2 % 2;
		const bool waits = cases[i / 4].waits[source];
		const int err = cases[i / 4].err;
		struct link *link;
		char why[256];

		begin(source);
		link = join();
		play.breaks = known && waits ? -EREMOTEIO : 0;
		play.sleeps = 0;
		assert_int_equal(session_link_broke(link, err, cases[i / 4].fault),
				 play.breaks ? -EREMOTEIO : err);
		assert_int_equal(play.sleeps, waits);
		if (waits)
			assert_true(play.until_ns <= 100 * NS_PER_SEC + SESSION_GRACE_NS + 100 &&
				    play.until_ns > 100 * NS_PER_SEC + SESSION_GRACE_NS);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(why, sizeof(why), cases[i / 4].why, source ? "destination" : "source");
#pragma GCC diagnostic pop
		if (!play.breaks)
			assert_failed(err, why);
		session_leave(link);
		end();
	}
}

/* ---- source ---- */

TEST(test_send)
{
	const struct digest digest = { .low = 1, .high = 2 };
	const struct net_block good = { .op = 4, .offset = 5, .length = 6, .digest = digest };
	const struct net_block bad = { .op = 7, .offset = 8, .length = 9, .failed = true };
	struct link *link;

	begin(true);
	link = join();
	for (uint32_t pass = 1; pass < 3; pass++) {
		assert_int_equal(session_send(link, pass, &good, &play), 0);
		assert_int_equal(play.sent.type, WIRE_DATA);
		assert_int_equal(play.sent.sequence, 4);
		assert_int_equal(play.sent.offset, 5);
		assert_int_equal(play.sent.length, 6);
		assert_true(digest_equal(play.sent.digest, digest));
		assert_ptr_equal(play.body, &play);
		assert_int_equal(session_send(link, pass, &bad, NULL), 0);
		assert_int_equal(play.sent.type, WIRE_SKIP);
		assert_int_equal(play.sent.sequence, 7);
		assert_int_equal(play.sent.offset, 0);
		assert_int_equal(play.sent.length, 0);
		/* The number of messages of this pass. */
		assert_int_equal(session_last(link, pass), 0);
		assert_int_equal(play.sent.type, WIRE_PASS_LAST);
		assert_int_equal(play.sent.sequence, 2);
		assert_int_equal(play.sent.target, 3);
		assert_int_equal(play.sent.connection, 1);
		assert_int_equal(play.sent.pass, pass);
	}
	assert_int_equal(session_last(link, 3), 0);
	assert_int_equal(play.sent.sequence, 0);
	play.send_err = -EPIPE;
	assert_int_equal(session_send(link, 3, &good, &play), -EPIPE);
	session_leave(link);
	end();
}

/* ---- destination ---- */

/* Each limit of what a source may send, with its neighbours. */
TEST(test_allowed)
{
/* Type, target, connection, pass, length, sequence, offset. */
#define AT(n)                                        \
	{                                            \
		WIRE_DATA, 3, 1, 1, REQ_BYTES, n, 0, \
		{                                    \
			0, 0                         \
		}                                    \
	}
#define PART(offset, length)                           \
	{                                              \
		WIRE_DATA, 3, 1, 1, length, 9, offset, \
		{                                      \
			0, 0                           \
		}                                      \
	}
#define FROM(target, connection, pass)                        \
	{                                                     \
		WIRE_DATA, target, connection, pass, 1, 9, 0, \
		{                                             \
			0, 0                                  \
		}                                             \
	}
#define NO_DATA(type, n)                \
	{                               \
		type, 3, 1, 1, 0, n, 0, \
		{                       \
			0, 0            \
		}                       \
	}
	static const struct {
		struct wire_header h;
		uint64_t bytes, ops; /* of the plan of the source; 0: as its own */
		bool fits;
	} cases[] = {
		{ AT(5), 0, 0, true },
		{ AT(6), 0, 0, true },
		{ AT(9), 0, 0, true },
		{ AT(4), 0, 0, false },
		{ AT(10), 0, 0, false },
		{ FROM(2, 1, 1), 0, 0, false },
		{ FROM(3, 0, 1), 0, 0, false },
		{ FROM(3, 2, 1), 0, 0, false },
		{ FROM(3, 1, 0), 0, 0, false },
		{ FROM(3, 1, 2), 0, 0, false },
		{ PART(0, REQ_BYTES + 1), 0, 0, false },
		{ PART(9 * REQ_BYTES - 96, REQ_BYTES), 0, 0, true },
		{ PART(9 * REQ_BYTES - 95, REQ_BYTES), 0, 0, false },
		{ PART(10 * REQ_BYTES - 97, 1), 0, 0, true },
		{ PART(10 * REQ_BYTES - 96, 1), 0, 0, false },
		{ PART(10 * REQ_BYTES - 96, 0), 0, 0, true },
		{ PART(10 * REQ_BYTES - 95, 0), 0, 0, false },
		/* The narrower of both plans counts. */
		{ AT(7), 0, 8, true },
		{ AT(8), 0, 8, false },
		{ AT(9), 0, WIRE_NO_SIZE, true },
		{ AT(10), 0, WIRE_NO_SIZE, false },
		{ AT(9), REQ_BYTES, 0, true },
		{ AT(9), REQ_BYTES - 1, 0, false },
		{ AT(9), WIRE_NO_SIZE, 0, true },
		{ NO_DATA(WIRE_SKIP, 5), 0, 0, true },
		{ NO_DATA(WIRE_SKIP, 4), 0, 0, false },
		{ NO_DATA(WIRE_SKIP, 10), 0, 0, false },
		{ NO_DATA(WIRE_PASS_LAST, 2), 0, 0, true },
		{ NO_DATA(WIRE_PASS_LAST, 1), 0, 0, false },
		{ NO_DATA(WIRE_PASS_LAST, 3), 0, 0, false },
		{ NO_DATA(WIRE_HELLO, 5), 0, 0, false },
		{ NO_DATA(WIRE_ERROR, 5), 0, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wire_header *h = &cases[i].h;
		struct net_block b;
		struct link *link;
		char why[256];
		uint64_t ns = 0;

		begin(false);
		link = join();
		link->pass = 1;
		link->count = 2;
		link->next_op = 5;
		rig->peer.bytes = cases[i].bytes ? cases[i].bytes : rig->peer.bytes;
		rig->peer.ops = cases[i].ops ? cases[i].ops : rig->peer.ops;
		play.in = *h;
		if (session_receive(link, 1, &b, &ns) != (cases[i].fits ? 0 : -EPROTO))
			fail_msg("case %zu", i);
		assert_int_equal(ns, play.now_ns);
		if (!cases[i].fits) {
			snprintf(why, sizeof(why),
				 "the source at there:1 sent %s %u of pass %u on connection 1, "
				 "which is not within its plan",
				 wire_type_name(h->type), (unsigned)h->sequence, h->pass);
			assert_failed(-EPROTO, why);
		} else {
			const bool last = h->type == WIRE_PASS_LAST;

			assert_int_equal(b.op, h->sequence);
			assert_int_equal(b.offset, h->offset);
			assert_int_equal(b.length, h->length);
			assert_int_equal(b.failed, h->type == WIRE_SKIP);
			assert_int_equal(b.last, last);
			assert_int_equal(link->count, last ? 2 : 3);
			assert_int_equal(link->next_op, last ? 5 : h->sequence + 1);
		}
		session_leave(link);
		end();
	}
}

/* A source may be silent, until it has said that all is sent. */
TEST(test_silence)
{
	static const struct {
		int errs[4];
		uint32_t ended, ends;
		int expected;
		size_t received;
	} cases[] = {
		{ { 0 }, 0, 0, 0, 1 },
		{ { -EAGAIN, -EAGAIN, 0 }, 0, 0, 0, 3 },
		/* A wait that began before the end of the pass is followed by another one. */
		{ { -EAGAIN, -EAGAIN, -EAGAIN, 0 }, 0, 1, -ETIMEDOUT, 3 },
		{ { -EAGAIN, 0 }, 1, 0, -ETIMEDOUT, 1 },
		{ { -EAGAIN, 0 }, 2, 0, 0, 2 },
		{ { -EPIPE }, 0, 0, -EPIPE, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct net_block b;
		struct link *link;
		uint64_t ns = 5;

		begin(false);
		link = join();
		memcpy(play.in_errs, cases[i].errs, sizeof(cases[i].errs));
		play.in = (struct wire_header)NO_DATA(WIRE_PASS_LAST, 0);
		atomic_store(&rig->ended_pass, cases[i].ended);
		play.ends_pass = cases[i].ends;
		assert_int_equal(session_receive(link, 1, &b, &ns), cases[i].expected);
		assert_int_equal(play.received, cases[i].received);
		assert_int_equal(ns == 5, cases[i].expected != 0);
		session_leave(link);
		end();
	}
}

TEST(test_data)
{
	static const struct {
		int err;
		bool damaged;
		int expected;
		const char *why;
	} cases[] = {
		{ 0, false, 0, "" },
		{ 0, true, -EBADMSG,
		  "block at byte 8192 of the copy arrived damaged (connection 1, from there:1)" },
		{ -EPIPE, false, -EPIPE,
		  "connection 1 to the source at there:1 was lost: Broken pipe" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct net_block b = { .offset = 8192, .length = 100 };
		struct link *link;
		uint64_t check_ns = 5;
		uint8_t data[100];

		begin(false);
		link = join();
		memset(play.data, 3, sizeof(play.data));
		b.digest = digest_data(play.data, 100);
		b.digest.low += cases[i].damaged;
		play.data_err = cases[i].err;
		assert_int_equal(session_receive_data(link, &b, data, &check_ns),
				 cases[i].expected);
		assert_string_equal(session_why(rig), cases[i].why);
		assert_true(cases[i].err ? check_ns == 5 : check_ns > 5);
		if (!cases[i].err)
			assert_memory_equal(data, play.data, 100);
		session_leave(link);
		end();
	}
}

TEST(test_wait)
{
	static const int results[] = { 0, 1, -ECONNRESET };

	for (size_t i = 0; i < 3; i++) {
		struct link *link;

		begin(false);
		link = join();
		play.wait = results[i];
		assert_int_equal(session_wait(link, 77), results[i]);
		assert_int_equal(play.failures, results[i] < 0);
		session_leave(link);
		end();
	}
}

/* ---- what the listener offers ---- */

#define DATA 0
#define CONTROL WIRE_NO_CONNECTION
#define NO_SUCH "the destination knows no such session"

TEST(test_offers)
{
	static const struct {
		uint32_t target, connection;
		enum wire_purpose purpose;
		uint8_t id; /* of the guest; the session has 9 */
		enum session_state state;
		bool failed, has_control, keyed, tls;
		bool taken;
		int no;
		const char *why;
	} cases[] = {
		/* A control connection. */
		{ 0, CONTROL, WIRE_CONTROL, 8, SESSION_NEW, false, false, false, false, true, 0,
		  "" },
		{ 0, CONTROL, WIRE_CONTROL, 8, SESSION_NEW, false, false, true, true, true, 0, "" },
		{ 0, CONTROL, WIRE_CONTROL, 8, SESSION_NEW, false, false, true, false, false,
		  -EACCES,
		  "the destination has a key, the source has none: give both the same -e2e key" },
		{ 0, CONTROL, WIRE_CONTROL, 8, SESSION_NEW, false, true, false, false, false,
		  -EACCES, SESSION_BUSY },
		{ 0, CONTROL, WIRE_CONTROL, 8, SESSION_PLANNING, false, false, false, false, false,
		  -EACCES, SESSION_BUSY },
		{ 0, CONTROL, WIRE_TRANSFER, 8, SESSION_NEW, false, false, false, false, false, 0,
		  "" },
		/* A data connection. */
		{ 0, DATA, WIRE_TRANSFER, 9, SESSION_OPENING, false, true, false, false, true, 0,
		  "" },
		{ 0, DATA, WIRE_TRANSFER, 9, SESSION_IDLE, false, true, false, false, true, 0, "" },
		{ 0, DATA, WIRE_TRANSFER, 9, SESSION_JUDGING, false, true, false, false, false,
		  -EACCES, NO_SUCH },
		{ 0, DATA, WIRE_TRANSFER, 8, SESSION_OPENING, false, true, false, false, false,
		  -EACCES, NO_SUCH },
		{ 0, 3, WIRE_TRANSFER, 9, SESSION_OPENING, false, true, false, false, false,
		  -EACCES, "the destination expects no such data connection" },
		{ 0, 2, WIRE_TRANSFER, 9, SESSION_OPENING, false, true, false, false, false,
		  -EACCES, "the destination has this data connection already" },
		{ 0, DATA, WIRE_CONTROL, 9, SESSION_OPENING, false, true, false, false, false, 0,
		  "" },
		/* Of no target, or of a session that has ended. */
		{ 1, CONTROL, WIRE_CONTROL, 8, SESSION_NEW, false, false, false, false, false,
		  -EACCES,
		  "the destination has fewer end-to-end targets than the source: give both the "
		  "same" },
		{ 0, DATA, WIRE_TRANSFER, 9, SESSION_OPENING, true, true, false, false, false,
		  -ESHUTDOWN, "the copy has ended on the destination" },
		{ 0, DATA, WIRE_TRANSFER, 8, SESSION_OPENING, true, true, false, false, false,
		  -EACCES, "the copy has ended on the destination" },
		{ 0, CONTROL, WIRE_CONTROL, 9, SESSION_NEW, true, false, false, false, false,
		  -EACCES, "the copy has ended on the destination" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct listener_guest g = { .connection = CONNECTION, .tls = cases[i].tls };
		struct session_table table = { &rig, 1 };
		struct err why = { 0 };

		begin(false);
		/* There is one target, whose number in the messages is its own. */
		rig->params.target = 0;
		rig->state = cases[i].state;
		rig->keyed = cases[i].keyed;
		rig->control = cases[i].has_control ? CONNECTION : NULL;
		rig->data[2].taken = true;
		if (cases[i].failed)
			err_set(&rig->failed, -EIO, "the cause");
		g.header = (struct wire_header){ .type = WIRE_HELLO,
						 .target = cases[i].target,
						 .connection = cases[i].connection };
		g.hello.purpose = cases[i].purpose;
		memset(g.hello.session, cases[i].id, sizeof(g.hello.session));
		{
			struct wire_hello hello = g.hello;
			uint8_t body[WIRE_MAX_HELLO_BYTES];

			g.header.length = wire_encode_hello(&hello, body);
			g.header.digest = digest_data(body, g.header.length);
			wire_encode(&g.header, NULL, g.raw);
		}
		if (session_offer(&table, &g, &why) != cases[i].taken)
			fail_msg("case %zu", i);
		assert_int_equal(why.no, cases[i].no);
		assert_string_equal(why.text, cases[i].why);
		/* It is quiet once nothing more is expected, which is not said before. */
		assert_int_equal(play.quiet, cases[i].taken ? 0 : -1);
		if (cases[i].taken && cases[i].connection == CONTROL) {
			assert_ptr_equal(rig->control, CONNECTION);
			assert_int_equal(rig->id[0], 8);
			assert_int_equal(rig->peer_hello.purpose, WIRE_CONTROL);
		}
		if (cases[i].taken && cases[i].connection == DATA)
			assert_ptr_equal(rig->data[0].connection, CONNECTION);
		end();
	}
}

/* The sessions that still expect connections. */
TEST(test_incomplete)
{
	struct session_table table = { &rig, 1 };

	begin(false);
	for (unsigned i = 0; i < 3; i++)
		rig->data[i].taken = true;
	assert_true(any_incomplete(&table));
	rig->control = CONNECTION;
	assert_false(any_incomplete(&table));
	rig->state = SESSION_JUDGING;
	assert_true(any_incomplete(&table));
	rig->state = SESSION_OPENING;
	for (unsigned i = 0; i < 3; i++) {
		rig->data[i].taken = false;
		assert_true(any_incomplete(&table));
		rig->data[i].taken = true;
	}
	assert_false(any_incomplete(&table));
	rig->data[2].taken = false;
	rig->stopped = true;
	assert_false(any_incomplete(&table));
	table.n = 0;
	rig->stopped = false;
	assert_false(any_incomplete(&table));
	end();
}

RUN_TESTS_IF(digest_available(&reason), NULL, NULL)
