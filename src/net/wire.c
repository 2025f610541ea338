/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages: headers with their layout, limits of each type and checks, and bodies, with encoders,
 * and decoders with a limit for each field; and digests of data. Called by connections, sessions,
 * the listener and the restart file; doc/wire.md has the layouts.
 *
 * A header is decoded in this order: magic, checksum, version, code, fields. All versions have
 * magic, version and checksum at the offsets of this one, so an unknown version is told from a
 * corrupt header.
 */
#include "xdd/net/wire.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "xdd/base/arith.h"
#include "xdd/base/codec.h"
#include "xdd/base/status.h"

/* Sizes of bodies: fixed parts, before the texts. */
#define WIRE_HELLO_FIXED_BYTES (4 + 4 + WIRE_SESSION_BYTES)
#define WIRE_PLAN_FIXED_BYTES (WIRE_SESSION_BYTES + 14 * 8)
#define WIRE_ERROR_FIXED_BYTES 4
#define WIRE_SUMS_FIXED_BYTES (3 * 8 + 2 * 4)

#define WIRE_RANGE_BYTES 16
#define WIRE_PASS_BYTES (18 * 8)
#define WIRE_MOST_PASS_BYTES (WIRE_PASS_BYTES + WIRE_MAX_TEXT_BYTES)

/* struct copy_counts of copies of files, whose bodies are of a later layer. */
#define WIRE_COUNTS_BYTES (26 * 8)

/* A text has at least its NUL. */
#define WIRE_LEAST_HELLO_BYTES (WIRE_HELLO_FIXED_BYTES + 1)
#define WIRE_MOST_HELLO_BYTES (WIRE_HELLO_FIXED_BYTES + sizeof(((struct wire_hello *)0)->software))
#define WIRE_LEAST_ERROR_BYTES (WIRE_ERROR_FIXED_BYTES + 1)

/* Each name has its length before it, and the ranges their number. */
#define WIRE_LEAST_PLAN_BYTES (WIRE_PLAN_FIXED_BYTES + 4 + 1 + 4 + 1 + 4)
#define WIRE_MOST_PLAN_BYTES                                                     \
	(WIRE_PLAN_FIXED_BYTES + 4 + sizeof(((struct wire_plan *)0)->host) + 4 + \
	 sizeof(((struct wire_plan *)0)->name) + 4 + WIRE_MAX_RANGES * WIRE_RANGE_BYTES)

/* The number of ranges is before them, and there is at least one. */
#define WIRE_LEAST_PROVE_BYTES (4 + WIRE_RANGE_BYTES)
#define WIRE_MOST_PROVE_BYTES (4 + WIRE_MAX_PROOF_OPS * WIRE_RANGE_BYTES)

/* None; or one for each operation. */
#define WIRE_MOST_SUMS_BYTES (WIRE_MAX_PROOF_OPS * (WIRE_SUMS_FIXED_BYTES + WIRE_SUM_BYTES))

_Static_assert(WIRE_MOST_SUMS_BYTES <= WIRE_MAX_BODY_BYTES, "digests fit");
_Static_assert(WIRE_MOST_HELLO_BYTES <= WIRE_MAX_HELLO_BYTES, "a hello fits");
_Static_assert(WIRE_MOST_PLAN_BYTES <= WIRE_MAX_BODY_BYTES, "a plan fits");

/* ---- writing ---- */

/* A name after its length. */
static void wire_put_name(struct encoder *e, const char *name, size_t size)
{
	size_t n = text_bytes(name, size);

	enc_put(e, 4, n);
	enc_text(e, name, n);
}

/* A text that ends the body. */
static void wire_put_text(struct encoder *e, const char *text, size_t size)
{
	enc_shown(e, text, text_bytes(text, size));
}

size_t wire_encode_hello(const struct wire_hello *b, uint8_t *out)
{
	struct encoder e = enc_begin(out, WIRE_MAX_HELLO_BYTES);

	enc_put(&e, 4, b->purpose);
	enc_put(&e, 4, b->flags);
	enc_bytes(&e, b->session, sizeof(b->session));
	wire_put_text(&e, b->software, sizeof(b->software));
	return enc_end(&e);
}

