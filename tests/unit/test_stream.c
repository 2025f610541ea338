/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guests that may become a data stream of a session, and others: src/net/stream.c. The messages
 * themselves are in test_session.c and test_copy_link.c.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "xdd/net/stream.h"

static const uint8_t session[WIRE_SESSION_BYTES] = "a session", other[WIRE_SESSION_BYTES] = "other";
static const uint8_t secret[WIRE_KEY_BYTES] = "a key", guess[WIRE_KEY_BYTES] = "a guess";

static const struct stream_terms plain = { .session = session, .target = 3, .n = 4 };
static const struct stream_terms keyed = {
	.session = session,
	.key = secret,
	.target = 3,
	.flags = WIRE_CAN_KEY | WIRE_CAN_ENCRYPT,
	.n = 4,
};

/* The connection of a guest, which nothing looks into. */
static char connection;

/* Skip the test where keys have no code. */
static void need_keys(void)
{
	const char *missing;

	if (!net_key_available(&missing))
		skip();
}

/* A guest as the listener has it, with TLS, whose code is of `key`; NULL: none. */
static struct listener_guest guest_of(struct wire_header h, const uint8_t *key)
{
	struct wire_key *k = key ? wire_key_new(key) : NULL;
	struct listener_guest g = { .tls = true, .connection = (void *)&connection };
	uint8_t body[WIRE_MAX_HELLO_BYTES];

	stream_hello(&keyed, WIRE_TRANSFER, &g.hello);
	h.type = WIRE_HELLO;
	h.length = wire_encode_hello(&g.hello, body);
	h.digest = digest_data(body, (size_t)h.length);
	wire_encode(&h, k, g.raw);
	wire_key_free(k);
	assert_int_equal(wire_decode_first(g.raw, &g.header, NULL), WIRE_OK);
	return g;
}

static enum stream_verdict judge(const struct stream_terms *t, const struct listener_guest *g)
{
	struct stream_slot slots[4] = { { .key = NULL } }, *slot = &slots[2];
	enum stream_verdict verdict = stream_take(t, g, slots);

	assert_int_equal(slot->taken, verdict == STREAM_GOOD);
	assert_ptr_equal(slot->connection, slot->taken ? g->connection : NULL);
	assert_int_equal(slot->key != NULL, slot->taken && t->key);
	if (slot->taken)
		assert_int_equal(stream_take(t, g, slots), STREAM_TWICE);
	wire_key_free(slot->key);
	return verdict;
}

static const struct wire_header right = { .target = 3, .connection = 2 };

TEST(test_good)
{
	struct listener_guest g;

	need_keys();
	g = guest_of(right, secret);
	assert_int_equal(judge(&keyed, &g), STREAM_GOOD);
	g = guest_of(right, NULL);
	assert_int_equal(judge(&plain, &g), STREAM_GOOD);
	/* TLS is no harm where it is not asked for. */
	g.tls = false;
	assert_int_equal(judge(&plain, &g), STREAM_GOOD);
}

/* Each reason alone. */
TEST(test_refused)
{
	struct listener_guest g;

	need_keys();
	g = guest_of(right, secret);
	memcpy(g.hello.session, other, sizeof(other));
	assert_int_equal(judge(&keyed, &g), STREAM_OF_OTHER);
	g = guest_of(right, secret);
	g.hello.purpose = WIRE_CONTROL;
	assert_int_equal(judge(&keyed, &g), STREAM_OF_OTHER);
	g = guest_of(right, guess);
	assert_int_equal(judge(&keyed, &g), STREAM_UNPROVEN);
	g = guest_of(right, NULL);
	assert_int_equal(judge(&keyed, &g), STREAM_UNPROVEN);
	g = guest_of(right, secret);
	assert_int_equal(judge(&plain, &g), STREAM_UNPROVEN);
	g.tls = false;
	assert_int_equal(judge(&keyed, &g), STREAM_IN_CLEAR);
	g = guest_of((struct wire_header){ .target = 3, .connection = 4 }, secret);
	assert_int_equal(judge(&keyed, &g), STREAM_EXCESS);
	/* The code covers a message that would follow others, or is for another target. */
	g = guest_of((struct wire_header){ .target = 3, .connection = 2, .sequence = 1 }, secret);
	assert_int_equal(judge(&keyed, &g), STREAM_UNPROVEN);
	g = guest_of((struct wire_header){ .target = 4, .connection = 2 }, secret);
	assert_int_equal(judge(&keyed, &g), STREAM_UNPROVEN);
}

