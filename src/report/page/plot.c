/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plots: data and scripts, running gnuplot, and its pictures; see the header. Called by page.c and
 * the parts of the page.
 */
#include "report/page/plot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/report/report.h"
#include "xdd/sys/child.h"
#include "xdd/sys/clock.h"

/* Points of a line that have a marker. */
#define MARKERS 12

/* Limits of what gnuplot is given. */
#define VALUE_LEAST 1e-30
#define VALUE_MOST 1e30

static size_t columns_of(const struct plot *plot)
{
	return plot->kind == PLOT_LINES ? 2 : plot->kind == PLOT_BOXES ? 4 : 5;
}

static bool is_x(const struct plot *plot, size_t column)
{
	return plot->kind == PLOT_LINES ? column == 0 : column < 2;
}

/* ---- building ---- */

struct plot *plots_add(struct plots *plots, enum plot_kind kind, const char *name)
{
	struct plot *plot = xcalloc(1, sizeof(*plot));

	plots->list = xarray_room(plots->list, plots->n, sizeof(struct plot *));
	plot->kind = kind;
	snprintf(plot->name, sizeof(plot->name), "%02zu-%s", plots->n + 1, name);
	plots->list[plots->n++] = plot;
	return plot;
}

void plots_free(struct plots *plots)
{
	for (size_t i = 0; i < plots->n; i++) {
		struct plot *plot = plots->list[i];

		for (size_t k = 0; k < plot->n_series; k++)
			free(plot->series[k].rows);
		free(plot->x_tics);
		free(plot->y_tics);
		free(plot->svg);
		free(plot);
	}
	free(plots->list);
	*plots = (struct plots){ .n = 0 };
}

/*
 * `text` for a script, between single quotes: letters, digits, blanks and a few signs; a question
 * mark in the place of others. Long ones are cut. Returns `buf` (PLOT_LABEL_SIZE bytes).
 */
static const char *plot_label(const char *text, char *buf)
{
	size_t n = 0;

	while (*text && n < PLOT_LABEL_SIZE - 8) {
		const size_t length = utf8_length(text);

		if (length > 1 && !printable_unsafe(text)) {
			memcpy(&buf[n], text, length);
			n += length;
			text += length;
			continue;
		}
		buf[n++] = length == 1 && (isalnum((unsigned char)*text) ||
					   strchr(" ._/+:,=%()-", *text)) ?
				   *text :
				   '?';
		text++;
	}
	if (*text) {
		memcpy(&buf[n], "...", 3);
		n += 3;
	}
	buf[n] = '\0';
	return buf;
}

void plot_series(struct plot *plot, const char *title)
{
	if (plot->n_series == PLOT_MAX_SERIES)
		return;
	plot_label(title ? title : "", plot->series[plot->n_series++].title);
}

static bool can_draw(const struct plot *plot, size_t column, double x)
{
	const bool log = column < 4 && (is_x(plot, column) ? plot->log_x : plot->log_y);

	return isfinite(x) && fabs(x) <= VALUE_MOST && (!log || x >= VALUE_LEAST);
}

void plot_row(struct plot *plot, const double *row)
{
	const size_t columns = columns_of(plot);
	struct plot_series *s = plot->n_series ? &plot->series[plot->n_series - 1] : NULL;

	for (size_t i = 0; i < columns; i++) {
		if (!can_draw(plot, i, row[i]))
			return;
	}
	if (!s)
		return;
	s->rows = xarray_room(s->rows, s->n, columns * sizeof(*row));
	memcpy(&s->rows[columns * s->n++], row, columns * sizeof(*row));
}

static void add_tic(struct plot_tic **tics, size_t *n, double at, const char *label)
{
	struct plot_tic *tic;

	if (*n == PLOT_MAX_TICS)
		return;
	*tics = xarray_room(*tics, *n, sizeof(*tic));
	tic = &(*tics)[(*n)++];
	tic->at = at;
	plot_label(label, tic->label);
}

void plot_x_name(struct plot *plot, const char *text)
{
	plot->x_label = plot_label(text, plot->x_text);
}

void plot_x_tic(struct plot *plot, double at, const char *label)
{
	add_tic(&plot->x_tics, &plot->n_x_tics, at, label);
}

