/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to the user, the lines of -debug, and hold points of tests.
 */
#ifndef XDD_BASE_LOG_H
#define XDD_BASE_LOG_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/status.h"

/*
 * Messages to the user: one line each, to standard error or the file of -errout.
 *
 * A message is written with one write(2), so lines of different threads never mix. Results never
 * use these functions. Without log_open(), messages go to standard error. Any thread may call the
 * log_*() functions after it.
 */

#define LOG_LINE_BYTES 4095

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
};

/*
 * Send all further messages to file `path`, created or truncated, or to the standard stream of that
 * name. Called by main, while no other thread calls it. Returns 0 or -errno, as output_open()
 * does; on failure messages go where they went before.
 */
int log_open(const char *path);

/*
 * Hold all lines until log_release(), because their destination is not known yet. Returns the
 * number of bytes held so far: log_drop() drops the lines that followed them. log_release() writes
 * the rest, and must be called before the process ends. Called by main, before any other thread
 * runs.
 */
size_t log_hold(void);
void log_drop(size_t size);
void log_release(void);

/*
 * From now on all lines go to `to(arg, text, size)`, one or more with their newlines, in the thread
 * that has them; NULL: to where messages go. Main thread, while no other thread has messages. A
 * terminal gets no transient lines meanwhile.
 */
typedef void log_diverted(void *arg, const char *text, size_t size);
void log_divert(log_diverted *to, void *arg);

/* Write whole lines to where messages go, whether they are diverted or not. Any thread. */
void log_undiverted(const char *text, size_t size);

/*
 * Write one line: "xdd: <text>", with "warning: " or "note: " between for the other two levels. The
 * text has no newline of its own. A line longer than LOG_LINE_BYTES is cut.
 */
void log_message(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_message(LOG_LEVEL_NOTICE, __VA_ARGS__)

/* log_error() for a function that fails: the value that it returns; a bad argument without one. */
#define log_fail(value, ...) (log_error(__VA_ARGS__), (value))
#define log_refuse(...) log_fail(XDD_BAD_ARGUMENT, __VA_ARGS__)

/* True if messages go to a terminal. */
bool log_is_terminal(void);

/* True if messages go to the terminal that `fd` refers to. */
bool log_shares_terminal(int fd);

/*
 * Draw `text` (no newline; cut to the width) on the terminal that messages go to, over the text
 * that this function drew before; NULL erases that. The next message, or result on a terminal,
 * erases it too. Does nothing where messages go elsewhere. Any thread, one at a time.
 */
void log_transient(const char *text);

/* The columns that log_transient() has for a text, now. */
size_t log_transient_columns(void);

#define LOG_KEPT_MAX 1000

/*
 * Keep the messages that are written from now on, the first LOG_KEPT_MAX of them, for a report
 * about the run, and forget the warnings of a run before. Any thread.
 */
void log_keep(void);

/*
 * Kept message `i`, from 0, without its prefix; NULL past the last. The text stays valid until the
 * next log_keep(). `*level` is its level.
 */
const char *log_kept(size_t i, enum log_level *level);

/* Keep a warning, without writing it: another output shows it. Any thread. */
void log_keep_warning(const char *text);

/* Messages beyond those that are kept. */
unsigned long log_not_kept(void);

/* "error", "warning" or "note". */
const char *log_level_name(enum log_level level);

/* Write `text`, which has its own newlines, unchanged to where messages go. Any thread. */
void log_raw(const char *text);

/*
 * Diagnostic lines of -debug: "DEBUG_<KIND> <seconds> <text>", written where messages go. The
 * seconds count from debug_enable(). A line is written with one write(2).
 *
 * A new kind is its enum debug_kind and its row in src/base/log.c; a new event is one
 * debug_line().
 */

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

/*
 * Hold points: places where a test stops this process to act while it is there (doc/design.md
 * lists them). XDD_TEST_HOLD names points and the socket of the test:
 *
 *	XDD_TEST_HOLD='POINT[:N][,POINT[:N]]...@SOCKET'
 *
 * A thread that reaches POINT, with N only the one that reaches it for the Nth time or in
 * operation N, connects to the listening Unix socket SOCKET, sends the line "POINT<tab>N<tab>PID",
 * and waits until the test closes the connection or ends. Child processes have the same points.
 *
 * Without the variable a point costs one predicted branch, and none is in the path of operations.
 */

/* A row of each is in src/base/log.c. */
enum hold_point {
	HOLD_SIGNALS_READY,
	HOLD_SIGNAL_TAKEN,
	HOLD_OUTPUT_FULL,
	HOLD_OPERATION, /* hold_operation() */
	HOLD_PASS_BEGUN,
	HOLD_PASS_ENDED,
	HOLD_PASS_CLOSED,
	HOLD_RESULTS_WRITTEN,
	HOLD_STRANGER_LATE,
	HOLD_HOST_ANSWERED,
	HOLD_WELCOME_SENT,
	HOLD_WELCOME_RECEIVED,
	HOLD_BUNDLE_SENT,
	HOLD_BLOCK_SENT,
	HOLD_JOURNAL_CREATED,
	HOLD_RANGE_DURABLE,
	HOLD_BEFORE_RENAME,
	HOLD_AFTER_RENAME,
	HOLD_CAUSE_AWAITED,
	HOLD_PROOF_BEGUN,
	HOLD_POINTS,
};

/* const after hold_start(): bits of the points of XDD_TEST_HOLD. Private to hold_wants(). */
extern uint32_t hold_points;

/*
 * Read XDD_TEST_HOLD, once, before other threads start. A process that has more rights than its
 * user (set-user-ID, capabilities) ignores it. Returns 0, or -EINVAL with a message: a name that
 * does not exist must not make a test pass.
 */
int hold_start(void);

/* Private to hold(). */
void hold_reach(enum hold_point point);
void hold_reach_operation(uint64_t n);

static inline bool hold_wants(enum hold_point point)
{
	return __builtin_expect((hold_points >> point & 1) != 0, 0);
}

/* Any thread; with locks of the caller, where the point is in a section that has them. */
static inline void hold(enum hold_point point)
{
	if (hold_wants(point))
		hold_reach(point);
}

/* Operation `n` of a pass of a target is about to be submitted. */
static inline void hold_operation(uint64_t n)
{
	if (hold_wants(HOLD_OPERATION))
		hold_reach_operation(n);
}

#endif
