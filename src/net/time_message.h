/*
 * The message of global time, 64 bytes in both directions: doc/globaltime.md. Pure functions; any
 * thread. Private to src/net, and to the tests.
 */
#ifndef XDD_NET_TIME_MESSAGE_H
#define XDD_NET_TIME_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
