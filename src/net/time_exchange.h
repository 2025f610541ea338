/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exchanges of global time: the estimate of time_client.c; the message and kernel time stamps of
 * time_server.c, which both sides use. Private to src/net, and to the tests.
 */
#ifndef XDD_NET_TIME_EXCHANGE_H
#define XDD_NET_TIME_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * The estimate of the difference between two clocks, o = server - local, from exchanges of
 * messages. Pure: the caller has the clock. One thread at a time.
 *
 * An exchange says two things about o, for any delays in both directions: at the moment that the
 * client sent, o was at most (server received - client sent); when it received, o was at least
 * (server sent - client received). o changes by at most TIME_DRIFT_PPM. From any two exchanges
 * follow bounds of its mean rate; their intersection, widened by TIME_RATE_MARGIN_PPM for a rate
 * that varies, replaces TIME_DRIFT_PPM where it is narrower. The interval of o at any moment is
 * the intersection of what all kept exchanges say about it.
 *
 * If no o is consistent with TIME_DRIFT_PPM, one of the clocks has stepped: all that is older than
 * the newest exchange is forgotten. The same happens, without a step, if the rate has changed.
 */

#define TIME_DRIFT_PPM 500.0
#define TIME_RATE_MARGIN_PPM 50.0
#define TIME_ESTIMATE_ENTRIES 64

/*
 * An exchange: times of the local clock, below 2^61 ns, and of the server, 2^62 ns at most, so that
 * no sum overflows.
 */
struct time_sample {
	uint64_t sent_ns;
	uint64_t server_received_ns;
	uint64_t server_sent_ns;
	uint64_t received_ns;
};

/* The best of the exchanges of a short time: o(lower_at_ns) >= lower_ns, and so on. */
struct time_entry {
	uint64_t lower_at_ns, upper_at_ns;
	int64_t lower_ns, upper_ns;
};

/* A range of rates of o, in ns per ns. */
struct time_rate {
	double min, max;
};

struct time_estimate {
	struct time_entry entries[TIME_ESTIMATE_ENTRIES]; /* oldest first */
	size_t n;
	struct time_rate closed; /* from all pairs without the newest entry, no margin */
	struct time_rate rate;	 /* in which the rate lies, for times since the oldest entry */
	uint64_t round_trip_ns;	 /* the smallest, without the time in the server */
};

enum time_verdict {
	TIME_FITS,
	TIME_STEPPED, /* the estimate begins again with this exchange */
	TIME_REFUSED, /* the exchange contradicts itself, and does not count */
};

void time_estimate_init(struct time_estimate *e);

/* Add an exchange. They come in the order of `received_ns`. */
enum time_verdict time_estimate_add(struct time_estimate *e, const struct time_sample *s);

/*
 * The middle of the interval of o at `at_ns` of the local clock, and half of its width. False: no
 * exchange was added.
 */
bool time_estimate_get(const struct time_estimate *e, uint64_t at_ns, int64_t *offset_ns,
		       uint64_t *bound_ns);

/* True, with the rate of o in ppm, if the exchanges tell it better than to +-TIME_DRIFT_PPM / 2. */
bool time_estimate_drift(const struct time_estimate *e, double *ppm);

/*
 * The message of global time, a datagram of 64 bytes in both directions: doc/globaltime.md. Pure
 * functions; any thread.
 */

#define TIME_MESSAGE_BYTES 64
#define TIME_MESSAGE_MAGIC 0x54444458u /* "XDDT" */
#define TIME_MESSAGE_VERSION 1
#define TIME_MESSAGE_MAX_NS (1ull << 62) /* of times: sums of several of them fit in 64 bits */

enum time_message_type {
	TIME_REQUEST = 1,
	TIME_REPLY = 2,
};

/* Times are nanoseconds, TIME_MESSAGE_MAX_NS at most. */
struct time_message {
	enum time_message_type type;
	uint64_t nonce;	      /* random, chosen by the client; the same in the reply */
	uint64_t client_ns;   /* clock of the client when it sent the request; the same */
	uint64_t received_ns; /* reply: global time when the server had the request */
	uint64_t sent_ns;     /* reply: global time before it sent the reply */
	uint64_t server_id;   /* reply: random, chosen when the server started; not 0 */
};

void time_message_encode(const struct time_message *m, uint8_t out[TIME_MESSAGE_BYTES]);

/*
 * Decode `size` bytes. False: they are no message of this version, or a field is out of range; `*m`
 * is then undefined. A message that is accepted has one encoding only: its own bytes.
 */
bool time_message_decode(const uint8_t *in, size_t size, struct time_message *m);

/*
 * Kernel time stamps of received datagrams, as times of a monotonic clock. The kernel stamps with
 * the wall clock, which may be set at any moment: a stamp counts only while the difference of the
 * two clocks does not change. Pure functions, except time_stamp_enable(); any thread.
 */

/* The wall clock between two readings of the monotonic clock. */
struct time_reading {
	uint64_t before_ns, wall_ns, after_ns;
};

/* True if the wall clock was not set between two readings. */
bool time_same_wall(const struct time_reading *a, const struct time_reading *b);

/* Have the kernel stamp what the socket receives, where it can. */
void time_stamp_enable(int fd);

/* The stamp of a received message; 0: it has none. */
uint64_t time_stamp_of(struct msghdr *h);

/*
 * The arrival of a message with stamp `stamp_ns` (0: none): a time of the monotonic clock that is
 * not before it. `now` was read after the message. The wall clock was not set since `since_ns`.
 */
uint64_t time_stamp_arrival(uint64_t stamp_ns, const struct time_reading *now, uint64_t since_ns);

#endif
