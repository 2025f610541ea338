/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A proxy for TCP connections that does harm where it is told to.
 */
#ifndef XDD_TESTS_NET_PROXY_H
#define XDD_TESTS_NET_PROXY_H

#include <stdbool.h>
#include <stdint.h>

enum proxy_harm {
	PROXY_FLIP,   /* change one bit */
	PROXY_CUT,    /* close this connection on both sides */
	PROXY_KILL,   /* close all connections, and accept no more */
	PROXY_FREEZE, /* pass nothing on any more, in any connection, and close none */
};

/* In connection `connection`, in the order in which they were accepted, at byte `at`. */
struct proxy_fault {
	enum proxy_harm harm;
	unsigned connection;
	bool upstream; /* in what the client sends */
	uint64_t at;
};

struct proxy;

/* Forward connections to a port of 127.0.0.1 from a free one, which proxy_port() returns. */
struct proxy *proxy_start(uint16_t to_port, const struct proxy_fault *fault);
uint16_t proxy_port(const struct proxy *p);

/* True if the harm is done. After the end of the connections. */
bool proxy_done(const struct proxy *p);

/* The bytes that `connection` has forwarded in one direction. */
uint64_t proxy_bytes(const struct proxy *p, unsigned connection, bool upstream);
void proxy_stop(struct proxy *p);

#endif