/* Without the key a guest does not learn how many streams there are, or if they are encrypted. */
TEST(test_learns_nothing)
{
	struct listener_guest g;

	need_keys();
	g = guest_of((struct wire_header){ .target = 3, .connection = 9 }, guess);
	assert_int_equal(judge(&keyed, &g), STREAM_UNPROVEN);
	g.tls = false;
	assert_int_equal(judge(&keyed, &g), STREAM_UNPROVEN);
}

/* ---- the first messages ---- */

static const struct connection_options soon = { .timeout_ns = 1000000 };

/* A connection, and the other end of it. */
static struct connection *connect_pair(int *peer)
{
	struct connection *c;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	c = connection_new(fds[0], &soon);
	assert_non_null(c);
	*peer = fds[1];
	return c;
}

TEST(test_send_hello)
{
	uint8_t bytes[WIRE_HEADER_BYTES + WIRE_MAX_HELLO_BYTES];
	struct wire_header h;
	struct wire_hello hello;
	int peer;
	struct connection *c = connect_pair(&peer);
	ssize_t n;

	assert_int_equal(stream_send_hello(c, WIRE_WELCOME, &keyed, 2, NULL), 0);
	n = read(peer, bytes, sizeof(bytes));
	assert_true(n > WIRE_HEADER_BYTES);
	assert_int_equal(wire_decode(bytes, NULL, 0, &h, NULL), WIRE_OK);
	assert_int_equal(h.type, WIRE_WELCOME);
	assert_int_equal(h.target, 3);
	assert_int_equal(h.connection, 2);
	assert_int_equal(h.sequence, 0);
	assert_int_equal(h.length, n - WIRE_HEADER_BYTES);
	assert_int_equal(wire_check_body(&h, bytes + WIRE_HEADER_BYTES), WIRE_OK);
	assert_int_equal(wire_decode_hello(bytes + WIRE_HEADER_BYTES, h.length, &hello), WIRE_OK);
	assert_int_equal(hello.purpose, WIRE_TRANSFER);
	assert_int_equal(hello.flags, keyed.flags);
	assert_memory_equal(hello.session, session, sizeof(session));
	connection_close(c);
	close(peer);
}

/* Answers, of which one is right; a refusal has its words. */
TEST(test_welcome)
{
	static const struct {
		struct wire_header h;
		const uint8_t *session;
		enum wire_purpose purpose;
		uint64_t damage, less; /* of the digest, and of the length */
		int expected;
		enum wire_fault fault;
	} cases[] = {
#define AS(type, target, number, sequence) { type, target, number, 0, 0, sequence, 0, { 0, 0 } }
		{ AS(WIRE_WELCOME, 3, 2, 0), session, WIRE_TRANSFER, 0, 0, 0, WIRE_OK },
		{ AS(WIRE_ERROR, 3, 2, 0), session, WIRE_TRANSFER, 0, 0, 1, WIRE_OK },
		{ AS(WIRE_HELLO, 3, 2, 0), session, WIRE_TRANSFER, 0, 0, -EBADMSG, WIRE_BAD_FIELD },
		{ AS(WIRE_WELCOME, 4, 2, 0), session, WIRE_TRANSFER, 0, 0, -EBADMSG,
		  WIRE_BAD_FIELD },
		{ AS(WIRE_WELCOME, 3, 1, 0), session, WIRE_TRANSFER, 0, 0, -EBADMSG,
		  WIRE_BAD_FIELD },
		{ AS(WIRE_WELCOME, 3, 2, 1), session, WIRE_TRANSFER, 0, 0, -EBADMSG,
		  WIRE_BAD_FIELD },
		{ AS(WIRE_WELCOME, 3, 2, 0), other, WIRE_TRANSFER, 0, 0, -EBADMSG, WIRE_BAD_BODY },
		{ AS(WIRE_WELCOME, 3, 2, 0), session, WIRE_CONTROL, 0, 0, -EBADMSG, WIRE_BAD_BODY },
		{ AS(WIRE_WELCOME, 3, 2, 0), session, WIRE_TRANSFER, 1, 0, -EBADMSG,
		  WIRE_BAD_DATA },
		{ AS(WIRE_WELCOME, 3, 2, 0), session, WIRE_TRANSFER, 0, 1, -EBADMSG,
		  WIRE_BAD_BODY },
		{ AS(WIRE_ERROR, 3, 2, 0), session, WIRE_TRANSFER, 0, 1, -EBADMSG, WIRE_BAD_BODY },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wire_error e = { .status = 1, .text = "no room" };
		struct wire_hello hello = { .purpose = cases[i].purpose, .software = "xdd" };
		uint8_t bytes[WIRE_HEADER_BYTES + WIRE_MAX_ERROR_BYTES];
		uint8_t *body = bytes + WIRE_HEADER_BYTES;
		struct wire_header h = cases[i].h;
		struct wire_error refusal = { 0 };
		enum wire_fault fault = WIRE_BAD_TYPE;
		int peer;
		struct connection *c = connect_pair(&peer);

		memcpy(hello.session, cases[i].session, sizeof(hello.session));
		h.length = h.type == WIRE_ERROR ? wire_encode_error(&e, body) :
						  wire_encode_hello(&hello, body);
		h.length -= cases[i].less;
		h.digest = digest_data(body, h.length);
		h.digest.low += cases[i].damage;
		wire_encode(&h, NULL, bytes);
		assert_int_equal(write(peer, bytes, WIRE_HEADER_BYTES + h.length),
				 WIRE_HEADER_BYTES + h.length);
		if (stream_receive_welcome(c, &plain, 2, NULL, &refusal, &fault) !=
		    cases[i].expected)
			fail_msg("case %zu", i);
		assert_int_equal(fault, cases[i].fault);
		assert_string_equal(refusal.text, cases[i].expected == 1 ? "no room" : "");
		connection_close(c);
		close(peer);
	}
}

