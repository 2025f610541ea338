/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data streams: their first messages, and bodies; see the header. Called by session_link.c and by
 * copies.
 */
#include "xdd/net/stream.h"

#include <errno.h>
#include <string.h>

#include "config.h"
#include "xdd/sys/clock.h"

void stream_hello(const struct stream_terms *t, enum wire_purpose purpose, struct wire_hello *hello)
{
	*hello = (struct wire_hello){
		.purpose = purpose,
		.flags = t->flags,
		.software = PACKAGE_STRING,
	};
	memcpy(hello->session, t->session, sizeof(hello->session));
}

int stream_send_hello(struct connection *c, enum wire_type type, const struct stream_terms *t,
		      uint32_t number, struct wire_key *key)
{
	struct wire_header h = { .type = type, .target = t->target, .connection = number };
	uint8_t body[WIRE_MAX_HELLO_BYTES];
	struct wire_hello hello;

	stream_hello(t, WIRE_TRANSFER, &hello);
	h.length = wire_encode_hello(&hello, body);
	h.digest = digest_data(body, (size_t)h.length);
	return connection_send_message(c, &h, key, body);
}

/* True: `hello` is of a data stream of this session. */
static bool is_of_session(const struct stream_terms *t, const struct wire_hello *hello)
{
	return hello->purpose == WIRE_TRANSFER &&
	       memcmp(hello->session, t->session, sizeof(hello->session)) == 0;
}

/* The body of WELCOME or ERROR; as stream_receive_welcome(). */
static int stream_take_answer(const struct stream_terms *t, const struct wire_header *h,
			      const uint8_t *body, struct wire_error *refusal,
			      enum wire_fault *fault)
{
	struct wire_hello hello;

	*fault = wire_check_body(h, body);
	if (*fault != WIRE_OK)
		return -EBADMSG;
	if (h->type == WIRE_ERROR) {
		*fault = wire_decode_error(body, (size_t)h->length, refusal);
		return *fault == WIRE_OK ? 1 : -EBADMSG;
	}
	*fault = wire_decode_hello(body, (size_t)h->length, &hello);
	if (*fault == WIRE_OK && !is_of_session(t, &hello))
		*fault = WIRE_BAD_BODY;
	return *fault == WIRE_OK ? 0 : -EBADMSG;
}

int stream_receive_welcome(struct connection *c, const struct stream_terms *t, uint32_t number,
			   struct wire_key *key, struct wire_error *refusal, enum wire_fault *fault)
{
	uint8_t body[WIRE_MAX_ERROR_BYTES];
	struct wire_header h;
	int err;

	*fault = WIRE_OK;
	err = connection_receive_header(c, key, 0, &h, fault);
	if (err)
		return err == -EAGAIN ? -ETIMEDOUT : err;
	if ((h.type != WIRE_WELCOME && h.type != WIRE_ERROR) || h.length > sizeof(body) ||
	    h.target != t->target || h.connection != number || h.sequence) {
		*fault = WIRE_BAD_FIELD;
		return -EBADMSG;
	}
	err = connection_receive(c, body, (size_t)h.length);
	return err ? err : stream_take_answer(t, &h, body, refusal, fault);
}

/* True: the code of the header proves that the peer has the key. */
static bool is_proven(const struct stream_terms *t, const struct listener_guest *g,
		      struct wire_key *key)
{
	struct wire_header h;

	return wire_decode(g->raw, key, 0, &h, NULL) == WIRE_OK && h.sequence == 0 &&
	       h.target == t->target;
}

enum stream_verdict stream_take(const struct stream_terms *t, const struct listener_guest *g,
				struct stream_slot *slots)
{
	const uint32_t number = g->header.connection;
	enum stream_verdict verdict = STREAM_GOOD;
	struct wire_key *key = NULL;

	if (!is_of_session(t, &g->hello))
		return STREAM_OF_OTHER;
	if (t->key) {
		key = wire_key_new(t->key);
		if (!key)
			return STREAM_NO_MEMORY;
	}
	if (!is_proven(t, g, key))
		verdict = STREAM_UNPROVEN;
	else if ((t->flags & WIRE_CAN_ENCRYPT) && !g->tls)
		verdict = STREAM_IN_CLEAR;
	else if (number >= t->n)
		verdict = STREAM_EXCESS;
	else if (slots[number].taken)
		verdict = STREAM_TWICE;
	if (verdict == STREAM_GOOD)
		slots[number] = (struct stream_slot){ g->connection, key, true };
	else
		wire_key_free(key);
	return verdict;
}

/* Add the time since `*at_ns` to `*sum`, and start again. */
static void stream_add_time(uint64_t *sum, uint64_t *at_ns)
{
	uint64_t now_ns = clock_now_ns();

	*sum += now_ns - *at_ns;
	*at_ns = now_ns;
}

int stream_receive_body(stream_receive *receive, void *from, struct digest_stream *sum, void *buf,
			size_t size, struct digest *digest, uint64_t ns[2])
{
	const bool single = size <= DIGEST_PIECE_BYTES;
	uint64_t at_ns = ns ? clock_now_ns() : 0;
	uint8_t *to = buf;

	*digest = (struct digest){ 0 };
	if (!single)
		digest_stream_start(sum);
	for (size_t n; size; to += n, size -= n) {
		int err;

		n = size < DIGEST_PIECE_BYTES ? size : DIGEST_PIECE_BYTES;
		err = receive(from, to, n);
		if (ns)
			stream_add_time(&ns[1], &at_ns);
		if (err)
			return err;
		if (single)
			*digest = digest_data(to, n);
		else
			digest_stream_add(sum, to, n);
		if (ns)
			stream_add_time(&ns[0], &at_ns);
	}
	if (!single)
		*digest = digest_stream_end(sum);
	return 0;
}
