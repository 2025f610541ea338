/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of global time, one after the other, and the estimate that their times give. In half of
 * the inputs the checksums are repaired, so that the code after their check is reached.
 *
 * A message that is accepted has one encoding only: its own bytes. Whatever times a server sends,
 * the estimate has a bound.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/time_exchange.h"
#include "xdd/base/codec.h"

#define CHECKSUM_AT 60
#define MOST_MESSAGES (FUZZ_MAX_BYTES / TIME_MESSAGE_BYTES)

/* A local clock that has run for two hundred years. */
#define MOST_LOCAL_NS (1ull << 62)

static const char *const words[] = {
	"XDDT",
	"\x01\x00\x01\x00",
	"\x01\x00\x02\x00",
	"\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xff\xff\xff\xff\xff\xff\xff\x3f",
	"\xff\xff\xff\xff\xff\xff\xff\x7f",
};

static uint64_t make_time(struct fuzz_random *r)
{
	return (fuzz_u64(r) >> 2) >> fuzz_below(r, 62);
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	size_t n = 1 + fuzz_below(r, MOST_MESSAGES);
	uint64_t server_ns = make_time(r) / 2;

	for (size_t i = 0; i < n; i++) {
		struct time_message m = { .type = fuzz_once_in(r, 4) ? TIME_REQUEST : TIME_REPLY,
					  .nonce = fuzz_u64(r),
					  .client_ns = make_time(r) };

		if (m.type == TIME_REPLY) {
			m.received_ns = server_ns + fuzz_below(r, 1000000000);
			m.sent_ns = m.received_ns + fuzz_below(r, 100000);
			m.server_id = 1 + fuzz_below(r, 3);
			server_ns = fuzz_once_in(r, 20) ? make_time(r) / 2 : m.sent_ns;
		}
		time_message_encode(&m, data + i * TIME_MESSAGE_BYTES);
	}
	return n * TIME_MESSAGE_BYTES;
}

/* The message at `data` is accepted: it is right, and has no other encoding. */
static void check_message(const uint8_t *data, const struct time_message *m)
{
	uint8_t again[TIME_MESSAGE_BYTES];

	if (m->type != TIME_REQUEST && m->type != TIME_REPLY)
		fuzz_fail("type %d", m->type);
	if (m->client_ns > TIME_MESSAGE_MAX_NS || m->received_ns > m->sent_ns ||
	    m->sent_ns > TIME_MESSAGE_MAX_NS)
		fuzz_fail("times %" PRIu64 " %" PRIu64 " %" PRIu64, m->client_ns, m->received_ns,
			  m->sent_ns);
	time_message_encode(m, again);
	if (memcmp(again, data, sizeof(again)) != 0)
		fuzz_fail("a message has another encoding");
}

static void check_estimate(const struct time_estimate *e, uint64_t at_ns)
{
	int64_t offset_ns;
	uint64_t bound_ns;
	double ppm;

	if (e->n > TIME_ESTIMATE_ENTRIES)
		fuzz_fail("%zu entries", e->n);
	if (time_estimate_get(e, at_ns, &offset_ns, &bound_ns) != (e->n > 0) || (e->n && !bound_ns))
		fuzz_fail("no bound with %zu entries", e->n);
	if (time_estimate_drift(e, &ppm) && !(ppm >= -1e6 && ppm <= 1e6))
		fuzz_fail("a drift of %g ppm", ppm);
}

/* As the client does, with a local clock that the message itself moves. */
static void add(struct time_estimate *e, const struct time_message *m, uint64_t *local_ns)
{
	struct time_sample s = { .sent_ns = *local_ns,
				 .server_received_ns = m->received_ns,
				 .server_sent_ns = m->sent_ns };

	s.received_ns = s.sent_ns + m->client_ns % (1ull << (m->nonce % 50));
	if (s.received_ns > MOST_LOCAL_NS / 2)
		return;
	time_estimate_add(e, &s);
	*local_ns = s.received_ns;
	check_estimate(e, s.received_ns);
	check_estimate(e, s.received_ns / 2);
	check_estimate(e, MOST_LOCAL_NS / 2);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const bool repair = fuzz_hash(data, size) % 2;
	uint64_t local_ns = 1000000000;
	struct time_estimate e;
	int refused = 0;

	time_estimate_init(&e);
	for (size_t at = 0; at < size; at += TIME_MESSAGE_BYTES) {
		size_t length = size - at < TIME_MESSAGE_BYTES ? size - at : TIME_MESSAGE_BYTES;
		/* In memory of its exact size. */
		uint8_t *copy = malloc(length);
		struct time_message m;

		if (!copy)
			fuzz_fail("memory is short");
		memcpy(copy, data + at, length);
		if (repair && length == TIME_MESSAGE_BYTES)
			bytes_put(copy + CHECKSUM_AT, 4, crc32c(copy, CHECKSUM_AT));
		if (!time_message_decode(copy, length, &m)) {
			refused = 1;
		} else {
			check_message(copy, &m);
			if (m.type == TIME_REPLY)
				add(&e, &m, &local_ns);
		}
		free(copy);
	}
	return refused || !size;
}

const struct fuzz_harness fuzz_harness = {
	.name = "globaltime",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
