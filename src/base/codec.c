/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of wire and file formats, and CRC-32C, eight bytes at a time by tables that are computed at
 * the first use; see the header.
 */
#include "xdd/base/codec.h"

#include <pthread.h>

#include "xdd/base/text.h"

void enc_text(struct encoder *e, const char *s, size_t n)
{
	enc_bytes(e, s, n - 1);
	enc_put(e, 1, 0);
}

void enc_shown(struct encoder *e, const char *s, size_t n)
{
	enc_text(e, s, n);
	if (!e->bad)
		printable_mask((char *)e->out + e->used - n);
}

void dec_zeros(struct decoder *d, size_t n)
{
	const uint8_t *p = dec_take(d, n);
	uint8_t any = 0;

	for (size_t i = 0; p && i < n; i++)
		any |= p[i];
	if (any)
		d->bad = true;
}

const char *dec_text(struct decoder *d, size_t n, size_t least, size_t most)
{
	const uint8_t *p = n && n >= least && n <= most ? dec_take(d, n) : NULL;

	if (p && memchr(p, '\0', n) == p + n - 1)
		return (const char *)p;
	d->bad = true;
	return "";
}

void dec_shown(struct decoder *d, size_t n, char *out, size_t size)
{
	const char *text = dec_text(d, n, 1, size);

	if (!printable_is_safe(text))
		d->bad = true;
	memcpy(out, d->bad ? "" : text, d->bad ? 1 : n);
}

#define POLYNOMIAL 0x82f63b78u /* reflected */
#define SLICES 8

/* const after make_tables() */
static uint32_t table[SLICES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][i] = crc;
	}
	for (int s = 1; s < SLICES; s++) {
		for (int i = 0; i < 256; i++)
			table[s][i] = table[s - 1][i] >> 8 ^ table[0][table[s - 1][i] & 0xff];
	}
}

uint32_t crc32c(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint32_t crc = ~0u;

	pthread_once(&once, make_tables);
	for (; size >= SLICES; size -= SLICES, p += SLICES) {
		uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
				      (uint32_t)p[3] << 24);

		crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^
		      table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^ table[3][p[4]] ^
		      table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
	}
	while (size--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return ~crc;
}
