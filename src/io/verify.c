/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verification of what was read: the comparison with the pattern, the kind of a sector that
 * differs from it, and joining what is wrong into extents. Called by QThreads after a read,
 * outside the timed window.
 */
#include "xdd/io/verify.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/verify_internal.h"
#include "xdd/base/text.h"
#include "xdd/io/tag.h"

#define WORD_BYTES 8

/* How much of a target is searched for data that is not where it belongs. */
#define SCAN_BYTES (256ull << 20)
#define SCAN_PIECE_BYTES 8192

/* A sector that is wrong. */
struct bad {
	struct verify_extents *s;
	uint64_t pos; /* in the request */
	const uint8_t *expected;
	const uint8_t *found;
	size_t n;     /* bytes that were compared */
	size_t whole; /* bytes of it that were read */
};

/* One past the last byte of the target that may hold data of the pattern. */
static uint64_t target_end(const struct target_plan *t)
{
	return t->pass_bytes == PLAN_UNLIMITED || t->end_bytes < t->size_bytes ? t->size_bytes :
										 t->end_bytes;
}

/* Sequenced words say themselves where they belong. */
static bool sequenced_elsewhere(const struct bad *b, uint64_t *where)
{
	const struct pattern *p = b->s->v->pattern;
	uint8_t other[VERIFY_SECTOR_BYTES];
	uint64_t word, here = b->s->read->offset + b->pos;

	if (p->options->kind != PATTERN_SEQUENCED || b->n < WORD_BYTES)
		return false;
	memcpy(&word, b->found, WORD_BYTES);
	word = le64toh(word);
	if (p->options->inverse)
		word = ~word;
	if (((word ^ p->prefix) & ~p->keep) != 0)
		return false;
	word &= p->keep;
	if ((word ^ here) % WORD_BYTES || word > INT64_MAX)
		return false;
	/* One word of any other data is a multiple of the word in one of eight cases. */
	if (b->n < 2 * WORD_BYTES && word >= target_end(b->s->v->target))
		return false;
	pattern_bytes(p, word, 0, other, b->n);
	*where = word;
	return memcmp(other, b->found, b->n) == 0;
}

static bool is_data_of(const struct bad *b, uint64_t offset)
{
	uint8_t other[VERIFY_SECTOR_BYTES];

	pattern_bytes(b->s->v->pattern, offset, 0, other, b->n);
	return memcmp(other, b->found, b->n) == 0;
}

/* Look for the sector among those from `from` to `to`. */
static bool scan(const struct bad *b, uint64_t from, uint64_t to, uint64_t *where)
{
	uint8_t piece[SCAN_PIECE_BYTES];

	for (; from + b->n <= to; from += SCAN_PIECE_BYTES) {
		size_t size = to - from < SCAN_PIECE_BYTES ? (size_t)(to - from) : SCAN_PIECE_BYTES;

		pattern_bytes(b->s->v->pattern, from, 0, piece, size);
		for (size_t at = 0; at + b->n <= size; at += VERIFY_SECTOR_BYTES) {
			if (memcmp(piece + at, b->found, b->n) == 0) {
				*where = from + at;
				return true;
			}
		}
	}
	return false;
}

/* Near by first, then from the start of what is read; a bounded number of times in a run. */
static bool found_elsewhere(const struct bad *b, uint64_t *where)
{
	struct verifier *v = b->s->v;
	const struct verify_read *r = b->s->read;
	uint64_t here = r->offset + b->pos, skew = here % VERIFY_SECTOR_BYTES, from, to;

	if (!pattern_by_place(v->pattern) || !pattern_moves(v->pattern) || b->n < TORN_MIN_BYTES)
		return false;
	if (b->s->delta && is_data_of(b, here + b->s->delta)) {
		*where = here + b->s->delta;
		return true;
	}
	if (!b->s->detail || !v->scans)
		return false;
	v->scans--;
	if (scan(b, r->offset + b->pos % VERIFY_SECTOR_BYTES, r->offset + r->bytes, where))
		return true;
	from = v->target->start_bytes / VERIFY_SECTOR_BYTES * VERIFY_SECTOR_BYTES + skew;
	to = target_end(v->target);
	if (to - from > SCAN_BYTES && to > from) {
		if (here > from + SCAN_BYTES / 2)
			from += (here - from - SCAN_BYTES / 2) / VERIFY_SECTOR_BYTES *
				VERIFY_SECTOR_BYTES;
		if (to - from > SCAN_BYTES)
			to = from + SCAN_BYTES;
	}
	return to > from && scan(b, from, to, where);
}

