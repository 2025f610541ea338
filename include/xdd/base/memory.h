/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory: pieces that are freed at once, arrays that grow, text of unknown length, and the end of
 * the program where memory is short.
 */
#ifndef XDD_BASE_MEMORY_H
#define XDD_BASE_MEMORY_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena;

/*
 * The end of the program where memory is short. Functions that begin with an x never return NULL:
 * they end the program with the line "xdd: out of memory". They are for command lines, plans,
 * documents that are read, and pages: before a run nothing is lost. Code that has results, and that
 * of runs, copies and the network, returns errors instead. Main thread.
 */

/*
 * Choose how the program ends: with `status` instead of XDD_INIT_FAILED, and after `save`, which
 * may be NULL, was called with `arg`. A shortage inside `save` ends the program at once.
 */
void memory_on_end(int status, void (*save)(void *arg), void *arg);

/* End the program. Messages that are held are written first, those that are diverted are lost. */
_Noreturn void memory_end(void);

/* `p`, the result of an allocation; ends the program where it is NULL. */
static inline void *xneed(void *p)
{
	if (!p)
		memory_end();
	return p;
}

/* `n` zeroed elements of `size` bytes. The caller frees them. */
static inline void *xcalloc(size_t n, size_t size)
{
	return xneed(calloc(n ? n : 1, size));
}

/* The caller frees it. */
static inline char *xstrdup(const char *s)
{
	return xneed(strdup(s));
}

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
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* As those without the x; they end the program where memory is short. */

static inline struct arena *xarena_new(void)
{
	return xneed(arena_new());
}

static inline void *xarena_alloc(struct arena *a, size_t size)
{
	return xneed(arena_alloc(a, size));
}

static inline char *xarena_strdup(struct arena *a, const char *s)
{
	return xneed(arena_strdup(a, s));
}

char *xarena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As xarray_room(), for an array that is memory of the arena, as are all that it was before. */
void *xarena_room(struct arena *a, void *items, size_t n, size_t size);

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

/* As array_room(); ends the program where memory is short. */
static inline void *xarray_room(void *items, size_t n, size_t size)
{
	return xneed(array_room(items, n, size));
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

/*
 * As memstream_open(), and as memstream_close(), which returns the text. They end the program where
 * memory is short.
 */
static inline FILE *xmemstream_open(struct memstream *m)
{
	return xneed(memstream_open(m));
}

static inline char *xmemstream_close(struct memstream *m)
{
	memstream_close(m);
	return xneed(m->text);
}

/* Close the stream and free its text. Safe on a stream that is all zero. */
static inline void memstream_discard(struct memstream *m)
{
	memstream_close(m);
	free(m->text);
	m->text = NULL;
}

#endif
