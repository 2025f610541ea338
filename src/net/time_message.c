/*
 * Encoding and decoding of the message of global time. Called by time_client.c and time_server.c.
 */
#include "net/time_message.h"

#include <string.h>

#include "xdd/base/bytes.h"

/* Offsets of the fields. */
enum {
	MAGIC_AT = 0,
	VERSION_AT = 4,
	TYPE_AT = 6,
	NONCE_AT = 8,
	CLIENT_AT = 16,
	RECEIVED_AT = 24,
	SENT_AT = 32,
	SERVER_AT = 40,
	ZERO_AT = 48,
	CHECKSUM_AT = 60,
};

static const uint8_t zeros[CHECKSUM_AT - ZERO_AT];

void time_message_encode(const struct time_message *m, uint8_t out[TIME_MESSAGE_BYTES])
{
	bytes_put(out + MAGIC_AT, 4, TIME_MESSAGE_MAGIC);
	bytes_put(out + VERSION_AT, 2, TIME_MESSAGE_VERSION);
	bytes_put(out + TYPE_AT, 2, m->type);
	bytes_put(out + NONCE_AT, 8, m->nonce);
	bytes_put(out + CLIENT_AT, 8, m->client_ns);
	bytes_put(out + RECEIVED_AT, 8, m->received_ns);
	bytes_put(out + SENT_AT, 8, m->sent_ns);
	bytes_put(out + SERVER_AT, 8, m->server_id);
	memset(out + ZERO_AT, 0, sizeof(zeros));
	bytes_put(out + CHECKSUM_AT, 4, crc32c(0, out, CHECKSUM_AT));
}

static bool in_range(const struct time_message *m)
{
	if (m->client_ns > TIME_MESSAGE_MAX_NS)
		return false;
	if (m->type == TIME_REQUEST)
		return !m->received_ns && !m->sent_ns && !m->server_id;
	return m->type == TIME_REPLY && m->server_id && m->received_ns <= m->sent_ns &&
	       m->sent_ns <= TIME_MESSAGE_MAX_NS;
}

bool time_message_decode(const uint8_t *in, size_t size, struct time_message *m)
{
	/* The checks are in the order of their cost: a flood is to be cheap. */
	if (size != TIME_MESSAGE_BYTES || bytes_get(in + MAGIC_AT, 4) != TIME_MESSAGE_MAGIC ||
	    bytes_get(in + VERSION_AT, 2) != TIME_MESSAGE_VERSION ||
	    memcmp(in + ZERO_AT, zeros, sizeof(zeros)) != 0)
		return false;
	m->type = (enum time_message_type)bytes_get(in + TYPE_AT, 2);
	m->nonce = bytes_get(in + NONCE_AT, 8);
	m->client_ns = bytes_get(in + CLIENT_AT, 8);
	m->received_ns = bytes_get(in + RECEIVED_AT, 8);
	m->sent_ns = bytes_get(in + SENT_AT, 8);
	m->server_id = bytes_get(in + SERVER_AT, 8);
	return in_range(m) && bytes_get(in + CHECKSUM_AT, 4) == crc32c(0, in, CHECKSUM_AT);
}
