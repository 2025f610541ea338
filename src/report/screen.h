/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells and lines of the result table. Private to src/report.
 */
#ifndef XDD_REPORT_LINES_H
#define XDD_REPORT_LINES_H

#include <stddef.h>

#include "xdd/report/column.h"
#include "xdd/report/screen.h"

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
