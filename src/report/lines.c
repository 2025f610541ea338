/*
 * The text output of a report, and lines that are collected in memory. Called by report.c and the
 * writers; report_line() and report_detail() also by QThreads.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_internal.h"
#include "xdd/base/printable.h"

void report_write_text(struct report *r, const char *line, size_t len)
{
	pthread_mutex_lock(&r->text_lock);
	outfile_write(&r->text, line, len);
	pthread_mutex_unlock(&r->text_lock);
}

void report_write_lines(struct report *r, struct outfile *o, struct memstream *l)
{
	bool made = !memstream_close(l);

	if (made && o == &r->text) {
		char *text = printable_dup(l->text, true);

		free(l->text);
		l->text = text;
		l->size = text ? strlen(text) : 0;
		made = text;
	}
	pthread_mutex_lock(&r->text_lock);
	if (made)
		outfile_write(o, l->text, l->size);
	else if (o->fd >= 0 && !o->error)
		o->error = ENOMEM;
	pthread_mutex_unlock(&r->text_lock);
	free(l->text);
}

/* Write a formatted line without control characters, in one write with its newline. */
static void write_line(struct report *r, const char *fmt, va_list ap)
{
	char *raw, *line = NULL;
	size_t len;

	if (r->sink)
		return;
	if (vasprintf(&raw, fmt, ap) < 0)
		raw = NULL;
	if (raw)
		line = printable_dup(raw, false);
	free(raw);
	if (!line) {
		pthread_mutex_lock(&r->text_lock);
		if (!r->text.error)
			r->text.error = ENOMEM;
		pthread_mutex_unlock(&r->text_lock);
		return;
	}
	/* The newline replaces the NUL. */
	len = strlen(line);
	line[len] = '\n';
	report_write_text(r, line, len + 1);
	free(line);
}

void report_line(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(r, fmt, ap);
	va_end(ap);
}

void report_detail(struct report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->sink || !r->plan->verbose)
		return;
	va_start(ap, fmt);
	write_line(r, fmt, ap);
	va_end(ap);
}

static ssize_t write_stream(void *cookie, const char *data, size_t size)
{
	report_write_text(cookie, data, size);
	return (ssize_t)size;
}

FILE *report_stream(struct report *r)
{
	return fopencookie(r, "w", (cookie_io_functions_t){ .write = write_stream });
}