static void put_ranges(struct encoder *e, const struct wire_range *ranges, size_t n)
{
	enc_put(e, 4, n);
	for (size_t i = 0; i < n; i++) {
		enc_put(e, 8, ranges[i].first);
		enc_put(e, 8, ranges[i].count);
	}
}

size_t wire_encode_plan(const struct wire_plan *b, const struct wire_range *ranges, size_t n,
			uint8_t *out)
{
	struct encoder e = enc_begin(out, WIRE_MAX_BODY_BYTES);

	enc_bytes(&e, b->run, sizeof(b->run));
	enc_put(&e, 8, b->req_bytes);
	enc_put(&e, 8, b->bytes);
	enc_put(&e, 8, b->ops);
	enc_put(&e, 8, b->passes);
	enc_put(&e, 4, b->connections);
	enc_put(&e, 4, b->flags);
	enc_put(&e, 8, b->final_bytes);
	enc_put(&e, 8, b->start_bytes);
	enc_put(&e, 8, b->size_bytes);
	enc_put(&e, 8, (uint64_t)b->mtime_ns);
	enc_put(&e, 8, (uint64_t)b->ctime_ns);
	enc_put(&e, 8, b->device);
	enc_put(&e, 8, b->inode);
	enc_put(&e, 8, b->pattern);
	enc_put(&e, 8, b->skipped_bytes);
	wire_put_name(&e, b->host, sizeof(b->host));
	wire_put_name(&e, b->name, sizeof(b->name));
	put_ranges(&e, ranges, n);
	return enc_end(&e);
}

size_t wire_encode_prove(const struct wire_range *ranges, size_t n, uint8_t *out)
{
	struct encoder e = enc_begin(out, WIRE_MAX_BODY_BYTES);

	put_ranges(&e, ranges, n);
	return enc_end(&e);
}

size_t wire_encode_sums(const struct wire_sums *b, uint8_t *out, size_t room)
{
	struct encoder e = enc_begin(out, room);
	uint8_t *digests;

	enc_put(&e, 8, b->id);
	enc_put(&e, 8, b->offset_bytes);
	enc_put(&e, 8, b->end_bytes);
	enc_put(&e, 4, b->block_bytes);
	enc_put(&e, 4, b->n);
	digests = b->n <= room ? enc_room(&e, b->n * WIRE_SUM_BYTES) : NULL;
	if (!digests)
		return 0;
	if (b->digests != digests)
		memmove(digests, b->digests, b->n * WIRE_SUM_BYTES);
	return enc_end(&e);
}

void wire_put_sum(struct digest d, uint8_t out[WIRE_SUM_BYTES])
{
	bytes_put(out, 8, d.low);
	bytes_put(out + 8, 8, d.high);
}

size_t wire_encode_pass(const struct wire_pass *b, uint8_t *out)
{
	const uint64_t fields[] = {
		b->ops,		  b->bytes,	    b->failed,	    b->digest.low, b->digest.high,
		b->elapsed_ns,	  b->storage_ns,    b->network_ns,  b->waiting_ns, b->checking_ns,
		b->first_read_ns, b->last_write_ns, b->retransmits, b->pace_ns,	   b->cpu_ns,
		b->cpu_wait_ns,	  b->quota_ns,	    b->transit_ns,
	};
	struct encoder e = enc_begin(out, WIRE_MOST_PASS_BYTES);

	_Static_assert(sizeof(fields) == WIRE_PASS_BYTES, "all fields");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		enc_put(&e, 8, fields[i]);
	if (*b->error)
		wire_put_text(&e, b->error, sizeof(b->error));
	return enc_end(&e);
}

size_t wire_encode_error(const struct wire_error *b, uint8_t *out)
{
	struct encoder e = enc_begin(out, WIRE_MAX_ERROR_BYTES);

	enc_put(&e, 4, b->status);
	wire_put_text(&e, b->text, sizeof(b->text));
	return enc_end(&e);
}

/* ---- reading ---- */

