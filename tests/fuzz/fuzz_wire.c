/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of end-to-end copies. An input is a header and its body. In half of them the length, the
 * digest, the code and the checksum are repaired, so that the code after their checks is reached.
 *
 * A message that is accepted has one encoding only: its own bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "xdd/base/codec.h"
#include "xdd/base/status.h"
#include "xdd/net/wire.h"

#define MAX_DATA (1u << 20)
#define MOST_RANGES 600
#define MOST_SUMS 20

/* Offsets in a header: doc/wire.md. */
#define LENGTH_AT 24
#define DIGEST_AT 48
#define CODE_AT 64
#define CHECKSUM_AT 88

static const char *const words[] = {
	"XDD2",
	"\x1b[2J",
	"\xff\xfe",
	"\xe2\x80\xae",
	"xdd 8.0.0",
	"\n",
	"\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xff\xff\xff\xff\xff\xff\xff\x7f",
	"/a/name",
};

static uint8_t encoded[WIRE_MAX_BODY_BYTES];

/* NULL without OpenSSL. Made at the first use, freed at the end of the process. */
static struct wire_key *key;

static void free_key(void)
{
	wire_key_free(key);
}

static struct wire_key *the_key(void)
{
	static const uint8_t bytes[WIRE_KEY_BYTES] = "the key of all inputs";

	if (key)
		return key;
	key = wire_key_new(bytes);
	if (key)
		atexit(free_key);
	return key;
}

/* ---- valid messages ---- */

static size_t make_hello(struct fuzz_random *r, uint8_t *body)
{
	struct wire_hello b = { .purpose = WIRE_CONTROL + fuzz_below(r, 2),
				.flags = (uint32_t)fuzz_below(r, 4) };

	for (size_t i = 0; i < sizeof(b.session); i++)
		b.session[i] = (uint8_t)fuzz_u64(r);
	fuzz_text(r, b.software, sizeof(b.software));
	return wire_encode_hello(&b, body);
}

static void make_ranges(struct fuzz_random *r, struct wire_range *ranges, size_t n, uint64_t most)
{
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		ranges[i].first = at + fuzz_below(r, 1000);
		ranges[i].count = 1 + fuzz_below(r, most);
		at = ranges[i].first + ranges[i].count;
	}
}

static size_t make_plan(struct fuzz_random *r, bool with_ranges, uint8_t *body)
{
	struct wire_plan b = { .req_bytes = 1 + fuzz_amount(r) / 2,
			       .bytes = fuzz_amount(r),
			       .ops = fuzz_amount(r),
			       .passes = 1 + fuzz_amount(r) / 2,
			       .connections = 1 + (uint32_t)fuzz_below(r, WIRE_MAX_CONNECTIONS),
			       .flags = (uint32_t)fuzz_below(r, 4),
			       .final_bytes = fuzz_once_in(r, 2) ? WIRE_NO_SIZE : fuzz_amount(r),
			       .start_bytes = fuzz_amount(r),
			       .size_bytes = fuzz_amount(r),
			       .mtime_ns = (int64_t)fuzz_u64(r),
			       .ctime_ns = (int64_t)fuzz_u64(r),
			       .device = fuzz_u64(r),
			       .inode = fuzz_u64(r) };
	struct wire_range ranges[MOST_RANGES];
	size_t n = with_ranges ? fuzz_below(r, MOST_RANGES + 1) : 0;

	make_ranges(r, ranges, n, 1000);
	fuzz_text(r, b.host, sizeof(b.host));
	fuzz_text(r, b.name, sizeof(b.name));
	return wire_encode_plan(&b, ranges, n, body);
}

static size_t make_pass(struct fuzz_random *r, uint8_t *body)
{
	struct wire_pass b = { .ops = fuzz_amount(r),
			       .bytes = fuzz_amount(r),
			       .digest = { .low = fuzz_u64(r), .high = fuzz_u64(r) },
			       .elapsed_ns = fuzz_amount(r),
			       .storage_ns = fuzz_amount(r),
			       .waiting_ns = fuzz_amount(r) };

	if (fuzz_below(r, 2))
		fuzz_text(r, b.error, sizeof(b.error));
	return wire_encode_pass(&b, body);
}

