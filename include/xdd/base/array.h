/*
 * Arrays that grow by one element at a time, doubling their room.
 *
 *	struct item *items = array_room(list->items, list->n, sizeof(*items));
 *
 *	if (!items)
 *		return -ENOMEM;
 *	list->items = items;
 *	items[list->n++] = item;
 */
#ifndef XDD_BASE_ARRAY_H
#define XDD_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* Elements that the first allocation has room for; a power of two. */
#define ARRAY_FIRST_ROOM 8u

/*
 * Make room for element `n` of an array that has `n` elements of `size` bytes, all added in this
 * way (NULL: none yet). The room follows from `n`: the next power of two. Returns the array, which
 * may have moved, or NULL where memory is short; `items` is then unchanged. The caller frees it.
 */
static inline void *array_room(void *items, size_t n, size_t size)
{
	if (n && (n < ARRAY_FIRST_ROOM || n & (n - 1)))
		return items;
	return reallocarray(items, n ? 2 * n : ARRAY_FIRST_ROOM, size);
}

#endif
