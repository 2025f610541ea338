/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CSV of several kinds of lines in one file: columns are named once, and rows that do not have one
 * leave its cell empty.
 *
 * Private to src/report. A table belongs to one thread. Where memory is short, cells are lost, and
 * writing says so.
 */
#ifndef XDD_REPORT_CSV_H
#define XDD_REPORT_CSV_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/report/column.h"
#include "xdd/report/document.h"

struct csv_table;

/* NULL: memory is short. To be freed by csv_free(), which accepts NULL. */
struct csv_table *csv_new(void);
void csv_free(struct csv_table *t);

/* Begin the columns of another kind of rows. */
void csv_kind(struct csv_table *t);

/* Write the line of names, or the rows. Returns 0, -ENOMEM or -EIO. */
int csv_write_names(FILE *f, const struct csv_table *t);
int csv_write_rows(FILE *f, const struct csv_table *t);

/* ---- results of runs ---- */

#define CSV_RESULT_COLUMNS COLUMN_DEFAULTS COLUMN_CSV_DEFAULTS

/* The results that have rows. */
enum csv_results {
	CSV_HOSTS,   /* of hosts, and of all together */
	CSV_TARGETS, /* also of targets: of each pass and of all passes */
};

/* Name the columns of results. */
void csv_result_columns(struct csv_table *t, const struct column_list *list);

/* Add rows of results in a document. `name` is the first cell of each; NULL: none is. */
void csv_results(struct csv_table *t, const struct column_list *list, const struct document *d,
		 enum csv_results which, const char *name);

/*
 * The columns that identify a row of the document `root`, as an object: a new reference. `host`:
 * before the target's name. `target` is a number, or DOCUMENT_ALL.
 */
json_t *csv_identity(const json_t *root, const char *host, int64_t target);

#endif
