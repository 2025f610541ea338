/*
 * Sets of numbers as sorted ranges; see the header. Called for the operations that a destination
 * has received, and for those that a restart file lists.
 */
#include "xdd/base/extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
static size_t find(const struct extents *x, uint64_t number)
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
static int grow(struct extents *x)
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
static int insert(struct extents *x, size_t at, uint64_t begin, uint64_t end)
{
	int err = grow(x);

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
	first = begin ? find(x, begin - 1) : 0;
	for (after = first; after < x->n && x->items[after].begin <= end; after++)
		;
	if (after == first)
		return insert(x, first, begin, end);
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
	i = find(x, begin);
	return i < x->n && x->items[i].begin <= begin && end <= x->items[i].end;
}

bool extents_overlaps(const struct extents *x, uint64_t begin, uint64_t end)
{
	size_t i;

	if (begin >= end)
		return false;
	i = find(x, begin);
	return i < x->n && x->items[i].begin < end;
}

uint64_t extents_first_missing(const struct extents *x, uint64_t from)
{
	size_t i = find(x, from);

	return i < x->n && x->items[i].begin <= from ? x->items[i].end : from;
}

bool extents_next_missing(const struct extents *x, uint64_t from, uint64_t end, struct extent *gap)
{
	size_t i;

	from = extents_first_missing(x, from);
	if (from >= end)
		return false;
	i = find(x, from);
	*gap = (struct extent){ from,
				i < x->n && x->items[i].begin < end ? x->items[i].begin : end };
	return true;
}
