/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of messages: src/net/wire.c. doc/wire.md has the layouts.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "wire_sample.h"
#include "xdd/base/codec.h"
#include "xdd/base/status.h"
#include "xdd/net/wire.h"

static uint8_t body[WIRE_MAX_BODY_BYTES];
static struct wire_range ranges[WIRE_MAX_RANGES], found_ranges[WIRE_MAX_RANGES];

/* Offsets in bodies. */
#define PLAN_REQ_BYTES_AT 16
#define PLAN_FLAGS_AT 52
#define PLAN_FINAL_AT 56
#define PLAN_HOST_AT 128

/* Decode from memory of the exact size, so that a sanitizer sees a byte too far. */
static enum wire_fault decode_plan_of(const uint8_t *from, size_t length, bool with_ranges)
{
	uint8_t *copy = malloc(length ? length : 1);
	struct wire_plan plan;
	enum wire_fault fault;
	size_t n;

	assert_non_null(copy);
	memcpy(copy, from, length);
	fault = wire_decode_plan(copy, length, &plan, with_ranges ? found_ranges : NULL,
				 with_ranges ? &n : NULL);
	free(copy);
	return fault;
}

/* ---- hello ---- */

TEST(test_hello)
{
	struct wire_hello b = sample_hello(), found;
	size_t length = wire_encode_hello(&b, body);

	assert_int_equal(wire_decode_hello(body, length, &found), WIRE_OK);
	assert_int_equal(found.purpose, b.purpose);
	assert_int_equal(found.flags, b.flags);
	assert_memory_equal(found.session, b.session, sizeof(b.session));
	assert_string_equal(found.software, b.software);
}

TEST(test_hello_limits)
{
	struct wire_hello b = sample_hello(), found;
	size_t length = wire_encode_hello(&b, body);

	for (size_t n = 0; n < length; n++)
		assert_int_equal(wire_decode_hello(body, n, &found), WIRE_BAD_BODY);
	assert_int_equal(wire_decode_hello(body, length + 1, &found), WIRE_BAD_BODY);
	for (unsigned purpose = 0; purpose < 5; purpose++) {
		bool known = purpose == WIRE_CONTROL || purpose == WIRE_TRANSFER;

		bytes_put(body, 4, purpose);
		assert_int_equal(wire_decode_hello(body, length, &found),
				 known ? WIRE_OK : WIRE_BAD_BODY);
	}
	bytes_put(body, 4, WIRE_CONTROL);
	bytes_put(body + 4, 4, WIRE_RESUMES);
	assert_int_equal(wire_decode_hello(body, length, &found), WIRE_BAD_BODY);
}

TEST(test_hello_of_full_length)
{
	struct wire_hello b = sample_hello(), found;
	size_t length;

	memset(b.software, 'x', sizeof(b.software)); /* without its NUL */
	length = wire_encode_hello(&b, body);
	assert_int_equal(length, 24 + sizeof(b.software));
	assert_int_equal(wire_decode_hello(body, length, &found), WIRE_OK);
	assert_int_equal(strlen(found.software), sizeof(b.software) - 1);
	body[length - 1] = 'x';
	body[length] = '\0';
	assert_int_equal(wire_decode_hello(body, length + 1, &found), WIRE_BAD_BODY);
}

/* ---- texts ---- */

static enum wire_fault fault_of_text(const char *text, size_t length)
{
	struct wire_error found;

	bytes_put(body, 4, XDD_IO_ERROR);
	memcpy(body + 4, text, length);
	return wire_decode_error(body, 4 + length, &found);
}

