/*
 * Messages for people: one line each, to standard error or the file of -errout.
 *
 * A message is written with one write(2), so lines of different threads never mix. Results never
 * use these functions. Without log_open(), messages go to standard error. Any thread may call the
 * log_*() functions after it.
 */
#ifndef XDD_BASE_LOG_H
#define XDD_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

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
 * Each writes one line: "xdd: <text>", with "warning: " or "note: " between for the other two. The
 * text has no newline of its own. A line longer than 4095 bytes is cut.
 */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* As log_error(), with `prefix` in place of "xdd: ". Not for messages: debug.h. */
void log_vline(const char *prefix, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

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
 * about the run, and forget those of a run before. Any thread.
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

#endif
