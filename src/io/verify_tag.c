/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verification of tagged data: what each sector says of itself, held against what may be there.
 * Called by verify.c for each read.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/verify_internal.h"

/*
 * Tagged data of a run that only reads: which writes it is of, and whether others prove that it
 * should be of later ones.
 */

/* A miscompare of its own, whatever extent is open. */
static void report_alone(struct verify_extents *s, const struct miscompare *m)
{
	extent_close(s);
	s->m = *m;
	s->open = true;
	extent_close(s);
}

/* Show the field that is too low: the run, or the generation. */
static void show_age(struct miscompare *m, const struct tag *old, uint64_t run, uint64_t generation)
{
	bool same = old->run == run;
	uint64_t expected = htole64(same ? generation : run);
	uint64_t found = htole64(same ? old->generation : old->run);

	miscompare_show(m, m->offset + (same ? TAG_AT_GENERATION : TAG_AT_RUN), &expected, &found,
			sizeof(expected));
}

/* From `from` to `to` there is a write that others of `newer` should have replaced. */
static void report_partial(struct verify_writes *w, struct verify_span *old,
			   const struct tag *newer, uint64_t from, uint64_t to)
{
	const struct tag *t = &old->tag;
	struct miscompare m =
		miscompare_at(w->s->read, MISCOMPARE_STALE, from - w->s->read->offset, to - from);

	old->reported = true;
	show_age(&m, t, newer->run, newer->generation);
	snprintf(m.text, sizeof(m.text),
		 "write %" PRIu64 " in pass %" PRIu32 " of run %" PRIx64
		 "; other parts of write %" PRIu64 " in pass %" PRIu32 " of run %" PRIx64
		 " are there (a torn write)",
		 t->generation, t->pass, t->run, newer->generation, newer->pass, newer->run);
	report_alone(w->s, &m);
}

/* All data of the pass of `newer` should be as new, except writes that were outstanding with it. */
static void hold_against(struct verify_writes *w, struct verify_span *old,
			 const struct verify_span *newer)
{
	const struct tag *a = &old->tag, *b = &newer->tag;
	uint64_t from = b->request, to = b->request + b->bytes;

	if (old->offset > from)
		from = old->offset;
	if (old->end < to)
		to = old->end;
	if (old->reported || from >= to)
		return;
	if (a->run != b->run ? a->run < b->run :
			       a->target == b->target && a->generation < b->oldest)
		report_partial(w, old, b, from, to);
}

/* No other span will be held against this one: sectors of one pass go to the history together. */
static void verify_write_follow(struct verify_writes *w, const struct verify_span *span)
{
	struct tag_extent *o = &w->extent;

	if (span->reported)
		return;
	if (w->following && o->end == span->offset && tag_same_pass(&o->tag, &span->tag)) {
		o->end = span->end;
		if (span->tag.request > o->tag.request)
			o->tag = span->tag;
		return;
	}
	if (w->following)
		tag_history_add(w->s->v->history, o);
	w->following = true;
	*o = (struct tag_extent){
		.tag = span->tag,
		.offset = span->offset,
		.end = span->end,
		.op = w->s->read->op,
		.pass = w->s->read->pass,
	};
}

/* The span that is open is complete: the others are the ones before it. */
static void close_span(struct verify_writes *w)
{
	unsigned kept = w->n < VERIFY_SPANS ? w->n : VERIFY_SPANS - 1;
	struct verify_span *span = &w->spans[w->n % VERIFY_SPANS];

	if (!w->open)
		return;
	for (unsigned i = 1; i <= kept; i++) {
		struct verify_span *other = &w->spans[(w->n - i) % VERIFY_SPANS];

		hold_against(w, other, span);
		hold_against(w, span, other);
	}
	w->n++;
	w->open = false;
}

static void verify_writes_sector(struct verify_writes *w, const struct tag *tag)
{
	struct verify_span *span = &w->spans[w->n % VERIFY_SPANS];

	if (w->open && span->end == tag->offset && span->tag.generation == tag->generation &&
	    tag_same_pass(&span->tag, tag)) {
		span->end += TAG_SECTOR_BYTES;
		return;
	}
	close_span(w);
	if (w->n >= VERIFY_SPANS)
		verify_write_follow(w, &w->spans[w->n % VERIFY_SPANS]);
	w->open = true;
	w->spans[w->n % VERIFY_SPANS] = (struct verify_span){
		.tag = *tag,
		.offset = tag->offset,
		.end = tag->offset + TAG_SECTOR_BYTES,
	};
}

