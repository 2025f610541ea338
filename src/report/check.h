/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks of outputs before a run. Private to src/report.
 */
#ifndef XDD_REPORT_CHECK_H
#define XDD_REPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/report/column.h"
#include "xdd/report/report.h"

/*
 * The outputs of a plan, for the checks before a run. Private to src/report; main thread.
 */

struct output_name {
	const char *option; /* without its dash; NULL: a standard stream */
	const char *path;   /* owned by `made` where that is not NULL; NULL: standard output */
	char *made;
	bool replaced;	      /* by a new file */
	bool emptied;	      /* by the run, which has the file afresh */
	struct outfile_id id; /* must differ from the ids of other outputs */
	struct outfile_id
		file; /* must not be a target: the same, or what the stream is redirected to */
};

struct output_list {
	struct output_name *names;
	size_t n;
};

/* All return XDD_OK, or a status with one line given to log_error(). */

/*
 * Checks that report_check() makes before a run, and report_open() again when it opens the files.
 *
 * Private to src/report. Each returns XDD_OK, or a status with one line given to log_error().
 */

/* The columns of -outputformat, or the default ones; to be freed by column_list_free(). */
enum xdd_status report_columns(const struct plan *plan, struct column_list *list);

/*
 * As report_columns(), for CSV files, which by default have columns that identify the run as well.
 */
enum xdd_status report_csv_columns(const struct plan *plan, struct column_list *list);

/*
 * Check whether CSV file `path` of -`option` may be continued with lines under `header` (`len`
 * bytes), and whether that line has to be written first.
 */
enum xdd_status report_csv_start(const char *option, const char *path, const char *header,
				 size_t len, bool *write_header);

/* As report_csv_start(), for the file of -latency output, which has another header line. */
enum xdd_status report_latency_start(const struct plan *plan, bool *write_header);

/* As report_latency_start(), for the file of -intervals output. */
enum xdd_status report_series_start(const struct plan *plan, bool *write_header);

#endif
