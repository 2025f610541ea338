/*
 * Messages: headers with their layout, limits of each type and checks, and bodies, with encoders,
 * and decoders with a limit for each field. Called by connections, sessions and the listener;
 * doc/wire.md has the layouts.
 *
 * A header is decoded in this order: magic, checksum, version, code, fields. All versions have
 * magic, version and checksum at the offsets of this one, so an unknown version is told from a
 * corrupt header.
 */
#include "xdd/net/wire.h"

#include <string.h>

#include "net/wire_body.h"
#include "xdd/base/bytes.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"

/* ---- writing ---- */

static uint8_t *wire_body_put(uint8_t *p, unsigned n, uint64_t value)
{
	bytes_put(p, n, value);
	return p + n;
}

static uint8_t *put_bytes(uint8_t *p, const void *data, size_t n)
{
	memcpy(p, data, n);
	return p + n;
}

/* A name of at most `size` bytes with its NUL, after its length. */
static uint8_t *put_name(uint8_t *p, const char *name, size_t size)
{
	size_t length = strnlen(name, size - 1);

	p = wire_body_put(p, 4, length + 1);
	p = put_bytes(p, name, length);
	return wire_body_put(p, 1, 0);
}

/* A text of at most `size` bytes with its NUL, which ends the body. */
static uint8_t *put_text(uint8_t *p, const char *text, size_t size)
{
	size_t length = strnlen(text, size - 1);
	char *out = (char *)p;

	memcpy(out, text, length);
	out[length] = '\0';
	printable_mask(out);
	return p + length + 1;
}

size_t wire_encode_hello(const struct wire_hello *b, uint8_t *out)
{
	uint8_t *p = out;

	p = wire_body_put(p, 4, b->purpose);
	p = wire_body_put(p, 4, b->flags);
	p = put_bytes(p, b->session, sizeof(b->session));
	return (size_t)(put_text(p, b->software, sizeof(b->software)) - out);
}

static uint8_t *put_ranges(uint8_t *p, const struct wire_range *ranges, size_t n)
{
	p = wire_body_put(p, 4, n);
	for (size_t i = 0; i < n; i++) {
		p = wire_body_put(p, 8, ranges[i].first);
		p = wire_body_put(p, 8, ranges[i].count);
	}
	return p;
}

size_t wire_encode_plan(const struct wire_plan *b, const struct wire_range *ranges, size_t n,
			uint8_t *out)
{
	uint8_t *p = put_bytes(out, b->run, sizeof(b->run));

	p = wire_body_put(p, 8, b->req_bytes);
	p = wire_body_put(p, 8, b->bytes);
	p = wire_body_put(p, 8, b->ops);
	p = wire_body_put(p, 8, b->passes);
	p = wire_body_put(p, 4, b->connections);
	p = wire_body_put(p, 4, b->flags);
	p = wire_body_put(p, 8, b->final_bytes);
	p = wire_body_put(p, 8, b->start_bytes);
	p = wire_body_put(p, 8, b->size_bytes);
	p = wire_body_put(p, 8, (uint64_t)b->mtime_ns);
	p = wire_body_put(p, 8, (uint64_t)b->ctime_ns);
	p = wire_body_put(p, 8, b->device);
	p = wire_body_put(p, 8, b->inode);
	p = wire_body_put(p, 8, b->pattern);
	p = wire_body_put(p, 8, b->skipped_bytes);
	p = put_name(p, b->host, sizeof(b->host));
	p = put_name(p, b->name, sizeof(b->name));
	return (size_t)(put_ranges(p, ranges, n) - out);
}

size_t wire_encode_prove(const struct wire_range *ranges, size_t n, uint8_t *out)
{
	return (size_t)(put_ranges(out, ranges, n) - out);
}

size_t wire_encode_sums(const struct wire_sums *b, uint8_t *out, size_t room)
{
	uint8_t *p = out;

	if (room < WIRE_SUMS_FIXED_BYTES || b->n > (room - WIRE_SUMS_FIXED_BYTES) / WIRE_SUM_BYTES)
		return 0;
	p = wire_body_put(p, 8, b->id);
	p = wire_body_put(p, 8, b->offset_bytes);
	p = wire_body_put(p, 8, b->end_bytes);
	p = wire_body_put(p, 4, b->block_bytes);
	p = wire_body_put(p, 4, b->n);
	if (b->digests != p)
		memmove(p, b->digests, b->n * WIRE_SUM_BYTES);
	return WIRE_SUMS_FIXED_BYTES + b->n * WIRE_SUM_BYTES;
}

void wire_put_sum(struct digest d, uint8_t out[WIRE_SUM_BYTES])
{
	wire_body_put(wire_body_put(out, 8, d.low), 8, d.high);
}

