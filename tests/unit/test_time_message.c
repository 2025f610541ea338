/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The message of global time: its bytes, and what is refused.
 */
#include <string.h>

#include "unit.h"

#include "net/time_exchange.h"
#include "xdd/base/codec.h"

static const struct time_message request = {
	.type = TIME_REQUEST,
	.nonce = 0x1122334455667788,
	.client_ns = 123456789,
};

static const struct time_message reply = {
	.type = TIME_REPLY,
	.nonce = 0x1122334455667788,
	.client_ns = 123456789,
	.received_ns = 1700000000000000001,
	.sent_ns = 1700000000000000002,
	.server_id = 0x99,
};

static void repair(uint8_t *bytes)
{
	bytes_put(bytes + 60, 4, crc32c(bytes, 60));
}

static void check_same(const struct time_message *a, const struct time_message *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->nonce, b->nonce);
	assert_int_equal(a->client_ns, b->client_ns);
	assert_int_equal(a->received_ns, b->received_ns);
	assert_int_equal(a->sent_ns, b->sent_ns);
	assert_int_equal(a->server_id, b->server_id);
}

TEST(test_both_ways)
{
	uint8_t bytes[TIME_MESSAGE_BYTES];
	struct time_message m;

	time_message_encode(&request, bytes);
	assert_true(time_message_decode(bytes, sizeof(bytes), &m));
	check_same(&m, &request);
	time_message_encode(&reply, bytes);
	assert_true(time_message_decode(bytes, sizeof(bytes), &m));
	check_same(&m, &reply);
}

/* The layout of doc/globaltime.md. */
TEST(test_layout)
{
	static const uint8_t begin[24] = {
		'X',  'D',  'D',  'T',	1,    0,    2,	  0,	0x88, 0x77, 0x66, 0x55,
		0x44, 0x33, 0x22, 0x11, 0x15, 0xcd, 0x5b, 0x07, 0,    0,    0,	  0,
	};
	uint8_t bytes[TIME_MESSAGE_BYTES];

	time_message_encode(&reply, bytes);
	assert_memory_equal(bytes, begin, sizeof(begin));
	assert_int_equal(bytes_get(bytes + 24, 8), reply.received_ns);
	assert_int_equal(bytes_get(bytes + 32, 8), reply.sent_ns);
	assert_int_equal(bytes_get(bytes + 40, 8), reply.server_id);
	for (int i = 48; i < 60; i++)
		assert_int_equal(bytes[i], 0);
	assert_int_equal(bytes_get(bytes + 60, 4), crc32c(bytes, 60));
}

TEST(test_each_bit)
{
	uint8_t bytes[TIME_MESSAGE_BYTES];
	struct time_message m;

	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		time_message_encode(&reply, bytes);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(time_message_decode(bytes, sizeof(bytes), &m));
	}
}

TEST(test_each_length)
{
	uint8_t bytes[2 * TIME_MESSAGE_BYTES] = { 0 };
	struct time_message m;

	time_message_encode(&reply, bytes);
	for (size_t size = 0; size <= sizeof(bytes); size++)
		assert_int_equal(time_message_decode(bytes, size, &m), size == TIME_MESSAGE_BYTES);
}

/* A field out of range, with a right checksum. */
static void check_refused(const struct time_message *base, size_t at, unsigned n, uint64_t value)
{
	uint8_t bytes[TIME_MESSAGE_BYTES];
	struct time_message m;

	time_message_encode(base, bytes);
	bytes_put(bytes + at, n, value);
	repair(bytes);
	assert_false(time_message_decode(bytes, sizeof(bytes), &m));
}

TEST(test_fields)
{
	check_refused(&request, 0, 4, 0x32444458);
	check_refused(&request, 4, 2, 0);
	check_refused(&request, 4, 2, 2);
	check_refused(&request, 6, 2, 0);
	check_refused(&request, 6, 2, 3);
	check_refused(&request, 16, 8, (1ull << 62) + 1);
	check_refused(&request, 24, 8, 1);
	check_refused(&request, 32, 8, 1);
	check_refused(&request, 40, 8, 1);
	check_refused(&request, 59, 1, 1);
	check_refused(&reply, 32, 8, reply.received_ns - 1);
	check_refused(&reply, 32, 8, (1ull << 62) + 1);
	check_refused(&reply, 32, 8, UINT64_MAX);
	check_refused(&reply, 40, 8, 0);
	check_refused(&reply, 48, 1, 1);
}

RUN_TESTS(NULL, NULL)
