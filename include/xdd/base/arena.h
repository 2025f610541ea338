/*
 * Memory that is allocated in pieces and freed at once. One thread at a time.
 */
#ifndef XDD_BASE_ARENA_H
#define XDD_BASE_ARENA_H

#include <stddef.h>

struct arena;

/* NULL when memory is short. Free with arena_free(), which accepts NULL. */
struct arena *arena_new(void);
void arena_free(struct arena *a);

/* `size` zeroed bytes, aligned for any type; NULL when memory is short. Owned by the arena. */
void *arena_alloc(struct arena *a, size_t size);

char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
