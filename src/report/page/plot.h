/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plots of the page: their data, the script of gnuplot that draws them, and running it. Private to
 * src/report; one thread.
 *
 * Documents are untrusted, and gnuplot runs programs that its scripts name. So a script has texts
 * of documents in the form of plot_label() only, and data are numbers.
 */
#ifndef XDD_REPORT_PAGE_PLOT_H
#define XDD_REPORT_PAGE_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/units.h"

#define PLOT_LABEL_SIZE 48
#define PLOT_MAX_SERIES 8
#define PLOT_MAX_TICS 40

/* gnuplot has this time for all plots of a page. */
#define PLOT_WAIT_NS (60 * NS_PER_SEC)

enum plot_kind {
	PLOT_LINES, /* rows: x, y */
	PLOT_BOXES, /* rows: x from, to, y from, to */
	PLOT_HEAT,  /* the same with a value, as a shade */
};

struct plot_series {
	char title[PLOT_LABEL_SIZE];
	double *rows; /* owned */
	size_t n;
};

struct plot_tic {
	double at;
	char label[PLOT_LABEL_SIZE];
};

struct plot {
	char name[PLOT_LABEL_SIZE]; /* of its files: letters, digits and - */
	const char *title;	    /* these are texts of the program */
	const char *x_label, *y_label;
	const char *x_format, *y_format, *shade_format; /* of gnuplot; NULL: %g */
	enum plot_kind kind;
	bool log_x, log_y, log_shade, from_zero;
	char x_text[PLOT_LABEL_SIZE]; /* of plot_x_name() */
	struct plot_series series[PLOT_MAX_SERIES];
	size_t n_series;
	struct plot_tic *x_tics, *y_tics; /* owned; none: numbers */
	size_t n_x_tics, n_y_tics;
	size_t at; /* offset in the page */
	char *svg; /* owned; NULL: it was not drawn */
};

struct plots {
	struct plot **list; /* owned */
	size_t n;
	const char *why; /* the reason why plots are missing; NULL: none is */
};

/* Add a plot, which plots_free() frees. NULL: memory is short. */
struct plot *plots_add(struct plots *plots, enum plot_kind kind, const char *name);
void plots_free(struct plots *plots);

/*
 * Begin a series with a text of a document or NULL, and add rows to the last one: of 2, 4 or 5
 * numbers. Rows with numbers that cannot be drawn, and series past PLOT_MAX_SERIES, are left out.
 */
void plot_series(struct plot *plot, const char *title);
void plot_row(struct plot *plot, const double *row);

/* The label of the axis along x from a text of a document. */
void plot_x_name(struct plot *plot, const char *text);

/* Add a mark with a text of a document at an axis. */
void plot_x_tic(struct plot *plot, double at, const char *label);
void plot_y_tic(struct plot *plot, double at, const char *label);

/* True if there is something to draw. */
bool plot_is_drawn(const struct plot *plot);

/* ---- plot.c ---- */

/* Draw all plots as SVG with one gnuplot. Sets `svg`, or `why`. */
void plots_draw(struct plots *plots);

/* True if plots_save() would write to `file`. */
bool plots_replace(const struct plots *plots, const char *directory, const char *file);

/*
 * Write data, scripts, PNG and SVG of each plot to `directory`, which is created where it is
 * missing. Returns 0 or -errno after one line of log_error().
 */
int plots_save(const struct plots *plots, const char *directory);

/* Write the SVG as an element of a page; `number` makes its ids unique. */
void plot_write_svg(FILE *f, const struct plot *plot, size_t number);

#endif
