/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two ends of a connection in one process, and the listening socket between them.
 */
#ifndef XDD_TESTS_NET_RIG_H
#define XDD_TESTS_NET_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "xdd/net/connection.h"

#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull

/* A listening socket on a free port of `host`, "127.0.0.1" or "::1". Sets `*port`. */
int rig_listen(const char *host, uint16_t *port);

/* The address of a number, for connect(2). Returns its size. */
socklen_t rig_address(const char *host, uint16_t port, struct sockaddr_storage *a);

/* A port on which nothing listens. */
uint16_t rig_free_port(const char *host);

struct rig_pair {
	struct connection *client;
	struct connection *server;
};

/*
 * Connect over `host`. A key that is NULL stands for a side without TLS. Fails the test where a
 * side fails.
 */
void rig_pair(struct rig_pair *p, const char *host, const struct connection_options *options,
	      const struct net_key *client, const struct net_key *server);
void rig_close(struct rig_pair *p);

/* The peer closes the pair, after half a message. Closes the rest of it. */
void rig_check_peer_closes(struct rig_pair *p);

/* Calls of a connection that wait. */
enum rig_call {
	RIG_SEND,
	RIG_RECEIVE,
	RIG_FIRST,
	RIG_WAIT,
	RIG_CALLS
};

/* A call that waits ends when another thread aborts the connection. Closes the pair. */
void rig_check_abort(struct rig_pair *p, enum rig_call in);

/* Accept a connection on `fd`, with a TLS handshake where `key` is not NULL. */
struct connection *rig_accept(int fd, const struct connection_options *options,
			      const struct net_key *key, int *err);

/* A key whose bytes are all `byte`. */
struct net_key rig_key(uint8_t byte);

/* False where this xdd has no TLS, or the host no IPv6. */
bool rig_has_tls(void);
bool rig_has_ipv6(void);

#endif
