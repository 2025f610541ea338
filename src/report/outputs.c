/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outputs: files, which file a name is, CSV, the text output of a report, lines that are collected
 * in memory, and reports without outputs, whose results go to a sink; see the headers. Called by
 * check.c, report.c, the writers, commands, the run, and for lines by QThreads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report_internal.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/report/report.h"

/*
 * Output files: which file a name is, opening, writing; see the header. Called by check.c and
 * report.c.
 */

/* `path` may be NULL, for standard output. */
static int standard_fd(const char *path)
{
	return path ? output_standard(path) : STDOUT_FILENO;
}

static void identify_missing(struct outfile_id *id, const char *path)
{
	char *name = NULL, *directory;
	struct stat st;

	if (fileopen_follow(path, &name))
		name = NULL;
	if (name)
		path = name;
	directory = path_directory(path);
	if (directory && stat(directory, &st) == 0) {
		*id = (struct outfile_id){ .known = true, .dev = st.st_dev, .ino = st.st_ino };
		snprintf(id->missing, sizeof(id->missing), "%s", path_last(path));
	}
	free(directory);
	free(name);
}

void outfile_identify_stream(struct outfile_id *id, int fd)
{
	struct stat st;

	*id = (struct outfile_id){ .known = false };
	if (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		*id = (struct outfile_id){ .known = true, .dev = st.st_dev, .ino = st.st_ino };
}

void outfile_identify(struct outfile_id *id, const char *path)
{
	struct stat st;

	*id = (struct outfile_id){ .known = false };
	if (!path) {
		if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode))
			outfile_identify_stream(id, STDOUT_FILENO);
	} else if (standard_fd(path) < 0 && strcmp(path, "/dev/null") != 0) {
		if (stat(path, &st) == 0)
			*id = (struct outfile_id){ .known = true,
						   .dev = st.st_dev,
						   .ino = st.st_ino };
		else
			identify_missing(id, path);
	}
}

bool outfile_is_same(const struct outfile_id *a, const struct outfile_id *b)
{
	return a->known && b->known && a->dev == b->dev && a->ino == b->ino &&
	       strcmp(a->missing, b->missing) == 0;
}

/* True if a file of `size` bytes ends without a newline; false if it cannot be read. */
static bool ends_mid_line(int written, off_t size)
{
	int fd = fileopen_again(written, O_RDONLY);
	char last = '\n';

	if (fd < 0)
		return false;
	if (pread(fd, &last, 1, size - 1) != 1)
		last = '\n';
	close(fd);
	return last != '\n';
}

int outfile_open(struct outfile *o, const char *path)
{
	struct stat st;
	int fd;

	*o = (struct outfile){ .fd = standard_fd(path), .empty = true };
	if (o->fd >= 0) {
		o->shared = true;
		return 0;
	}
	fd = output_open(path, O_APPEND);
	if (fd < 0)
		return fd;
	o->fd = fd;
	if (fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		o->empty = false;
		o->mid_line = ends_mid_line(o->fd, st.st_size);
	}
	return 0;
}

void outfile_write(struct outfile *o, const char *data, size_t size)
{
	size_t done;
	int err;

	if (o->fd < 0 || size == 0)
		return;
	/* A pipe, too: its reader may write to the terminal that has the line of progress. */
	if (o->shared)
		log_transient(NULL);
	if (o->mid_line) {
		outwait_write(o->fd, "\n", 1, &err);
		if (err)
			goto failed;
		o->mid_line = false;
	}
	done = outwait_write(o->fd, data, size, &err);
	if (!err)
		return;
	if (done)
		o->mid_line = data[done - 1] != '\n';
failed:
	if (!o->error)
		o->error = err;
}

/* An error stays with the output; 1: it takes no more. */
static int outfile_put(void *output, const char *piece, size_t size)
{
	struct outfile *o = output;

	outfile_write(o, piece, size);
	return o->error ? 1 : 0;
}

int outfile_copy(struct outfile *o, FILE *spool)
{
	const int err = spool_read(spool, outfile_put, o);

	return err > 0 ? 0 : err;
}

int outfile_close(struct outfile *o)
{
	int err = o->error;

	if (o->fd >= 0 && !o->shared && close(o->fd) < 0 && !err)
		err = errno;
	o->fd = -1;
	return -err;
}

size_t csv_header_cells(struct line_cell *cells, const struct column_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			line_cell_set(&cells[n++], list->names[i]);
	}
	return n;
}

