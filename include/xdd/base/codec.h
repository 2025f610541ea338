/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of wire and file formats: whole numbers and texts, written and read one after another with
 * a limit, and a checksum. All formats use it. Pure functions; any thread.
 */
#ifndef XDD_BASE_CODEC_H
#define XDD_BASE_CODEC_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Whole numbers, little-endian, at any address: for layouts of a fixed length.
 */

/* Store the low `n` bytes (1 to 8) of `value` at `p`. */
static inline void bytes_put(void *p, unsigned n, uint64_t value)
{
	uint64_t raw = htole64(value);

	memcpy(p, &raw, n);
}

/* The number in the `n` bytes (1 to 8) at `p`. */
static inline uint64_t bytes_get(const void *p, unsigned n)
{
	uint64_t raw = 0;

	memcpy(&raw, p, n);
	return le64toh(raw);
}

/* The signed number, in two's complement, in the `n` bytes (1 to 8) at `p`. */
static inline int64_t bytes_get_signed(const void *p, unsigned n)
{
	unsigned spare = 64 - 8 * n;

	return (int64_t)(bytes_get(p, n) << spare) >> spare;
}

/*
 * An encoder writes fields into a buffer of limited size. Once a field does not fit, or the caller
 * has set `bad`, nothing more is written, and the result has no bytes.
 */
struct encoder {
	uint8_t *out;
	size_t used, room;
	bool bad;
};

static inline struct encoder enc_begin(void *out, size_t room)
{
	return (struct encoder){ out, 0, room, false };
}

/* Bytes written so far; 0 after a fault. */
static inline size_t enc_end(const struct encoder *e)
{
	return e->bad ? 0 : e->used;
}

/* Room for the next `n` bytes, which the caller writes; NULL: they do not fit. */
static inline uint8_t *enc_room(struct encoder *e, size_t n)
{
	if (e->bad || n > e->room - e->used) {
		e->bad = true;
		return NULL;
	}
	e->used += n;
	return e->out + e->used - n;
}

/* The low `n` bytes (1 to 8) of `value`. */
static inline void enc_put(struct encoder *e, unsigned n, uint64_t value)
{
	uint8_t *p = enc_room(e, n);

	if (p)
		bytes_put(p, n, value);
}

/* `data` may be NULL if `n` is 0. */
static inline void enc_bytes(struct encoder *e, const void *data, size_t n)
{
	uint8_t *p = enc_room(e, n);

	if (p && n)
		memcpy(p, data, n);
}

static inline void enc_zeros(struct encoder *e, size_t n)
{
	uint8_t *p = enc_room(e, n);

	if (p && n)
		memset(p, 0, n);
}

/* The bytes of a text that is cut to `size` bytes with its NUL. NULL is "". */
static inline size_t text_bytes(const char *s, size_t size)
{
	return (s ? strnlen(s, size - 1) : 0) + 1;
}

/* A text of `n` bytes, its NUL included, of text_bytes(). */
void enc_text(struct encoder *e, const char *s, size_t n);

/* As enc_text(), for display: bytes that dec_shown() refuses become question marks. */
void enc_shown(struct encoder *e, const char *s, size_t n);

/*
 * A decoder reads fields. Once one is not there or out of range, or the caller has set `bad`, all
 * numbers are 0 and all texts "".
 */
struct decoder {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct decoder dec_begin(const void *data, size_t size)
{
	const uint8_t *p = data;

	return (struct decoder){ p, p + size, false };
}

/* True if all was read, without a fault. */
static inline bool dec_end(const struct decoder *d)
{
	return !d->bad && d->at == d->end;
}

static inline size_t dec_left(const struct decoder *d)
{
	return (size_t)(d->end - d->at);
}

/* The next `n` bytes; NULL: they are not there. */
static inline const uint8_t *dec_take(struct decoder *d, size_t n)
{
	const uint8_t *p = d->at;

	if (d->bad || n > dec_left(d)) {
		d->bad = true;
		return NULL;
	}
	d->at += n;
	return p;
}

/* A number of `n` bytes (1 to 8). */
static inline uint64_t dec_get(struct decoder *d, unsigned n)
{
	const uint8_t *p = dec_take(d, n);

	return p ? bytes_get(p, n) : 0;
}

/* A number of `n` bytes that is `most` or less. */
static inline uint64_t dec_at_most(struct decoder *d, unsigned n, uint64_t most)
{
	uint64_t value = dec_get(d, n);

	if (value <= most)
		return value;
	d->bad = true;
	return 0;
}

/* A number of 8 bytes that fits a signed one. */
static inline uint64_t dec_amount(struct decoder *d)
{
	return dec_at_most(d, 8, INT64_MAX);
}

/* Bits in `n` bytes, all of them of `known`. */
static inline uint32_t dec_flags(struct decoder *d, unsigned n, uint32_t known)
{
	uint32_t flags = (uint32_t)dec_get(d, n);

	if (!(flags & ~known))
		return flags;
	d->bad = true;
	return 0;
}

/* Copy the next `n` bytes to `out`, which stays as it is after a fault. */
static inline void dec_bytes(struct decoder *d, void *out, size_t n)
{
	const uint8_t *p = dec_take(d, n);

	if (p && n)
		memcpy(out, p, n);
}

/* `n` zeros. */
void dec_zeros(struct decoder *d, size_t n);

/*
 * A text of `n` bytes, `least` (at least 1) to `most`, of which the last one, and no other, is NUL.
 * It stays in the input.
 */
const char *dec_text(struct decoder *d, size_t n, size_t least, size_t most);

/* A text of `n` bytes that may be printed, copied to `out` of `size` bytes; "" after a fault. */
void dec_shown(struct decoder *d, size_t n, char *out, size_t size);

/*
 * CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected, as in RFC 3720 B.4), the checksum of dumps,
 * journals and time messages.
 */
uint32_t crc32c(const void *data, size_t size);

#endif