static uint64_t get_amount_or_none(struct decoder *d)
{
	uint64_t value = dec_get(d, 8);

	if (value > (uint64_t)INT64_MAX && value != WIRE_NO_SIZE)
		d->bad = true;
	return value;
}

static void wire_get_name(struct decoder *d, char *out, size_t size)
{
	size_t n = dec_get(d, 4);
	const char *name = dec_text(d, n, 1, size);

	memcpy(out, name, d->bad ? 1 : n);
}

static enum wire_fault wire_end(const struct decoder *d)
{
	return dec_end(d) ? WIRE_OK : WIRE_BAD_BODY;
}

enum wire_fault wire_decode_hello(const uint8_t *body, size_t length, struct wire_hello *b)
{
	struct decoder d = dec_begin(body, length);

	b->purpose = (enum wire_purpose)dec_get(&d, 4);
	if (b->purpose != WIRE_CONTROL && b->purpose != WIRE_TRANSFER)
		d.bad = true;
	b->flags = dec_flags(&d, 4, WIRE_CAN_KEY | WIRE_CAN_ENCRYPT);
	dec_bytes(&d, b->session, sizeof(b->session));
	dec_shown(&d, dec_left(&d), b->software, sizeof(b->software));
	return wire_end(&d);
}

static void get_plan(struct decoder *d, struct wire_plan *b)
{
	dec_bytes(d, b->run, sizeof(b->run));
	b->req_bytes = dec_amount(d);
	b->bytes = get_amount_or_none(d);
	b->ops = get_amount_or_none(d);
	b->passes = dec_amount(d);
	b->connections = (uint32_t)dec_at_most(d, 4, WIRE_MAX_CONNECTIONS);
	b->flags = dec_flags(d, 4, WIRE_CAN_KEY | WIRE_CAN_ENCRYPT | WIRE_RESUMES | WIRE_SERIAL);
	b->final_bytes = get_amount_or_none(d);
	b->start_bytes = dec_amount(d);
	b->size_bytes = get_amount_or_none(d);
	b->mtime_ns = (int64_t)dec_get(d, 8);
	b->ctime_ns = (int64_t)dec_get(d, 8);
	b->device = dec_get(d, 8);
	b->inode = dec_get(d, 8);
	b->pattern = dec_get(d, 8);
	b->skipped_bytes = dec_amount(d);
	if (!b->req_bytes || !b->passes || !b->connections)
		d->bad = true;
	wire_get_name(d, b->host, sizeof(b->host));
	wire_get_name(d, b->name, sizeof(b->name));
}

/* Ascending, disjoint and not empty. */
static void get_ranges(struct decoder *d, struct wire_range *ranges, size_t n)
{
	uint64_t end_of_last = 0;

	for (size_t i = 0; i < n && !d->bad; i++) {
		ranges[i].first = dec_amount(d);
		ranges[i].count = dec_amount(d);
		if (d->bad || !ranges[i].count || ranges[i].first < end_of_last ||
		    ranges[i].count > (uint64_t)INT64_MAX - ranges[i].first)
			d->bad = true;
		else
			end_of_last = ranges[i].first + ranges[i].count;
	}
}

enum wire_fault wire_decode_plan(const uint8_t *body, size_t length, struct wire_plan *b,
				 struct wire_range *ranges, size_t *n)
{
	struct decoder d = dec_begin(body, length);
	size_t count;

	get_plan(&d, b);
	count = dec_at_most(&d, 4, ranges ? WIRE_MAX_RANGES : 0);
	get_ranges(&d, ranges, count);
	if (n)
		*n = count;
	return wire_end(&d);
}

enum wire_fault wire_decode_prove(const uint8_t *body, size_t length, struct wire_range *ranges,
				  size_t *n)
{
	struct decoder d = dec_begin(body, length);
	uint64_t ops = 0;

	*n = dec_at_most(&d, 4, WIRE_MAX_PROOF_OPS);
	if (!*n)
		return WIRE_BAD_BODY;
	get_ranges(&d, ranges, *n);
	/* The sum of so many counts may overflow; each count is checked before it is added. */
	for (size_t i = 0; i < *n && !d.bad; i++) {
		if (ranges[i].count > WIRE_MAX_PROOF_OPS - ops)
			return WIRE_BAD_BODY;
		ops += ranges[i].count;
	}
	return wire_end(&d);
}