/* One end is right, and all of the rest is not. */
static bool is_torn(const struct bad *b, const struct difference *d, struct miscompare *m)
{
	size_t head = d->first, tail = b->n - 1 - d->last;
	bool split = d->last - d->first >= TORN_MIN_BYTES;

	if (!split || (head < TORN_MIN_BYTES) == (tail < TORN_MIN_BYTES))
		return false;
	if (head >= TORN_MIN_BYTES)
		snprintf(m->text, sizeof(m->text),
			 "of %zu bytes from %" PRIu64 " on the first %zu are right, the rest is %s",
			 b->n, b->s->read->offset + b->pos, head,
			 rest_text(b->found + head, b->n - head, b->pos + head));
	else
		snprintf(m->text, sizeof(m->text),
			 "of %zu bytes from %" PRIu64 " on the last %zu are right, the rest is %s",
			 b->n, b->s->read->offset + b->pos, tail,
			 rest_text(b->found, b->n - tail, b->pos));
	return true;
}

/* Not data of the pattern at all, but of a run with -datapattern tagged. `key`: its number. */
static bool is_tagged(const struct bad *b, struct miscompare *m, uint64_t *key)
{
	const bool contents = b->s->v->target->verify & VERIFY_CONTENTS;
	struct tag tag;

	if (b->whole < TAG_SECTOR_BYTES || tag_read(b->found, &tag) != TAG_GOOD)
		return false;
	snprintf(m->text, sizeof(m->text),
		 "tagged data of run %" PRIx64 ": say -datapattern tagged%s", tag.run,
		 contents ? "" : " -verify contents");
	*key = tag.run;
	return true;
}

/* Sets the kind and the text; returns the key that keeps extents apart. */
static uint64_t classify(const struct bad *b, const struct difference *d, struct miscompare *m)
{
	uint64_t here = b->s->read->offset + b->pos, where;

	if (all_poison(b->found, b->whole, b->pos)) {
		m->kind = MISCOMPARE_POISON;
		return 0;
	}
	/* A single word of zeros may be what belongs to the start of the target. */
	if (all_zero(b->found, b->whole) && b->whole > WORD_BYTES) {
		m->kind = MISCOMPARE_ZEROS;
		return 0;
	}
	if (is_tagged(b, m, &where))
		return where;
	if (sequenced_elsewhere(b, &where) ||
	    (d->bits > FLIPPED_MAX_BITS && found_elsewhere(b, &where))) {
		m->kind = MISCOMPARE_MISPLACED;
		b->s->delta = where - here;
		snprintf(m->text, sizeof(m->text), "the data of offset %" PRIu64, where);
		return where - here;
	}
	if (d->bits <= FLIPPED_MAX_BITS) {
		m->kind = MISCOMPARE_FLIPPED;
		flipped_text(m->text, sizeof(m->text), b->expected, b->found, b->n, here);
		return 0;
	}
	if (is_torn(b, d, m))
		m->kind = MISCOMPARE_TORN;
	return 0;
}