size_t wire_encode_pass(const struct wire_pass *b, uint8_t *out)
{
	const uint64_t fields[] = {
		b->ops,		  b->bytes,	    b->failed,	    b->digest.low, b->digest.high,
		b->elapsed_ns,	  b->storage_ns,    b->network_ns,  b->waiting_ns, b->checking_ns,
		b->first_read_ns, b->last_write_ns, b->retransmits, b->pace_ns,	   b->cpu_ns,
		b->cpu_wait_ns,	  b->quota_ns,	    b->transit_ns,
	};
	uint8_t *p = out;

	_Static_assert(sizeof(fields) == WIRE_PASS_BYTES, "all fields");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		p = wire_body_put(p, 8, fields[i]);
	if (*b->error)
		p = put_text(p, b->error, sizeof(b->error));
	return (size_t)(p - out);
}

size_t wire_encode_error(const struct wire_error *b, uint8_t *out)
{
	uint8_t *p = wire_body_put(out, 4, b->status);

	return (size_t)(put_text(p, b->text, sizeof(b->text)) - out);
}

/* ---- reading ---- */

/* The rest of a body. After a fault all reads yield zero. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static const uint8_t *wire_body_take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->at;

	if (c->bad || n > c->left) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	c->left -= n;
	return p;
}

static uint64_t wire_body_get(struct cursor *c, unsigned n)
{
	const uint8_t *p = wire_body_take(c, n);

	return p ? bytes_get(p, n) : 0;
}

static uint32_t get32(struct cursor *c)
{
	return (uint32_t)wire_body_get(c, 4);
}

/* A number that fits a signed one. */
static uint64_t get_amount(struct cursor *c)
{
	uint64_t value = wire_body_get(c, 8);

	if (value > (uint64_t)INT64_MAX)
		c->bad = true;
	return value;
}

static uint64_t get_amount_or_none(struct cursor *c)
{
	uint64_t value = wire_body_get(c, 8);

	if (value > (uint64_t)INT64_MAX && value != WIRE_NO_SIZE)
		c->bad = true;
	return value;
}

static uint32_t get_flags(struct cursor *c, uint32_t known)
{
	uint32_t flags = get32(c);

	if (flags & ~known)
		c->bad = true;
	return flags;
}

static void get_bytes(struct cursor *c, void *out, size_t n)
{
	const uint8_t *p = wire_body_take(c, n);

	if (p)
		memcpy(out, p, n);
}

/* A text of `n` bytes, of which the last one and no other is NUL, into `out` of `size` bytes. */
static void get_string(struct cursor *c, char *out, size_t size, size_t n)
{
	const uint8_t *p = n >= 1 && n <= size ? wire_body_take(c, n) : NULL;

	if (!p || memchr(p, '\0', n) != p + n - 1)
		c->bad = true;
	else
		memcpy(out, p, n);
}

static void get_name(struct cursor *c, char *out, size_t size)
{
	size_t n = get32(c);

	get_string(c, out, size, n);
}

/* The rest of the body. */
static void get_text(struct cursor *c, char *out, size_t size)
{
	get_string(c, out, size, c->left);
	if (!c->bad && !printable_is_safe(out))
		c->bad = true;
}

static enum wire_fault end(const struct cursor *c)
{
	return c->bad || c->left ? WIRE_BAD_BODY : WIRE_OK;
}

enum wire_fault wire_decode_hello(const uint8_t *body, size_t length, struct wire_hello *b)
{
	struct cursor c = { body, length, false };

	b->purpose = (enum wire_purpose)get32(&c);
	if (b->purpose != WIRE_CONTROL && b->purpose != WIRE_TRANSFER)
		c.bad = true;
	b->flags = get_flags(&c, WIRE_CAN_KEY | WIRE_CAN_ENCRYPT);
	get_bytes(&c, b->session, sizeof(b->session));
	get_text(&c, b->software, sizeof(b->software));
	return end(&c);
}

static void get_plan(struct cursor *c, struct wire_plan *b)
{
	get_bytes(c, b->run, sizeof(b->run));
	b->req_bytes = get_amount(c);
	b->bytes = get_amount_or_none(c);
	b->ops = get_amount_or_none(c);
	b->passes = get_amount(c);
	b->connections = get32(c);
	b->flags = get_flags(c, WIRE_CAN_KEY | WIRE_CAN_ENCRYPT | WIRE_RESUMES | WIRE_SERIAL);
	b->final_bytes = get_amount_or_none(c);
	b->start_bytes = get_amount(c);
	b->size_bytes = get_amount_or_none(c);
	b->mtime_ns = (int64_t)wire_body_get(c, 8);
	b->ctime_ns = (int64_t)wire_body_get(c, 8);
	b->device = wire_body_get(c, 8);
	b->inode = wire_body_get(c, 8);
	b->pattern = wire_body_get(c, 8);
	b->skipped_bytes = get_amount(c);
	if (!b->req_bytes || !b->passes || !b->connections || b->connections > WIRE_MAX_CONNECTIONS)
		c->bad = true;
	get_name(c, b->host, sizeof(b->host));
	get_name(c, b->name, sizeof(b->name));
}

