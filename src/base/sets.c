/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of whole numbers. Sorted ranges serve the operations that a destination has received, and
 * those that a restart file lists; sets of small numbers serve processors and NUMA nodes; maps by
 * numbers serve the entries of a copy.
 */
#include "xdd/base/sets.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/units.h"

/*
 * Sets of numbers as sorted ranges; see the header. Called for the operations that a destination
 * has received, and for those that a restart file lists.
 */

#define FIRST_ROOM 16u

void extents_init(struct extents *x, size_t limit)
{
	*x = (struct extents){ .limit = limit };
}

void extents_clear(struct extents *x)
{
	free(x->items);
	extents_init(x, x->limit);
}

/* The first range that ends after `number`, or x->n: the one that has it, or the next. */
static size_t extents_find(const struct extents *x, uint64_t number)
{
	size_t low = 0, high = x->n;

	/* Numbers mostly arrive near the end. */
	if (x->n && x->items[x->n - 1].end <= number)
		return x->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->items[middle].end <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Have room for one more range. Returns 0 or -errno. */
static int extents_grow(struct extents *x)
{
	size_t room = x->room ? 2 * x->room : FIRST_ROOM;
	struct extent *items;

	if (x->limit && x->n >= x->limit)
		return -ENOSPC;
	if (x->n < x->room)
		return 0;
	items = reallocarray(x->items, room, sizeof(*items));
	if (!items)
		return -ENOMEM;
	x->items = items;
	x->room = room;
	return 0;
}

/* Insert a range before item `at`, that touches none. Returns 0 or -errno. */
static int extents_insert(struct extents *x, size_t at, uint64_t begin, uint64_t end)
{
	int err = extents_grow(x);

	if (err)
		return err;
	memmove(&x->items[at + 1], &x->items[at], (x->n - at) * sizeof(*x->items));
	x->items[at] = (struct extent){ begin, end };
	x->n++;
	x->total += end - begin;
	return 0;
}

int extents_add(struct extents *x, uint64_t begin, uint64_t end)
{
	size_t first, after;
	struct extent *item;

	if (end < begin)
		return -EINVAL;
	if (begin == end)
		return 0;
	/* Items `first` to `after - 1` overlap or touch the range, and become one with it. */
	first = begin ? extents_find(x, begin - 1) : 0;
	for (after = first; after < x->n && x->items[after].begin <= end; after++)
		;
	if (after == first)
		return extents_insert(x, first, begin, end);
	item = &x->items[first];
	if (item->begin < begin)
		begin = item->begin;
	if (x->items[after - 1].end > end)
		end = x->items[after - 1].end;
	for (size_t i = first; i < after; i++)
		x->total -= x->items[i].end - x->items[i].begin;
	x->total += end - begin;
	*item = (struct extent){ begin, end };
	memmove(item + 1, &x->items[after], (x->n - after) * sizeof(*item));
	x->n -= after - first - 1;
	return 0;
}

int extents_add_new(struct extents *x, uint64_t begin, uint64_t end)
{
	if (extents_overlaps(x, begin, end))
		return -EEXIST;
	return extents_add(x, begin, end);
}

int extents_join(struct extents *x, const struct extents *from)
{
	for (size_t i = 0; i < from->n; i++) {
		int err = extents_add(x, from->items[i].begin, from->items[i].end);

		if (err)
			return err;
	}
	return 0;
}

int extents_copy(struct extents *x, const struct extents *from)
{
	if (from->n > x->room) {
		struct extent *items = reallocarray(x->items, from->n, sizeof(*items));

		if (!items)
			return -ENOMEM;
		x->items = items;
		x->room = from->n;
	}
	if (from->n)
		memcpy(x->items, from->items, from->n * sizeof(*from->items));
	x->n = from->n;
	x->total = from->total;
	return 0;
}

bool extents_contains(const struct extents *x, uint64_t begin, uint64_t end)
{
	size_t i;

	if (begin >= end)
		return true;
	i = extents_find(x, begin);
	return i < x->n && x->items[i].begin <= begin && end <= x->items[i].end;
}

bool extents_overlaps(const struct extents *x, uint64_t begin, uint64_t end)
{
	size_t i;

	if (begin >= end)
		return false;
	i = extents_find(x, begin);
	return i < x->n && x->items[i].begin < end;
}

uint64_t extents_first_missing(const struct extents *x, uint64_t from)
{
	size_t i = extents_find(x, from);

	return i < x->n && x->items[i].begin <= from ? x->items[i].end : from;
}

bool extents_next_missing(const struct extents *x, uint64_t from, uint64_t end, struct extent *gap)
{
	size_t i;

	from = extents_first_missing(x, from);
	if (from >= end)
		return false;
	i = extents_find(x, from);
	*gap = (struct extent){ from,
				i < x->n && x->items[i].begin < end ? x->items[i].begin : end };
	return true;
}

#define WORDS (IDSET_SIZE / IDSET_BITS_PER_WORD)
#define ITEM_SIZE 32 /* more than one number or range needs */

void idset_add(struct idset *s, unsigned id)
{
	s->words[id / IDSET_BITS_PER_WORD] |= 1ul << id % IDSET_BITS_PER_WORD;
}

bool idset_has(const struct idset *s, unsigned id)
{
	return id < IDSET_SIZE &&
	       (s->words[id / IDSET_BITS_PER_WORD] >> id % IDSET_BITS_PER_WORD & 1);
}

unsigned idset_count(const struct idset *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < WORDS; i++)
		n += (unsigned)__builtin_popcountl(s->words[i]);
	return n;
}

