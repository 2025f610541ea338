/*
 * Bodies of messages: encoders, and decoders with a limit for each field. Called by sessions and by
 * the listener; the layouts are those of doc/wire.md.
 */
#include "net/wire_body.h"

#include <string.h>

#include "xdd/base/bytes.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"

/* ---- writing ---- */

static uint8_t *put(uint8_t *p, unsigned n, uint64_t value)
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

	p = put(p, 4, length + 1);
	p = put_bytes(p, name, length);
	return put(p, 1, 0);
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

	p = put(p, 4, b->purpose);
	p = put(p, 4, b->flags);
	p = put_bytes(p, b->session, sizeof(b->session));
	return (size_t)(put_text(p, b->software, sizeof(b->software)) - out);
}

static uint8_t *put_ranges(uint8_t *p, const struct wire_range *ranges, size_t n)
{
	p = put(p, 4, n);
	for (size_t i = 0; i < n; i++) {
		p = put(p, 8, ranges[i].first);
		p = put(p, 8, ranges[i].count);
	}
	return p;
}

size_t wire_encode_plan(const struct wire_plan *b, const struct wire_range *ranges, size_t n,
			uint8_t *out)
{
	uint8_t *p = put_bytes(out, b->run, sizeof(b->run));

	p = put(p, 8, b->req_bytes);
	p = put(p, 8, b->bytes);
	p = put(p, 8, b->ops);
	p = put(p, 8, b->passes);
	p = put(p, 4, b->connections);
	p = put(p, 4, b->flags);
	p = put(p, 8, b->final_bytes);
	p = put(p, 8, b->start_bytes);
	p = put(p, 8, b->size_bytes);
	p = put(p, 8, (uint64_t)b->mtime_ns);
	p = put(p, 8, (uint64_t)b->ctime_ns);
	p = put(p, 8, b->device);
	p = put(p, 8, b->inode);
	p = put(p, 8, b->pattern);
	p = put(p, 8, b->skipped_bytes);
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
	p = put(p, 8, b->id);
	p = put(p, 8, b->offset_bytes);
	p = put(p, 8, b->end_bytes);
	p = put(p, 4, b->block_bytes);
	p = put(p, 4, b->n);
	if (b->digests != p)
		memmove(p, b->digests, b->n * WIRE_SUM_BYTES);
	return WIRE_SUMS_FIXED_BYTES + b->n * WIRE_SUM_BYTES;
}

void wire_put_sum(struct digest d, uint8_t out[WIRE_SUM_BYTES])
{
	put(put(out, 8, d.low), 8, d.high);
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
		p = put(p, 8, fields[i]);
	if (*b->error)
		p = put_text(p, b->error, sizeof(b->error));
	return (size_t)(p - out);
}

size_t wire_encode_error(const struct wire_error *b, uint8_t *out)
{
	uint8_t *p = put(out, 4, b->status);

	return (size_t)(put_text(p, b->text, sizeof(b->text)) - out);
}

/* ---- reading ---- */

/* The rest of a body. After a fault all reads yield zero. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static const uint8_t *take(struct cursor *c, size_t n)
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

static uint64_t get(struct cursor *c, unsigned n)
{
	const uint8_t *p = take(c, n);

	return p ? bytes_get(p, n) : 0;
}

static uint32_t get32(struct cursor *c)
{
	return (uint32_t)get(c, 4);
}

/* A number that fits a signed one. */
static uint64_t get_amount(struct cursor *c)
{
	uint64_t value = get(c, 8);

	if (value > (uint64_t)INT64_MAX)
		c->bad = true;
	return value;
}

static uint64_t get_amount_or_none(struct cursor *c)
{
	uint64_t value = get(c, 8);

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
	const uint8_t *p = take(c, n);

	if (p)
		memcpy(out, p, n);
}

/* A text of `n` bytes, of which the last one and no other is NUL, into `out` of `size` bytes. */
static void get_string(struct cursor *c, char *out, size_t size, size_t n)
{
	const uint8_t *p = n >= 1 && n <= size ? take(c, n) : NULL;

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
	b->mtime_ns = (int64_t)get(c, 8);
	b->ctime_ns = (int64_t)get(c, 8);
	b->device = get(c, 8);
	b->inode = get(c, 8);
	b->pattern = get(c, 8);
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
	b->digests = take(&c, b->n * WIRE_SUM_BYTES);
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
	b->digest.low = get(&c, 8);
	b->digest.high = get(&c, 8);
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
