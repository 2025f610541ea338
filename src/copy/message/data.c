/*
 * Messages of data connections: BUNDLE, FILE_END and SUMS. Called by the data threads of both
 * roles; doc/wire.md has the layouts.
 */
#include "copy/message/body.h"

#define FILE_END_BYTES 28

/* ---- BUNDLE ---- */

void copy_bundle_head(uint64_t id, uint32_t size, uint32_t status, uint8_t out[16])
{
	put32(put32(put64(out, id), size), status);
}

void copy_bundle_cursor_init(struct copy_bundle_cursor *c, const uint8_t *body, size_t length)
{
	c->at = body;
	c->end = body + length;
}

static bool is_text(const uint8_t *p, size_t n)
{
	return n <= WIRE_MAX_TEXT_BYTES && is_string(p, n) && printable_is_safe((const char *)p);
}

static bool is_zero(const uint8_t *p, const uint8_t *end)
{
	unsigned any = 0;

	while (p < end)
		any |= *p++;
	return !any;
}

static bool take_file(struct copy_bundle_cursor *c, struct copy_bundle_file *f)
{
	size_t left = (size_t)(c->end - c->at), whole;

	if (left < COPY_BUNDLE_RECORD_BYTES)
		return false;
	f->id = get64(c->at);
	f->size = get32(c->at + 8);
	f->status = get32(c->at + 12);
	f->data = c->at + COPY_BUNDLE_RECORD_BYTES;
	whole = copy_bundle_bytes(f->size);
	if (!f->id || f->id > COPY_MAX_ID || f->size > COPY_SMALL_FILE_BYTES || whole > left ||
	    !is_status(f->status) || (f->status && !is_text(f->data, f->size)))
		return false;
	c->at += whole;
	return is_zero(f->data + f->size, c->at);
}

enum wire_fault copy_decode_bundle(struct copy_bundle_cursor *c, struct copy_bundle_file *f,
				   bool *more)
{
	*more = c->at != c->end;
	if (!*more || take_file(c, f))
		return WIRE_OK;
	*more = false;
	return WIRE_BAD_BODY;
}

/* ---- FILE_END ---- */

size_t copy_encode_file_end(const struct copy_file_end *b, uint8_t *out, size_t room)
{
	size_t text = b->status ? string_bytes(b->text, sizeof(b->text)) : 0;
	uint8_t *p = out;

	if (FILE_END_BYTES + text > room)
		return 0;
	p = put64(p, b->id);
	p = put64(p, b->messages);
	p = put64(p, b->bytes);
	p = put32(p, b->status);
	if (!text)
		return FILE_END_BYTES;
	put8(put_bytes(p, b->text, text - 1), 0);
	printable_mask((char *)p);
	return FILE_END_BYTES + text;
}

enum wire_fault copy_decode_file_end(const uint8_t *body, size_t length, struct copy_file_end *b)
{
	struct body c = { body, body + length, false };

	b->id = body_get_id(&c);
	b->messages = body_get_amount(&c);
	b->bytes = body_get_amount(&c);
	b->status = body_get_status(&c);
	*b->text = '\0';
	if (c.bad || !b->status)
		return body_end(&c);
	if (!is_text(c.at, (size_t)(c.end - c.at)))
		return WIRE_BAD_BODY;
	memcpy(b->text, c.at, (size_t)(c.end - c.at));
	return WIRE_OK;
}

/* ---- SUMS ---- */

enum wire_fault copy_decode_sums(const uint8_t *body, size_t length, struct wire_sums *b)
{
	size_t used;
	enum wire_fault fault = wire_decode_sums(body, length, b, &used);

	if (fault)
		return fault;
	if (used != length || !b->id || b->id > COPY_MAX_ID ||
	    b->block_bytes < COPY_MIN_BLOCK_BYTES || b->block_bytes > COPY_MAX_BLOCK_BYTES ||
	    b->offset_bytes % b->block_bytes)
		return WIRE_BAD_BODY;
	return WIRE_OK;
}
