/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of the wire format: src/net/wire.c. doc/wire.md has the layout.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire_sample.h"
#include "xdd/base/codec.h"
#include "xdd/net/wire.h"

#define CHECKSUM_AT 88
#define CODE_AT 64

static const uint8_t key_bytes[WIRE_KEY_BYTES] = "0123456789abcdef0123456789abcde";

/* NULL in a build without OpenSSL: tests of codes are skipped. */
static struct wire_key *key;

#define for_each_type(type) \
	for (enum wire_type type = WIRE_HELLO; type < WIRE_TYPES; type = sample_next(type))

static enum wire_fault decode(const uint8_t *raw, struct wire_header *h)
{
	return wire_decode(raw, NULL, SAMPLE_MAX_DATA, h, NULL);
}

/* The fault of `h` once it is encoded. */
static enum wire_fault fault_of(const struct wire_header *h)
{
	uint8_t raw[WIRE_HEADER_BYTES];
	struct wire_header found;

	wire_encode(h, NULL, raw);
	return decode(raw, &found);
}

static void seal(uint8_t *raw)
{
	bytes_put(raw + CHECKSUM_AT, 8, digest_short(raw, CHECKSUM_AT));
}

static void assert_same(const struct wire_header *a, const struct wire_header *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->target, b->target);
	assert_int_equal(a->connection, b->connection);
	assert_int_equal(a->pass, b->pass);
	assert_int_equal(a->length, b->length);
	assert_int_equal(a->sequence, b->sequence);
	assert_int_equal(a->offset, b->offset);
	assert_true(digest_equal(a->digest, b->digest));
}

static void round_trip(struct wire_key *with)
{
	for_each_type(type)
	{
		struct wire_header h = sample_header(type), found;
		uint8_t raw[WIRE_HEADER_BYTES];

		wire_encode(&h, with, raw);
		assert_int_equal(wire_decode(raw, with, SAMPLE_MAX_DATA, &found, NULL), WIRE_OK);
		assert_same(&h, &found);
	}
}

TEST(test_round_trip)
{
	round_trip(NULL);
}

TEST(test_round_trip_with_code)
{
	if (!key)
		skip();
	round_trip(key);
}

