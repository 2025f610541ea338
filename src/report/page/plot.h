/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plots of the page: the table of their kinds, their data, and their pictures as SVG. Private to
 * src/report; one thread.
 *
 * Documents are untrusted: texts of documents are escaped in pictures, and in scripts of gnuplot,
 * which can run programs, they have letters, digits and a few signs only.
 */
#ifndef XDD_REPORT_PAGE_PLOT_H
#define XDD_REPORT_PAGE_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PLOT_LABEL_SIZE 64
#define PLOT_MAX_SERIES 8
#define PLOT_MAX_MARKS 4
#define PLOT_MAX_TICS 40

enum plot_style {
	PLOT_LINES, /* points with markers and lines, and intervals where they are known */
	PLOT_BARS,  /* from x to x_to, in rows that have names */
	PLOT_CELLS, /* from x to x_to and y to y_to, with a value as a shade */
};

/* Values are in base units: ns, bytes per second, operations per second. */
enum plot_unit {
	PLOT_NUMBER,
	PLOT_TIME,
	PLOT_RATE,
	PLOT_OPS,
	PLOT_PERCENT,
	PLOT_CHANGE /* a ratio, of cells only */
};

enum plot_scale {
	PLOT_FIT,  /* from the least value to the greatest one */
	PLOT_ZERO, /* from 0 */
	PLOT_LOG,
	PLOT_NAMES, /* a place for each name, in the order of the names */
};

struct plot_axis {
	const char *label;
	enum plot_unit unit;
	enum plot_scale scale;
};

/* A kind of plot: a row of the table in plot.c. */
struct plot_kind {
	const char *title;
	const char *file; /* in the names of its files */
	const char *path; /* of the values in the document */
	struct plot_axis x, y;
	enum plot_style style;
	enum plot_unit value; /* of cells */
	bool log_value, small;
	bool spreads; /* lines are beside each other by a few pixels: none hides another */
};

/* The colour of a cell. */
enum plot_tone {
	PLOT_SHADE, /* by its value */
	PLOT_PLAIN,
	PLOT_BETTER,
	PLOT_WORSE,
	PLOT_CHANGED,
	PLOT_TONES
};

enum plot_id {
	PLOT_BANDWIDTH,
	PLOT_IOPS,
	PLOT_LATENCY,
	PLOT_MAXIMA,
	PLOT_PASSES,
	PLOT_DISTRIBUTION,
	PLOT_DISTRIBUTIONS,
	PLOT_HEAT,
	PLOT_TARGETS,
	PLOT_SWEEP_BANDWIDTH,
	PLOT_SWEEP_P99,
	PLOT_SWEEP_GRID,
	PLOT_SWEEPS_BANDWIDTH,
	PLOT_SWEEPS_P99,
	PLOT_CHANGES_BANDWIDTH,
	PLOT_CHANGES_P99,
	PLOT_CURVE,
	PLOT_CURVE_TAIL,
	PLOT_CURVE_LATENESS,
	PLOT_CURVES,
	PLOT_KINDS
};
extern const struct plot_kind plot_kinds[PLOT_KINDS];

/* Members that a style does not use are 0; an interval that is not known is NAN. */
struct plot_point {
	double x, y;
	double low, high;  /* the interval of y */
	double x_to, y_to; /* of bars and cells */
	double value;	   /* of cells */
	const char *text;  /* in a cell, and what a pointer shows; NULL: the value */
	const char *title;
	enum plot_tone tone;
	bool disturbed;
};

struct plot_series {
	char title[PLOT_LABEL_SIZE];
	struct plot_point *points; /* owned */
	size_t n;
};

/* A vertical line at x, with a band from `low` to `high` if both are known; or a level of y. */
struct plot_mark {
	bool level;
	double at, low, high;
	char label[PLOT_LABEL_SIZE];
};

struct plot_tic {
	double at;
	char label[PLOT_LABEL_SIZE];
};

struct plot_tics {
	struct plot_tic *list; /* owned */
	size_t n;
};

