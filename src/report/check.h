/*
 * Checks that report_check() makes before a run, and report_open() again when it opens the files.
 *
 * Private to src/report. Each returns XDD_OK, or a status with one line given to log_error().
 */
#ifndef XDD_REPORT_CHECK_H
#define XDD_REPORT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/plan/plan.h"
#include "xdd/report/column.h"

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

/*
 * The header line of the CSV files of `plan`, to be freed. Returns 0, or -EINVAL or -ENOMEM with
 * one line given to log_error().
 */
int report_csv_header(const struct plan *plan, char **header, size_t *len);

/* As report_csv_start(), for the file of -latency output, which has another header line. */
enum xdd_status report_latency_start(const struct plan *plan, bool *write_header);

/* As report_latency_start(), for the file of -intervals output. */
enum xdd_status report_series_start(const struct plan *plan, bool *write_header);

#endif
