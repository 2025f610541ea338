/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd combine: one result of the documents of -jsonout that the hosts of a run wrote.
 *
 * The documents may come from any source: they are checked, and a bad one is refused with one line.
 * Any thread; no state.
 */
#ifndef XDD_REPORT_COMBINE_H
#define XDD_REPORT_COMBINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "xdd/base/status.h"
#include "xdd/report/document.h"

#define COMBINE_MAX_DOCUMENTS 16384

struct combine_options {
	bool force;		     /* -force: combine also results that do not belong together */
	const char *const *expected; /* -hosts: names that must be there */
	size_t n_expected;

	/* By rank, the names that the user knows them by; NULL: those that the documents have. */
	const char *const *rank_hosts;
	size_t n_rank_hosts;
};

/*
 * Combine `n` documents (1 or more): a new reference to a document of the same schema, with the
 * member "hosts". That of one document is that document with "hosts". NULL: they were refused, with
 * one line for each reason, or memory is short.
 */
json_t *combine_documents(const struct document *docs, size_t n, const struct combine_options *o);

/* True if `doc` can be combined, with others if `several`. Otherwise it was refused with a line. */
bool combine_check(const struct document *doc, bool several);

/*
 * Give such a document the exit status of the program. It differs from the status of the hosts
 * where an output failed. Returns 0 or -ENOMEM.
 */
int combine_set_status(json_t *doc, enum xdd_status status);

/* Print such a document for a terminal, 80 columns wide. Returns 0 or -errno. */
int combine_print_text(const json_t *doc, FILE *to);

/*
 * Append the lines of the hosts and of all together to a CSV file with the columns of a run.
 * Returns XDD_OK, or reports and returns XDD_BAD_ARGUMENT where the file has other columns,
 * XDD_INIT_FAILED where memory is short, XDD_IO_ERROR where it cannot be written.
 */
enum xdd_status combine_write_csv(const json_t *doc, const char *path);

#endif
