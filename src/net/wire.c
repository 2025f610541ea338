/*
 * Headers of messages: layout, limits of each type, and checks. Called by connections; doc/wire.md
 * has the layout.
 *
 * A header is decoded in this order: magic, checksum, version, code, fields. All versions have
 * magic, version and checksum at the offsets of this one, so an unknown version is told from a
 * corrupt header.
 */
#include "xdd/net/wire.h"

#include <string.h>

#include "net/wire_body.h"
#include "net/wire_key.h"
#include "xdd/base/bytes.h"

/* Offsets in a header. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_TYPE = 6,
	AT_TARGET = 8,
	AT_CONNECTION = 12,
	AT_PASS = 16,
	AT_ZERO_1 = 20,
	AT_LENGTH = 24,
	AT_SEQUENCE = 32,
	AT_OFFSET = 40,
	AT_DIGEST = 48,
	AT_CODE = 64, /* of all bytes before it */
	AT_ZERO_2 = 80,
	AT_CHECKSUM = 88, /* of all bytes before it */
};

_Static_assert(AT_CODE + WIRE_CODE_BYTES == AT_ZERO_2, "the code fits");
_Static_assert(AT_CHECKSUM + 8 == WIRE_HEADER_BYTES, "the header has its size");

/* Offsets, lengths and operation numbers fit a signed number, as offsets in files do. */
#define MAX_NUMBER ((uint64_t)INT64_MAX)

enum {
	ON_CONTROL = 1 << 0,
	ON_DATA = 1 << 1,
	IN_PASS = 1 << 2,     /* `pass` is not 0 */
	OUT_OF_PASS = 1 << 3, /* `pass` is 0 */
	HAS_OFFSET = 1 << 4,
	HAS_LIMIT = 1 << 5, /* the caller has that of the body */
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
	memset(out, 0, WIRE_HEADER_BYTES);
	bytes_put(out + AT_MAGIC, 4, WIRE_MAGIC);
	bytes_put(out + AT_VERSION, 2, WIRE_VERSION);
	bytes_put(out + AT_TYPE, 2, h->type);
	bytes_put(out + AT_TARGET, 4, h->target);
	bytes_put(out + AT_CONNECTION, 4, h->connection);
	bytes_put(out + AT_PASS, 4, h->pass);
	bytes_put(out + AT_LENGTH, 8, h->length);
	bytes_put(out + AT_SEQUENCE, 8, h->sequence);
	bytes_put(out + AT_OFFSET, 8, h->offset);
	bytes_put(out + AT_DIGEST, 8, h->digest.low);
	bytes_put(out + AT_DIGEST + 8, 8, h->digest.high);
	/* Zeros when the library fails: the peer refuses them. */
	if (key && !wire_key_code(key, out, AT_CODE, out + AT_CODE))
		memset(out + AT_CODE, 0, WIRE_CODE_BYTES);
	bytes_put(out + AT_CHECKSUM, 8, digest_short(out, AT_CHECKSUM));
}

static bool is_zero(const uint8_t *p, size_t n)
{
	uint8_t any = 0;

	while (n--)
		any |= *p++;
	return !any;
}

static bool code_is_right(const uint8_t *in, struct wire_key *key)
{
	if (!key)
		return is_zero(in + AT_CODE, WIRE_CODE_BYTES);
	return wire_key_check(key, in, AT_CODE, in + AT_CODE);
}

static void read_fields(const uint8_t *in, struct wire_header *h)
{
	h->type = (enum wire_type)bytes_get(in + AT_TYPE, 2);
	h->target = (uint32_t)bytes_get(in + AT_TARGET, 4);
	h->connection = (uint32_t)bytes_get(in + AT_CONNECTION, 4);
	h->pass = (uint32_t)bytes_get(in + AT_PASS, 4);
	h->length = bytes_get(in + AT_LENGTH, 8);
	h->sequence = bytes_get(in + AT_SEQUENCE, 8);
	h->offset = bytes_get(in + AT_OFFSET, 8);
	h->digest.low = bytes_get(in + AT_DIGEST, 8);
	h->digest.high = bytes_get(in + AT_DIGEST + 8, 8);
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
	struct wire_header read;
	enum wire_fault fault;

	read_fields(in, &read);
	fault = check_fields(&read, max_data);
	if (fault)
		return fault;
	if (!is_zero(in + AT_ZERO_1, 4) || !is_zero(in + AT_ZERO_2, 8))
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
