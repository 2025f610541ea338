/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the listener. For src/net/listener*.c.
 */
#ifndef XDD_NET_LISTENER_INTERNAL_H
#define XDD_NET_LISTENER_INTERNAL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/connection_internal.h"
#include "xdd/net/session.h"
#include "xdd/net/wire.h"

/* Time to read the answer of a refusal and to close the connection. */
#define LISTENER_LAST_WORDS_NS 1000000000ull

enum stranger_state {
	STRANGER_FIRST_BYTE, /* which tells TLS from a message */
	STRANGER_HANDSHAKE,
	STRANGER_HEADER,
	STRANGER_BODY,
	STRANGER_ANSWER, /* it is refused: an ERROR goes out */
	STRANGER_DRAIN,	 /* and then what it sends is discarded until it has read that and closes */
};

/* A peer between accept(2) and the answer of a session. */
struct stranger {
	struct connection *c; /* NULL: this slot is free */
	enum stranger_state state;
	uint64_t number; /* of the accepted connections, in their order */
	uint64_t until_ns;
	struct in6_addr from; /* IPv4 in its mapped form */
	bool tls;
	size_t done, size; /* bytes of the message, so far and wanted */
	struct wire_header header;
	uint8_t message[WIRE_HEADER_BYTES + WIRE_MAX_ERROR_BYTES];
};

_Static_assert(WIRE_MAX_HELLO_BYTES <= WIRE_MAX_ERROR_BYTES, "a message has room for a HELLO");

struct listener_socket {
	int fd;
	struct sockaddr_storage address; /* as bound */
	socklen_t size;
};

struct listener {
	/* const after listener_start() */
	const struct connection_options *options;
	struct tls_context *tls; /* NULL: no key */
	struct listener_socket *sockets;
	size_t n_sockets;
	int epoll, wake;
	bool started;
	pthread_t thread;
	listener_offer *offer;
	void *arg;

	/* owned by the thread */
	struct stranger strangers[LISTENER_MAX_STRANGERS];
	uint64_t accepted;
	uint64_t paused_until_ns; /* 0: the listening sockets are watched */

	uint64_t window_ns; /* start of a time for which accepted connections are counted */
	unsigned in_window;

	/* atomic */
	_Atomic uint64_t refused;
	atomic_bool quiet;
};

enum stranger_end {
	STRANGER_WAITS, /* for the poll(2) events in `*events` */
	STRANGER_GONE,	/* to be closed */
	STRANGER_TAKEN, /* a session has it */
};

#endif