size_t csv_result_cells(struct line_cell *cells, const struct column_list *list,
			const struct result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			line_cell_bare(&cells[n++], list->columns[i], r);
	}
	return n;
}

/* Compare the first line of the open file with `header`; it may lack its newline at the end. */
static int compare_start(int fd, const char *header, size_t len)
{
	char *start = malloc(len);
	size_t got = 0;
	ssize_t n = 1;
	int ret;

	if (!start)
		return -ENOMEM;
	while (got < len && n > 0) {
		n = pread(fd, start + got, len - got, (off_t)got);
		if (n > 0)
			got += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
	}
	if (n < 0)
		ret = -errno;
	else if (got == 0)
		ret = CSV_START_NEW;
	else
		ret = got + 1 >= len && memcmp(start, header, got) == 0 ? CSV_START_SAME :
									  CSV_START_OTHER;
	free(start);
	return ret;
}

int csv_look(const char *path, const char *header, size_t len)
{
	struct stat st;
	int fd, ret;

	if (output_standard(path) >= 0)
		return CSV_START_NEW;
	if (stat(path, &st) < 0)
		return errno == ENOENT ? CSV_START_NEW : -errno;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return CSV_START_NEW;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = compare_start(fd, header, len);
	close(fd);
	return ret;
}

/*
 * The text output of a report, and lines that are collected in memory. Called by report.c and the
 * writers; report_line() and report_detail() also by QThreads.
 */

/* Lines that wait for the result block take so much memory at most. */
#define HELD_MAX (1u << 20)

/* With text_lock held: bytes as they are. */
static void put_bytes(struct report *r, const char *text, size_t len)
{
	r->begun |= len != 0;
	outfile_write(&r->text, text, len);
}

/* True if one of these lines may be longer than `columns`. */
static bool has_long_line(const char *text, size_t len, unsigned columns)
{
	for (const char *end; len; len -= (size_t)(end - text), text = end) {
		end = memchr(text, '\n', len);
		end = end ? end + 1 : text + len;
		if ((size_t)(end - text) > columns || *text == '\t')
			return true;
	}
	return false;
}

/* With text_lock held: whole lines, folded on a terminal. */
static void put_text(struct report *r, const char *text, size_t len)
{
	struct memstream m = { 0 };
	struct screen screen;

	if (!r->folds || !has_long_line(text, len, SCREEN_MIN_COLUMNS)) {
		put_bytes(r, text, len);
		return;
	}
	screen_init(&screen, r->text.fd);
	memstream_open(&m);
	if (m.f)
		screen_fold(&screen, m.f, text, len);
	screen_free(&screen);
	if (m.f && !memstream_close(&m))
		put_bytes(r, m.text, m.size);
	else
		put_bytes(r, text, len);
	free(m.text);
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

/* Write `len` bytes of whole lines to the text output. Any thread. */
static void report_write_text(struct report *r, const char *line, size_t len)
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
	struct report *r = cookie;

	pthread_mutex_lock(&r->text_lock);
	put_bytes(r, data, size);
	pthread_mutex_unlock(&r->text_lock);
	return (ssize_t)size;
}

FILE *report_stream(struct report *r)
{
	return fopencookie(r, "w", (cookie_io_functions_t){ .write = write_stream });
}

/*
 * Reports without outputs, whose results go to a sink; see the header. Called by commands and by
 * the run.
 */

enum xdd_status report_open_sink(const struct plan *plan, const struct report_sink *sink,
				 struct report **out)
{
	struct report *r = report_new(plan);

	*out = r;
	if (!r)
		return log_fail(XDD_INIT_FAILED, "%s", strerror(ENOMEM));
	r->sink = sink;
	return XDD_OK;
}

bool report_takes_failures(const struct report *r)
{
	return r->sink && r->sink->failure;
}

void report_failure(struct report *r, const struct report_failure *failure)
{
	pthread_mutex_lock(&r->findings_lock);
	r->sink->failure(r->sink->arg, failure);
	pthread_mutex_unlock(&r->findings_lock);
}

const char *report_title(const struct report *r)
{
	return r->sink ? r->sink->title : NULL;
}

void report_end_sink(const struct report *r, enum report_end end)
{
	const struct report_sink *sink = r->sink;

	for (size_t i = 0; sink->finding && i < r->n_findings; i++)
		sink->finding(sink->arg, &r->findings[i]);
	if (sink->end)
		sink->end(sink->arg, end);
}
