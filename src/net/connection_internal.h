/*
 * Inside of a connection. For src/net/connection*.c and listener*.c.
 */
#ifndef XDD_NET_CONNECTION_INTERNAL_H
#define XDD_NET_CONNECTION_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "net/tls.h"
#include "xdd/net/connection.h"

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
		       char *why, size_t size);

/*
 * Set the options that a socket needs before it connects or listens. Returns 0, or -errno with a
 * text in `why`.
 */
int connection_prepare_socket(int fd, const struct connection_options *options, char *why,
			      size_t size);

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

/* -errno of a socket call as connection_send() reports it. */
int connection_errno(const struct connection *c, int err);

#endif