/* verify.c: the sector at `pos` of the request is not what the pattern says. */
static void verify_bad_sector(struct verify_extents *s, uint64_t pos, const uint8_t *expected,
			      size_t n)
{
	uint64_t left = s->read->bytes - pos;
	const struct bad b = {
		.s = s,
		.pos = pos,
		.expected = expected,
		.found = (const uint8_t *)s->read->buf + pos,
		.n = n,
		.whole = left < VERIFY_SECTOR_BYTES ? (size_t)left : VERIFY_SECTOR_BYTES,
	};
	struct difference d = difference_of(expected, b.found, n);
	struct miscompare m =
		miscompare_at(s->read, MISCOMPARE_OTHER, pos + d.first, d.last - d.first + 1);
	uint64_t key = classify(&b, &d, &m);

	miscompare_show(&m, m.offset, expected + d.first, b.found + d.first, n - d.first);
	extent_add(s, &m, pos, b.whole, key);
}

/* Compared at a time: data and computed pattern together fit the nearest cache. */
#define PIECE_BYTES 8192

#define SCANS 32

/* The content of a buffer before a read: no text, no number, no pattern of this program. */
static const uint8_t poison[8] = { 0xdb, 'P', 'O', 'I', 'S', 'O', 'N', 0xdb };

void verifier_init(struct verifier *v, const struct target_plan *target,
		   const struct pattern *pattern, uint64_t run, const struct tag_book *book,
		   struct tag_history *history)
{
	*v = (struct verifier){
		.target = target,
		.pattern = pattern,
		.run = run,
		.book = book,
		.history = history,
		.scans = SCANS,
	};
}

void verify_poison(void *buf, size_t from, size_t size)
{
	uint8_t *bytes = buf;

	for (; from < size && from % sizeof(poison); from++)
		bytes[from] = poison[from % sizeof(poison)];
	for (; from + sizeof(poison) <= size; from += sizeof(poison))
		memcpy(bytes + from, poison, sizeof(poison));
	if (from < size)
		memcpy(bytes + from, poison, size - from);
}

const char *miscompare_name(enum miscompare_kind kind)
{
	static const char *const names[] = {
		[MISCOMPARE_OTHER] = "other data",
		[MISCOMPARE_ZEROS] = "zeros",
		[MISCOMPARE_POISON] = "never transferred",
		[MISCOMPARE_MISPLACED] = "misplaced",
		[MISCOMPARE_STALE] = "stale",
		[MISCOMPARE_TORN] = "torn",
		[MISCOMPARE_FLIPPED] = "flipped bits",
	};

	return names[kind];
}

bool all_zero(const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (data[i])
			return false;
	return n != 0;
}

bool all_poison(const uint8_t *data, size_t n, uint64_t pos)
{
	for (size_t i = 0; i < n; i++)
		if (data[i] != poison[(pos + i) % sizeof(poison)])
			return false;
	return n != 0;
}

const char *rest_text(const uint8_t *data, size_t n, uint64_t pos)
{
	if (all_zero(data, n))
		return "zeros";
	return all_poison(data, n, pos) ? "never transferred" : "other data";
}

struct difference difference_of(const uint8_t *a, const uint8_t *b, size_t n)
{
	struct difference d = { .first = n };

	for (size_t i = 0; i < n; i++) {
		if (a[i] == b[i])
			continue;
		if (d.first == n)
			d.first = i;
		d.last = i;
		d.bits += (unsigned)__builtin_popcount(a[i] ^ b[i]);
	}
	return d;
}

void flipped_text(char *text, size_t size, const uint8_t *a, const uint8_t *b, size_t n,
		  uint64_t offset)
{
	*text = '\0';
	for (size_t i = 0; i < n; i++) {
		unsigned bits = a[i] ^ b[i];

		for (int bit = 0; bits; bit++, bits >>= 1) {
			if (!(bits & 1) || strlen(text) + 48 > size)
				continue;
			text_list(text, size, "bit %d of byte %llu", bit,
				  (unsigned long long)(offset + i));
			if (strlen(text) + 48 > size)
				text_list(text, size, "...");
		}
	}
}

struct miscompare miscompare_at(const struct verify_read *r, enum miscompare_kind kind, uint64_t at,
				uint64_t bytes)
{
	return (struct miscompare){
		.kind = kind,
		.offset = r->offset + at,
		.bytes = bytes,
		.op = r->op,
		.pass = r->pass,
	};
}

