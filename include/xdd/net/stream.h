/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first messages of data streams, the data connections of a session: HELLO of the side that
 * connects, and WELCOME of the side that listens (doc/wire.md); and the bodies that follow.
 * End-to-end sessions and copies of files use them, and each has its own words for what goes wrong.
 * One thread for each stream.
 */
#ifndef XDD_NET_STREAM_H
#define XDD_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/net/session.h"
#include "xdd/net/wire.h"

/* The terms of all streams of a session, on one side. Pointers are borrowed. */
struct stream_terms {
	const uint8_t *session; /* WIRE_SESSION_BYTES */
	const uint8_t *key;	/* WIRE_KEY_BYTES, of the codes of headers; NULL: none */
	uint32_t target;
	uint32_t flags; /* WIRE_CAN_...; with WIRE_CAN_ENCRYPT a stream without TLS is refused */
	uint32_t n;	/* streams, numbered from 0 */
};

/* This side, for HELLO and WELCOME. */
void stream_hello(const struct stream_terms *t, enum wire_purpose purpose,
		  struct wire_hello *hello);

/* Send HELLO or WELCOME of stream `number`. `key` may be NULL. Returns 0 or -errno. */
int stream_send_hello(struct connection *c, enum wire_type type, const struct stream_terms *t,
		      uint32_t number, struct wire_key *key);

/*
 * Receive the answer to HELLO. Returns 0; 1: the peer refuses the stream, with its words in
 * `*refusal`; -EBADMSG because of `*fault`; -ETIMEDOUT; or another -errno of the connection.
 */
int stream_receive_welcome(struct connection *c, const struct stream_terms *t, uint32_t number,
			   struct wire_key *key, struct wire_error *refusal,
			   enum wire_fault *fault);

/* Why a guest of the listener is not a stream of this session. */
enum stream_verdict {
	STREAM_GOOD,
	STREAM_OF_OTHER, /* of another session, or no stream */
	STREAM_UNPROVEN, /* it does not have the key */
	STREAM_IN_CLEAR, /* it is not encrypted */
	STREAM_EXCESS,	 /* there is no such number */
	STREAM_TWICE,	 /* it has come already */
	STREAM_NO_MEMORY,
	STREAM_VERDICTS
};

/* A stream of a session, as the threads know it that do not use it. */
struct stream_slot {
	struct connection *connection; /* NULL: none now */
	struct wire_key *key;	       /* for its user; NULL: none, or the user has it */
	bool taken;		       /* once there was one, there is no other */
};

/*
 * Judge the HELLO of a guest. STREAM_GOOD: it is the stream of its number in `slots`, which are
 * t->n. One that does not have the key learns whether the session is another one, and nothing else.
 * Thread of the listener.
 */
enum stream_verdict stream_take(const struct stream_terms *t, const struct listener_guest *g,
				struct stream_slot *slots);

/* Receive `size` bytes: connection_receive() and the like. */
typedef int stream_receive(void *from, void *buf, size_t size);

/*
 * Receive a body in pieces, each of which is added to its digest while it is in the cache; `sum` is
 * for bodies of several pieces. `ns`, which may be NULL: the times [0] of digests and [1] of
 * receiving are added. Returns 0 or what `receive` does. The thread of the stream.
 */
int stream_receive_body(stream_receive *receive, void *from, struct digest_stream *sum, void *buf,
			size_t size, struct digest *digest, uint64_t ns[2]);

#endif
