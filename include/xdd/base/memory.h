/*
 * Memory: pieces that are freed at once, arrays that grow, and text of unknown length.
 */
#ifndef XDD_BASE_MEMORY_H
#define XDD_BASE_MEMORY_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct arena;

/*
 * Memory that is allocated in pieces and freed at once. One thread at a time.
 */

/* NULL when memory is short. Free with arena_free(), which accepts NULL. */
struct arena *arena_new(void);
void arena_free(struct arena *a);

/* `size` zeroed bytes, aligned for any type; NULL when memory is short. Owned by the arena. */
void *arena_alloc(struct arena *a, size_t size);

char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

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

/*
 * Text of unknown length, made by stdio into memory.
 *
 *	struct memstream m;
 *
 *	if (!memstream_open(&m))
 *		return -ENOMEM;
 *	fprintf(m.f, ...);
 *	err = memstream_close(&m);
 *	... m.text, m.size ...
 *	free(m.text);
 */

struct memstream {
	FILE *f; /* NULL: there is no stream */
	char *text;
	size_t size; /* bytes, without the NUL that follows them */
};

/* Returns the stream, or NULL where memory is short. */
static inline FILE *memstream_open(struct memstream *m)
{
	m->text = NULL;
	m->size = 0;
	m->f = open_memstream(&m->text, &m->size);
	return m->f;
}

/*
 * Close the stream, which may be NULL. Returns 0 with `text`, which the caller frees, or -ENOMEM
 * with `text` NULL.
 */
static inline int memstream_close(struct memstream *m)
{
	int failed = !m->f || ferror(m->f);

	if (m->f && fclose(m->f))
		failed = 1;
	m->f = NULL;
	/* glibc loses the text, and reports no error, if it cannot shrink it. */
	if (!failed && m->text)
		return 0;
	free(m->text);
	m->text = NULL;
	m->size = 0;
	return -ENOMEM;
}

/* Close the stream and free its text. Safe on a stream that is all zero. */
static inline void memstream_discard(struct memstream *m)
{
	memstream_close(m);
	free(m->text);
	m->text = NULL;
}

#endif