TEST(test_texts_refused)
{
	static const char *const bad[] = {
		"a\n",		"\r",	    "\t",	"\x1b[2J",  "\x7f",
		"\xff",		"\xc3",	    "\xc0\x80", "\xe2\x82", "\xed\xa0\x80",
		"\xe2\x80\xae", "\xc2\x9b", "\xf5\x80",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(fault_of_text(bad[i], strlen(bad[i]) + 1), WIRE_BAD_BODY);
	assert_int_equal(fault_of_text("a", 1), WIRE_BAD_BODY);
	assert_int_equal(fault_of_text("a\0b", 4), WIRE_BAD_BODY);
	assert_int_equal(fault_of_text("a\0", 3), WIRE_BAD_BODY);
	assert_int_equal(fault_of_text("", 0), WIRE_BAD_BODY);
	assert_int_equal(fault_of_text("", 1), WIRE_OK);
	assert_int_equal(fault_of_text("a \xc3\xa4 \xf0\x9f\x98\x80", 10), WIRE_OK);
}

/* A text cut in the middle of a character, and bytes that a decoder refuses. */
TEST(test_texts_sent)
{
	struct wire_error b = { .status = XDD_TARGET_FAILED }, found;
	size_t length;

	strcpy(b.text, "a\nb\xff\xe2\x80\xae\xc3\xa4\xc3");
	length = wire_encode_error(&b, body);
	assert_int_equal(wire_decode_error(body, length, &found), WIRE_OK);
	assert_string_equal(found.text, "a?b????\xc3\xa4?");
	assert_int_equal(found.status, XDD_TARGET_FAILED);
}

TEST(test_longest_text)
{
	struct wire_error b = { .status = XDD_IO_ERROR }, found;
	size_t length;

	memset(b.text, 'y', sizeof(b.text));
	length = wire_encode_error(&b, body);
	assert_int_equal(length, WIRE_MAX_ERROR_BYTES);
	assert_int_equal(wire_decode_error(body, length, &found), WIRE_OK);
	assert_int_equal(strlen(found.text), sizeof(b.text) - 1);
	body[length - 1] = 'y';
	body[length] = '\0';
	assert_int_equal(wire_decode_error(body, length + 1, &found), WIRE_BAD_BODY);
}

TEST(test_statuses)
{
	struct wire_error found;

	bytes_put(body + 4, 1, 0);
	for (uint32_t status = 0; status < 300; status++) {
		/* Those from 101 to 120 are of copies of files. */
		bool known = (status >= XDD_INIT_FAILED && status <= XDD_MISCOMPARE) ||
			     (status >= 101 && status <= 120);

		bytes_put(body, 4, status);
		assert_int_equal(wire_decode_error(body, 5, &found),
				 known ? WIRE_OK : WIRE_BAD_BODY);
	}
}

/* ---- plan ---- */

TEST(test_plan)
{
	struct wire_plan b = sample_plan(), found;
	size_t length = wire_encode_plan(&b, NULL, 0, body), n = 99;

	assert_int_equal(wire_decode_plan(body, length, &found, found_ranges, &n), WIRE_OK);
	assert_int_equal(n, 0);
	assert_memory_equal(found.run, b.run, sizeof(b.run));
	assert_int_equal(found.req_bytes, b.req_bytes);
	assert_int_equal(found.bytes, b.bytes);
	assert_int_equal(found.ops, b.ops);
	assert_int_equal(found.passes, b.passes);
	assert_int_equal(found.connections, b.connections);
	assert_int_equal(found.flags, b.flags);
	assert_int_equal(found.final_bytes, b.final_bytes);
	assert_int_equal(found.start_bytes, b.start_bytes);
	assert_int_equal(found.size_bytes, b.size_bytes);
	assert_int_equal(found.mtime_ns, b.mtime_ns);
	assert_int_equal(found.ctime_ns, b.ctime_ns);
	assert_int_equal(found.device, b.device);
	assert_int_equal(found.inode, b.inode);
	assert_int_equal(found.pattern, b.pattern);
	assert_int_equal(found.skipped_bytes, b.skipped_bytes);
	assert_string_equal(found.host, b.host);
	assert_string_equal(found.name, b.name);
	assert_int_equal(wire_decode_plan(body, length, &found, NULL, NULL), WIRE_OK);
}

TEST(test_plan_of_any_length)
{
	struct wire_plan b = sample_plan();
	size_t length;

	ranges[0] = (struct wire_range){ 0, 5 };
	ranges[1] = (struct wire_range){ 7, 1 };
	length = wire_encode_plan(&b, ranges, 2, body);
	assert_int_equal(decode_plan_of(body, length, true), WIRE_OK);
	for (size_t n = 0; n < length; n++)
		assert_int_equal(decode_plan_of(body, n, true), WIRE_BAD_BODY);
	assert_int_equal(decode_plan_of(body, length + 1, true), WIRE_BAD_BODY);
	assert_int_equal(decode_plan_of(body, length + 16, true), WIRE_BAD_BODY);
}

/* Names are any bytes except NUL. */
TEST(test_names)
{
	struct wire_plan b = sample_plan(), found;
	size_t length;

	memset(b.host, 'h', sizeof(b.host));
	memset(b.name, '\xff', sizeof(b.name));
	b.name[0] = '\n';
	length = wire_encode_plan(&b, NULL, 0, body);
	assert_int_equal(wire_decode_plan(body, length, &found, NULL, NULL), WIRE_OK);
	assert_int_equal(strlen(found.host), sizeof(b.host) - 1);
	assert_int_equal(strlen(found.name), sizeof(b.name) - 1);
	assert_memory_equal(found.name, b.name, sizeof(b.name) - 1);
	body[PLAN_HOST_AT + 4 + 10] = '\0';
	assert_int_equal(decode_plan_of(body, length, false), WIRE_BAD_BODY);
}

TEST(test_lengths_of_names)
{
	static const uint64_t lengths[] = { 0, 3, 5, 257, 1u << 31, UINT32_MAX };
	struct wire_plan b = sample_plan();
	size_t length = wire_encode_plan(&b, NULL, 0, body);

	assert_int_equal(bytes_get(body + PLAN_HOST_AT, 4), 4);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		bytes_put(body + PLAN_HOST_AT, 4, lengths[i]);
		assert_int_equal(decode_plan_of(body, length, false), WIRE_BAD_BODY);
	}
}

