/*
 * The figures of each pass, kept for what is said about all passes together, and for -passes until.
 *
 * Owned by the results manager.
 */
#ifndef XDD_RUN_RESULTS_STATISTICS_H
#define XDD_RUN_RESULTS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/report/result.h"
#include "xdd/report/statistics.h"

/* Passes of which figures are kept, so that memory does not grow with the length of a run. */
#define SERIES_MAX_PASSES PLAN_UNTIL_MAX_PASSES

struct pass_series {
	uint64_t *passes;
	double *values[FIGURE_ALL]; /* NAN: not known */
	size_t n;
	uint64_t left_out;
};

/*
 * Add a pass that is over. One that is not `whole` is only counted, as is one that moved nothing.
 * Returns 0 or -ENOMEM, then with the pass counted as left out.
 */
int series_add(struct pass_series *s, const struct result *pass, bool whole);

/*
 * True if there are enough passes, and the 95 % interval of the bandwidth is within +- `percent`
 * of its mean.
 */
bool series_is_known(const struct pass_series *s, double percent);

/*
 * Half the width of that interval in percent of the mean; INFINITY when nothing is known. The
 * interval takes into account that the run may stop once it is narrow: stats_until_half_width().
 */
double series_percent(const struct pass_series *s);

/* Hand what has come together to the report. */
void series_report(const struct pass_series *s, struct report *report, bool combined,
		   uint64_t target);

/* Safe on one that is all zero, and again. */
void series_free(struct pass_series *s);

#endif