/*
 * verify_tag.c: a sector with a good tag that is where it belongs, in ascending order; and the
 * end.
 *
 * The read that proves an old sector reports it, also for the read that saw the sector before.
 */
static void verify_writes_end(struct verify_writes *w)
{
	struct tag_stale old;

	close_span(w);
	for (unsigned i = w->n > VERIFY_SPANS ? w->n - VERIFY_SPANS : 0; i < w->n; i++)
		verify_write_follow(w, &w->spans[i % VERIFY_SPANS]);
	if (w->following)
		tag_history_add(w->s->v->history, &w->extent);
	while (tag_history_take(w->s->v->history, &old)) {
		const struct tag *t = &old.what.tag, *newer = &old.newer;
		struct miscompare m = miscompare_at(w->s->read, MISCOMPARE_STALE, 0,
						    old.what.end - old.what.offset);

		m.offset = old.what.offset;
		m.op = old.what.op;
		m.pass = old.what.pass;
		show_age(&m, t, newer->run, newer->since);
		snprintf(m.text, sizeof(m.text),
			 "of pass %" PRIu32 " of run %" PRIx64 "; pass %" PRIu32 " of run %" PRIx64
			 " went there later, on its way to where it has been found",
			 t->pass, t->run, newer->pass, newer->run);
		report_alone(w->s, &m);
	}
}

/* How far away a good sector is looked for, to tell what a bad one should be. */
#define SIBLINGS 64

/* A sector of a read. */
struct seen {
	struct verify_extents *s;
	uint64_t pos;  /* in the request */
	uint64_t here; /* in the target */
	const uint8_t *found;
	enum tag_state state;
	struct tag tag;
	uint64_t bound; /* of the book: no lower generation may be there; 0: none */
};

/* The number of the target that writes what this one reads. */
static uint32_t writer_number(const struct target_plan *t)
{
	return t->layout.block_bytes ? t->layout.owner_number : t->number;
}

static void whole_sector(struct seen *x, struct miscompare *m, uint64_t key)
{
	extent_add(x->s, m, x->pos, TAG_SECTOR_BYTES, key);
}

/* Show a 64-bit field of the tag. */
static void show_field(const struct seen *x, struct miscompare *m, size_t at, uint64_t expected)
{
	uint64_t word = htole64(expected);

	miscompare_show(m, x->here + at, &word, x->found + at, sizeof(word));
}

static void report_misplaced(struct seen *x)
{
	const struct tag *t = &x->tag;
	uint32_t own = writer_number(x->s->v->target), word = htole32(own);
	struct miscompare m =
		miscompare_at(x->s->read, MISCOMPARE_MISPLACED, x->pos, TAG_SECTOR_BYTES);

	if (t->offset != x->here)
		show_field(x, &m, TAG_AT_OFFSET, x->here);
	else
		miscompare_show(&m, x->here + TAG_AT_TARGET, &word, x->found + TAG_AT_TARGET,
				sizeof(word));
	snprintf(m.text, sizeof(m.text),
		 "the data of offset %" PRIu64 " of target %" PRIu32 ", write %" PRIu64
		 " in pass %" PRIu32 " of run %" PRIx64,
		 t->offset, t->target, t->generation, t->pass, t->run);
	whole_sector(x, &m, (t->offset - x->here) ^ (uint64_t)t->target << 48);
}

static void report_stale(struct seen *x)
{
	const struct tag *t = &x->tag;
	bool this_run = t->run == x->s->v->run;
	struct miscompare m = miscompare_at(x->s->read, MISCOMPARE_STALE, x->pos, TAG_SECTOR_BYTES);

	if (this_run)
		show_field(x, &m, TAG_AT_GENERATION, x->bound);
	else
		show_field(x, &m, TAG_AT_RUN, x->s->v->run);
	snprintf(m.text, sizeof(m.text),
		 "write %" PRIu64 " in pass %" PRIu32 " of %s%" PRIx64 "; since then write %" PRIu64
		 " of this run, or a later one, went there",
		 t->generation, t->pass, this_run ? "this run, " : "the earlier run ", t->run,
		 x->bound);
	whole_sector(x, &m, t->run);
}

