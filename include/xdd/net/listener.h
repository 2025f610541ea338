/*
 * The listening sockets of a run, and a thread that accepts connections, reads the first message of
 * each, and passes it on to the session that expects it.
 *
 * Until then a peer is a stranger: the number of strangers, their bytes and their time are limited,
 * and none delays another.
 */
#ifndef XDD_NET_LISTENER_H
#define XDD_NET_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/net/connection.h"
#include "xdd/net/key.h"
#include "xdd/net/wire.h"

#define LISTENER_MAX_STRANGERS 64
#define LISTENER_STRANGER_NS (5ull * 1000000000)
#define LISTENER_QUIET_PER_SECOND 40

struct listener;

/* The first message of a connection. */
struct listener_guest {
	struct connection *connection;
	bool tls;			/* the peer has the key */
	uint8_t raw[WIRE_HEADER_BYTES]; /* as it came: only the session can check its code */
	struct wire_header header;	/* decoded without a check of the code */
	struct wire_hello hello;
};

/*
 * The session's answer to it, in the thread of the listener: it must not block. True: the
 * connection is the session's now, which sends the answer. False: it is refused, with a text for
 * the peer in `why` (`size` bytes; "": closed without a word).
 */
typedef bool listener_offer(void *arg, const struct listener_guest *guest, char *why, size_t size);

/*
 * One socket for each address and port, which several sessions may name. `options` and `key`, which
 * may be NULL, are borrowed for the life of the listener. Returns NULL without memory. With `key`,
 * a control connection without TLS is refused; without one, a connection with TLS is closed.
 */
struct listener *listener_new(const struct connection_options *options, const struct net_key *key);

/* Listen on `host` and `port`. Returns 0, or -errno with a text in `why`. Before the start. */
int listener_add(struct listener *l, const char *host, uint16_t port, char *why, size_t size);

/* The port of the first address, which the kernel chose where 0 was asked for. After an add. */
uint16_t listener_port(const struct listener *l);

/* Start and end the thread. listener_free() accepts NULL, ends it, and closes the sockets. */
int listener_start(struct listener *l, listener_offer *offer, void *arg);
void listener_free(struct listener *l);

/*
 * Set `quiet` while the sessions expect no more connections: strangers are then accepted so rarely,
 * at most LISTENER_QUIET_PER_SECOND, that they cost the copy nothing. Any thread.
 */
void listener_set_quiet(struct listener *l, bool quiet);

/* Connections that were refused, for a warning at the end. Any thread. */
uint64_t listener_refused(const struct listener *l);

#endif