static size_t make_prove(struct fuzz_random *r, uint8_t *body)
{
	struct wire_range ranges[MOST_RANGES];
	size_t n = 1 + fuzz_below(r, MOST_RANGES);

	make_ranges(r, ranges, n, 2 * WIRE_MAX_PROOF_OPS / n);
	return wire_encode_prove(ranges, n, body);
}

static size_t make_sums(struct fuzz_random *r, uint8_t *body)
{
	static const uint8_t digests[WIRE_SUM_BYTES * MOST_SUMS];
	size_t length = 0;

	for (size_t n = fuzz_below(r, 4); n; n--) {
		struct wire_sums b = { .id = fuzz_amount(r),
				       .offset_bytes = fuzz_amount(r) / 2,
				       .block_bytes = 1 + (uint32_t)fuzz_below(r, 1u << 31),
				       .n = 1 + fuzz_below(r, MOST_SUMS),
				       .digests = digests };

		b.end_bytes = b.offset_bytes + b.n * b.block_bytes - fuzz_below(r, b.block_bytes);
		length += wire_encode_sums(&b, body + length,
					   FUZZ_MAX_BYTES - WIRE_HEADER_BYTES - length);
	}
	return length;
}

static size_t make_error(struct fuzz_random *r, uint8_t *body)
{
	struct wire_error b = { .status = 1 + (uint32_t)fuzz_below(r, XDD_MISCOMPARE) };

	fuzz_text(r, b.text, sizeof(b.text));
	return wire_encode_error(&b, body);
}

static size_t make_body(struct fuzz_random *r, enum wire_type type, uint8_t *body)
{
	switch (type) {
	case WIRE_HELLO:
	case WIRE_WELCOME:
		return make_hello(r, body);
	case WIRE_PLAN:
	case WIRE_ACCEPT:
		return make_plan(r, type == WIRE_ACCEPT, body);
	case WIRE_PASS_END:
	case WIRE_PASS_RESULT:
		return make_pass(r, body);
	case WIRE_ERROR:
		return make_error(r, body);
	case WIRE_PROVE:
		return make_prove(r, body);
	case WIRE_SUMS:
		return make_sums(r, body);
	case WIRE_DATA:
		memset(body, (int)fuzz_below(r, 256), 512);
		return 1 + fuzz_below(r, 512);
	default:
		return 0;
	}
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	enum wire_type type = (enum wire_type)(WIRE_HELLO + fuzz_below(r, WIRE_SUMS));
	bool on_data = type == WIRE_DATA || type == WIRE_SKIP || type == WIRE_PASS_LAST;
	bool in_pass = type >= WIRE_PASS_BEGIN && type <= WIRE_PASS_RESULT;
	struct wire_header h = {
		.type = type,
		.target = (uint32_t)fuzz_u64(r),
		.connection = on_data ? (uint32_t)fuzz_below(r, 64) : WIRE_NO_CONNECTION,
		.pass = in_pass ? 1 + (uint32_t)fuzz_below(r, 5) : 0,
		.sequence = fuzz_amount(r),
		.offset = type == WIRE_DATA ? fuzz_amount(r) / 2 : 0,
	};

	h.length = make_body(r, type, data + WIRE_HEADER_BYTES);
	h.digest = digest_data(data + WIRE_HEADER_BYTES, h.length);
	wire_encode(&h, NULL, data);
	return WIRE_HEADER_BYTES + h.length;
}

/* ---- checks ---- */