void plot_y_tic(struct plot *plot, double at, const char *label)
{
	add_tic(&plot->y_tics, &plot->n_y_tics, at, label);
}

bool plot_is_drawn(const struct plot *plot)
{
	for (size_t i = 0; i < plot->n_series; i++) {
		if (plot->series[i].n)
			return true;
	}
	return false;
}

/* ---- data and commands ---- */

static void plot_write_data(FILE *f, const struct plot *plot)
{
	const size_t columns = columns_of(plot);

	for (size_t i = 0; i < plot->n_series; i++) {
		const struct plot_series *s = &plot->series[i];

		if (!s->n)
			continue;
		for (size_t k = 0; k < s->n; k++) {
			for (size_t c = 0; c < columns; c++)
				fprintf(f, "%s%.7g", c ? " " : "", s->rows[k * columns + c]);
			fputc('\n', f);
		}
		/* Two empty lines end a data set. */
		fputs("\n\n", f);
	}
}

struct limits {
	double least, most;
};

static struct limits limits_of(const struct plot *plot, bool x)
{
	const size_t columns = columns_of(plot);
	struct limits l = { INFINITY, -INFINITY };

	for (size_t i = 0; i < plot->n_series; i++) {
		const struct plot_series *s = &plot->series[i];

		for (size_t k = 0; k < s->n * columns; k++) {
			if (k % columns == 4 || is_x(plot, k % columns) != x)
				continue;
			l.least = fmin(l.least, s->rows[k]);
			l.most = fmax(l.most, s->rows[k]);
		}
	}
	return l;
}

/* A range that is never empty, with a margin above. */
static void write_range(FILE *f, const struct plot *plot, bool x)
{
	const bool log = x ? plot->log_x : plot->log_y;
	struct limits l = limits_of(plot, x);

	if (log) {
		l.least = pow(10, floor(log10(l.least) + 1e-9));
		l.most = pow(10, ceil(log10(l.most) - 1e-9));
		if (!(l.most > l.least))
			l.most = 10 * l.least;
	} else if (plot->kind == PLOT_LINES) {
		const double margin = 0.05 * (l.most - (plot->from_zero && !x ? 0 : l.least));

		if (plot->from_zero && !x && l.least > 0)
			l.least = 0;
		l.most += x ? 0 : margin;
		if (x && plot->n_x_tics) {
			l.least -= 0.3;
			l.most += 0.3;
		}
	}
	if (!(l.most > l.least)) {
		l.least -= fabs(l.least) / 2 + 1e-9;
		l.most += fabs(l.most) / 2 + 1e-9;
	}
	fprintf(f, "set %srange [%.9g:%.9g]\n", x ? "x" : "y", l.least, l.most);
	if (log)
		fprintf(f, "set logscale %s\n", x ? "x" : "y");
}

static void write_tics(FILE *f, const char *axis, const struct plot_tic *tics, size_t n)
{
	if (!n)
		return;
	fprintf(f, "set %stics (", axis);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s'%s' %.9g", i ? ", " : "", tics[i].label, tics[i].at);
	fputs(")\n", f);
	/* Long names beside each other. */
	if (*axis == 'x' && n > 8)
		fputs("set xtics rotate by -40\n", f);
}

static void write_axes(FILE *f, const struct plot *plot)
{
	fprintf(f, "set xlabel '%s'\nset ylabel '%s'\n", plot->x_label, plot->y_label);
	write_range(f, plot, true);
	write_range(f, plot, false);
	if (plot->x_format)
		fprintf(f, "set format x '%s'\n", plot->x_format);
	if (plot->y_format)
		fprintf(f, "set format y '%s'\n", plot->y_format);
	if (plot->shade_format)
		fprintf(f, "set format cb '%s'\n", plot->shade_format);
	if (plot->log_shade)
		fputs("set logscale cb\n", f);
	write_tics(f, "x", plot->x_tics, plot->n_x_tics);
	write_tics(f, "y", plot->y_tics, plot->n_y_tics);
}

