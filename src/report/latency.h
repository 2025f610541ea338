/*
 * Reports of latencies: single figures for the columns, the table of -latency, and its CSV
 * file. doc/output.md has the formats.
 *
 * Private to src/report. Any thread; no state. Rows are written to a stdio stream in memory.
 */
#ifndef XDD_REPORT_LATENCY_H
#define XDD_REPORT_LATENCY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/report/result.h"
#include "xdd/stat/figures.h"

/* Figures about a set of latencies; a number up to HISTOGRAM_ALL is that percentile. */
enum latency_stat {
	LATENCY_MIN = HISTOGRAM_ALL + 1,
	LATENCY_MEAN,
	LATENCY_STDDEV,
	LATENCY_WEIGHTED,
	LATENCY_MAX,
};

/* In milliseconds; NAN where there are no operations, or too few for a percentile. */
double latency_stat_ms(const struct histogram_view *v, uint32_t stat);

/* The percentiles of -latency, or those that are shown without being named; returns how many. */
size_t latency_percents(const struct plan *plan, const uint32_t **percents);

/* "99.9" for 99.9 %, into `buf` (LATENCY_PERCENT_SIZE bytes); returns `buf`. */
#define LATENCY_PERCENT_SIZE 16
char *latency_percent_text(uint32_t percent, char *buf);

/*
 * The rest of a line of any table: least, mean, standard deviation, weighted average, percentiles
 * and greatest of `v` in milliseconds, each with `before` before it and at least `width` wide.
 */
void latency_figures(FILE *f, const char *before, int width, const struct plan *plan,
		     const struct histogram_view *v);

/*
 * True if `r` has a row for that time and direction, or for its flushes; `*v` is then its view. A
 * row of all directions is due when there are several, and for each interval.
 */
bool latency_row(const struct result *r, bool interval, enum latency_time time, unsigned dir,
		 struct histogram_view *v);

/* "read", "write", "noop", "discard", "all" or "flush"; "service" or "response". */
const char *latency_dir_name(unsigned dir);
const char *latency_time_name(enum latency_time time);

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

/* The distribution over powers of two of one result, as IBM's xdisk shows it. */
void latency_octaves_header(FILE *f);
void latency_octaves_rows(FILE *f, const struct result *r);

/* The CSV file: its first line, and the lines of one result. */
void latency_csv_header(FILE *f, const struct plan *plan);
void latency_csv_rows(FILE *f, const struct plan *plan, const struct result *r,
		      const struct latency_interval *interval);

#endif