static bool sums_are_right(const struct wire_sums *b)
{
	uint64_t bytes = b->end_bytes - b->offset_bytes;

	if (!b->block_bytes || b->offset_bytes >= b->end_bytes)
		return false;
	return b->n == bytes / b->block_bytes + (bytes % b->block_bytes != 0);
}

enum wire_fault wire_decode_sums(const uint8_t *body, size_t length, struct wire_sums *b,
				 size_t *used)
{
	struct decoder d = dec_begin(body, length);

	b->id = dec_amount(&d);
	b->offset_bytes = dec_amount(&d);
	b->end_bytes = dec_amount(&d);
	b->block_bytes = (uint32_t)dec_get(&d, 4);
	b->n = dec_get(&d, 4);
	if (d.bad || !sums_are_right(b))
		return WIRE_BAD_BODY;
	b->digests = dec_take(&d, b->n * WIRE_SUM_BYTES);
	*used = length - dec_left(&d);
	return d.bad ? WIRE_BAD_BODY : WIRE_OK;
}

struct digest wire_sums_at(const struct wire_sums *b, size_t i)
{
	const uint8_t *p = b->digests + i * WIRE_SUM_BYTES;

	return (struct digest){ .low = bytes_get(p, 8), .high = bytes_get(p + 8, 8) };
}

enum wire_fault wire_decode_pass(const uint8_t *body, size_t length, struct wire_pass *b)
{
	struct decoder d = dec_begin(body, length);

	b->ops = dec_amount(&d);
	b->bytes = dec_amount(&d);
	b->failed = dec_amount(&d);
	b->digest.low = dec_get(&d, 8);
	b->digest.high = dec_get(&d, 8);
	b->elapsed_ns = dec_amount(&d);
	b->storage_ns = dec_amount(&d);
	b->network_ns = dec_amount(&d);
	b->waiting_ns = dec_amount(&d);
	b->checking_ns = dec_amount(&d);
	b->first_read_ns = dec_amount(&d);
	b->last_write_ns = dec_amount(&d);
	b->retransmits = dec_amount(&d);
	b->pace_ns = dec_amount(&d);
	b->cpu_ns = dec_amount(&d);
	b->cpu_wait_ns = dec_amount(&d);
	b->quota_ns = dec_amount(&d);
	b->transit_ns = dec_amount(&d);
	memset(b->error, 0, sizeof(b->error));
	if (!dec_left(&d))
		return wire_end(&d);
	dec_shown(&d, dec_left(&d), b->error, sizeof(b->error));
	/* Without a text there is no NUL either. */
	if (!*b->error)
		d.bad = true;
	return wire_end(&d);
}

enum wire_fault wire_decode_error(const uint8_t *body, size_t length, struct wire_error *b)
{
	struct decoder d = dec_begin(body, length);

	b->status = (uint32_t)dec_get(&d, 4);
	if (b->status == XDD_OK || !status_is_known(b->status))
		d.bad = true;
	dec_shown(&d, dec_left(&d), b->text, sizeof(b->text));
	return wire_end(&d);
}

/* Offsets in a header; wire_encode() has all fields in their order. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_TYPE = 6,
	AT_CODE = 64,	  /* of all bytes before it */
	AT_CHECKSUM = 88, /* of all bytes before it */
};

_Static_assert(AT_CHECKSUM + 8 == WIRE_HEADER_BYTES, "the header has its size");

/* Offsets, lengths and operation numbers fit a signed number, as offsets in files do. */
#define MAX_NUMBER ((uint64_t)INT64_MAX)

enum {
	ON_CONTROL = 1 << 0,
	ON_DATA = 1 << 1,
	IN_PASS = 1 << 2,     /* `pass` is not 0 */
	OUT_OF_PASS = 1 << 3, /* `pass` is 0 */
	HAS_OFFSET = 1 << 4,
	HAS_LIMIT = 1 << 5, /* the caller has the limit of the body */
};