static void report_unmade(struct seen *x)
{
	struct miscompare m = miscompare_at(x->s->read, MISCOMPARE_OTHER, x->pos, TAG_SECTOR_BYTES);

	show_field(x, &m, TAG_AT_GENERATION, tag_book_next(x->s->v->book) - 1);
	snprintf(m.text, sizeof(m.text),
		 "it says that it is write %" PRIu64 " of this run, which was not made yet",
		 x->tag.generation);
	whole_sector(x, &m, 0);
}

/* The sector as it would be with one of a few bits of its header inverted. */
static bool mend_header(const struct seen *x, uint8_t *mended)
{
	struct tag tag;

	memcpy(mended, x->found, TAG_SECTOR_BYTES);
	memcpy(mended, TAG_MAGIC, TAG_MAGIC_BYTES);
	if (tag_read(mended, &tag) == TAG_GOOD)
		return true;
	for (unsigned bit = TAG_MAGIC_BYTES * 8; bit < TAG_HEADER_BYTES * 8; bit++) {
		mended[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (tag_read(mended, &tag) == TAG_GOOD)
			return true;
		mended[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	tag_write(&tag, mended);
	return difference_of(x->found, mended, TAG_SECTOR_BYTES).bits <= FLIPPED_MAX_BITS;
}

/* The sector as it would be if it were of the same write as a good one of the same request. */
static bool like_sibling(const struct seen *x, uint8_t *other)
{
	const struct verify_read *r = x->s->read;
	uint64_t sectors = r->bytes / TAG_SECTOR_BYTES, own = x->pos / TAG_SECTOR_BYTES;
	struct tag tag;

	for (uint64_t d = 1; d < SIBLINGS; d++) {
		uint64_t at[2] = { own - d, own + d };

		for (int i = 0; i < 2; i++) {
			/* Below 0 is above all. */
			if (at[i] >= sectors ||
			    tag_read((const char *)r->buf + at[i] * TAG_SECTOR_BYTES, &tag) !=
				    TAG_GOOD)
				continue;
			tag.offset = x->here;
			tag_write(&tag, other);
			return true;
		}
	}
	return false;
}

/* The sector as the header that it has would have it. */
static bool as_header_says(const struct seen *x, uint8_t *other)
{
	if (x->state == TAG_NONE)
		return false;
	tag_write(&x->tag, other);
	return true;
}

static bool report_flipped(struct seen *x, const uint8_t *expected)
{
	struct difference d = difference_of(expected, x->found, TAG_SECTOR_BYTES);
	struct miscompare m;

	if (!d.bits || d.bits > FLIPPED_MAX_BITS)
		return false;
	m = miscompare_at(x->s->read, MISCOMPARE_FLIPPED, x->pos + d.first, d.last - d.first + 1);
	miscompare_show(&m, m.offset, expected + d.first, x->found + d.first,
			TAG_SECTOR_BYTES - d.first);
	flipped_text(m.text, sizeof(m.text), expected, x->found, TAG_SECTOR_BYTES, x->here);
	whole_sector(x, &m, 0);
	return true;
}

/* One end is of the write that `expected` is of. With the head right, so must its tag be. */
static bool report_torn(struct seen *x, const uint8_t *expected)
{
	struct difference d = difference_of(expected, x->found, TAG_SECTOR_BYTES);
	size_t tail = TAG_SECTOR_BYTES - 1 - d.last;
	bool head = d.first >= TAG_HEADER_BYTES;
	struct miscompare m;
	struct tag tag = { 0 };

	if (!head && tail < TORN_MIN_BYTES)
		return false;
	tag_read(expected, &tag);
	m = miscompare_at(x->s->read, MISCOMPARE_TORN, x->pos + d.first, d.last - d.first + 1);
	miscompare_show(&m, m.offset, expected + d.first, x->found + d.first,
			TAG_SECTOR_BYTES - d.first);
	snprintf(m.text, sizeof(m.text),
		 "the %s %zu bytes of the sector at %" PRIu64 " are of write %" PRIu64
		 " in pass %" PRIu32 " of run %" PRIx64 ", the rest is %s",
		 head ? "first" : "last", head ? d.first : tail, x->here, tag.generation, tag.pass,
		 tag.run,
		 head ? rest_text(x->found + d.first, TAG_SECTOR_BYTES - d.first,
				  x->pos + d.first) :
			rest_text(x->found, TAG_SECTOR_BYTES - tail, x->pos));
	whole_sector(x, &m, 0);
	return true;
}

/* A sector without a tag that could be believed. */
static void report_broken(struct seen *x)
{
	struct miscompare m = miscompare_at(x->s->read, MISCOMPARE_OTHER, x->pos, TAG_SECTOR_BYTES);
	uint8_t expected[TAG_SECTOR_BYTES];

	miscompare_show(&m, x->here, TAG_MAGIC, x->found, TAG_MAGIC_BYTES);
	if (all_poison(x->found, TAG_SECTOR_BYTES, x->pos)) {
		m.kind = MISCOMPARE_POISON;
	} else if (all_zero(x->found, TAG_SECTOR_BYTES)) {
		m.kind = MISCOMPARE_ZEROS;
	} else {
		if (mend_header(x, expected) && report_flipped(x, expected))
			return;
		if (as_header_says(x, expected) && report_torn(x, expected))
			return;
		if (like_sibling(x, expected) &&
		    (report_flipped(x, expected) || report_torn(x, expected)))
			return;
		snprintf(m.text, sizeof(m.text), "%s",
			 x->state == TAG_NONE ? "no tag" : "the checksum is wrong");
	}
	whole_sector(x, &m, x->state);
}

/*
 * While the run writes too: a sector that it did not write may hold anything, and one that is being
 * written, or was by two at once, anything between old and new.
 */
static bool excused(const struct seen *x)
{
	struct verifier *v = x->s->v;
	const struct verify_read *r = x->s->read;

	if (!v->book || all_poison(x->found, TAG_SECTOR_BYTES, x->pos))
		return false;
	if ((x->bound & TAG_BOOK_DUBIOUS) ||
	    tag_book_overlaps(v->book, r->logged, x->here, TAG_SECTOR_BYTES))
		return true;
	if (x->state == TAG_NONE && !x->bound) {
		v->unjudged++;
		return true;
	}
	return false;
}

static bool right_target(const struct seen *x)
{
	const struct verifier *v = x->s->v;
	uint32_t own = writer_number(v->target);

	if (v->history)
		return tag_history_target(v->history, &x->tag, own);
	return x->tag.run != v->run || x->tag.target == own;
}

/* A good tag: may it be here and now? */
static void check_tag(struct seen *x)
{
	const struct verifier *v = x->s->v;
	const struct tag *t = &x->tag;
	uint64_t bound = x->bound & ~TAG_BOOK_DUBIOUS;

	x->bound = bound;
	if (t->offset != x->here || !right_target(x))
		report_misplaced(x);
	else if (!v->book)
		return;
	else if (t->run != v->run ? bound != 0 : t->generation < bound)
		report_stale(x);
	else if (t->run == v->run && t->generation >= tag_book_next(v->book))
		report_unmade(x);
}

static void verify_tag_look(struct verify_extents *s, uint64_t pos, struct seen *x)
{
	const struct verify_read *r = s->read;

	x->s = s;
	x->pos = pos;
	x->here = r->offset + pos;
	x->found = (const uint8_t *)r->buf + pos;
	x->state = tag_read(x->found, &x->tag);
	x->bound = s->v->book ? r->bounds[pos / TAG_SECTOR_BYTES] : 0;
}

void verify_tagged(struct verify_extents *s)
{
	const struct verify_read *r = s->read;
	struct verify_writes w = { .s = s };
	struct seen x;

	for (uint64_t pos = 0; pos + TAG_SECTOR_BYTES <= r->bytes; pos += TAG_SECTOR_BYTES) {
		verify_tag_look(s, pos, &x);
		if (x.state == TAG_GOOD)
			check_tag(&x);
		else if (!excused(&x))
			report_broken(&x);
		/* Data that another target of this run writes may change during the comparison. */
		if (s->v->history && x.state == TAG_GOOD && x.tag.offset == x.here &&
		    x.tag.run < s->v->run)
			verify_writes_sector(&w, &x.tag);
	}
	if (s->v->history)
		verify_writes_end(&w);
}