/* The fault of the sample with another number in one field. */
static enum wire_fault fault_of_field(size_t at, unsigned n, uint64_t value)
{
	struct wire_plan b = sample_plan();
	size_t length = wire_encode_plan(&b, NULL, 0, body);

	bytes_put(body + at, n, value);
	return decode_plan_of(body, length, false);
}

TEST(test_limits_of_numbers)
{
	static const struct {
		size_t at;
		bool zero, none; /* 0 and WIRE_NO_SIZE are allowed */
	} fields[] = {
		{ PLAN_REQ_BYTES_AT, false, false }, /* req_bytes */
		{ 24, true, true },		     /* bytes */
		{ 32, true, true },		     /* ops */
		{ 40, false, false },		     /* passes */
		{ PLAN_FINAL_AT, true, true },	     /* final_bytes */
		{ 64, true, false },		     /* start_bytes */
		{ 72, true, true },		     /* size_bytes */
		{ 120, true, false },		     /* skipped_bytes */
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		size_t at = fields[i].at;

		assert_int_equal(fault_of_field(at, 8, INT64_MAX), WIRE_OK);
		assert_int_equal(fault_of_field(at, 8, 1), WIRE_OK);
		assert_int_equal(fault_of_field(at, 8, 1ull << 63), WIRE_BAD_BODY);
		assert_int_equal(fault_of_field(at, 8, UINT64_MAX - 1), WIRE_BAD_BODY);
		assert_int_equal(fault_of_field(at, 8, 0),
				 fields[i].zero ? WIRE_OK : WIRE_BAD_BODY);
		assert_int_equal(fault_of_field(at, 8, WIRE_NO_SIZE),
				 fields[i].none ? WIRE_OK : WIRE_BAD_BODY);
	}
}

TEST(test_limits_of_connections_and_flags)
{
	assert_int_equal(fault_of_field(48, 4, 0), WIRE_BAD_BODY);
	assert_int_equal(fault_of_field(48, 4, 1), WIRE_OK);
	assert_int_equal(fault_of_field(48, 4, WIRE_MAX_CONNECTIONS), WIRE_OK);
	assert_int_equal(fault_of_field(48, 4, WIRE_MAX_CONNECTIONS + 1), WIRE_BAD_BODY);
	for (unsigned bit = 0; bit < 32; bit++) {
		uint32_t known = WIRE_CAN_KEY | WIRE_CAN_ENCRYPT | WIRE_RESUMES | WIRE_SERIAL;

		assert_int_equal(fault_of_field(PLAN_FLAGS_AT, 4, 1u << bit),
				 known >> bit & 1 ? WIRE_OK : WIRE_BAD_BODY);
	}
}

/* ---- ranges ---- */

static enum wire_fault fault_of_ranges(size_t n)
{
	struct wire_plan b = sample_plan();
	size_t length = wire_encode_plan(&b, ranges, n, body);

	return decode_plan_of(body, length, true);
}

static enum wire_fault fault_of_two(struct wire_range a, struct wire_range b)
{
	ranges[0] = a;
	ranges[1] = b;
	return fault_of_ranges(2);
}