struct plot {
	const struct plot_kind *kind;
	char name[PLOT_LABEL_SIZE]; /* of its files: letters, digits and - */
	char part[PLOT_LABEL_SIZE]; /* which of several plots of a kind; "": the only one */
	char x_label[PLOT_LABEL_SIZE], y_label[PLOT_LABEL_SIZE]; /* "": as its kind has them */
	enum plot_scale x_scale, y_scale;
	double y_most; /* the end of the axis; greater values are marked there. 0: the greatest */
	struct plot_series series[PLOT_MAX_SERIES];
	size_t n_series;
	struct plot_mark marks[PLOT_MAX_MARKS];
	size_t n_marks;
	struct plot_tics x_tics, y_tics; /* none: numbers of the scale */
	struct arena *texts;		 /* owned; NULL: there are none */
	size_t at;			 /* offset in the page */
};

struct plots {
	struct plot **list; /* owned */
	size_t n;
};

/* Add a plot of a document with a short name, which plots_free() frees. */
struct plot *plots_add(struct plots *plots, enum plot_id id, const char *document);
void plots_free(struct plots *plots);

/*
 * Begin a series with a text of a document or "", and add points to the last one. Points that
 * cannot be drawn, and series past PLOT_MAX_SERIES, are left out.
 */
void plot_series(struct plot *plot, const char *title);
void plot_add(struct plot *plot, const struct plot_point *point);

/* A text for points, which the plot owns. */
const char *plot_text(struct plot *plot, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Add a point of a line whose interval is not known. */
void plot_xy(struct plot *plot, double x, double y);

/* Add a vertical line, with a band if `low` and `high` are known, or a level of y. */
void plot_line_at(struct plot *plot, double x, double low, double high, const char *label);
void plot_level(struct plot *plot, double y, const char *label);

/* Add a mark with a text of a document at an axis. */
void plot_tic(struct plot_tics *tics, double at, const char *label);

/* Copy a text of a document to a label of a plot; it is cut to its room. */
void plot_label(char to[PLOT_LABEL_SIZE], const char *text);

/* The greatest y, with its interval; 0: none is above 0. */
double plot_greatest(const struct plot *plot);

/* True if there is something to draw. */
bool plot_is_drawn(const struct plot *plot);

/* True if time is along x on a linear axis, with more than one point. */
bool plot_zooms(const struct plot *plot);

/* The rules of style of pictures: in a page with its variables, in a file with plain colours. */
void plot_write_style(FILE *f);
void plot_write_file_style(FILE *f);

/* True if plots_save() would write to `file`. */
bool plots_replace(const struct plots *plots, const char *directory, const char *file);

/*
 * Write data, script and SVG of each plot to `directory`, which is created where it is missing.
 * Returns 0 or -errno after one line of log_error().
 */
int plots_save(const struct plots *plots, const char *directory);

/* ---- scales ---- */

/* A value with its unit, for a reader. */
const char *plot_value_text(double value, enum plot_unit unit, char buf[PLOT_LABEL_SIZE]);

struct plot_limits {
	double least, most;
};

/* Extend the limits to a value; NAN: it is not known. */
void plot_widen(struct plot_limits *l, double value);

/* An axis that is laid out: values from `least` to `most` are at places from `from` to `to`. */
struct plot_range {
	double least, most; /* of the values */
	double from, to;    /* their places */
	bool log;
	double factor; /* numbers at the axis are in units of it */
	const char *unit;
};

/* Find the range of the values of a plot; the places are set. */
void plot_range_make(struct plot_range *s, const struct plot *plot, bool x);

/* Where a value is; values far outside are not far away, so that paths have bounded numbers. */
double plot_place(const struct plot_range *s, double value);

/* Numbers for an axis that has no tics of its own; returns how many. */
size_t plot_range_tics(const struct plot_range *s, enum plot_unit unit, bool x,
		       struct plot_tic tics[PLOT_MAX_TICS]);

/* ---- plot_svg.c ---- */

/* True if the picture is wide, and not to be beside another. */
bool plot_is_wide(const struct plot *plot);

/* Write the picture as an element of a page, with ids that have `number`; 0: as a file. */
void plot_write_svg(FILE *f, const struct plot *plot, size_t number);

#endif
