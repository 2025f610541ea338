/*
 * CSV files: their header line, and whether a file that is there already goes on with it.
 *
 * Private to src/report.
 */
#ifndef XDD_REPORT_CSV_H
#define XDD_REPORT_CSV_H

#include <stddef.h>

#include "report/line.h"
#include "xdd/report/column.h"

enum csv_start {
	CSV_START_NEW,	 /* no regular file, or an empty one: the header line has to be written */
	CSV_START_SAME,	 /* its first line is the header line */
	CSV_START_OTHER, /* its first line is another one */
};

/*
 * Put the cells of the header line, or those of `r`, into `cells` (room for list->n); returns how
 * many they are. There are none for delimiters.
 */
size_t csv_header_cells(struct line_cell *cells, const struct column_list *list);
size_t csv_result_cells(struct line_cell *cells, const struct column_list *list,
			const struct result *r);

/*
 * Compare the first line of `path` with `header` (`len` bytes, newline included). Returns an enum
 * csv_start, or -errno when the file cannot be read.
 */
int csv_look(const char *path, const char *header, size_t len);

#endif