struct type_row {
	const char *name;
	unsigned rules;
	uint64_t least_bytes, most_bytes; /* of the body; DATA: the caller has the limit */
};

#define COPY_CONTROL (ON_CONTROL | OUT_OF_PASS)
#define COPY_DATA (ON_DATA | OUT_OF_PASS)

static const struct type_row types[WIRE_TYPES] = {
	[WIRE_HELLO] = { "HELLO", ON_CONTROL | ON_DATA | OUT_OF_PASS, WIRE_LEAST_HELLO_BYTES,
			 WIRE_MOST_HELLO_BYTES },
	[WIRE_WELCOME] = { "WELCOME", ON_CONTROL | ON_DATA | OUT_OF_PASS, WIRE_LEAST_HELLO_BYTES,
			   WIRE_MOST_HELLO_BYTES },
	[WIRE_PLAN] = { "PLAN", ON_CONTROL | OUT_OF_PASS, WIRE_LEAST_PLAN_BYTES,
			WIRE_MAX_BODY_BYTES },
	[WIRE_ACCEPT] = { "ACCEPT", ON_CONTROL | OUT_OF_PASS, WIRE_LEAST_PLAN_BYTES,
			  WIRE_MAX_BODY_BYTES },
	[WIRE_READY] = { "READY", ON_CONTROL | OUT_OF_PASS, 0, 0 },
	[WIRE_PASS_BEGIN] = { "PASS_BEGIN", ON_CONTROL | IN_PASS, 0, 0 },
	[WIRE_DATA] = { "DATA", ON_DATA | IN_PASS | HAS_OFFSET | HAS_LIMIT, 1, MAX_NUMBER },
	[WIRE_SKIP] = { "SKIP", ON_DATA | IN_PASS, 0, 0 },
	[WIRE_PASS_LAST] = { "PASS_LAST", ON_DATA | IN_PASS, 0, 0 },
	[WIRE_PASS_STOP] = { "PASS_STOP", ON_CONTROL | IN_PASS, 0, 0 },
	[WIRE_PASS_END] = { "PASS_END", ON_CONTROL | IN_PASS, WIRE_PASS_BYTES,
			    WIRE_MOST_PASS_BYTES },
	[WIRE_PASS_RESULT] = { "PASS_RESULT", ON_CONTROL | IN_PASS, WIRE_PASS_BYTES,
			       WIRE_MOST_PASS_BYTES },
	[WIRE_ALIVE] = { "ALIVE", ON_CONTROL, 0, 0 },
	[WIRE_ERROR] = { "ERROR", ON_CONTROL | ON_DATA, WIRE_LEAST_ERROR_BYTES,
			 WIRE_MAX_ERROR_BYTES },
	[WIRE_BYE] = { "BYE", ON_CONTROL, 0, 0 },
	[WIRE_PROVE] = { "PROVE", ON_CONTROL | OUT_OF_PASS, WIRE_LEAST_PROVE_BYTES,
			 WIRE_MOST_PROVE_BYTES },
	[WIRE_SUMS] = { "SUMS", ON_CONTROL | OUT_OF_PASS, 0, WIRE_MOST_SUMS_BYTES },
	[WIRE_COPY_START] = { "COPY_START", COPY_CONTROL, 91, WIRE_MAX_BODY_BYTES },
	[WIRE_COPY_STARTED] = { "COPY_STARTED", COPY_CONTROL, 10, WIRE_MAX_HELLO_BYTES },
	[WIRE_COPY_MEET] = { "COPY_MEET", COPY_CONTROL, 9, WIRE_MAX_HELLO_BYTES * 4 },
	[WIRE_COPY_MET] = { "COPY_MET", COPY_CONTROL, 9, WIRE_MAX_HELLO_BYTES * 4 },
	[WIRE_COPY_BEGIN] = { "COPY_BEGIN", COPY_CONTROL, 0, 0 },
	[WIRE_COPY_OFFER] = { "COPY_OFFER", COPY_CONTROL, 1, WIRE_MAX_BODY_BYTES },
	[WIRE_COPY_WANT] = { "COPY_WANT", COPY_CONTROL, 16, WIRE_MAX_BODY_BYTES },
	[WIRE_COPY_RESULT] = { "COPY_RESULT", COPY_CONTROL, 8, WIRE_MAX_BODY_BYTES },
	[WIRE_COPY_BLOCK] = { "COPY_BLOCK", ON_DATA | HAS_OFFSET | HAS_LIMIT, 1, MAX_NUMBER },
	[WIRE_COPY_BUNDLE] = { "COPY_BUNDLE", COPY_DATA | HAS_LIMIT, 16, MAX_NUMBER },
	[WIRE_COPY_SUMS] = { "COPY_SUMS", COPY_DATA | HAS_LIMIT, 48, MAX_NUMBER },
	[WIRE_COPY_FILE_END] = { "COPY_FILE_END", COPY_DATA, 28, WIRE_MAX_ERROR_BYTES + 24 },
	[WIRE_COPY_FAILURE] = { "COPY_FAILURE", COPY_CONTROL, 19, WIRE_MAX_NAME_BYTES * 2 },
	[WIRE_COPY_COUNTS] = { "COPY_COUNTS", COPY_CONTROL, WIRE_COUNTS_BYTES, WIRE_COUNTS_BYTES },
	[WIRE_COPY_CANCEL] = { "COPY_CANCEL", COPY_CONTROL, WIRE_LEAST_ERROR_BYTES,
			       WIRE_MAX_ERROR_BYTES },
	[WIRE_COPY_FINISH] = { "COPY_FINISH", COPY_CONTROL, WIRE_COUNTS_BYTES, WIRE_COUNTS_BYTES },
	[WIRE_COPY_FINISHED] = { "COPY_FINISHED", COPY_CONTROL, WIRE_COUNTS_BYTES,
				 WIRE_COUNTS_BYTES },
};

