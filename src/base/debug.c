/*
 * The kinds of -debug, and their lines. Called from everywhere, by any thread.
 */
#include "xdd/base/debug.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <strings.h>

#include "xdd/base/log.h"
#include "xdd/base/nstime.h"

_Atomic unsigned debug_kinds;

/* atomic: when the run began, of clock_kernel_ns() */
static _Atomic uint64_t debug_start_ns;

static const struct debug_row rows[] = {
	{ "e2e", "end2end", DEBUG_E2E, "messages of end-to-end copies, sent and received" },
	{ "io", NULL, DEBUG_IO, "each operation, when it is issued and when it completes" },
	{ "lockstep", "ls", DEBUG_LOCKSTEP, "operations that wait for other targets" },
	{ "open", NULL, DEBUG_OPEN, "each opening and closing of a target" },
	{ "task", NULL, DEBUG_TASK, "threads, when they start and when they end" },
	{ "throttle", "throt", DEBUG_THROTTLE, "how late operations are that -throttle paces" },
	{ "timelimit", "tl", DEBUG_TIMELIMIT, "limits of time that end a pass" },
	{ "tot", NULL, DEBUG_TOT, "whose turn it is in an -ordering" },
	{ "ts", NULL, DEBUG_TS, "chunks of the table of -timestamps that QThreads take" },
	{ "user1", NULL, DEBUG_USER1, "at SIGUSR1, how far each QThread is" },
	{ "all", "a", DEBUG_ALL, "all of these" },
};

const struct debug_row *debug_row_at(size_t i)
{
	return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}

const struct debug_row *debug_row_find(const char *word)
{
	const struct debug_row *row;

	for (size_t i = 0; (row = debug_row_at(i)) != NULL; i++) {
		if (strcasecmp(row->name, word) == 0 ||
		    (row->alias && strcasecmp(row->alias, word) == 0))
			return row;
	}
	return NULL;
}

void debug_enable(unsigned kinds)
{
	atomic_store(&debug_start_ns, clock_kernel_ns());
	atomic_store(&debug_kinds, kinds);
}

/* "DEBUG_<KIND> <seconds> " */
static void write_prefix(char *buf, size_t size, enum debug_kind kind)
{
	double seconds = (double)(clock_kernel_ns() - atomic_load(&debug_start_ns)) / NS_PER_SEC;
	const struct debug_row *row = rows;

	while (row->kinds != (unsigned)kind)
		row++;
	snprintf(buf, size, "DEBUG_%s %.9f ", row->name, seconds);
	for (; *buf != ' '; buf++)
		*buf = (char)toupper((unsigned char)*buf);
}

void debug_print(enum debug_kind kind, const char *fmt, ...)
{
	char prefix[64];
	va_list ap;

	write_prefix(prefix, sizeof(prefix), kind);
	va_start(ap, fmt);
	log_vline(prefix, fmt, ap);
	va_end(ap);
}