/* No answer, a part of one, and an end. */
TEST(test_no_welcome)
{
	static const struct {
		size_t bytes;
		bool ends;
		int expected;
	} cases[] = {
		{ 0, false, -ETIMEDOUT },
		{ 5, false, -ETIMEDOUT },
		{ WIRE_HEADER_BYTES, false, -ETIMEDOUT },
		{ 0, true, -ECONNRESET },
		{ WIRE_HEADER_BYTES, true, -ECONNRESET },
	};
	const struct wire_header h = {
		.type = WIRE_WELCOME, .target = 3, .connection = 2, .length = 40, .digest = { 1, 1 }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[WIRE_HEADER_BYTES];
		struct wire_error refusal;
		enum wire_fault fault;
		int peer;
		struct connection *c = connect_pair(&peer);

		wire_encode(&h, NULL, bytes);
		assert_int_equal(write(peer, bytes, cases[i].bytes), cases[i].bytes);
		if (cases[i].ends)
			shutdown(peer, SHUT_WR);
		assert_int_equal(stream_receive_welcome(c, &plain, 2, NULL, &refusal, &fault),
				 cases[i].expected);
		assert_int_equal(fault, WIRE_OK);
		connection_close(c);
		close(peer);
	}
}

/* ---- bodies ---- */

/* Bytes that come in pieces, until the n-th. */
struct pieces {
	size_t sizes[4], n, good;
};

static int give(void *from, void *buf, size_t size)
{
	struct pieces *p = from;

	if (p->n == p->good)
		return -ECONNRESET;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buf)[i] = (uint8_t)(i * 7 + p->n);
	p->sizes[p->n++] = size;
	return 0;
}

TEST(test_body)
{
	static uint8_t body[2 * DIGEST_PIECE_BYTES + 5];
	static const size_t sizes[] = { 0, 1, DIGEST_PIECE_BYTES, DIGEST_PIECE_BYTES + 1,
					sizeof(body) };
	struct digest_stream *sum = digest_stream_new();
	struct digest found;

	assert_non_null(sum);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pieces p = { .good = 4 };
		uint64_t ns[2] = { 0 };

		assert_int_equal(stream_receive_body(give, &p, sum, body, sizes[i], &found, ns), 0);
		assert_int_equal(p.n, (sizes[i] + DIGEST_PIECE_BYTES - 1) / DIGEST_PIECE_BYTES);
		if (sizes[i])
			assert_true(digest_equal(found, digest_data(body, sizes[i])));
		assert_true(sizes[i] ? sizes[i] == 1 || (ns[0] && ns[1]) : !ns[0] && !ns[1]);
		for (size_t k = 0; k + 1 < p.n; k++)
			assert_int_equal(p.sizes[k], DIGEST_PIECE_BYTES);
	}
	for (size_t good = 0; good < 3; good++) {
		struct pieces p = { .good = good };

		assert_int_equal(stream_receive_body(give, &p, sum, body, sizeof(body), &found,
						     NULL),
				 -ECONNRESET);
		assert_int_equal(p.n, good);
	}
	digest_stream_free(sum);
}

RUN_TESTS(NULL, NULL)
