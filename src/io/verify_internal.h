/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by src/io/verify*.c.
 */
#ifndef XDD_IO_VERIFY_INTERNAL_H
#define XDD_IO_VERIFY_INTERNAL_H

#include "xdd/io/verify.h"

/* Bits that may differ in a sector that still counts as the same one with bits flipped. */
#define FLIPPED_MAX_BITS 16

/* Bytes that must be right at one end of a torn sector: fewer may be chance. */
#define TORN_MIN_BYTES 16

/* The part of a sector that differs. */
struct difference {
	size_t first; /* byte that differs */
	size_t last;
	unsigned bits; /* that differ */
};

/* A read on its way through verification: the extent that is open, and where it goes. */
struct verify_extents {
	struct verifier *v;
	const struct verify_read *read;
	verify_report_fn *report;
	void *arg;
	bool detail; /* the next miscompare needs a text */
	uint64_t count;

	/* the open extent, when `open` */
	bool open;
	struct miscompare m;
	uint64_t end;	/* of its last sector */
	uint64_t key;	/* extents of one kind with different keys are not joined */
	uint64_t delta; /* how far away the last misplaced data was from where it belongs */
};

/* verify.c: begin a miscompare at byte `at` of the request. */
struct miscompare miscompare_at(const struct verify_read *r, enum miscompare_kind kind, uint64_t at,
				uint64_t bytes);

/*
 * verify.c: show what was expected and found at `offset` of the target; both hold at least `n`
 * bytes.
 */
void miscompare_show(struct miscompare *m, uint64_t offset, const void *expected, const void *found,
		     size_t n);

/*
 * verify.c: `m` is in the sector at byte `pos` of the request; join it to the open extent or close
 * that.
 */
void extent_add(struct verify_extents *s, const struct miscompare *m, uint64_t pos, uint64_t bytes,
		uint64_t key);
void extent_close(struct verify_extents *s);

/* verify.c */
bool all_zero(const uint8_t *data, size_t n);
bool all_poison(const uint8_t *data, size_t n, uint64_t pos);

/*
 * verify.c: what is in the `n` bytes at `pos` of the request, in words: the part of a torn sector
 * that is not right.
 */
const char *rest_text(const uint8_t *data, size_t n, uint64_t pos);

/* verify.c: what two sectors differ in; they do differ. */
struct difference difference_of(const uint8_t *a, const uint8_t *b, size_t n);

/* verify.c: "bit 3 of byte 17, ..." of the differing bits; `offset` is of the first byte. */
void flipped_text(char *text, size_t size, const uint8_t *a, const uint8_t *b, size_t n,
		  uint64_t offset);

/* Consecutive sectors of one read that are of one write. */
struct verify_span {
	struct tag tag; /* of its first sector */
	uint64_t offset;
	uint64_t end;
	bool reported;
};

#define VERIFY_SPANS 64

/* The writes that a read shows; the last VERIFY_SPANS of them are held against each other. */
struct verify_writes {
	struct verify_extents *s;
	struct verify_span spans[VERIFY_SPANS]; /* span i is at i % VERIFY_SPANS */
	unsigned n;				/* that are complete */
	bool open;				/* number n is not */

	/* for the history, when `following` */
	bool following;
	struct tag_extent extent;
};

/* verify_tag.c */
void verify_tagged(struct verify_extents *s);

#endif
