/*
 * The history of tagged reads. Called by verify, once for each read.
 */
#include "xdd/io/tag_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tag_history_new(struct tag_history **h)
{
	int err;

	*h = calloc(1, sizeof(**h));
	if (!*h)
		return -ENOMEM;
	err = pthread_mutex_init(&(*h)->lock, NULL);
	if (err) {
		free(*h);
		*h = NULL;
	}
	return -err;
}

void tag_history_free(struct tag_history *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* Writes of one run to several targets are numbered apart. */
bool tag_is_older(const struct tag *a, const struct tag *b)
{
	if (a->run != b->run)
		return a->run < b->run;
	return a->target == b->target && a->since < b->since;
}

bool tag_same_pass(const struct tag *a, const struct tag *b)
{
	return a->run == b->run && a->target == b->target && a->since == b->since;
}

static void found_stale(struct tag_history *h, const struct tag_extent *what, uint64_t offset,
			uint64_t end, const struct tag *newer)
{
	struct tag_stale *stale;

	if (h->n_stale == TAG_HISTORY_STALE)
		return;
	stale = &h->stale[h->n_stale++];
	stale->what = *what;
	stale->what.offset = offset;
	stale->what.end = end;
	stale->newer = *newer;
}

/* Hold `s` against one sweep. True: all of it, or what was left of it, is dealt with. */
static bool hold_against(struct tag_history *h, struct tag_extent *s,
			 const struct tag_extent *sweep)
{
	uint64_t from = s->offset > sweep->offset ? s->offset : sweep->offset;
	uint64_t to = s->end < sweep->end ? s->end : sweep->end;

	if (from >= to || !tag_is_older(&s->tag, &sweep->tag))
		return false;
	found_stale(h, s, from, to, &sweep->tag);
	if (from > s->offset)
		s->end = from; /* the part after the sweep is not followed up */
	else
		s->offset = to;
	return s->offset >= s->end;
}

static void remember(struct tag_history *h, const struct tag_extent *s)
{
	for (unsigned i = 0; i < h->n_seen; i++) {
		struct tag_extent *o = &h->seen[i];

		if (!tag_same_pass(&o->tag, &s->tag) || s->offset > o->end || s->end < o->offset)
			continue;
		if (s->offset < o->offset)
			o->offset = s->offset;
		if (s->end > o->end)
			o->end = s->end;
		return;
	}
	if (h->n_seen < TAG_HISTORY_STRETCHES)
		h->seen[h->n_seen++] = *s;
}

/*
 * The sweep that the tag of `s` proves, longer than before or new; NULL when there is nothing new.
 */
static const struct tag_extent *learn_sweep(struct tag_history *h, const struct tag_extent *s)
{
	struct tag_extent *sweep;

	if (s->tag.sweep >= s->tag.request)
		return NULL;
	for (unsigned i = 0; i < h->n_sweeps; i++) {
		sweep = &h->sweeps[i];
		if (!tag_same_pass(&sweep->tag, &s->tag) || sweep->offset != s->tag.sweep)
			continue;
		if (s->tag.request <= sweep->end)
			return NULL;
		sweep->end = s->tag.request;
		return sweep;
	}
	if (h->n_sweeps == TAG_HISTORY_SWEEPS)
		return NULL;
	sweep = &h->sweeps[h->n_sweeps++];
	*sweep = *s;
	sweep->offset = s->tag.sweep;
	sweep->end = s->tag.request;
	return sweep;
}

void tag_history_add(struct tag_history *h, const struct tag_extent *s)
{
	struct tag_extent rest = *s;
	const struct tag_extent *sweep;
	bool done = false;

	pthread_mutex_lock(&h->lock);
	for (unsigned i = 0; i < h->n_sweeps && !done; i++)
		done = hold_against(h, &rest, &h->sweeps[i]);
	if (!done)
		remember(h, &rest);
	sweep = learn_sweep(h, s);
	for (unsigned i = 0; sweep && i < h->n_seen;) {
		if (hold_against(h, &h->seen[i], sweep))
			h->seen[i] = h->seen[--h->n_seen];
		else
			i++;
	}
	pthread_mutex_unlock(&h->lock);
}

bool tag_history_take(struct tag_history *h, struct tag_stale *stale)
{
	bool any;

	pthread_mutex_lock(&h->lock);
	any = h->n_stale != 0;
	if (any) {
		*stale = h->stale[0];
		h->n_stale--;
		memmove(h->stale, h->stale + 1, h->n_stale * sizeof(h->stale[0]));
	}
	pthread_mutex_unlock(&h->lock);
	return any;
}

bool tag_history_target(struct tag_history *h, const struct tag *tag, uint32_t own)
{
	bool good = true;
	unsigned i = 0;

	pthread_mutex_lock(&h->lock);
	while (i < h->n_runs && h->runs[i].run != tag->run)
		i++;
	if (i < h->n_runs && tag->target == own)
		h->runs[i].target = own;
	else if (i < h->n_runs)
		good = h->runs[i].target == tag->target;
	else if (i < TAG_HISTORY_RUNS) {
		h->runs[i].run = tag->run;
		h->runs[i].target = tag->target;
		h->n_runs++;
	}
	pthread_mutex_unlock(&h->lock);
	return good;
}
