/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Global time: the clock of a time server, which hosts that run together share.
 */
#ifndef XDD_NET_GLOBALTIME_H
#define XDD_NET_GLOBALTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct globaltime_client;
struct stop;
struct time_server;

/*
 * The client exchanges messages with the server (doc/globaltime.md) and keeps an interval that
 * contains the difference between the server's clock and clock_now_ns(). Each exchange bounds it
 * from both sides, whatever the network does: the server cannot have received a message before it
 * was sent. The interval widens with the time since the exchange, by the drift that is possible.
 * Global time is nanoseconds since 1970.
 */

#define GLOBALTIME_PORT 2000
#define GLOBALTIME_BOUNCE 100
#define GLOBALTIME_MAX_BOUNCE 10000u
#define GLOBALTIME_TIMEOUT_NS 5000000000ull

/*
 * The global clock at a moment of clock_now_ns(): global = local + offset_ns, which is true within
 * +-bound_ns if the clocks of both hosts differ in rate by at most 500 ppm.
 */
struct globaltime {
	int64_t offset_ns;
	uint64_t bound_ns;
	double drift_ppm;	/* rate of the global clock minus the rate of the local one */
	bool drift_known;	/* drift_ppm is measured; otherwise it is 0 */
	uint64_t round_trip_ns; /* the smallest, without the time in the server */
	unsigned exchanges;	/* with an answer */
	unsigned lost;		/* without one in time */
	uint64_t server_id;
	unsigned steps; /* times that the server's clock stepped, or another server answered */
	bool answering; /* the last burst had an answer */
};

struct globaltime_settings {
	const char *host;
	uint16_t port;
	unsigned bounce;     /* exchanges of the first burst; 0: GLOBALTIME_BOUNCE */
	uint64_t timeout_ns; /* for the first answer; 0: GLOBALTIME_TIMEOUT_NS */
};

/*
 * Reach the server and do the first burst of exchanges. Returns 0 and `*c`; -ECANCELED when `stop`
 * (NULL: none) ends it; or -errno with a message in `why`. Texts of `s` are
 * not needed afterwards. Any thread; the name of the host is resolved without a time limit.
 */
int globaltime_begin(struct globaltime_client **c, const struct globaltime_settings *s,
		     struct stop *stop, struct err *why);

/*
 * Start a thread that repeats a small burst, after 1 s and later every 16 s, and so follows the
 * drift. Silence of the server is no error: bounds widen. Call it once. Returns 0 or -errno.
 */
int globaltime_follow(struct globaltime_client *c);

/*
 * Do a burst now, in the calling thread, before a moment for which the bound is to be narrow.
 * It ends at clock `until_ns` at the latest, except for a burst of the thread that is running.
 * Returns 0; -ETIMEDOUT or another -errno: the server did not answer, and the bound is as it was.
 * Any thread.
 */
int globaltime_refresh(struct globaltime_client *c, uint64_t until_ns);

/*
 * The global clock at `at_ns` of clock_now_ns(), which may be in the past or the future: the bound
 * is widened accordingly. After a step all times come from the new clock. Any thread.
 */
void globaltime_get(struct globaltime_client *c, uint64_t at_ns, struct globaltime *out);

/* "10.0.0.1:2000 (UDP)": the server, for messages. Valid until the end of the client. */
const char *globaltime_server(const struct globaltime_client *c);

/* End the thread and close the socket. NULL: nothing. */
void globaltime_end(struct globaltime_client *c);

/*
 * The server of global time: answers each valid message of globaltime.h with its clock. Its clock
 * is the wall clock at its start plus CLOCK_MONOTONIC since then, so a later step of the wall clock
 * does not reach its clients.
 *
 * Everything that arrives is hostile: a message that is not valid is dropped. An answer is as long
 * as its request. There is no state for a peer, and memory is allocated at the start only. A server
 * belongs to one thread.
 */

/*
 * Listen on UDP port `port` (0: a free one) of all addresses of this machine, or of address `host`;
 * of a name with several addresses on the first that this machine has, with a warning. Returns 0
 * and `*s`, or -errno with the reason in `why`.
 */
int time_server_open(struct time_server **s, const char *host, uint16_t port, struct err *why);

/* The port that it listens on. */
uint16_t time_server_port(const struct time_server *s);

/* Answer until descriptor `end_fd` is readable. Returns 0 or -errno. */
int time_server_serve(struct time_server *s, int end_fd);

/* Close everything and free it; accepts NULL. */
void time_server_close(struct time_server *s);

#endif