const char *wire_type_name(enum wire_type type)
{
	if ((unsigned)type >= WIRE_TYPES || !types[type].name)
		return "unknown";
	return types[type].name;
}

const char *wire_fault_text(enum wire_fault fault)
{
	static const char *const texts[] = {
		[WIRE_OK] = "a valid message",
		[WIRE_BAD_MAGIC] = "bytes that are no message of xdd",
		[WIRE_BAD_VERSION] = "a message of another version of the protocol",
		[WIRE_BAD_CHECKSUM] = "a header with a wrong checksum",
		[WIRE_BAD_CODE] = "a message with a wrong authentication code",
		[WIRE_BAD_TYPE] = "a message of an unknown type",
		[WIRE_BAD_FIELD] = "a message with a field out of range",
		[WIRE_BAD_LENGTH] = "a message with a length out of range",
		[WIRE_BAD_BODY] = "a message whose contents are malformed",
		[WIRE_BAD_DATA] = "data with a wrong checksum",
	};

	if ((size_t)fault >= sizeof(texts) / sizeof(texts[0]))
		return "an unknown fault";
	return texts[fault];
}

void wire_encode(const struct wire_header *h, struct wire_key *key, uint8_t out[WIRE_HEADER_BYTES])
{
	struct encoder e = enc_begin(out, WIRE_HEADER_BYTES);

	enc_put(&e, 4, WIRE_MAGIC);
	enc_put(&e, 2, WIRE_VERSION);
	enc_put(&e, 2, h->type);
	enc_put(&e, 4, h->target);
	enc_put(&e, 4, h->connection);
	enc_put(&e, 4, h->pass);
	enc_zeros(&e, 4);
	enc_put(&e, 8, h->length);
	enc_put(&e, 8, h->sequence);
	enc_put(&e, 8, h->offset);
	enc_put(&e, 8, h->digest.low);
	enc_put(&e, 8, h->digest.high);
	enc_zeros(&e, WIRE_CODE_BYTES);
	enc_zeros(&e, 8);
	/* Zeros when the library fails: the peer refuses them. */
	if (key && !wire_key_code(key, out, AT_CODE, out + AT_CODE))
		memset(out + AT_CODE, 0, WIRE_CODE_BYTES);
	enc_put(&e, 8, digest_short(out, AT_CHECKSUM));
}

