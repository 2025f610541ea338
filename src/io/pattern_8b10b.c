/*
 * The 8B/10B test patterns of Fibre Channel, as the bytes that are encoded. Called by pattern.c.
 *
 * The compliant ones (CJTPAT, CRPAT, CSPAT) are described in the technical report "Fibre Channel -
 * Methodologies for Jitter and Signal Quality Specification" (MJSQ).
 */
#include <string.h>

#include "xdd/io/pattern.h"

/* A piece of a pattern: some bytes, so many times. */
struct piece {
	uint16_t times;
	uint8_t n;
	uint8_t bytes[12];
};

#define PIECES_MAX 16

static const struct piece lfpat[PIECES_MAX] = {
	{ 128, 1, { 0xab } },
	{ 1, 1, { 0xeb } },
	{ 124, 1, { 0x54 } },
	{ 1, 3, { 0xf4, 0xab, 0xab } },
};

static const struct piece ltpat[PIECES_MAX] = {
	{ 1, 6, { 0xee, 0xfe, 0xc7, 0xf1, 0xfe, 0x27 } },
	{ 6, 1, { 0x7e } },
	{ 2, 2, { 0xfc, 0xe3 } },
	{ 492, 1, { 0x7e } },
	{ 2, 2, { 0xfc, 0xe3 } },
};

static const struct piece cjtpat[PIECES_MAX] = {
	{ 6, 4, { 0xbc, 0x95, 0xb5, 0xb5 } },
	{ 1, 4, { 0xbc, 0xb5, 0x36, 0x36 } },
	{ 151, 1, { 0x7e } },
	{ 1, 3, { 0x74, 0x7e, 0xab } },
	{ 51, 1, { 0xb5 } },
	{ 1, 2, { 0x5e, 0x4a } },
	{ 4, 1, { 0x7e } },
	{ 1, 5, { 0xfe, 0xf5, 0x2e, 0xf6, 0xdd } },
	{ 1, 4, { 0xbc, 0xb5, 0xd5, 0xd5 } },
};

static const struct piece crpat[PIECES_MAX] = {
	{ 6, 4, { 0xbc, 0x95, 0xb5, 0xb5 } },
	{ 1, 4, { 0xbc, 0xb5, 0x36, 0x36 } },
	{ 16, 12, { 0xbe, 0xd7, 0x23, 0x47, 0x6b, 0x8f, 0xb3, 0x14, 0x5e, 0xfb, 0x35, 0x59 } },
	{ 1, 4, { 0xee, 0x23, 0x55, 0x16 } },
	{ 1, 4, { 0xbc, 0xb5, 0xd5, 0xd5 } },
};

static const struct piece cspat[PIECES_MAX] = {
	{ 6, 4, { 0xbc, 0x95, 0xb5, 0xb5 } },
	{ 1, 4, { 0xbc, 0xb5, 0x36, 0x36 } },
	{ 2012, 1, { 0x7f } },
	{ 1, 4, { 0xf1, 0x96, 0xdb, 0x97 } },
	{ 1, 4, { 0xbc, 0xb5, 0xd5, 0xd5 } },
};

static const struct piece *pieces_of(enum pattern_kind kind)
{
	switch (kind) {
	case PATTERN_LFPAT:
		return lfpat;
	case PATTERN_LTPAT:
		return ltpat;
	case PATTERN_CJTPAT:
		return cjtpat;
	case PATTERN_CRPAT:
		return crpat;
	case PATTERN_CSPAT:
		return cspat;
	default:
		return NULL;
	}
}

size_t pattern_8b10b(enum pattern_kind kind, uint8_t out[PATTERN_8B10B_MAX])
{
	const struct piece *piece = pieces_of(kind);
	size_t size = 0;

	for (; piece && piece->times; piece++) {
		for (unsigned i = 0; i < piece->times; i++) {
			memcpy(out + size, piece->bytes, piece->n);
			size += piece->n;
		}
	}
	return size;
}
