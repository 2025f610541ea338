/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that fits: on a screen, and in the lines of the result table. Private to src/report.
 */
#ifndef XDD_REPORT_SCREEN_H
#define XDD_REPORT_SCREEN_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "xdd/report/column.h"

/*
 * A text screen: how wide and high it is, and text that fits on it. Private to src/report.
 *
 * Texts come from printable_dup(): UTF-8 without control characters. A struct screen belongs to
 * one thread at a time.
 */

#define SCREEN_MIN_COLUMNS 60

struct screen {
	unsigned columns; /* at least SCREEN_MIN_COLUMNS */
	unsigned rows;	  /* 0: unknown */
	bool colour;
	const char *gap;  /* stands for the middle of a name that is too long */
	locale_t unicode; /* (locale_t)0: widths are estimates, which are not too small */
};

/* Colours and weights; they repeat what the words say. */
enum screen_tone {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_GOOD,
	SCREEN_CAUTION,
	SCREEN_BAD,
};

/*
 * Look at the terminal `fd`, or else at the environment: COLUMNS, LINES, NO_COLOR, TERM and the
 * locale. screen_free() may follow in any case.
 */
void screen_init(struct screen *s, int fd);
void screen_free(struct screen *s);

/* The columns that `text` takes. */
unsigned screen_width(const struct screen *s, const char *text);

/* A copy of `text` that takes `columns` at most: its middle is left out. NULL: no memory. */
char *screen_shorten(const struct screen *s, const char *text, unsigned columns);

/*
 * Write "label: text" in lines that fit on the screen, broken between words; the lines after the
 * first one begin with two blanks. `label` has the tone; NULL: there is none.
 */
void screen_wrap(const struct screen *s, FILE *f, enum screen_tone tone, const char *label,
		 const char *text);

/*
 * Lines of the result table, put together from cells: with fixed widths as text, folded where a
 * terminal is too narrow, or as CSV.
 *
 * Private to src/report. Pure functions over memory of the caller; cells have a fixed size, so
 * that nothing has to be allocated while a run is going on.
 */

#define LINE_CELL_SIZE 96 /* with the NUL; more than any value needs, except names */
#define LINE_INDENT 4	  /* blanks before the further lines of a folded line */

struct line_cell {
	const char *whole; /* a text of any length, in place of `text`; NULL: none */
	char text[LINE_CELL_SIZE];
};

/* Put a plain text into a cell; what does not fit is cut off. */
void line_cell_set(struct line_cell *cell, const char *text);

/*
 * The value of column `col` for `r`: at least as wide as the column; or, for CSV, as it is. A name
 * is cut to the width of the column; for CSV the cell refers to it where it is.
 */
void line_cell_padded(struct line_cell *cell, const struct column *col, const struct result *r);
void line_cell_bare(struct line_cell *cell, const struct column *col, const struct result *r);

/*
 * Bytes that hold any line of `n` cells, in either form, with its newline and NUL; for CSV twice
 * the length of the names is added.
 */
size_t line_size(size_t n);

/*
 * Join `n` cells with one blank into `buf` (line_size(n) bytes) and end the line. When `columns` is
 * not 0, a cell that would pass that width starts a further line, indented by LINE_INDENT blanks.
 * Returns the length.
 */
size_t line_join(char *buf, const struct line_cell *cells, size_t n, unsigned columns);

/*
 * Join `n` cells with commas into `buf` (line_size(n) bytes), quoted where RFC 4180 asks for it,
 * and end the line with a line feed. Returns the length.
 */
size_t line_csv(char *buf, const struct line_cell *cells, size_t n);

#endif
