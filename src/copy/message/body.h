/*
 * Reading and writing the fields of bodies. Private to src/copy/message; doc/wire.md has the
 * layouts.
 */
#ifndef COPY_MESSAGE_BODY_H
#define COPY_MESSAGE_BODY_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "copy/message/message.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"

/* A string has its length before it, with the NUL that it ends with. */
#define BODY_LENGTH_BYTES 2

/* ---- writing ---- */

/* The caller has checked that there is room. */
static inline uint8_t *put8(uint8_t *p, unsigned value)
{
	*p = (uint8_t)value;
	return p + 1;
}

static inline uint8_t *put16(uint8_t *p, unsigned value)
{
	uint16_t raw = htole16((uint16_t)value);

	memcpy(p, &raw, sizeof(raw));
	return p + sizeof(raw);
}

static inline uint8_t *put32(uint8_t *p, uint32_t value)
{
	uint32_t raw = htole32(value);

	memcpy(p, &raw, sizeof(raw));
	return p + sizeof(raw);
}

static inline uint8_t *put64(uint8_t *p, uint64_t value)
{
	uint64_t raw = htole64(value);

	memcpy(p, &raw, sizeof(raw));
	return p + sizeof(raw);
}

static inline uint8_t *put_bytes(uint8_t *p, const void *data, size_t n)
{
	if (n)
		memcpy(p, data, n);
	return p + n;
}

/* The bytes of a string that is cut to `size` bytes with its NUL. NULL is "". */
static inline size_t string_bytes(const char *s, size_t size)
{
	return (s ? strnlen(s, size - 1) : 0) + 1;
}

/* `n` from string_bytes(). */
static inline uint8_t *put_string(uint8_t *p, const char *s, size_t n)
{
	p = put16(p, (unsigned)n);
	p = put_bytes(p, s, n - 1);
	return put8(p, 0);
}

/* As put_string(), for display: bytes that body_get_text() refuses become question marks. */
static inline uint8_t *put_text(uint8_t *p, const char *s, size_t n)
{
	char *text = (char *)p + BODY_LENGTH_BYTES;

	p = put_string(p, s, n);
	printable_mask(text);
	return p;
}

/* ---- reading ---- */

static inline unsigned get16(const uint8_t *p)
{
	uint16_t raw;

	memcpy(&raw, p, sizeof(raw));
	return le16toh(raw);
}

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t raw;

	memcpy(&raw, p, sizeof(raw));
	return le32toh(raw);
}

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t raw;

	memcpy(&raw, p, sizeof(raw));
	return le64toh(raw);
}

/* The rest of a body. After a fault all reads yield zero. */
struct body {
	const uint8_t *at, *end;
	bool bad;
};

static inline const uint8_t *body_take(struct body *b, size_t n)
{
	const uint8_t *p = b->at;

	if (b->bad || n > (size_t)(b->end - b->at)) {
		b->bad = true;
		return NULL;
	}
	b->at += n;
	return p;
}

static inline unsigned body_get8(struct body *b)
{
	const uint8_t *p = body_take(b, 1);

	return p ? *p : 0;
}

static inline unsigned body_get16(struct body *b)
{
	const uint8_t *p = body_take(b, 2);

	return p ? get16(p) : 0;
}

static inline uint32_t body_get32(struct body *b)
{
	const uint8_t *p = body_take(b, 4);

	return p ? get32(p) : 0;
}

static inline uint64_t body_get64(struct body *b)
{
	const uint8_t *p = body_take(b, 8);

	return p ? get64(p) : 0;
}

/* A number that fits a signed one. */
static inline uint64_t body_get_amount(struct body *b)
{
	uint64_t value = body_get64(b);

	if (value > (uint64_t)INT64_MAX)
		b->bad = true;
	return value;
}

static inline bool body_get_bool(struct body *b)
{
	unsigned value = body_get8(b);

	if (value > 1)
		b->bad = true;
	return value == 1;
}

static inline void body_get_bytes(struct body *b, void *out, size_t n)
{
	const uint8_t *p = body_take(b, n);

	if (p)
		memcpy(out, p, n);
}

/* True if of `n` bytes the last one, and no other, is NUL. */
static inline bool is_string(const uint8_t *p, size_t n)
{
	return n && memchr(p, '\0', n) == p + n - 1;
}

/* A string of `least` to `most` bytes with its NUL. In the body; "" after a fault. */
static inline const char *body_get_string(struct body *b, size_t least, size_t most)
{
	size_t n = body_get16(b);
	const uint8_t *p = n >= least && n <= most ? body_take(b, n) : NULL;

	if (p && is_string(p, n))
		return (const char *)p;
	b->bad = true;
	return "";
}

/* As body_get_string(), for display, as a copy in `out` of `size` bytes. */
static inline void body_get_text(struct body *b, size_t least, char *out, size_t size)
{
	const char *s = body_get_string(b, least, size);

	if (!printable_is_safe(s))
		b->bad = true;
	memcpy(out, s, b->bad ? 1 : strlen(s) + 1);
	if (b->bad)
		*out = '\0';
}

/* An exit status of a copy, or 0. */
static inline bool is_status(uint32_t status)
{
	return status <= XDD_MISCOMPARE ||
	       (status >= COPY_BAD_ARGUMENTS && status <= COPY_NOT_WRITABLE);
}

static inline uint32_t body_get_status(struct body *b)
{
	uint32_t status = body_get32(b);

	if (!is_status(status))
		b->bad = true;
	return status;
}

static inline uint64_t body_get_id(struct body *b)
{
	uint64_t id = body_get64(b);

	if (!id || id > COPY_MAX_ID)
		b->bad = true;
	return id;
}

static inline enum wire_fault body_end(const struct body *b)
{
	return b->bad || b->at != b->end ? WIRE_BAD_BODY : WIRE_OK;
}

#endif
