/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of a connection, and TLS. For src/net/connection*.c and listener.c; names of
 * hosts also for time_*.c.
 */
#ifndef XDD_NET_CONNECTION_INTERNAL_H
#define XDD_NET_CONNECTION_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "xdd/net/connection.h"

struct tls;
struct tls_context;

/*
 * TLS 1.3 of a connection, by OpenSSL: both sides prove that they have the key (an external PSK);
 * there are no certificates.
 *
 * Calls do not block: they return -EAGAIN with the poll(2) events to wait for in `*events`. One
 * thread may write while another reads. SIGPIPE must be ignored: OpenSSL uses write(2).
 */

/* The first byte of a TLS connection: the type of a handshake record. */
#define TLS_FIRST_BYTE 0x16

/*
 * For connections of one side. `key` is borrowed for its life. Return NULL without memory or
 * without OpenSSL. The free functions accept NULL.
 */
struct tls_context *tls_context_new(const struct net_key *key, bool server);
void tls_context_free(struct tls_context *ctx);
struct tls *tls_new(struct tls_context *ctx, int fd);
void tls_free(struct tls *t);

/*
 * A step of the handshake, before anything else. Returns 0 when it is complete and the peer has
 * the key; -EAGAIN; -EACCES: the peer refused the key, or has not proved that it has it;
 * -ECONNRESET: it closed the connection; or another -errno.
 */
int tls_handshake(struct tls *t, short *events);

/*
 * Write or read at most `size` bytes. Return how many, or -errno; -ECONNRESET at the end,
 * -EBADMSG: what arrived is damaged. A write that returned -EAGAIN is repeated with the same bytes.
 */
ssize_t tls_write(struct tls *t, const void *buf, size_t size, short *events);
ssize_t tls_read(struct tls *t, void *buf, size_t size, short *events);

/* True: there are bytes to read that poll(2) does not see. */
bool tls_pending(struct tls *t);

/* A key for `label` that only the two sides know. Returns 0 or -EIO. */
int tls_export_key(struct tls *t, const char *label, uint8_t *out, size_t size);

/* The cipher; and whether the kernel encrypts what is sent. */
const char *tls_cipher(const struct tls *t);
bool tls_kernel(const struct tls *t);

struct connection {
	/* const until it is closed */
	int fd; /* does not block with TLS; blocks with the time limit without */
	uint64_t timeout_ns;
	struct tls *tls; /* NULL: none */
	char local[CONNECTION_PEER_SIZE];
	char peer[CONNECTION_PEER_SIZE];

	/* atomic: set once, by connection_abort() */
	atomic_bool aborted;
};

/* "192.168.1.5:40010" or "[fe80::1%eth0]:40010". */
void connection_address_text(const struct sockaddr_storage *a, char *buf, size_t size);

/* As connection_address_text(), for a host as the user named it. */
void connection_host_text(const char *host, uint16_t port, char *buf, size_t size);

/*
 * The addresses of `host` and `port`; `flags` is AI_PASSIVE or 0. An IPv6 number may be in
 * brackets. Returns 0 and `*list`, for freeaddrinfo(), or -errno with a text in `why`.
 */
struct addrinfo;
int connection_resolve(const char *host, uint16_t port, int flags, struct addrinfo **list,
		       struct err *why);

/* A bind(2) or listen(2) failed: returns `err`. `host` is NULL for all addresses. */
int connection_say_not_bound(int err, const char *host, uint16_t port, struct err *why);

/* True: this host lacks the address. A name may have several, and not all families are there. */
bool connection_is_absent(int err);

/*
 * Set the options that a socket needs before it connects or listens. Returns 0, or -errno with a
 * text in `why`.
 */
int connection_prepare_socket(int fd, const struct connection_options *options, struct err *why);

/*
 * If the peer is on this host, give a connected socket small buffers, except those in its options.
 */
void connection_keep_in_cache(int fd, const struct connection_options *options,
			      const struct sockaddr_storage *local,
			      const struct sockaddr_storage *peer);

/*
 * A connection on the connected socket `fd`, which does not block. Returns NULL without memory;
 * `fd` is then the caller's still.
 */
struct connection *connection_new(int fd, const struct connection_options *options);

/* Have it block, or not, as the calls of connection.h and those below expect. */
int connection_set_blocking(struct connection *c, bool blocking);

/*
 * One attempt on a connection that does not block. Return the number of bytes; -EAGAIN with the
 * poll(2) events to wait for in `*events`; -ECONNRESET at its end; or another -errno.
 */
ssize_t connection_try_receive(struct connection *c, void *buf, size_t size, short *events);
ssize_t connection_try_send(struct connection *c, const void *buf, size_t size, short *events);

/*
 * connection_receive(), except that it returns -EAGAIN when the time limit has passed and not a
 * byte has arrived: it may be called again.
 */
int connection_receive_first(struct connection *c, void *buf, size_t size);

#endif
