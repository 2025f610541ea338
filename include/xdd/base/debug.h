/*
 * Diagnostic lines of -debug: "DEBUG_<KIND> <seconds> <text>", written where messages go. The
 * seconds count from debug_enable(). A line is written with one write(2).
 *
 * A new kind is its enum debug_kind and its row in src/base/debug.c; a new event is one
 * debug_line().
 */
#ifndef XDD_BASE_DEBUG_H
#define XDD_BASE_DEBUG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Bits of a mask. */
enum debug_kind {
	DEBUG_IO = 1 << 0,
	DEBUG_LOCKSTEP = 1 << 1,
	DEBUG_OPEN = 1 << 2,
	DEBUG_TASK = 1 << 3,
	DEBUG_TIMELIMIT = 1 << 4,
	DEBUG_TOT = 1 << 5,
	DEBUG_USER1 = 1 << 6,
	DEBUG_THROTTLE = 1 << 7,
	DEBUG_TS = 1 << 8,
	DEBUG_E2E = 1 << 9,
	DEBUG_ALL = (1 << 10) - 1,
};

struct debug_row {
	const char *name;
	const char *alias; /* NULL: none */
	unsigned kinds;
	const char *text; /* the events of the kind */
};

/* atomic: private to debug_on() */
extern _Atomic unsigned debug_kinds;

/* Row `i` of the kinds there are words for, or NULL past the end. */
const struct debug_row *debug_row_at(size_t i);

/* The row of a word of -debug, in upper or lower case, or NULL. */
const struct debug_row *debug_row_find(const char *word);

/* Show lines of `kinds` from now on. Called by main before each run. */
void debug_enable(unsigned kinds);

/* True if lines of any of `kinds` are shown. Any thread. */
static inline bool debug_on(unsigned kinds)
{
	const unsigned shown = atomic_load_explicit(&debug_kinds, memory_order_relaxed);

	return __builtin_expect((shown & kinds) != 0, 0);
}

/* Write a line of `kind`, without the test that debug_line() makes first. Any thread. */
void debug_print(enum debug_kind kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Evaluates its arguments only when the line is shown. */
#define debug_line(kind, ...)                           \
	do {                                            \
		if (debug_on(kind))                     \
			debug_print(kind, __VA_ARGS__); \
	} while (0)

#endif
