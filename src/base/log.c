/*
 * Messages for people; see the header. Called from everywhere, by any thread.
 */
#include "xdd/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LOG_LINE_BYTES 4095

/* atomic: where messages go */
static _Atomic int log_fd = STDERR_FILENO;

/* atomic: enum log_level */
static _Atomic int log_shown = LOG_LEVEL_NOTICE;

/* atomic: a transient line is on the terminal */
static _Atomic bool log_drawn;

int log_open(const char *path)
{
	/* Append mode, so that a file which also takes the output of others is not overwritten. */
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	fd = atomic_exchange(&log_fd, fd);
	if (fd != STDERR_FILENO)
		close(fd);
	return 0;
}

void log_set_level(enum log_level level)
{
	atomic_store(&log_shown, (int)level);
}

static void write_all(const char *text, size_t size)
{
	int fd = atomic_load(&log_fd);

	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* there is nobody left to tell */
		text += n;
		size -= (size_t)n;
	}
}

#define WIPE "\r\033[K"

bool log_is_terminal(void)
{
	return isatty(atomic_load(&log_fd));
}

static unsigned terminal_columns(void)
{
	struct winsize size;

	if (ioctl(atomic_load(&log_fd), TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
		return size.ws_col;
	return 80;
}

void log_transient(const char *text)
{
	char line[LOG_LINE_BYTES + 1];
	int len;

	if (!text) {
		if (atomic_exchange(&log_drawn, false))
			write_all(WIPE, strlen(WIPE));
		return;
	}
	if (!log_is_terminal())
		return;
	/* The last column is left free: some terminals go to the next line behind it. */
	len = snprintf(line, sizeof(line), WIPE "%.*s", (int)terminal_columns() - 1, text);
	if (len > 0) {
		atomic_store(&log_drawn, true);
		write_all(line, strlen(line));
	}
}

static const char *level_prefix(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_WARNING:
		return "xdd: warning: ";
	case LOG_LEVEL_NOTICE:
		return "xdd: note: ";
	case LOG_LEVEL_DEBUG:
		return "xdd: debug: ";
	case LOG_LEVEL_ERROR:
		break;
	}
	return "xdd: ";
}

void log_vline(const char *prefix, const char *fmt, va_list ap)
{
	char line[LOG_LINE_BYTES + 1];
	int saved = errno;
	size_t len;

	len = (size_t)snprintf(line, sizeof(line), "%s", prefix);
	vsnprintf(line + len, sizeof(line) - len, fmt, ap);

	/* A name must not look like a second message, nor talk to the terminal. */
	for (len = 0; line[len]; len++)
		if ((unsigned char)line[len] < ' ' || line[len] == 0x7f)
			line[len] = '?';
	line[len++] = '\n';
	log_transient(NULL);
	write_all(line, len);
	errno = saved;
}

void log_vmessage(enum log_level level, const char *fmt, va_list ap)
{
	if ((int)level <= atomic_load_explicit(&log_shown, memory_order_relaxed))
		log_vline(level_prefix(level), fmt, ap);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vmessage(LOG_LEVEL_ERROR, fmt, ap);
	va_end(ap);
}

void log_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vmessage(LOG_LEVEL_WARNING, fmt, ap);
	va_end(ap);
}

void log_notice(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vmessage(LOG_LEVEL_NOTICE, fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vmessage(LOG_LEVEL_DEBUG, fmt, ap);
	va_end(ap);
}

void log_raw(const char *text)
{
	int saved = errno;

	log_transient(NULL);
	write_all(text, strlen(text));
	errno = saved;
}
