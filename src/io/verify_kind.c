/*
 * The kind of a sector that differs from the pattern. Called by verify.c for each wrong sector.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/verify_internal.h"
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

void verify_bad_sector(struct verify_extents *s, uint64_t pos, const uint8_t *expected, size_t n)
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