TEST(test_ranges)
{
	typedef struct wire_range range;

	assert_int_equal(fault_of_two((range){ 0, 1 }, (range){ 1, 1 }), WIRE_OK);
	assert_int_equal(fault_of_two((range){ 0, 2 }, (range){ 1, 1 }), WIRE_BAD_BODY);
	assert_int_equal(fault_of_two((range){ 5, 1 }, (range){ 0, 1 }), WIRE_BAD_BODY);
	assert_int_equal(fault_of_two((range){ 5, 1 }, (range){ 5, 1 }), WIRE_BAD_BODY);
	assert_int_equal(fault_of_two((range){ 0, 0 }, (range){ 5, 1 }), WIRE_BAD_BODY);
	assert_int_equal(fault_of_two((range){ 0, 1 }, (range){ 5, 0 }), WIRE_BAD_BODY);
	assert_int_equal(fault_of_two((range){ 0, 1 }, (range){ 1, INT64_MAX - 1 }), WIRE_OK);
	assert_int_equal(fault_of_two((range){ 0, 1 }, (range){ 1, INT64_MAX }), WIRE_BAD_BODY);
	assert_int_equal(fault_of_two((range){ 0, 1 }, (range){ 1ull << 63, 1 }), WIRE_BAD_BODY);
	assert_int_equal(fault_of_two((range){ 0, 1 }, (range){ 1, UINT64_MAX }), WIRE_BAD_BODY);
}

TEST(test_most_ranges)
{
	struct wire_plan b = sample_plan(), found;
	size_t length, n;

	memset(b.host, 'h', sizeof(b.host));
	memset(b.name, 'n', sizeof(b.name));
	for (size_t i = 0; i < WIRE_MAX_RANGES; i++)
		ranges[i] = (struct wire_range){ .first = 3 * i, .count = 1 + i % 2 };
	length = wire_encode_plan(&b, ranges, WIRE_MAX_RANGES, body);
	assert_true(length <= WIRE_MAX_BODY_BYTES);
	assert_int_equal(wire_decode_plan(body, length, &found, found_ranges, &n), WIRE_OK);
	assert_int_equal(n, WIRE_MAX_RANGES);
	assert_memory_equal(found_ranges, ranges, sizeof(ranges));
	assert_int_equal(decode_plan_of(body, length, false), WIRE_BAD_BODY);
}

/* The number of ranges is a claim of the peer. */
TEST(test_numbers_of_ranges)
{
	static const uint64_t numbers[] = { 0, 1, 3, WIRE_MAX_RANGES + 1, 1u << 28, UINT32_MAX };
	struct wire_plan b = sample_plan();
	size_t length;

	ranges[0] = (struct wire_range){ 0, 5 };
	ranges[1] = (struct wire_range){ 7, 1 };
	length = wire_encode_plan(&b, ranges, 2, body);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		bytes_put(body + length - 36, 4, numbers[i]);
		assert_int_equal(decode_plan_of(body, length, true), WIRE_BAD_BODY);
	}
	bytes_put(body + length - 36, 4, 2);
	assert_int_equal(decode_plan_of(body, length, true), WIRE_OK);
}

/* ---- proofs ---- */

static enum wire_fault decode_prove(size_t length)
{
	size_t n;

	return wire_decode_prove(body, length, found_ranges, &n);
}

TEST(test_prove)
{
	const uint64_t most = WIRE_MAX_PROOF_OPS;
	size_t length, n;

	ranges[0] = (struct wire_range){ 3, 5 };
	ranges[1] = (struct wire_range){ 1ull << 40, most - 5 };
	length = wire_encode_prove(ranges, 2, body);
	assert_int_equal(wire_decode_prove(body, length, found_ranges, &n), WIRE_OK);
	assert_int_equal(n, 2);
	assert_memory_equal(found_ranges, ranges, 2 * sizeof(ranges[0]));
	for (size_t less = 0; less < length; less++)
		assert_int_equal(decode_prove(less), WIRE_BAD_BODY);
	assert_int_equal(decode_prove(length + 1), WIRE_BAD_BODY);
	/* Too many operations, also where their sum overflows. */
	ranges[1].count++;
	assert_int_equal(decode_prove(wire_encode_prove(ranges, 2, body)), WIRE_BAD_BODY);
	ranges[1].count = INT64_MAX - (1ull << 40);
	assert_int_equal(decode_prove(wire_encode_prove(ranges, 2, body)), WIRE_BAD_BODY);
	/* None, empty, or not ascending. */
	assert_int_equal(decode_prove(wire_encode_prove(ranges, 0, body)), WIRE_BAD_BODY);
	ranges[1] = (struct wire_range){ 7, 1 };
	assert_int_equal(decode_prove(wire_encode_prove(ranges, 2, body)), WIRE_BAD_BODY);
	ranges[1] = (struct wire_range){ 8, 0 };
	assert_int_equal(decode_prove(wire_encode_prove(ranges, 2, body)), WIRE_BAD_BODY);
	for (size_t i = 0; i < most; i++)
		ranges[i] = (struct wire_range){ 2 * i, 1 };
	length = wire_encode_prove(ranges, most, body);
	assert_int_equal(wire_decode_prove(body, length, found_ranges, &n), WIRE_OK);
	assert_int_equal(n, most);
	bytes_put(body, 4, most + 1);
	assert_int_equal(decode_prove(length), WIRE_BAD_BODY);
}