static bool code_is_right(const uint8_t *in, struct wire_key *key)
{
	struct decoder d = dec_begin(in + AT_CODE, WIRE_CODE_BYTES);

	if (key)
		return wire_key_check(key, in, AT_CODE, in + AT_CODE);
	dec_zeros(&d, WIRE_CODE_BYTES);
	return !d.bad;
}

static bool fields_are_right(const struct wire_header *h, unsigned rules)
{
	unsigned where = h->connection == WIRE_NO_CONNECTION ? ON_CONTROL : ON_DATA;

	if (!(rules & where) || (where == ON_DATA && h->connection >= WIRE_MAX_CONNECTIONS))
		return false;
	if (h->pass ? rules & OUT_OF_PASS : rules & IN_PASS)
		return false;
	if (h->sequence > MAX_NUMBER || h->offset > MAX_NUMBER)
		return false;
	if (h->offset && !(rules & HAS_OFFSET))
		return false;
	return h->length || !(h->digest.low | h->digest.high);
}

static enum wire_fault check_fields(const struct wire_header *h, uint64_t max_data)
{
	const struct type_row *row;

	if ((unsigned)h->type >= WIRE_TYPES || !types[h->type].name)
		return WIRE_BAD_TYPE;
	row = &types[h->type];
	if (h->length < row->least_bytes || h->length > row->most_bytes)
		return WIRE_BAD_LENGTH;
	if ((row->rules & HAS_LIMIT) && h->length > max_data)
		return WIRE_BAD_LENGTH;
	if (!fields_are_right(h, row->rules))
		return WIRE_BAD_FIELD;
	/* Both are at most 2^63 - 1: the sum does not overflow. */
	return h->offset + h->length > MAX_NUMBER ? WIRE_BAD_FIELD : WIRE_OK;
}

/* Check what all versions have in common, and the version. */
static enum wire_fault check_frame(const uint8_t in[WIRE_HEADER_BYTES], unsigned *version)
{
	unsigned found = (unsigned)bytes_get(in + AT_VERSION, 2);

	if (bytes_get(in + AT_MAGIC, 4) != WIRE_MAGIC)
		return WIRE_BAD_MAGIC;
	if (bytes_get(in + AT_CHECKSUM, 8) != digest_short(in, AT_CHECKSUM))
		return WIRE_BAD_CHECKSUM;
	if (found == WIRE_VERSION)
		return WIRE_OK;
	if (version)
		*version = found;
	return WIRE_BAD_VERSION;
}

static enum wire_fault decode_fields(const uint8_t in[WIRE_HEADER_BYTES], uint64_t max_data,
				     struct wire_header *h)
{
	struct decoder d = dec_begin(in + AT_TYPE, WIRE_HEADER_BYTES - AT_TYPE);
	struct wire_header read = { .type = (enum wire_type)dec_get(&d, 2) };
	enum wire_fault fault;
	uint64_t zeros;

	read.target = (uint32_t)dec_get(&d, 4);
	read.connection = (uint32_t)dec_get(&d, 4);
	read.pass = (uint32_t)dec_get(&d, 4);
	zeros = dec_get(&d, 4);
	read.length = dec_get(&d, 8);
	read.sequence = dec_get(&d, 8);
	read.offset = dec_get(&d, 8);
	read.digest.low = dec_get(&d, 8);
	read.digest.high = dec_get(&d, 8);
	dec_take(&d, WIRE_CODE_BYTES);
	zeros |= dec_get(&d, 8);
	fault = check_fields(&read, max_data);
	if (fault)
		return fault;
	if (zeros)
		return WIRE_BAD_FIELD;
	*h = read;
	return WIRE_OK;
}

enum wire_fault wire_decode(const uint8_t in[WIRE_HEADER_BYTES], struct wire_key *key,
			    uint64_t max_data, struct wire_header *h, unsigned *version)
{
	enum wire_fault fault = check_frame(in, version);

	if (fault)
		return fault;
	return code_is_right(in, key) ? decode_fields(in, max_data, h) : WIRE_BAD_CODE;
}

