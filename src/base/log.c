/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to the user, the kinds of -debug and their lines, and hold points. Called from
 * everywhere, by any thread.
 */
#include "xdd/base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/* atomic: where messages go */
static _Atomic int log_fd = STDERR_FILENO;

/* atomic: a transient line is on the terminal */
static _Atomic bool log_drawn;

/* guarded by `lock`: the messages of log_keep(); an entry never changes once it is there */
static struct {
	pthread_mutex_t lock;
	bool wanted;
	size_t n;
	unsigned long dropped;
	struct {
		enum log_level level;
		char *text;
	} messages[LOG_KEPT_MAX];
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* guarded by `lock`: lines that log_hold() keeps back */
static struct {
	pthread_mutex_t lock;
	bool on;
	char *text;
	size_t size;
} held = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* written while there are no other threads that have messages */
static struct {
	log_diverted *to; /* NULL: lines are written here */
	void *arg;
} diverted;

int log_open(const char *path)
{
	int fd = output_standard(path);

	/* Append mode, so that the output of others to the same file is not overwritten. */
	if (fd < 0)
		fd = output_open(path, O_APPEND | O_TRUNC);
	else if ((fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
		fd = -errno;
	if (fd < 0)
		return fd;
	if (log_fd == STDERR_FILENO) {
		log_fd = fd;
		return 0;
	}
	/* A thread that writes meanwhile has the number, which never belongs to another file. */
	if (dup3(fd, log_fd, O_CLOEXEC) < 0) {
		const int err = -errno;

		close(fd);
		return err;
	}
	close(fd);
	return 0;
}

/* False: lines are not held, or memory is short. */
static bool log_hold_lines(const char *text, size_t size)
{
	bool done = false;
	char *more;

	pthread_mutex_lock(&held.lock);
	more = held.on ? realloc(held.text, held.size + size) : NULL;
	if (more) {
		memcpy(more + held.size, text, size);
		held.text = more;
		held.size += size;
		done = true;
	}
	pthread_mutex_unlock(&held.lock);
	return done;
}

void log_undiverted(const char *text, size_t size)
{
	int err;

	/* There is no place to report an error. */
	outwait_write(atomic_load(&log_fd), text, size, &err);
}

static void write_all(const char *text, size_t size)
{
	if (log_hold_lines(text, size))
		return;
	if (diverted.to)
		diverted.to(diverted.arg, text, size);
	else
		log_undiverted(text, size);
}

void log_divert(log_diverted *to, void *arg)
{
	/* Main threads, where the ranks of a test are threads of one process. */
	pthread_mutex_lock(&held.lock);
	diverted.to = to;
	diverted.arg = arg;
	pthread_mutex_unlock(&held.lock);
}

size_t log_hold(void)
{
	size_t size;

	pthread_mutex_lock(&held.lock);
	held.on = true;
	size = held.size;
	pthread_mutex_unlock(&held.lock);
	return size;
}

void log_drop(size_t size)
{
	pthread_mutex_lock(&held.lock);
	if (size < held.size)
		held.size = size;
	pthread_mutex_unlock(&held.lock);
}

void log_release(void)
{
	char *text;
	size_t size;

	pthread_mutex_lock(&held.lock);
	held.on = false;
	text = held.text;
	size = held.size;
	held.text = NULL;
	held.size = 0;
	pthread_mutex_unlock(&held.lock);
	if (size)
		write_all(text, size);
	free(text);
}

#define WIPE "\r\033[K"

bool log_is_terminal(void)
{
	return isatty(atomic_load(&log_fd));
}

bool log_shares_terminal(int fd)
{
	struct stat messages, other;

	return log_is_terminal() && isatty(fd) && fstat(atomic_load(&log_fd), &messages) == 0 &&
	       fstat(fd, &other) == 0 && messages.st_rdev == other.st_rdev;
}

static int line_columns(void)
{
	unsigned columns = terminal_columns(atomic_load(&log_fd));

	return columns > 1 ? (int)columns : 80;
}

/* The last column stays empty: some terminals begin a new line after it. */
size_t log_transient_columns(void)
{
	return (size_t)line_columns() - 1;
}

void log_transient(const char *text)
{
	char line[LOG_LINE_BYTES + 1];

	if (diverted.to)
		return;
	if (!text) {
		if (atomic_exchange(&log_drawn, false))
			write_all(WIPE, strlen(WIPE));
		return;
	}
	if (!log_is_terminal())
		return;
	/* The last column is left free: some terminals go to the next line after it. */
	snprintf(line, sizeof(line), WIPE "%.*s", (int)log_transient_columns(), text);
	atomic_store(&log_drawn, true);
	write_all(line, strlen(line));
}

static const char *level_prefix(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_WARNING:
		return "xdd: warning: ";
	case LOG_LEVEL_NOTICE:
		return "xdd: note: ";
	case LOG_LEVEL_ERROR:
		break;
	}
	return "xdd: ";
}

const char *log_level_name(enum log_level level)
{
	static const char *const names[] = {
		[LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_WARNING] = "warning",
		[LOG_LEVEL_NOTICE] = "note",
	};

	return names[level];
}

void log_keep(void)
{
	pthread_mutex_lock(&kept.lock);
	kept.wanted = true;
	while (kept.n)
		free(kept.messages[--kept.n].text);
	kept.dropped = 0;
	pthread_mutex_unlock(&kept.lock);
}

static void log_keep_text(enum log_level level, const char *text)
{
	pthread_mutex_lock(&kept.lock);
	if (kept.wanted && kept.n < LOG_KEPT_MAX) {
		kept.messages[kept.n].level = level;
		kept.messages[kept.n].text = strdup(text);
		if (kept.messages[kept.n].text)
			kept.n++;
		else
			kept.dropped++;
	} else if (kept.wanted) {
		kept.dropped++;
	}
	pthread_mutex_unlock(&kept.lock);
}

const char *log_kept(size_t i, enum log_level *level)
{
	const char *text = NULL;

	pthread_mutex_lock(&kept.lock);
	if (i < kept.n) {
		text = kept.messages[i].text;
		*level = kept.messages[i].level;
	}
	pthread_mutex_unlock(&kept.lock);
	return text;
}

unsigned long log_not_kept(void)
{
	unsigned long dropped;

	pthread_mutex_lock(&kept.lock);
	dropped = kept.dropped;
	pthread_mutex_unlock(&kept.lock);
	return dropped;
}

/*
 * Replace the bytes from `text` on that are unsafe. A name must not look like a second message, nor
 * control the terminal. Returns the length.
 */
static size_t clean(char *text)
{
	size_t len = 0;

	while (text[len]) {
		size_t unsafe = printable_unsafe(text + len);

		memset(text + len, '?', unsafe);
		len += unsafe ? unsafe : utf8_length(text + len);
	}
	return len;
}

void log_keep_warning(const char *text)
{
	char line[LOG_LINE_BYTES + 1];

	snprintf(line, sizeof(line), "%s", text);
	clean(line);
	log_keep_text(LOG_LEVEL_WARNING, line);
}

/* `level` is an enum log_level, or -1 for a line that is no message and is not kept. */
static void put_line(int level, const char *prefix_text, const char *fmt, va_list ap)
{
	char line[LOG_LINE_BYTES + 1];
	int saved = errno;
	size_t len, prefix;

	prefix = (size_t)snprintf(line, sizeof(line), "%s", prefix_text);
	vsnprintf(line + prefix, sizeof(line) - prefix, fmt, ap);

	len = clean(line);
	if (level >= 0)
		log_keep_text((enum log_level)level, line + prefix);
	line[len++] = '\n';
	log_transient(NULL);
	write_all(line, len);
	errno = saved;
}

/* As log_error(), with `prefix` in place of "xdd: ". Not for messages: log.h. */
static void log_vline(const char *prefix, const char *fmt, va_list ap)
{
	put_line(-1, prefix, fmt, ap);
}

void log_message(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line((int)level, level_prefix(level), fmt, ap);
	va_end(ap);
}

void log_raw(const char *text)
{
	int saved = errno;

	log_transient(NULL);
	write_all(text, strlen(text));
	errno = saved;
}

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

#define VARIABLE "XDD_TEST_HOLD"
#define EACH UINT64_MAX

static const char *const names[HOLD_POINTS] = {
	[HOLD_SIGNALS_READY] = "signals ready",	    [HOLD_SIGNAL_TAKEN] = "signal taken",
	[HOLD_OUTPUT_FULL] = "output full",	    [HOLD_OPERATION] = "operation",
	[HOLD_PASS_BEGUN] = "pass begun",	    [HOLD_PASS_CLOSED] = "pass closed",
	[HOLD_PASS_ENDED] = "pass ended",	    [HOLD_RESULTS_WRITTEN] = "results written",
	[HOLD_STRANGER_LATE] = "stranger late",	    [HOLD_HOST_ANSWERED] = "host answered",
	[HOLD_WELCOME_SENT] = "WELCOME sent",	    [HOLD_WELCOME_RECEIVED] = "WELCOME received",
	[HOLD_BUNDLE_SENT] = "bundle sent",	    [HOLD_BLOCK_SENT] = "block sent",
	[HOLD_JOURNAL_CREATED] = "journal created", [HOLD_RANGE_DURABLE] = "range durable",
	[HOLD_BEFORE_RENAME] = "before rename",	    [HOLD_AFTER_RENAME] = "after rename",
	[HOLD_CAUSE_AWAITED] = "cause awaited",	    [HOLD_PROOF_BEGUN] = "proof begun",
};

uint32_t hold_points;

/* const after hold_start() */
static struct sockaddr_un test = { .sun_family = AF_UNIX };
static uint64_t which[HOLD_POINTS]; /* EACH: each time */

/* atomic: how often a point was reached */
static _Atomic uint64_t reached[HOLD_POINTS];

/* One of the list, which ends at a comma or at the end. Returns 0 or -EINVAL. */
static int add_point(char *word)
{
	char *n = strchr(word, ':'), *end = NULL;

	if (n)
		*n++ = '\0';
	for (int i = 0; i < HOLD_POINTS; i++) {
		if (strcmp(word, names[i]) != 0)
			continue;
		which[i] = n ? strtoull(n, &end, 10) : EACH;
		hold_points |= UINT32_C(1) << i;
		return n && (end == n || *end) ? -EINVAL : 0;
	}
	return -EINVAL;
}

static int hold_parse(char *text)
{
	char *path = strchr(text, '@'), *rest = NULL;
	int err = 0;

	if (!path || strlen(path + 1) >= sizeof(test.sun_path))
		return -EINVAL;
	*path++ = '\0';
	strcpy(test.sun_path, path);
	for (char *word = strtok_r(text, ",", &rest); word && !err;
	     word = strtok_r(NULL, ",", &rest))
		err = add_point(word);
	return err;
}

int hold_start(void)
{
	const char *value = secure_getenv(VARIABLE);
	char *text;
	int err;

	if (!value)
		return 0;
	text = strdup(value);
	err = text ? hold_parse(text) : -ENOMEM;
	free(text);
	if (err)
		log_error(VARIABLE ": expected POINT[:N][,POINT[:N]]...@SOCKET, not \"%s\"", value);
	return err;
}

/* Returns after the test has closed the connection; at once where no test listens. */
static void wait_for_test(enum hold_point point, uint64_t n)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char line[80], byte;
	int size = snprintf(line, sizeof(line), "%s\t%" PRIu64 "\t%d\n", names[point], n, getpid());
	ssize_t got;

	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&test, sizeof(test)) == 0 &&
	    send(fd, line, (size_t)size, MSG_NOSIGNAL) == size) {
		do
			got = read(fd, &byte, 1);
		while (got > 0 || (got < 0 && errno == EINTR));
	}
	close(fd);
}

void hold_reach(enum hold_point point)
{
	const uint64_t n = 1 + atomic_fetch_add(&reached[point], 1);

	if (which[point] == EACH || which[point] == n)
		wait_for_test(point, n);
}

void hold_reach_operation(uint64_t n)
{
	if (which[HOLD_OPERATION] == EACH || which[HOLD_OPERATION] == n)
		wait_for_test(HOLD_OPERATION, n);
}