/* As a forger would who has the key. */
static void repair(uint8_t *data, size_t size, struct wire_key *with)
{
	size_t body = size - WIRE_HEADER_BYTES;
	struct digest d = digest_data(data + WIRE_HEADER_BYTES, body);
	uint8_t raw[WIRE_HEADER_BYTES];
	struct wire_header h;

	bytes_put(data + LENGTH_AT, 8, body);
	bytes_put(data + DIGEST_AT, 8, d.low);
	bytes_put(data + DIGEST_AT + 8, 8, d.high);
	memset(data + CODE_AT, 0, WIRE_CODE_BYTES);
	bytes_put(data + CHECKSUM_AT, 8, digest_short(data, CHECKSUM_AT));
	if (!with || wire_decode(data, NULL, MAX_DATA, &h, NULL))
		return;
	wire_encode(&h, with, raw);
	memcpy(data, raw, sizeof(raw));
}

static void check_same(const char *name, const uint8_t *body, size_t size, size_t size_again)
{
	if (size != size_again || memcmp(body, encoded, size) != 0)
		fuzz_fail("%s of %zu bytes has another encoding, of %zu bytes", name, size,
			  size_again);
}

static bool check_hello(const uint8_t *body, size_t size)
{
	struct wire_hello b;

	if (wire_decode_hello(body, size, &b))
		return false;
	fuzz_text_check(b.software, strlen(b.software));
	check_same("a hello", body, size, wire_encode_hello(&b, encoded));
	return true;
}

static void check_ranges(const struct wire_range *ranges, size_t n)
{
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		if (ranges[i].first < end || !ranges[i].count)
			fuzz_fail("range %zu: %" PRIu64 " + %" PRIu64, i, ranges[i].first,
				  ranges[i].count);
		end = ranges[i].first + ranges[i].count;
		if (end > INT64_MAX)
			fuzz_fail("range %zu ends at %" PRIu64, i, end);
	}
}

static bool check_plan(const uint8_t *body, size_t size, bool with_ranges)
{
	static struct wire_range ranges[WIRE_MAX_RANGES];
	struct wire_plan b;
	size_t n = 0;

	if (wire_decode_plan(body, size, &b, with_ranges ? ranges : NULL, &n))
		return false;
	check_ranges(ranges, n);
	check_same("a plan", body, size, wire_encode_plan(&b, ranges, n, encoded));
	return true;
}

static bool check_pass(const uint8_t *body, size_t size)
{
	struct wire_pass b;

	if (wire_decode_pass(body, size, &b))
		return false;
	fuzz_text_check(b.error, strlen(b.error));
	check_same("a result", body, size, wire_encode_pass(&b, encoded));
	return true;
}

static bool check_error(const uint8_t *body, size_t size)
{
	struct wire_error b;

	if (wire_decode_error(body, size, &b))
		return false;
	fuzz_text_check(b.text, strlen(b.text));
	check_same("an error", body, size, wire_encode_error(&b, encoded));
	return true;
}

static bool check_prove(const uint8_t *body, size_t size)
{
	static struct wire_range ranges[WIRE_MAX_PROOF_OPS];
	uint64_t ops = 0;
	size_t n;

	if (wire_decode_prove(body, size, ranges, &n))
		return false;
	check_ranges(ranges, n);
	for (size_t i = 0; i < n; i++)
		ops += ranges[i].count;
	if (!ops || ops > WIRE_MAX_PROOF_OPS)
		fuzz_fail("a question about %" PRIu64 " operations", ops);
	check_same("a question", body, size, wire_encode_prove(ranges, n, encoded));
	return true;
}

/* Any number of sets of digests, one after the other. */
static bool check_sums(const uint8_t *body, size_t size)
{
	struct digest all = { 0 };

	while (size) {
		struct wire_sums b;
		size_t used;

		if (wire_decode_sums(body, size, &b, &used))
			return false;
		if (!b.n || used > size || b.end_bytes > INT64_MAX || b.offset_bytes >= b.end_bytes)
			fuzz_fail("%zu digests of bytes %" PRIu64 " to %" PRIu64, b.n,
				  b.offset_bytes, b.end_bytes);
		for (size_t i = 0; i < b.n; i++)
			digest_join(&all, wire_sums_at(&b, i));
		check_same("digests", body, used, wire_encode_sums(&b, encoded, sizeof(encoded)));
		body += used;
		size -= used;
	}
	return true;
}