enum wire_fault wire_decode_first(const uint8_t in[WIRE_HEADER_BYTES], struct wire_header *h,
				  unsigned *version)
{
	enum wire_fault fault = check_frame(in, version);
	struct wire_header read;

	if (!fault)
		fault = decode_fields(in, 0, &read);
	if (fault)
		return fault;
	if (read.type != WIRE_HELLO)
		return WIRE_BAD_TYPE;
	*h = read;
	return WIRE_OK;
}

enum wire_fault wire_check_body(const struct wire_header *h, const void *body)
{
	struct digest found = digest_data(body, (size_t)h->length);

	return digest_equal(found, h->digest) ? WIRE_OK : WIRE_BAD_DATA;
}

/*
 * ---- digests ----
 *
 * From the library xxHash; without it a stand-in that says so.
 */

#ifdef HAVE_XXHASH

/* This header replaces the functions of xxhash.h by those that choose instructions at run time. */
#ifdef HAVE_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

bool digest_available(const char **why)
{
	(void)why;
	return true;
}

static struct digest of_library(XXH128_hash_t h)
{
	return (struct digest){ .low = h.low64, .high = h.high64 };
}

static struct digest hash(const void *data, size_t size)
{
	return of_library(XXH3_128bits(data, size));
}

uint64_t digest_short(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

struct digest_stream {
	XXH3_state_t *state;
	bool empty;
};

struct digest_stream *digest_stream_new(void)
{
	struct digest_stream *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	s->state = XXH3_createState();
	if (!s->state) {
		free(s);
		return NULL;
	}
	digest_stream_start(s);
	return s;
}

void digest_stream_free(struct digest_stream *s)
{
	if (!s)
		return;
	XXH3_freeState(s->state);
	free(s);
}

void digest_stream_start(struct digest_stream *s)
{
	XXH3_128bits_reset(s->state);
	s->empty = true;
}

void digest_stream_add(struct digest_stream *s, const void *data, size_t size)
{
	if (!size)
		return;
	XXH3_128bits_update(s->state, data, size);
	s->empty = false;
}

struct digest digest_stream_end(const struct digest_stream *s)
{
	return s->empty ? (struct digest){ 0 } : of_library(XXH3_128bits_digest(s->state));
}

#else

bool digest_available(const char **why)
{
	*why = "this xdd was built without the library xxHash";
	return false;
}

static struct digest hash(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return (struct digest){ 0 };
}

uint64_t digest_short(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return 0;
}

/* No stream is ever made. */
struct digest_stream *digest_stream_new(void)
{
	return NULL;
}

void digest_stream_free(struct digest_stream *s)
{
	(void)s;
}

void digest_stream_start(struct digest_stream *s)
{
	(void)s;
}

void digest_stream_add(struct digest_stream *s, const void *data, size_t size)
{
	(void)s;
	(void)data;
	(void)size;
}

struct digest digest_stream_end(const struct digest_stream *s)
{
	(void)s;
	return (struct digest){ 0 };
}

#endif

struct digest digest_data(const void *data, size_t size)
{
	return size ? hash(data, size) : (struct digest){ 0 };
}

void digest_join(struct digest *sum, struct digest from)
{
	uint128 total =
		((uint128)sum->high << 64 | sum->low) + ((uint128)from.high << 64 | from.low);

	sum->low = (uint64_t)total;
	sum->high = (uint64_t)(total >> 64);
}

void digest_add(struct digest *sum, uint64_t offset, uint64_t length, struct digest data)
{
	uint8_t block[32];

	bytes_put(block, 8, offset);
	bytes_put(block + 8, 8, length);
	bytes_put(block + 16, 8, data.low);
	bytes_put(block + 24, 8, data.high);
	digest_join(sum, hash(block, sizeof(block)));
}

char *digest_text(struct digest d, char buf[DIGEST_TEXT_SIZE])
{
	snprintf(buf, DIGEST_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64, d.high, d.low);
	return buf;
}
