/*
 * How the passes of a target, or of all targets together, came out: what the run hands to the
 * writers at its end.
 */
#ifndef XDD_REPORT_STATISTICS_H
#define XDD_REPORT_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/stat/figures.h"
#include "xdd/stat/stats.h"

/* Figures that are compared from pass to pass, and of whole curves. */
enum pass_figure {
	FIGURE_BANDWIDTH, /* bytes per second */
	FIGURE_IOPS,	  /* operations per second */
	FIGURE_LATENCY,	  /* mean completion time of an operation, ns */

	/* percentiles of the completion times, ns; only where latencies are kept */
	FIGURE_P50,
	FIGURE_P99,
	FIGURE_P999,
	FIGURE_COUNT,

	/* of no operation, and not of sweeps: the mean time of a flush, ns */
	FIGURE_FLUSH = FIGURE_COUNT,

	/* mean and percentiles of the response times, ns; only where a rate sets due times */
	FIGURE_RESPONSE,
	FIGURE_RESPONSE_P50,
	FIGURE_RESPONSE_P99,
	FIGURE_RESPONSE_P999,
	FIGURE_ALL,

	/* of a curve, not of passes: its maximum, operations per second, and its knee */
	FIGURE_MAXIMUM = FIGURE_ALL,
	FIGURE_KNEE, /* percent of the maximum */
	FIGURE_NAMES,
};

#define FIGURE_FIRST_PERCENTILE FIGURE_P50

struct pass_statistics {
	bool combined;	   /* all targets together */
	uint64_t target;   /* otherwise: its number */
	uint64_t left_out; /* passes cut short, without operations, or past the limit */
	size_t n;	   /* passes that count */
	unsigned known;	   /* a bit for each enum pass_figure: each of these passes has it */

	/* of these: their numbers, from 1, and their figures; owned by the run */
	const uint64_t *passes;
	const double *values[FIGURE_ALL];

	struct stats_summary summary[FIGURE_ALL];
	struct stats_stability stability[FIGURE_ALL];
};

/* How people are shown a figure: in the units of the columns. */
struct figure_shown {
	const char *name;
	const char *unit;
	double scale; /* of the figure by which it is divided */
	int digits;   /* after the decimal point */
};

extern const struct figure_shown figures_shown[FIGURE_NAMES];

/*
 * "bandwidth", "iops", "latency", "p50", "p99", "p99.9", "flush", "response", "response_p50",
 * "response_p99", "response_p99.9", "maximum" or "knee"; and "bytes/s", "operations/s", "ns" or
 * "percent".
 */
const char *figure_name(enum pass_figure figure);
const char *figure_unit(enum pass_figure figure);

/* "stable", "odd", "step", "trend" or "scatter". */
const char *stats_change_name(enum stats_change change);

/* True for completion times; false for rates, flushes and response times. */
bool figure_is_service(enum pass_figure figure);

/* The figure of response times that a figure of completion times has; other figures: themselves. */
enum pass_figure figure_of_response(enum pass_figure figure);

/* A percentile of the times in `l`, or the mean response time, ns; NAN: not known. */
double figure_of_latency(const struct latency *l, enum pass_figure figure);

/*
 * The bits of `known`: figures that have a value in each of `n` passes, where NAN stands for one
 * that is not known. Rates and the mean time always have.
 */
unsigned statistics_known(double *const values[FIGURE_ALL], size_t n);

/* True if `s` has that figure of each pass. */
bool statistics_has(const struct pass_statistics *s, enum pass_figure figure);

/* The lines for people, without percentiles: nothing for less than 3 passes. */
void statistics_write(FILE *f, const struct pass_statistics *s);

/*
 * The reason why the bandwidth of the passes is not reproducible, such as "pass 1 is 38 % slower
 * than the others", into `buf` (STATISTICS_WHY_SIZE bytes); returns `buf`, or NULL when nothing
 * does.
 */
#define STATISTICS_WHY_SIZE 160
char *statistics_why(const struct pass_statistics *s, char *buf);

#endif
