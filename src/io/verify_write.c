/*
 * Tagged data of a run that only reads: which writes it is of, and whether others prove that it
 * should be of later ones. Called by verify_tag.c for each read.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>

#include "io/verify_internal.h"

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
static void follow(struct verify_writes *w, const struct verify_span *span)
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

void verify_writes_sector(struct verify_writes *w, const struct tag *tag)
{
	struct verify_span *span = &w->spans[w->n % VERIFY_SPANS];

	if (w->open && span->end == tag->offset && span->tag.generation == tag->generation &&
	    tag_same_pass(&span->tag, tag)) {
		span->end += TAG_SECTOR_BYTES;
		return;
	}
	close_span(w);
	if (w->n >= VERIFY_SPANS)
		follow(w, &w->spans[w->n % VERIFY_SPANS]);
	w->open = true;
	w->spans[w->n % VERIFY_SPANS] = (struct verify_span){
		.tag = *tag,
		.offset = tag->offset,
		.end = tag->offset + TAG_SECTOR_BYTES,
	};
}

/* The read that proves an old sector reports it, also for the read that saw the sector before. */
void verify_writes_end(struct verify_writes *w)
{
	struct tag_stale old;

	close_span(w);
	for (unsigned i = w->n > VERIFY_SPANS ? w->n - VERIFY_SPANS : 0; i < w->n; i++)
		follow(w, &w->spans[i % VERIFY_SPANS]);
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