void miscompare_show(struct miscompare *m, uint64_t offset, const void *expected, const void *found,
		     size_t n)
{
	m->shown_at = offset;
	m->shown = n < VERIFY_SHOWN_BYTES ? (unsigned)n : VERIFY_SHOWN_BYTES;
	memcpy(m->expected, expected, m->shown);
	memcpy(m->found, found, m->shown);
}

void extent_close(struct verify_extents *s)
{
	if (!s->open)
		return;
	s->open = false;
	s->count++;
	s->detail = s->report(s->arg, &s->m);
}

/* Each sector that is torn or has flipped bits is told by itself: they differ in how. */
static bool joins(const struct verify_extents *s, const struct miscompare *m, uint64_t pos,
		  uint64_t key)
{
	return s->open && s->end == pos && s->m.kind == m->kind && s->key == key &&
	       m->kind != MISCOMPARE_TORN && m->kind != MISCOMPARE_FLIPPED;
}

void extent_add(struct verify_extents *s, const struct miscompare *m, uint64_t pos, uint64_t bytes,
		uint64_t key)
{
	if (joins(s, m, pos, key)) {
		s->m.bytes = m->offset + m->bytes - s->m.offset;
	} else {
		extent_close(s);
		s->open = true;
		s->m = *m;
		s->key = key;
	}
	s->end = pos + bytes;
}

/* All sectors of one piece of the request, of which some byte is wrong. */
static void compare_sectors(struct verify_extents *s, uint64_t pos, const uint8_t *expected,
			    size_t size)
{
	const uint8_t *found = (const uint8_t *)s->read->buf + pos;

	for (size_t at = 0; at < size; at += VERIFY_SECTOR_BYTES) {
		size_t n = size - at < VERIFY_SECTOR_BYTES ? size - at : VERIFY_SECTOR_BYTES;

		if (memcmp(found + at, expected + at, n) != 0)
			verify_bad_sector(s, pos + at, expected + at, n);
	}
}

static void verify_contents(struct verify_extents *s)
{
	const struct verify_read *r = s->read;
	uint8_t expected[PIECE_BYTES];

	for (uint64_t pos = 0; pos < r->bytes; pos += PIECE_BYTES) {
		size_t n = r->bytes - pos < PIECE_BYTES ? (size_t)(r->bytes - pos) : PIECE_BYTES;

		pattern_bytes(s->v->pattern, r->offset, pos, expected, n);
		if (memcmp((const char *)r->buf + pos, expected, n) != 0)
			compare_sectors(s, pos, expected, n);
	}
}

/* The first word of each sector. */
static void verify_location(struct verify_extents *s)
{
	const struct verify_read *r = s->read;
	uint8_t expected[VERIFY_SECTOR_BYTES];
	const size_t word = sizeof(uint64_t);

	for (uint64_t pos = 0; pos < r->bytes; pos += VERIFY_SECTOR_BYTES) {
		size_t left = r->bytes - pos < word ? (size_t)(r->bytes - pos) : word;

		pattern_bytes(s->v->pattern, r->offset, pos, expected, left);
		if (memcmp((const char *)r->buf + pos, expected, left) != 0)
			verify_bad_sector(s, pos, expected, left);
	}
}

uint64_t verify_read(struct verifier *v, const struct verify_read *r, bool detail,
		     verify_report_fn *report, void *arg)
{
	struct verify_extents s = {
		.v = v,
		.read = r,
		.report = report,
		.arg = arg,
		.detail = detail,
	};

	/* Where the contents are compared, the location is part of them. */
	if (!(v->target->verify & VERIFY_CONTENTS))
		verify_location(&s);
	else if (v->pattern->options->kind == PATTERN_TAGGED)
		verify_tagged(&s);
	else
		verify_contents(&s);
	extent_close(&s);
	return s.count;
}
