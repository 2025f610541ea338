/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is freed at once, and the end of the program where memory is short. Called by
 * commands and while a plan is built, whose memory plan_free() frees.
 */
#include "xdd/base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/status.h"

#define CHUNK_BYTES ((size_t)16 * 1024)

struct chunk {
	struct chunk *next;
	size_t size;
	size_t used;
	max_align_t data[];
};

struct arena {
	struct chunk *chunks; /* the first is filled now */
};

struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	while (a->chunks) {
		struct chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
	free(a);
}

static struct chunk *chunk_new(size_t size)
{
	struct chunk *c;

	if (size > SIZE_MAX - sizeof(*c))
		return NULL;
	c = calloc(1, sizeof(*c) + size);
	if (c)
		c->size = size;
	return c;
}

/* A large allocation: a chunk of its own, after the one that is filled now. */
static void *alloc_apart(struct arena *a, size_t size)
{
	struct chunk *c = chunk_new(size);

	if (!c)
		return NULL;
	c->used = size;
	if (a->chunks) {
		c->next = a->chunks->next;
		a->chunks->next = c;
	} else {
		a->chunks = c;
	}
	return c->data;
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct chunk *c = a->chunks;
	void *p;

	if (size > SIZE_MAX - align)
		return NULL;
	size = size ? (size + align - 1) / align * align : align;
	if (size > CHUNK_BYTES / 4)
		return alloc_apart(a, size);

	if (!c || c->size - c->used < size) {
		c = chunk_new(CHUNK_BYTES);
		if (!c)
			return NULL;
		c->next = a->chunks;
		a->chunks = c;
	}
	p = (char *)c->data + c->used;
	c->used += size;
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	size_t size = strlen(s) + 1;
	char *copy = arena_alloc(a, size);

	return copy ? memcpy(copy, s, size) : NULL;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	char *text = NULL;
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len >= 0)
		text = arena_alloc(a, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, ap);
	return text;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return text;
}

char *xarena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = xneed(arena_vprintf(a, fmt, ap));
	va_end(ap);
	return text;
}

void *xarena_room(struct arena *a, void *items, size_t n, size_t size)
{
	const size_t room = n ? 2 * n : ARRAY_FIRST_ROOM;
	void *more;

	if (n && (n < ARRAY_FIRST_ROOM || n & (n - 1)))
		return items;
	if (room > SIZE_MAX / size)
		memory_end();
	more = xarena_alloc(a, room * size);
	if (n)
		memcpy(more, items, n * size);
	return more;
}

/* How the program ends where memory is short. */
static struct {
	int status;
	void (*save)(void *arg);
	void *arg;
} last = { .status = XDD_INIT_FAILED };

void memory_on_end(int status, void (*save)(void *arg), void *arg)
{
	last.status = status;
	last.save = save;
	last.arg = arg;
}

void memory_end(void)
{
	void (*const save)(void *arg) = last.save;

	log_divert(NULL, NULL);
	log_release();
	log_error("out of memory");
	last.save = NULL;
	if (save)
		save(last.arg);
	exit(last.status);
}
