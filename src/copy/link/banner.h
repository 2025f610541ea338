/*
 * The first line of a server, before any message: "XDD-COPY 6 8.0.0". It tells the output of xdd
 * from that of login scripts, and from an xdd that does not know copies. For ssh.c and server.c.
 */
#ifndef COPY_LINK_BANNER_H
#define COPY_LINK_BANNER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/link/link.h"

/* Other output that may come before the banner. */
#define BANNER_MAX_NOISE (64u << 10)

struct banner {
	unsigned protocol;
	char version[32]; /* printable */
	char noise[128];  /* any bytes: the last line that was not empty, or a part of it */
};

enum banner_end {
	BANNER_FOUND,
	BANNER_CLOSED, /* the end of the output came first */
	BANNER_NOISE,  /* too much other output */
	BANNER_CUT,
	BANNER_LATE, /* the time limit came first */
};

/* Send the banner of this program, before any message. Returns 0 or -errno. Server. */
int banner_send(struct link *channel);

/*
 * Read from `fd`, which does not block, up to the end of the banner and no further, for at most
 * `limit_ns`; 0: without a limit, because a password may be asked for. `*cut` ends it within 50 ms
 * when it is set, and so does the limit. Main thread of the other side.
 */
enum banner_end banner_await(int fd, struct banner *b, uint64_t limit_ns, const atomic_int *cut);

#endif