int idset_nth(const struct idset *s, unsigned n)
{
	for (unsigned id = 0; id < IDSET_SIZE; id++) {
		if (idset_has(s, id) && n-- == 0)
			return (int)id;
	}
	return -1;
}

void idset_merge(struct idset *s, const struct idset *from)
{
	for (size_t i = 0; i < WORDS; i++)
		s->words[i] |= from->words[i];
}

void idset_intersect(struct idset *s, const struct idset *other)
{
	for (size_t i = 0; i < WORDS; i++)
		s->words[i] &= other->words[i];
}

int idset_first_outside(const struct idset *s, const struct idset *other)
{
	struct idset rest = *s;

	for (size_t i = 0; i < WORDS; i++)
		rest.words[i] &= ~other->words[i];
	return idset_nth(&rest, 0);
}

/* "8" or "0-3". */
static int parse_item(void *set, char *item)
{
	struct idset *s = set;
	char *dash = strchr(item, '-');
	uint64_t first, last;
	int err;

	if (dash)
		*dash = '\0';
	err = units_parse_u64(item, &first);
	if (err)
		return err;
	last = first;
	if (dash)
		err = units_parse_u64(dash + 1, &last);
	if (err)
		return err;
	if (last < first)
		return -EINVAL;
	if (last >= IDSET_SIZE)
		return -ERANGE;
	for (uint64_t id = first; id <= last; id++)
		idset_add(s, (unsigned)id);
	return 0;
}

int idset_each_item(const char *text, int (*take)(void *arg, char *item), void *arg)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		char item[ITEM_SIZE];
		int err;

		if (len >= sizeof(item))
			return -EINVAL;
		memcpy(item, text, len);
		item[len] = '\0';
		err = take(arg, item);
		if (err || !text[len])
			return err;
		text += len + 1;
	}
}

int idset_parse(struct idset *s, const char *text)
{
	return idset_each_item(text, parse_item, s);
}

/* Append "0-3", with a comma where it is not the first. */
static bool idset_append(char *buf, size_t size, unsigned first, unsigned last)
{
	size_t len = strlen(buf);
	char item[ITEM_SIZE];
	int n;

	if (first == last)
		n = snprintf(item, sizeof(item), "%s%u", len ? "," : "", first);
	else
		n = snprintf(item, sizeof(item), "%s%u-%u", len ? "," : "", first, last);
	if (n < 0 || len + (size_t)n + sizeof("...") > size)
		return false;
	memcpy(buf + len, item, (size_t)n + 1);
	return true;
}

char *idset_text(const struct idset *s, char *buf, size_t size)
{
	*buf = '\0';
	for (unsigned id = 0; id < IDSET_SIZE; id++) {
		unsigned first = id;

		if (!idset_has(s, id))
			continue;
		while (idset_has(s, id + 1))
			id++;
		if (!idset_append(buf, size, first, id)) {
			strncat(buf, "...", size - strlen(buf) - 1);
			return buf;
		}
	}
	if (!*buf)
		snprintf(buf, size, "none");
	return buf;
}

/* ---- structs by their numbers ---- */

#define FIRST_LISTS 1024u

int idmap_init(struct idmap *m)
{
	*m = (struct idmap){ .n_lists = FIRST_LISTS };
	m->lists = calloc(m->n_lists, sizeof(struct idmap_link *));
	return m->lists ? 0 : -ENOMEM;
}

void idmap_free(struct idmap *m)
{
	free(m->lists);
	*m = (struct idmap){ .n = 0 };
}

/* The pointer to the link of `id`, or to the end of its list. */
static struct idmap_link **idmap_at(const struct idmap *m, uint64_t id)
{
	struct idmap_link **at = &m->lists[id & (m->n_lists - 1)];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void idmap_put(struct idmap *m, struct idmap_link *link)
{
	struct idmap_link **list = &m->lists[link->id & (m->n_lists - 1)];

	link->next = *list;
	*list = link;
}

static void idmap_grow(struct idmap *m)
{
	struct idmap larger = { .n_lists = 2 * m->n_lists, .n = m->n };

	larger.lists = calloc(larger.n_lists, sizeof(struct idmap_link *));
	if (!larger.lists)
		return;
	for (size_t i = 0; i < m->n_lists; i++) {
		for (struct idmap_link *link = m->lists[i], *next; link; link = next) {
			next = link->next;
			idmap_put(&larger, link);
		}
	}
	free(m->lists);
	*m = larger;
}

void idmap_add(struct idmap *m, struct idmap_link *link)
{
	if (m->n >= m->n_lists)
		idmap_grow(m);
	idmap_put(m, link);
	m->n++;
}

bool idmap_remove(struct idmap *m, struct idmap_link *link)
{
	struct idmap_link **at = idmap_at(m, link->id);

	if (*at != link)
		return false;
	*at = link->next;
	link->next = NULL;
	m->n--;
	return true;
}

struct idmap_link *idmap_find(const struct idmap *m, uint64_t id)
{
	return *idmap_at(m, id);
}

struct idmap_link *idmap_next(const struct idmap *m, const struct idmap_link *link)
{
	size_t i = link ? (link->id & (m->n_lists - 1)) + 1 : 0;

	if (link && link->next)
		return link->next;
	while (i < m->n_lists && !m->lists[i])
		i++;
	return i < m->n_lists ? m->lists[i] : NULL;
}
