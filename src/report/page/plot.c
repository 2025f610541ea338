/*
 * Data and scripts of plots; see the header. Called by the parts of the page.
 */
#include "report/page/plot.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"

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
	struct plot **list = array_room(plots->list, plots->n, sizeof(*list));
	struct plot *plot = list ? calloc(1, sizeof(*plot)) : NULL;

	if (list)
		plots->list = list;
	if (!plot)
		return NULL;
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

const char *plot_label(const char *text, char *buf)
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
	if (!plot || plot->n_series == PLOT_MAX_SERIES)
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
	const size_t columns = plot ? columns_of(plot) : 0;
	struct plot_series *s = plot && plot->n_series ? &plot->series[plot->n_series - 1] : NULL;
	double *rows;

	for (size_t i = 0; i < columns; i++) {
		if (!can_draw(plot, i, row[i]))
			return;
	}
	if (!s)
		return;
	rows = array_room(s->rows, s->n, columns * sizeof(*rows));
	if (!rows) {
		plot->failed = true;
		return;
	}
	s->rows = rows;
	memcpy(&rows[columns * s->n++], row, columns * sizeof(*rows));
}

static void add_tic(struct plot *plot, struct plot_tic **tics, size_t *n, double at,
		    const char *label)
{
	struct plot_tic *grown = *n < PLOT_MAX_TICS ? array_room(*tics, *n, sizeof(*grown)) : NULL;

	if (!grown) {
		plot->failed |= *n < PLOT_MAX_TICS;
		return;
	}
	*tics = grown;
	grown[*n].at = at;
	plot_label(label, grown[(*n)++].label);
}

void plot_x_name(struct plot *plot, const char *text)
{
	plot->x_label = plot_label(text, plot->x_text);
}

void plot_x_tic(struct plot *plot, double at, const char *label)
{
	if (plot)
		add_tic(plot, &plot->x_tics, &plot->n_x_tics, at, label);
}

void plot_y_tic(struct plot *plot, double at, const char *label)
{
	if (plot)
		add_tic(plot, &plot->y_tics, &plot->n_y_tics, at, label);
}

bool plot_is_drawn(const struct plot *plot)
{
	for (size_t i = 0; plot && !plot->failed && i < plot->n_series; i++) {
		if (plot->series[i].n)
			return true;
	}
	return false;
}

/* ---- data and commands ---- */

void plot_write_data(FILE *f, const struct plot *plot)
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

void plot_write_commands(FILE *f, const struct plot *plot, const char *source)
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
