/*
 * The text output of a report, and lines that are collected in memory. Called by report.c and the
 * writers; report_line() and report_detail() also by QThreads.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_internal.h"
#include "xdd/base/text.h"

/* Lines that wait for the block for people take so much memory at most. */
#define HELD_MAX (1u << 20)

/* With text_lock held. */
static void put_text(struct report *r, const char *text, size_t len)
{
	r->begun |= len != 0;
	outfile_write(&r->text, text, len);
}

void report_release_held(struct report *r)
{
	if (!r->held.f)
		return;
	if (memstream_close(&r->held)) {
		if (!r->text.error)
			r->text.error = ENOMEM;
		return;
	}
	put_text(r, r->held.text, r->held.size);
	free(r->held.text);
	r->held.text = NULL;
}

void report_write_text(struct report *r, const char *line, size_t len)
{
	pthread_mutex_lock(&r->text_lock);
	put_text(r, line, len);
	pthread_mutex_unlock(&r->text_lock);
}

void report_write_table(struct report *r, const char *line, size_t len)
{
	pthread_mutex_lock(&r->text_lock);
	if (!r->held.f)
		put_text(r, line, len);
	else if (fwrite(line, 1, len, r->held.f) != len || ftell(r->held.f) > HELD_MAX)
		report_release_held(r);
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
	if (made && o == &r->text)
		put_text(r, l->text, l->size);
	else if (made)
		outfile_write(o, l->text, l->size);
	else if (o->fd >= 0 && !o->error)
		o->error = ENOMEM;
	pthread_mutex_unlock(&r->text_lock);
	free(l->text);
}

void report_write_table_lines(struct report *r, struct memstream *l)
{
	char *text = memstream_close(l) ? NULL : printable_dup(l->text, true);

	free(l->text);
	l->text = NULL;
	if (text)
		report_write_table(r, text, strlen(text));
	else if (!r->text.error)
		r->text.error = ENOMEM;
	free(text);
}

/* Write a formatted line without control characters, in one write with its newline. */
static void write_line(struct report *r, bool table, const char *fmt, va_list ap)
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
	(table ? report_write_table : report_write_text)(r, line, len + 1);
	free(line);
}

void report_line(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(r, false, fmt, ap);
	va_end(ap);
}

void report_table_line(struct report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->sink || !report_guide(r))
		return;
	va_start(ap, fmt);
	write_line(r, true, fmt, ap);
	va_end(ap);
}

void report_detail(struct report *r, const char *fmt, ...)
{
	va_list ap;

	if (r->sink || !r->plan->verbose)
		return;
	va_start(ap, fmt);
	write_line(r, false, fmt, ap);
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