/* The header is left as it was, and no flipped bit is accepted. */
static void flip_each_bit(struct wire_key *with)
{
	for_each_type(type)
	{
		struct wire_header h = sample_header(type), found;
		uint8_t raw[WIRE_HEADER_BYTES];

		wire_encode(&h, with, raw);
		for (size_t bit = 0; bit < sizeof(raw) * 8; bit++) {
			enum wire_fault fault;

			memset(&found, 0xee, sizeof(found));
			raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
			fault = wire_decode(raw, with, SAMPLE_MAX_DATA, &found, NULL);
			assert_int_equal(fault, bit < 32 ? WIRE_BAD_MAGIC : WIRE_BAD_CHECKSUM);
			assert_int_equal(found.target, 0xeeeeeeee);
			raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

TEST(test_flipped_bits)
{
	flip_each_bit(NULL);
	if (key)
		flip_each_bit(key);
}

/* A forger repairs the checksum, which needs no key. */
TEST(test_forged_bits)
{
	struct wire_header h = sample_header(WIRE_DATA), found;
	uint8_t raw[WIRE_HEADER_BYTES];

	if (!key)
		skip();
	wire_encode(&h, key, raw);
	for (size_t bit = 48; bit < (CODE_AT + WIRE_CODE_BYTES) * 8; bit++) {
		raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
		seal(raw);
		assert_int_equal(wire_decode(raw, key, SAMPLE_MAX_DATA, &found, NULL),
				 WIRE_BAD_CODE);
		raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

TEST(test_other_keys)
{
	uint8_t other_bytes[WIRE_KEY_BYTES], raw[WIRE_HEADER_BYTES];
	struct wire_header h = sample_header(WIRE_DATA), found;
	struct wire_key *other;

	if (!key)
		skip();
	memcpy(other_bytes, key_bytes, sizeof(other_bytes));
	other_bytes[WIRE_KEY_BYTES - 1] ^= 1;
	other = wire_key_new(other_bytes);
	assert_non_null(other);
	wire_encode(&h, other, raw);
	assert_int_equal(wire_decode(raw, key, SAMPLE_MAX_DATA, &found, NULL), WIRE_BAD_CODE);
	wire_encode(&h, NULL, raw);
	assert_int_equal(wire_decode(raw, key, SAMPLE_MAX_DATA, &found, NULL), WIRE_BAD_CODE);
	wire_encode(&h, key, raw);
	assert_int_equal(decode(raw, &found), WIRE_BAD_CODE);
	wire_key_free(other);
}

/* The same context computes many codes. */
TEST(test_codes_repeat)
{
	struct wire_header h = sample_header(WIRE_DATA);
	uint8_t first[WIRE_HEADER_BYTES], again[WIRE_HEADER_BYTES];

	if (!key)
		skip();
	wire_encode(&h, key, first);
	h.sequence++;
	wire_encode(&h, key, again);
	assert_memory_not_equal(first + CODE_AT, again + CODE_AT, WIRE_CODE_BYTES);
	h.sequence--;
	wire_encode(&h, key, again);
	assert_memory_equal(first, again, sizeof(first));
}

/* HMAC-SHA256, computed by another program. */
TEST(test_derive)
{
	static const uint8_t secret[WIRE_KEY_BYTES] = "0123456789abcdef0123456789abcde";
	uint8_t first[WIRE_KEY_BYTES], second[WIRE_KEY_BYTES];
	const uint8_t expected[WIRE_KEY_BYTES] = { 0x78, 0x0f, 0xb4, 0xb0, 0x10, 0xa0, 0xb4, 0xdb,
						   0x80, 0xca, 0xcd, 0xef, 0x37, 0xe7, 0x24, 0xd6,
						   0xcd, 0xf4, 0x0a, 0xb7, 0xd7, 0x1a, 0x58, 0x59,
						   0xd1, 0x0c, 0x66, 0x5a, 0xe2, 0x1d, 0x1a, 0xf7 };

	if (!key) {
		assert_int_equal(wire_key_derive(secret, "one", first), -ENOTSUP);
		return;
	}
	assert_int_equal(wire_key_derive(secret, "one", first), 0);
	assert_memory_equal(first, expected, sizeof(expected));
	assert_int_equal(wire_key_derive(secret, "two", second), 0);
	assert_memory_not_equal(first, second, sizeof(first));
}

TEST(test_free_nothing)
{
	wire_key_free(NULL);
}

TEST(test_versions)
{
	struct wire_header h = sample_header(WIRE_HELLO), found;
	uint8_t raw[WIRE_HEADER_BYTES];

	wire_encode(&h, NULL, raw);
	for (unsigned version = 0; version <= UINT16_MAX; version++) {
		unsigned peer = UINT32_MAX;
		enum wire_fault fault;

		bytes_put(raw + 4, 2, version);
		/* Fields of another version mean nothing here. */
		bytes_put(raw + 6, 2, 0xffff);
		if (version == WIRE_VERSION)
			continue;
		seal(raw);
		fault = wire_decode(raw, NULL, SAMPLE_MAX_DATA, &found, &peer);
		assert_int_equal(fault, WIRE_BAD_VERSION);
		assert_int_equal(peer, version);
	}
}

/* The caller of wire_decode() has the limit of the body. */
static bool has_limit(enum wire_type type)
{
	return type == WIRE_DATA || type == WIRE_COPY_BLOCK || type == WIRE_COPY_BUNDLE ||
	       type == WIRE_COPY_SUMS;
}

/* Only HELLO may be the first message; any code is accepted until its key is known. */
TEST(test_first_message)
{
	struct wire_header found;
	uint8_t raw[WIRE_HEADER_BYTES];
	unsigned version = 0;

	for_each_type(type)
	{
		struct wire_header h = sample_header(type);
		enum wire_fault fault;

		wire_encode(&h, NULL, raw);
		memset(raw + CODE_AT, 0xc0, WIRE_CODE_BYTES);
		seal(raw);
		fault = wire_decode_first(raw, &found, &version);
		assert_int_equal(fault, type == WIRE_HELLO ? WIRE_OK :
					has_limit(type)	   ? WIRE_BAD_LENGTH :
							     WIRE_BAD_TYPE);
		if (type == WIRE_HELLO)
			assert_same(&h, &found);
	}
}

TEST(test_faults_of_first_message)
{
	struct wire_header h = sample_header(WIRE_HELLO), found;
	uint8_t raw[WIRE_HEADER_BYTES];
	unsigned version = 0;

	wire_encode(&h, NULL, raw);
	for (size_t bit = 0; bit < sizeof(raw) * 8; bit++) {
		raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(wire_decode_first(raw, &found, &version),
				 bit < 32 ? WIRE_BAD_MAGIC : WIRE_BAD_CHECKSUM);
		raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	bytes_put(raw + 4, 2, WIRE_VERSION + 1);
	seal(raw);
	assert_int_equal(wire_decode_first(raw, &found, &version), WIRE_BAD_VERSION);
	assert_int_equal(version, WIRE_VERSION + 1);
	h.length = 89;
	wire_encode(&h, NULL, raw);
	assert_int_equal(wire_decode_first(raw, &found, &version), WIRE_BAD_LENGTH);
	h.length = 88;
	h.pass = 1;
	wire_encode(&h, NULL, raw);
	assert_int_equal(wire_decode_first(raw, &found, &version), WIRE_BAD_FIELD);
}

TEST(test_types)
{
	struct wire_header h = sample_header(WIRE_BYE);

	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		if ((type >= WIRE_HELLO && type <= WIRE_SUMS) ||
		    (type >= WIRE_COPY_START && type < WIRE_TYPES))
			continue;
		h.type = (enum wire_type)type;
		assert_int_equal(fault_of(&h), WIRE_BAD_TYPE);
		assert_string_equal(wire_type_name(h.type), "unknown");
	}
}

/* A number of doc/wire.md, such as 1028 or 2^20; "the ..." is the limit of these headers. */
static uint64_t documented(const char *text)
{
	unsigned bits;

	if (strncmp(text, "the ", 4) == 0)
		return 1 << 20;
	return sscanf(text, "2^%u", &bits) == 1 ? 1ull << bits : strtoull(text, NULL, 10);
}

static void check_length(unsigned type, uint64_t least, uint64_t most)
{
	struct wire_header h = sample_header((enum wire_type)type);

	h.digest = (struct digest){ 0 };
	h.length = least;
	assert_int_equal(fault_of(&h), WIRE_OK);
	h.length = most;
	assert_int_equal(fault_of(&h), WIRE_OK);
	h.length = most + 1;
	assert_int_equal(fault_of(&h), WIRE_BAD_LENGTH);
	h.length = least - 1; /* 2^64 - 1 after 0 */
	assert_int_equal(fault_of(&h), WIRE_BAD_LENGTH);
	h.length = 1ull << 63;
	assert_int_equal(fault_of(&h), WIRE_BAD_LENGTH);
}

/* The name, the least and the most bytes of each type are in the tables of doc/wire.md. */
TEST(test_lengths)
{
	const char *top = getenv("TOP_SRCDIR");
	char path[4096], line[512], name[32];
	unsigned type, rows = 0;
	bool of_types = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/doc/wire.md", top ? top : ".");
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *last, *to;

		of_types = line[0] == '|' &&
			   (of_types || strncmp(line, "| type | name |", 15) == 0);
		if (!of_types || sscanf(line, "| %u | %31[A-Z_] |", &type, name) != 2)
			continue;
		line[strlen(line) - 3] = '\0'; /* " |" and the end of the line */
		last = strrchr(line, '|') + 2;
		to = strstr(last, " to ");
		assert_string_equal(wire_type_name((enum wire_type)type), name);
		check_length(type, documented(last), documented(to ? to + 4 : last));
		rows++;
	}
	fclose(f);
	assert_int_equal(rows, WIRE_SUMS + WIRE_TYPES - WIRE_COPY_START);
}

/* The caller's limit of data does not replace that of the format. */
TEST(test_any_limit_of_data)
{
	struct wire_header h = sample_header(WIRE_DATA), found;
	uint8_t raw[WIRE_HEADER_BYTES];

	h.offset = 0;
	h.length = INT64_MAX;
	wire_encode(&h, NULL, raw);
	assert_int_equal(wire_decode(raw, NULL, UINT64_MAX, &found, NULL), WIRE_OK);
	h.length = 1ull << 63;
	wire_encode(&h, NULL, raw);
	assert_int_equal(wire_decode(raw, NULL, UINT64_MAX, &found, NULL), WIRE_BAD_LENGTH);
	h.length = 1;
	wire_encode(&h, NULL, raw);
	assert_int_equal(wire_decode(raw, NULL, 0, &found, NULL), WIRE_BAD_LENGTH);
}

TEST(test_offsets)
{
	struct wire_header h = sample_header(WIRE_DATA);

	h.offset = (uint64_t)INT64_MAX - h.length;
	assert_int_equal(fault_of(&h), WIRE_OK);
	h.offset++;
	assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
	h.offset = UINT64_MAX - h.length + 1; /* offset + length is 0 */
	assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
	h.offset = UINT64_MAX;
	assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
	for_each_type(type)
	{
		h = sample_header(type);
		h.offset = 1;
		assert_int_equal(fault_of(&h), sample_has_offset(type) ? WIRE_OK : WIRE_BAD_FIELD);
	}
}

TEST(test_sequences)
{
	for_each_type(type)
	{
		struct wire_header h = sample_header(type);

		h.sequence = INT64_MAX;
		assert_int_equal(fault_of(&h), WIRE_OK);
		h.sequence++;
		assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
	}
}

TEST(test_passes)
{
	for_each_type(type)
	{
		struct wire_header h = sample_header(type);
		bool anywhere = type == WIRE_ALIVE || type == WIRE_ERROR || type == WIRE_BYE ||
				type == WIRE_COPY_BLOCK;

		h.pass = 0;
		assert_int_equal(fault_of(&h), sample_in_pass(type) ? WIRE_BAD_FIELD : WIRE_OK);
		h.pass = UINT32_MAX;
		assert_int_equal(fault_of(&h),
				 sample_in_pass(type) || anywhere ? WIRE_OK : WIRE_BAD_FIELD);
	}
}

TEST(test_connections)
{
	for_each_type(type)
	{
		bool both = type == WIRE_HELLO || type == WIRE_WELCOME || type == WIRE_ERROR;
		bool data = sample_on_data(type);
		struct wire_header h = sample_header(type);

		h.connection = WIRE_NO_CONNECTION;
		assert_int_equal(fault_of(&h), data ? WIRE_BAD_FIELD : WIRE_OK);
		h.connection = WIRE_MAX_CONNECTIONS - 1;
		assert_int_equal(fault_of(&h), data || both ? WIRE_OK : WIRE_BAD_FIELD);
		h.connection = WIRE_MAX_CONNECTIONS;
		assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
		h.connection = WIRE_NO_CONNECTION - 1;
		assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
	}
}

TEST(test_zeros)
{
	struct wire_header h = sample_header(WIRE_BYE), found;
	uint8_t raw[WIRE_HEADER_BYTES];

	for (size_t at = 20; at < CHECKSUM_AT; at = at == 23 ? 80 : at + 1) {
		wire_encode(&h, NULL, raw);
		raw[at] = 1;
		seal(raw);
		assert_int_equal(decode(raw, &found), WIRE_BAD_FIELD);
	}
	h.digest.high = 1;
	assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
	h.digest = (struct digest){ .low = 1 };
	assert_int_equal(fault_of(&h), WIRE_BAD_FIELD);
}

TEST(test_body_digest)
{
	struct wire_header h = sample_header(WIRE_DATA);
	uint8_t body[100] = "payload";

	h.length = sizeof(body);
	h.digest = digest_data(body, sizeof(body));
	assert_int_equal(wire_check_body(&h, body), WIRE_OK);
	body[99] ^= 0x80;
	assert_int_equal(wire_check_body(&h, body), WIRE_BAD_DATA);
}

TEST(test_texts)
{
	static const char *const texts[] = {
		"a valid message",
		"bytes that are no message of xdd",
		"a message of another version of the protocol",
		"a header with a wrong checksum",
		"a message with a wrong authentication code",
		"a message of an unknown type",
		"a message with a field out of range",
		"a message with a length out of range",
		"a message whose contents are malformed",
		"data with a wrong checksum",
	};

	for (enum wire_fault fault = WIRE_OK; fault <= WIRE_BAD_DATA; fault++)
		assert_string_equal(wire_fault_text(fault), texts[fault]);
	assert_string_equal(wire_fault_text(WIRE_BAD_DATA + 1), "an unknown fault");
	assert_string_equal(wire_type_name(WIRE_DATA), "DATA");
	assert_string_equal(wire_type_name(WIRE_TYPES), "unknown");
}

int main(void)
{
	const char *why;
	int failed;

	if (!digest_available(&why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	key = wire_key_new(key_bytes);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	wire_key_free(key);
	return failed;
}
