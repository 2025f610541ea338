/*
 * The rows of -intervals as text and CSV. doc/output.md has the formats.
 *
 * Private to src/report. The header and the functions of rows: any thread; no state.
 */
#ifndef XDD_REPORT_SERIES_H
#define XDD_REPORT_SERIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/report/interval.h"
#include "xdd/stat/counters.h"

/* One direction of an interval, or its flushes. */
struct series_row {
	const struct interval_result *interval;
	bool all;	  /* of all targets */
	const char *name; /* of the target, or "all" */
	unsigned dir;	  /* or LATENCY_FLUSHES: ops are these, and have no bandwidth */
	uint64_t ops;
	uint64_t bytes;
	uint64_t errors;
	double seconds; /* of the interval */

	/* service times of `ops`; without any of these 0 and not known */
	bool known;
	double p50_ns; /* NAN: too few operations */
	double p99_ns;
	uint64_t max_ns;
};

/* Per second; NAN of an interval without length, and of what has none. */
double series_iops(const struct series_row *row);
double series_mb_per_s(const struct series_row *row); /* 10^6 bytes */

/* The line that names the columns of the CSV file. */
void series_csv_header(FILE *f);
void series_csv_row(FILE *f, const struct series_row *row);

/* The two header lines of the table, and a row of it. */
void series_table_header(FILE *f);
void series_table_row(FILE *f, const struct series_row *row);

/*
 * As series_table_row(), for the terminal, on 60 columns (series_screen.c): with many targets only
 * the rows of all of them are shown.
 */
bool series_screen_shows(const struct plan *plan, const struct series_row *row);
void series_screen_header(FILE *f, const struct plan *plan);
void series_screen_row(FILE *f, const struct plan *plan, const struct series_row *row);

#endif