/* Ascending, disjoint and not empty. */
static void get_ranges(struct cursor *c, struct wire_range *ranges, size_t n)
{
	uint64_t end_of_last = 0;

	for (size_t i = 0; i < n && !c->bad; i++) {
		ranges[i].first = get_amount(c);
		ranges[i].count = get_amount(c);
		if (c->bad || !ranges[i].count || ranges[i].first < end_of_last ||
		    ranges[i].count > (uint64_t)INT64_MAX - ranges[i].first)
			c->bad = true;
		else
			end_of_last = ranges[i].first + ranges[i].count;
	}
}

enum wire_fault wire_decode_plan(const uint8_t *body, size_t length, struct wire_plan *b,
				 struct wire_range *ranges, size_t *n)
{
	struct cursor c = { body, length, false };
	size_t count;

	get_plan(&c, b);
	count = get32(&c);
	if (count > (ranges ? WIRE_MAX_RANGES : 0))
		return WIRE_BAD_BODY;
	get_ranges(&c, ranges, count);
	if (n)
		*n = count;
	return end(&c);
}

enum wire_fault wire_decode_prove(const uint8_t *body, size_t length, struct wire_range *ranges,
				  size_t *n)
{
	struct cursor c = { body, length, false };
	uint64_t ops = 0;

	*n = get32(&c);
	if (c.bad || !*n || *n > WIRE_MAX_PROOF_OPS)
		return WIRE_BAD_BODY;
	get_ranges(&c, ranges, *n);
	/* The sum of so many counts may overflow; each count is checked before it is added. */
	for (size_t i = 0; i < *n && !c.bad; i++) {
		if (ranges[i].count > WIRE_MAX_PROOF_OPS - ops)
			return WIRE_BAD_BODY;
		ops += ranges[i].count;
	}
	return end(&c);
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
	struct cursor c = { body, length, false };

	b->id = get_amount(&c);
	b->offset_bytes = get_amount(&c);
	b->end_bytes = get_amount(&c);
	b->block_bytes = get32(&c);
	b->n = get32(&c);
	if (c.bad || !sums_are_right(b))
		return WIRE_BAD_BODY;
	b->digests = wire_body_take(&c, b->n * WIRE_SUM_BYTES);
	*used = length - c.left;
	return c.bad ? WIRE_BAD_BODY : WIRE_OK;
}

struct digest wire_sums_at(const struct wire_sums *b, size_t i)
{
	const uint8_t *p = b->digests + i * WIRE_SUM_BYTES;

	return (struct digest){ .low = bytes_get(p, 8), .high = bytes_get(p + 8, 8) };
}

enum wire_fault wire_decode_pass(const uint8_t *body, size_t length, struct wire_pass *b)
{
	struct cursor c = { body, length, false };

	b->ops = get_amount(&c);
	b->bytes = get_amount(&c);
	b->failed = get_amount(&c);
	b->digest.low = wire_body_get(&c, 8);
	b->digest.high = wire_body_get(&c, 8);
	b->elapsed_ns = get_amount(&c);
	b->storage_ns = get_amount(&c);
	b->network_ns = get_amount(&c);
	b->waiting_ns = get_amount(&c);
	b->checking_ns = get_amount(&c);
	b->first_read_ns = get_amount(&c);
	b->last_write_ns = get_amount(&c);
	b->retransmits = get_amount(&c);
	b->pace_ns = get_amount(&c);
	b->cpu_ns = get_amount(&c);
	b->cpu_wait_ns = get_amount(&c);
	b->quota_ns = get_amount(&c);
	b->transit_ns = get_amount(&c);
	memset(b->error, 0, sizeof(b->error));
	if (!c.left)
		return end(&c);
	get_text(&c, b->error, sizeof(b->error));
	/* Without a text there is no NUL either. */
	if (!*b->error)
		c.bad = true;
	return end(&c);
}

/* Copies of files have statuses of their own: "xdd/copy/copy.h", which is of a later layer. */
static bool is_status(uint32_t status)
{
	return status <= XDD_MISCOMPARE || (status > 100 && status <= 120);
}

enum wire_fault wire_decode_error(const uint8_t *body, size_t length, struct wire_error *b)
{
	struct cursor c = { body, length, false };

	b->status = get32(&c);
	if (b->status == XDD_OK || !is_status(b->status))
		c.bad = true;
	get_text(&c, b->text, sizeof(b->text));
	return end(&c);
}

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
