/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of latencies, and rows of -intervals. Private to src/report.
 */
#ifndef XDD_REPORT_LATENCY_H
#define XDD_REPORT_LATENCY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"

/*
 * Reports of latencies: single figures for the columns, the table of -latency, and its CSV file.
 * doc/output.md has the formats.
 *
 * Private to src/report. Any thread; no state. Rows are written to a stdio stream in memory.
 */

/* Figures about a set of latencies; a number up to HISTOGRAM_ALL is that percentile. */
enum latency_stat {
	LATENCY_MIN = HISTOGRAM_ALL + 1,
	LATENCY_MEAN,
	LATENCY_STDDEV,
	LATENCY_WEIGHTED,
	LATENCY_MAX,
};

/* In ns or ms; NAN where there are no operations, or too few for a percentile. */
double latency_stat_ns(const struct histogram_view *v, uint32_t stat);
double latency_stat_ms(const struct histogram_view *v, uint32_t stat);

/* The percentiles of -latency, or those that are shown without being named; returns how many. */
size_t latency_percents(const struct plan *plan, const uint32_t **percents);

/* "99.9" for 99.9 %, into `buf` (LATENCY_PERCENT_SIZE bytes); returns `buf`. */
#define LATENCY_PERCENT_SIZE 16
char *latency_percent_text(uint32_t percent, char *buf);

/* "read", "write", "noop", "discard", "all" or "flush"; "service" or "response". */
const char *latency_dir_name(unsigned dir);
const char *latency_time_name(enum latency_time time);

/* "longest" or "shortest". */
const char *extremes_name(enum extremes_which which);

/* An interval of time in a run, in nanoseconds since the first pass began. */
struct latency_interval {
	uint64_t from_ns;
	uint64_t to_ns;
};

/*
 * The table: its two header lines, and the rows of one result. With an interval the rows are of
 * what happened in it, and have two more columns, as has the header with `intervals`.
 */
void latency_table_header(FILE *f, const struct plan *plan, bool intervals);
void latency_table_rows(FILE *f, const struct plan *plan, const struct result *r,
			const struct latency_interval *interval);

/*
 * True if `r` has a row for that time and direction, or for its flushes; `*v` is then its view. A
 * row of all directions is due when there are several, and for each interval.
 */
bool latency_row(const struct result *r, bool interval, enum latency_time time, unsigned dir,
		 struct histogram_view *v);

/* Where a column of the distribution begins; it ends at the next one, the last one nowhere. */
#define LATENCY_OCTAVES 24
uint64_t latency_octave_ns(unsigned octave);

/* The distribution over powers of two of one result, as IBM's xdisk shows it. */
void latency_octaves_rows(FILE *f, const struct result *r);

/*
 * The tables of -latency for a screen: a column for each row of those above, as many beside each
 * other as fit, and a line for each figure. Results are kept until all are known.
 */
struct latency_screen {
	struct latency_column **columns;
	size_t n;
};

/* Keep the rows of a result. Returns 0 or -ENOMEM. */
int latency_screen_add(struct latency_screen *s, const struct plan *plan, const struct result *r);
void latency_screen_write(FILE *f, const struct plan *plan, const struct latency_screen *s);
void latency_screen_free(struct latency_screen *s);

/* Lines of an interval, with the figures that fit; after the headings if it is the first one. */
void latency_screen_interval(FILE *f, const struct plan *plan, const struct result *r,
			     const struct latency_interval *interval, bool first);

/* The CSV file: its first line, and the lines of one result. */
void latency_csv_header(FILE *f, const struct plan *plan);

/*
 * The rows of -intervals as text and CSV. doc/output.md has the formats.
 *
 * Private to src/report. The header and the functions of rows: any thread; no state.
 */

/* One direction of an interval, or its flushes. Each column of the table shows a field. */
struct series_row {
	uint64_t from_ns, to_ns; /* since the first pass began */
	uint64_t target;	 /* their number: all of them */
	bool all;		 /* of all targets */
	const char *name;	 /* of the target, or "all" */
	uint64_t pass;		 /* 0: of several passes */
	unsigned dir;		 /* or LATENCY_FLUSHES: ops are these, and have no bandwidth */
	const char *dir_name;
	uint64_t ops;
	uint64_t bytes;
	uint64_t errors;

	/* figures that have a column; NAN: too few operations, or an interval without length */
	double figures[FIGURE_ROUND];
	bool partial;
};

/* A time since the first pass began: in six characters up to 11 days. */
char *series_time_text(uint64_t ns, bool fine, char buf[SCALED_SIZE]);

/* True if the target may have operations of that direction, or flushes among its operations. */
bool series_has_direction(const struct target_plan *t, unsigned dir);

/* The row as an object of the document of -jsonout; NULL when memory is short. */
json_t *series_value(const struct series_row *row);

/* The line that names the columns of the CSV file. */
void series_csv_header(FILE *f);

#endif
