/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections, and the key that both of their sides share.
 */
#ifndef XDD_NET_CONNECTION_H
#define XDD_NET_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "xdd/base/err.h"
#include "xdd/net/wire.h"
#include "xdd/stat/figures.h"
#include "xdd/sync/wait.h"

/*
 * The key of -e2e key: what both sides of an end-to-end copy share.
 */

#define NET_KEY_BYTES 32
#define NET_KEY_MIN_BYTES 16   /* of the text that it is derived from */
#define NET_KEY_MAX_BYTES 4096 /* the same */

/* Derived by SHA-256 from the bytes of the file without blanks and line ends around them. */
struct net_key {
	bool present;
	uint8_t bytes[NET_KEY_BYTES];
};

/* False, with `*why` a static message: this xdd was built without OpenSSL. */
bool net_key_available(const char **why);

/*
 * Read the key from `path`, or from the environment variable XDD_E2E_KEY where `path` is NULL; no
 * key where neither is there. A file that others may read is refused. Returns 0, or -errno with a
 * message in `why`. Main thread.
 */
int net_key_load(const char *path, struct net_key *key, struct err *why);

/*
 * The key of -cookie, of its hexadecimal digits in upper or lower case. It is weak: the list of
 * processes shows it. Returns 0, or -errno with a text in `why`.
 */
int net_key_from_cookie(const char *digits, struct net_key *key, struct err *why);

/* Overwrite the key. */
void net_key_forget(struct net_key *key);

/*
 * One TCP connection, with TLS 1.3 where the session has it.
 *
 * A connection belongs to one thread at a time, except that one thread may send while another
 * receives, and for connection_abort() and connection_info(). Calls block; each has the time limit
 * of the connection, and ends at once when another thread aborts it.
 */

struct connection; /* private to src/net/connection_internal.h */

/* Options of all sockets of a session. */
struct connection_options {
	uint64_t timeout_ns;	       /* without any progress of a call */
	const char *congestion;	       /* NULL: the system's */
	uint64_t send_buffer_bytes;    /* 0: the kernel adapts it, except within a host */
	uint64_t receive_buffer_bytes; /* the same */
};

/*
 * Connect to `host` and `port`, and try again until clock `until_ns` while nothing listens there.
 * With `key`, do the TLS handshake. Returns 0 and `*c`; -ECANCELED when `stop` ends it; or -errno
 * with a message in `why`. `key` and `stop` may be NULL. Any thread.
 */
int connection_open(struct connection **c, const char *host, uint16_t port,
		    const struct connection_options *options, const struct net_key *key,
		    struct stop *stop, uint64_t until_ns, struct err *why);

/*
 * As connection_open(), but each address is tried once: it fails at once where nothing listens, and
 * at `until_ns` where nothing answers, also to the handshake.
 */
int connection_try(struct connection **c, const char *host, uint16_t port,
		   const struct connection_options *options, const struct net_key *key,
		   struct stop *stop, uint64_t until_ns, struct err *why);

/* End it and free it; accepts NULL. */
void connection_close(struct connection *c);

/* Have all present and future calls return -ECONNABORTED. Any thread, while it is not closed. */
void connection_abort(struct connection *c);

/*
 * Send all of `n` parts, or receive `size` bytes. Return 0; -ETIMEDOUT after the time limit without
 * progress; -ECONNRESET when the peer closed it; -ECONNABORTED; or another -errno. An error ends
 * the use of the connection. `iov` is changed.
 */
int connection_send(struct connection *c, struct iovec *iov, int n);
int connection_receive(struct connection *c, void *buf, size_t size);

/* Leave out the first `done` bytes of `n` parts, and empty ones. Returns how many are left. */
int connection_advance(struct iovec **iov, int n, size_t done);

/*
 * Wait until there is something to receive, or the peer closed it, or `wake_fd` (-1: none) is
 * readable. Returns 1; 0 after `timeout_ns` (UINT64_MAX: no limit) or for `wake_fd` only; or
 * -ECONNABORTED.
 */
int connection_wait(struct connection *c, int wake_fd, uint64_t timeout_ns);

/*
 * Send a header and its body, or receive a header: wire.h. `fault` is WIRE_OK unless the peer sent
 * what it may not: the call then returns -EBADMSG. connection_receive_header() returns -EAGAIN when
 * the time limit has passed and not a byte has arrived: it may be called again.
 */
int connection_send_message(struct connection *c, const struct wire_header *h, struct wire_key *key,
			    const void *body);
int connection_receive_header(struct connection *c, struct wire_key *key, uint64_t max_data,
			      struct wire_header *h, enum wire_fault *fault);

/*
 * A key of this connection that only both sides know, for `label`. Returns 0 or -errno; -ENOTSUP
 * without TLS.
 */
int connection_export_key(struct connection *c, const char *label, uint8_t out[WIRE_KEY_BYTES]);

/* Any thread, while it is not closed. */
void connection_info(struct connection *c, struct connection_info *info);
const char *connection_peer(const struct connection *c);

#endif