/* Lines differ by dashes and markers as well as by colours. */
static void write_line(FILE *f, const struct plot_series *s, size_t i)
{
	static const char *const colours[PLOT_MAX_SERIES] = { "#0b4fa8", "#b5470b", "#14602a",
							      "#7a2f8f", "#3f3f3f", "#7d6200",
							      "#a11645", "#005f73" };
	static const int markers[PLOT_MAX_SERIES] = { 7, 4, 8, 1, 12, 2, 5, 10 };

	fprintf(f,
		"using 1:2 with linespoints linecolor rgb '%s' dashtype %zu linewidth 1.5 pointtype %d "
		"pointsize 0.7 pointinterval %zu ",
		colours[i], i % 5 + 1, markers[i], s->n / MARKERS + 1);
}

/* Data, and the commands that draw them from `source`, an expression of gnuplot. */
static void plot_write_commands(FILE *f, const struct plot *plot, const char *source)
{
	size_t set = 0;

	fputs("set encoding utf8\nset grid linecolor rgb '#b9c0c9'\nset tics nomirror\n"
	      "set key outside top center horizontal\nset palette defined (0 '#e3ebf6', 0.5 '#5b8bc4', 1 '#0a2447')\n",
	      f);
	write_axes(f, plot);
	fputs("plot ", f);
	for (size_t i = 0; i < plot->n_series; i++) {
		const struct plot_series *s = &plot->series[i];

		if (!s->n)
			continue;
		fprintf(f, "%s%s index %zu ", set ? ", " : "", source, set);
		set++;
		if (plot->kind == PLOT_LINES)
			write_line(f, s, i);
		else
			fprintf(f,
				"using (($1+$2)/2):(($3+$4)/2):1:2:3:4%s with boxxyerror fillstyle solid "
				"%s ",
				plot->kind == PLOT_HEAT ? ":5" : "",
				plot->kind == PLOT_HEAT ? "noborder linecolor palette" :
							  "0.5 linecolor rgb '#0b4fa8'");
		if (*s->title)
			fprintf(f, "title '%s'", s->title);
		else
			fputs("notitle", f);
	}
	fputc('\n', f);
}

#define PICTURES_MAX_BYTES (256u << 20)
#define READ_BYTES 65536
#define END_WAIT_NS NS_PER_SEC
#define PATH_BYTES 4096

#define SVG_TERMINAL "set terminal svg size 860,380 dynamic noenhanced font 'sans-serif,13'\n"
#define PNG_TERMINAL "set terminal pngcairo size 1290,570 noenhanced font 'sans-serif,14'\n"

/* ---- gnuplot ---- */

/* A gnuplot with its script and what it prints. */
struct drawing {
	struct child child;
	const char *script;
	size_t size, written;
	struct memstream out;
	uint64_t until_ns;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Returns false at the end of the stream; without `f` the text is dropped. */
static bool plot_draw_take(int fd, FILE *f)
{
	char buf[READ_BYTES];
	const ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0 && f)
		fwrite(buf, 1, (size_t)n, f);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void give(struct drawing *d)
{
	const ssize_t n = write(d->child.write_fd, d->script + d->written, d->size - d->written);

	if (n > 0)
		d->written += (size_t)n;
	/* gnuplot has ended. */
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || d->written == d->size)
		close_fd(&d->child.write_fd);
}

/* One wait for the streams of the child; false: it takes too long, or prints too much. */
static bool plot_draw_step(struct drawing *d)
{
	struct pollfd p[] = { { d->child.read_fd, POLLIN, 0 },
			      { d->child.error_fd, POLLIN, 0 },
			      { d->child.write_fd, POLLOUT, 0 } };
	const uint64_t now_ns = clock_now_ns();

	if (now_ns >= d->until_ns || ftell(d->out.f) > (long)PICTURES_MAX_BYTES)
		return false;
	poll(p, 3, (int)((d->until_ns - now_ns) / NS_PER_MS) + 1);
	if (p[0].revents && !plot_draw_take(d->child.read_fd, d->out.f))
		close_fd(&d->child.read_fd);
	if (p[1].revents && !plot_draw_take(d->child.error_fd, NULL))
		close_fd(&d->child.error_fd);
	if (p[2].revents)
		give(d);
	return true;
}

/*
 * Run gnuplot with a script. Returns 0 with what it printed in `out`, to be freed; -ETIMEDOUT; -EIO
 * where it fails; or another -errno, which is the error of starting it.
 */