/* All bodies are decoded as all types: a decoder does not rely on the header. */
static bool check_bodies(enum wire_type type, const uint8_t *body, size_t size)
{
	bool hello = check_hello(body, size), plan = check_plan(body, size, false);
	bool accept = check_plan(body, size, true), pass = check_pass(body, size);
	bool error = check_error(body, size), prove = check_prove(body, size);
	bool sums = check_sums(body, size);

	switch (type) {
	case WIRE_HELLO:
	case WIRE_WELCOME:
		return hello;
	case WIRE_PLAN:
		return plan;
	case WIRE_ACCEPT:
		return accept;
	case WIRE_PASS_END:
	case WIRE_PASS_RESULT:
		return pass;
	case WIRE_ERROR:
		return error;
	case WIRE_PROVE:
		return prove;
	case WIRE_SUMS:
		return sums;
	default:
		return true;
	}
}

static void check_header(const struct wire_header *h)
{
	if (h->type < WIRE_HELLO || h->type >= WIRE_TYPES ||
	    (h->type > WIRE_SUMS && h->type < WIRE_COPY_START))
		fuzz_fail("type %d", h->type);
	if (h->length > (h->type == WIRE_DATA ? MAX_DATA : WIRE_MAX_BODY_BYTES))
		fuzz_fail("%s of %" PRIu64 " bytes", wire_type_name(h->type), h->length);
	if (h->type == WIRE_DATA && h->offset > INT64_MAX - h->length)
		fuzz_fail("data at %" PRIu64, h->offset);
}

/* The listener decodes a header before it knows a key; the session decodes it again. */
static void check_first(const uint8_t *data, enum wire_fault fault, const struct wire_header *h)
{
	struct wire_header first;
	unsigned version;
	bool accepted = wire_decode_first(data, &first, &version) == WIRE_OK;

	if (accepted && (first.type != WIRE_HELLO || first.length > WIRE_MAX_HELLO_BYTES))
		fuzz_fail("%s of %" PRIu64 " bytes is the first message",
			  wire_type_name(first.type), first.length);
	if (!fault && (h->type == WIRE_HELLO) != accepted)
		fuzz_fail("%s as the first message", wire_type_name(h->type));
	if (fault && fault != WIRE_BAD_CODE && accepted)
		fuzz_fail("the first message has fault %d", fault);
}

/* The header and its body: as much as arrived, in memory of its exact size. */
static bool check_message(const uint8_t *data, size_t size, struct wire_key *with)
{
	size_t rest = size - WIRE_HEADER_BYTES;
	uint8_t raw[WIRE_HEADER_BYTES];
	struct wire_header h;
	unsigned version = 0;
	enum wire_fault fault = wire_decode(data, with, MAX_DATA, &h, &version);

	if (fault == WIRE_BAD_VERSION && version == WIRE_VERSION)
		fuzz_fail("this version is refused");
	check_first(data, fault, &h);
	if (!check_bodies(fault ? WIRE_TYPES : h.type, data + WIRE_HEADER_BYTES, rest) || fault)
		return false;
	check_header(&h);
	wire_encode(&h, with, raw);
	if (memcmp(raw, data, sizeof(raw)) != 0)
		fuzz_fail("a header of type %s has another encoding", wire_type_name(h.type));
	return h.length == rest && !wire_check_body(&h, data + WIRE_HEADER_BYTES);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	uint64_t hash = fuzz_hash(data, size);
	struct wire_key *with = hash / 2 % 4 ? NULL : the_key();
	uint8_t *copy;
	bool accepted;

	if (size < WIRE_HEADER_BYTES)
		return 1;
	copy = malloc(size);
	if (!copy)
		fuzz_fail("memory is short");
	memcpy(copy, data, size);
	if (hash % 2)
		repair(copy, size, with);
	accepted = check_message(copy, size, with);
	free(copy);
	return !accepted;
}

const struct fuzz_harness fuzz_harness = {
	.name = "wire",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
