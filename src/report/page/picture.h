/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture of a plot that is being written. Private to plot_svg.c and plot_cells.c; one thread.
 */
#ifndef XDD_REPORT_PAGE_PICTURE_H
#define XDD_REPORT_PAGE_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/page/plot.h"

/* All lengths are in CSS pixels of a picture that is shown in its own size. */
#define PICTURE_LETTER 7.2 /* of a text, on average */
#define PICTURE_ROW 24.0   /* of bars */
#define PICTURE_EDGE 12.0  /* around all */

struct picture {
	FILE *f;
	const struct plot *plot;
	size_t number; /* of the picture in its page; 0: none */
	double width, height;
	struct plot_range x, y;
	struct plot_limits value; /* of cells */
	bool is_direct;		  /* the names of lines are beside them */
	bool is_turned;		  /* the names at the axis along x are */
	size_t beyond;		  /* lines with points beyond the end of the axis */
	bool has_disturbed;
	bool zooms; /* in the page, along x */
};

/* The characters of a text. */
size_t picture_letters(const char *text);

/* The place of a value along an axis. */
double picture_x(const struct picture *c, double x);
double picture_y(const struct picture *c, double y);

/* Write a command of a path with a position along x, such as M, L or H. */
void picture_command(const struct picture *c, char command, double x);

/* Write a text at a place; `anchor` is start, middle or end. */
void picture_text(const struct picture *c, double x, double y, const char *anchor,
		  const char *classes, const char *text);

/* True if cells have numbers: their columns have names. */
bool picture_has_numbers(const struct plot *plot);

/* Write the bars, or the cells with their legend. */
void picture_bars(const struct picture *c);
void picture_cells(const struct picture *c);

#endif