static int run_gnuplot(const char *script, size_t size, struct memstream *out)
{
	/* -d: without the start-up files of the user, which may change anything. */
	static char *const argv[] = { (char *)"gnuplot", (char *)"-d", NULL };
	struct drawing d = { .script = script, .size = size };
	int err, status;

	out->text = NULL;
	if (!memstream_open(&d.out))
		return -ENOMEM;
	err = child_start(&d.child, argv, CHILD_ERRORS);
	if (err) {
		memstream_discard(&d.out);
		return err;
	}
	d.until_ns = clock_now_ns() + PLOT_WAIT_NS;
	while (!err && (d.child.read_fd >= 0 || d.child.error_fd >= 0))
		err = plot_draw_step(&d) ? 0 : -ETIMEDOUT;
	close_fd(&d.child.read_fd);
	close_fd(&d.child.error_fd);
	close_fd(&d.child.write_fd);
	status = child_wait(d.child.pid, err ? 0 : END_WAIT_NS);
	if (memstream_close(&d.out))
		return -ENOMEM;
	*out = d.out;
	return err ? err : status ? -EIO : 0;
}

/* ---- all plots at once ---- */

static int write_scripts(const struct plots *plots, struct memstream *m)
{
	char source[32];

	if (!memstream_open(m))
		return -ENOMEM;
	for (size_t i = 0; i < plots->n; i++) {
		if (!plot_is_drawn(plots->list[i]))
			continue;
		snprintf(source, sizeof(source), "$d%zu", i);
		fprintf(m->f, "reset\n%s << XDDEND\n", source);
		plot_write_data(m->f, plots->list[i]);
		fputs("XDDEND\n" SVG_TERMINAL, m->f);
		plot_write_commands(m->f, plots->list[i], source);
		fputs("set output\n", m->f);
	}
	return memstream_close(m);
}

/* Each plot gets the next picture. */
static void plot_draw_share(struct plots *plots, const char *pictures)
{
	static const char end[] = "</svg>";

	for (size_t i = 0; i < plots->n && pictures; i++) {
		const char *from = strstr(pictures, "<svg"), *to = from ? strstr(from, end) : NULL;

		if (!plot_is_drawn(plots->list[i]))
			continue;
		if (to)
			plots->list[i]->svg = strndup(from, (size_t)(to - from) + sizeof(end) - 1);
		pictures = to;
	}
}

void plots_draw(struct plots *plots)
{
	struct memstream script, out = { 0 };
	int err = write_scripts(plots, &script);

	if (!err && script.size)
		err = run_gnuplot(script.text, script.size, &out);
	if (out.text)
		plot_draw_share(plots, out.text);
	if (err)
		plots->why = err == -ENOENT    ? "gnuplot is not installed" :
			     err == -ETIMEDOUT ? "gnuplot took too long" :
			     err == -EIO       ? "gnuplot failed" :
						 "gnuplot cannot be started";
	free(out.text);
	free(script.text);
}

/* ---- the picture as an element ---- */

/*
 * All ids of gnuplot, and references to them, get the number of the plot. They are in tags, where
 * nothing comes from a document.
 */
void plot_write_svg(FILE *f, const struct plot *plot, size_t number)
{
	static const char *const marks[] = { "id='", "id=\"", "href='#", "href=\"#", "url(#" };
	const char *at = plot->svg + strlen("<svg");
	bool tag = true;

	fprintf(f, "<svg role=\"img\" aria-label=\"%s\"", plot->title);
	while (*at) {
		size_t length = 0;

		tag = *at == '<' || (tag && *at != '>');
		for (size_t i = 0; tag && i < sizeof(marks) / sizeof(marks[0]) && !length; i++) {
			if (strncmp(at, marks[i], strlen(marks[i])) == 0)
				length = strlen(marks[i]);
		}
		fwrite(at, 1, length ? length : 1, f);
		if (length)
			fprintf(f, "p%zu", number);
		at += length ? length : 1;
	}
	fputc('\n', f);
}

/* ---- files ---- */