/* Several follow each other in a body; the layout of a file's is tested in test_copy_message.c. */
TEST(test_sums)
{
	uint8_t digests[2 * WIRE_SUM_BYTES] = { 1, 2, 3 };
	struct wire_sums b = { .id = 7,
			       .offset_bytes = 7000,
			       .end_bytes = 8001,
			       .block_bytes = 1000,
			       .n = 2,
			       .digests = digests },
			 found;
	size_t one, length, used;

	one = wire_encode_sums(&b, body, sizeof(body));
	length = one + wire_encode_sums(&b, body + one, sizeof(body) - one);
	assert_int_equal(wire_decode_sums(body, length, &found, &used), WIRE_OK);
	assert_int_equal(used, one);
	assert_int_equal(found.id, 7);
	assert_int_equal(found.n, 2);
	assert_int_equal(wire_sums_at(&found, 0).low, 0x030201);
	assert_int_equal(wire_encode_sums(&b, body, one - 1), 0);
	for (size_t less = 0; less < one; less++)
		assert_int_equal(wire_decode_sums(body, less, &found, &used), WIRE_BAD_BODY);
	/* Another number of digests than the extent has blocks. */
	for (uint64_t n = 0; n < 4; n++) {
		bytes_put(body + 28, 4, n);
		assert_int_equal(wire_decode_sums(body, length, &found, &used),
				 n == 2 ? WIRE_OK : WIRE_BAD_BODY);
	}
	bytes_put(body + 28, 4, 2);
	bytes_put(body + 24, 4, 0);
	assert_int_equal(wire_decode_sums(body, length, &found, &used), WIRE_BAD_BODY);
	bytes_put(body + 24, 4, 1000);
	bytes_put(body + 16, 8, 1ull << 63);
	assert_int_equal(wire_decode_sums(body, length, &found, &used), WIRE_BAD_BODY);
	bytes_put(body + 16, 8, 7000);
	assert_int_equal(wire_decode_sums(body, length, &found, &used), WIRE_BAD_BODY);
}

/* ---- results of a pass ---- */

TEST(test_pass)
{
	struct wire_pass b = sample_pass(), found;
	size_t length = wire_encode_pass(&b, body);

	memset(&found, 0xee, sizeof(found));
	assert_int_equal(length, 144);
	assert_int_equal(wire_decode_pass(body, length, &found), WIRE_OK);
	assert_memory_equal(&found, &b, sizeof(b));
}

/* The text of an error follows where there is one; it is never empty. */
TEST(test_pass_error)
{
	struct wire_pass b = sample_pass(), found;
	size_t length;

	strcpy(b.error, "write failed");
	length = wire_encode_pass(&b, body);
	assert_int_equal(length, 144 + strlen(b.error) + 1);
	assert_int_equal(wire_decode_pass(body, length, &found), WIRE_OK);
	assert_memory_equal(&found, &b, sizeof(b));
	assert_int_equal(wire_decode_pass(body, length - 1, &found), WIRE_BAD_BODY);
	body[146] = '\n';
	assert_int_equal(wire_decode_pass(body, length, &found), WIRE_BAD_BODY);
	body[144] = '\0';
	assert_int_equal(wire_decode_pass(body, 145, &found), WIRE_BAD_BODY);
	memset(b.error, 'x', sizeof(b.error) - 1);
	length = wire_encode_pass(&b, body);
	assert_int_equal(length, 1168);
	assert_int_equal(wire_decode_pass(body, length, &found), WIRE_OK);
}

TEST(test_pass_limits)
{
	struct wire_pass b = sample_pass(), found;
	size_t length = wire_encode_pass(&b, body);

	for (size_t n = 0; n < length; n++)
		assert_int_equal(wire_decode_pass(body, n, &found), WIRE_BAD_BODY);
	assert_int_equal(wire_decode_pass(body, length + 1, &found), WIRE_BAD_BODY);
	for (size_t field = 0; field < length / 8; field++) {
		bool digest = field == 3 || field == 4;

		wire_encode_pass(&b, body);
		bytes_put(body + 8 * field, 8, 1ull << 63);
		assert_int_equal(wire_decode_pass(body, length, &found),
				 digest ? WIRE_OK : WIRE_BAD_BODY);
		bytes_put(body + 8 * field, 8, INT64_MAX);
		assert_int_equal(wire_decode_pass(body, length, &found), WIRE_OK);
	}
}

RUN_TESTS(NULL, NULL)