/* The path of a file of a plot in `path`. False: it does not fit. */
static bool file_path(char path[PATH_BYTES], const char *directory, const char *name,
		      const char *suffix)
{
	return snprintf(path, PATH_BYTES, "%s/%s.%s", directory, name, suffix) < PATH_BYTES;
}

static int save(const char *directory, const char *name, const char *suffix, const char *text,
		size_t size)
{
	char path[PATH_BYTES];
	struct newfile f;
	int err;

	if (!file_path(path, directory, name, suffix))
		return -ENAMETOOLONG;
	err = newfile_open(&f, path);
	if (!err) {
		fwrite(text, 1, size, f.f);
		err = newfile_close(&f, 0);
	}
	if (err)
		log_error("report -plots %s: %s", path, output_strerror(err));
	return err;
}

/* The script that makes NAME.svg and NAME.png of NAME.dat in its directory. */
static int save_script(const struct plot *plot, const char *directory)
{
	char source[PLOT_LABEL_SIZE + 8];
	struct memstream m;
	int err;

	if (!memstream_open(&m))
		return -ENOMEM;
	snprintf(source, sizeof(source), "'%s.dat'", plot->name);
	fprintf(m.f, "# %s: gnuplot %s.gnuplot\n" SVG_TERMINAL "set output '%s.svg'\n", plot->title,
		plot->name, plot->name);
	plot_write_commands(m.f, plot, source);
	fprintf(m.f, PNG_TERMINAL "set output '%s.png'\nreplot\n", plot->name);
	err = memstream_close(&m);
	err = err ? err : save(directory, plot->name, "gnuplot", m.text, m.size);
	free(m.text);
	return err;
}

static int save_data(const struct plot *plot, const char *directory)
{
	struct memstream m;
	int err;

	if (!memstream_open(&m))
		return -ENOMEM;
	plot_write_data(m.f, plot);
	err = memstream_close(&m);
	err = err ? err : save(directory, plot->name, "dat", m.text, m.size);
	free(m.text);
	return err;
}

static int save_png(const struct plot *plot, const char *directory)
{
	struct memstream script, out = { 0 };
	int err;

	if (!memstream_open(&script))
		return -ENOMEM;
	fputs("$d << XDDEND\n", script.f);
	plot_write_data(script.f, plot);
	fputs("XDDEND\n" PNG_TERMINAL, script.f);
	plot_write_commands(script.f, plot, "$d");
	err = memstream_close(&script);
	err = err ? err : run_gnuplot(script.text, script.size, &out);
	if (!err && out.size)
		err = save(directory, plot->name, "png", out.text, out.size);
	else
		log_warning("report -plots %s: gnuplot made no PNG of %s", directory, plot->name);
	free(out.text);
	free(script.text);
	return err == -EIO ? 0 : err;
}

bool plots_replace(const struct plots *plots, const char *directory, const char *file)
{
	static const char *const suffixes[] = { "dat", "gnuplot", "svg", "png" };
	const size_t n_suffixes = sizeof(suffixes) / sizeof(suffixes[0]);
	struct outfile_id ours, id;
	char path[PATH_BYTES];

	outfile_identify(&id, file);
	for (size_t i = 0; i < plots->n * n_suffixes; i++) {
		const struct plot *plot = plots->list[i / n_suffixes];

		if (!plot_is_drawn(plot) ||
		    !file_path(path, directory, plot->name, suffixes[i % n_suffixes]))
			continue;
		outfile_identify(&ours, path);
		if (outfile_is_same(&ours, &id))
			return true;
	}
	return false;
}

int plots_save(const struct plots *plots, const char *directory)
{
	int err = 0;

	if (mkdir(directory, 0777) && errno != EEXIST) {
		err = -errno;
		log_error("report -plots %s: %s", directory, strerror(-err));
		return err;
	}
	for (size_t i = 0; i < plots->n && !err; i++) {
		const struct plot *plot = plots->list[i];

		if (!plot_is_drawn(plot))
			continue;
		err = save_data(plot, directory);
		err = err ? err : save_script(plot, directory);
		if (!err && plot->svg)
			err = save(directory, plot->name, "svg", plot->svg, strlen(plot->svg));
		if (!err && plot->svg)
			err = save_png(plot, directory);
	}
	return err;
}
