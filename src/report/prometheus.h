/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -intervals prometheus: the counts of a run so far as OpenMetrics text, in a file that is replaced
 * after each interval.
 *
 * Private to src/report. Belongs to the thread that has the report.
 */
#ifndef XDD_REPORT_PROMETHEUS_H
#define XDD_REPORT_PROMETHEUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/report/result.h"

struct prometheus;

/* False: the path is of a stream, device or pipe, which cannot be replaced as a whole. */
bool prometheus_accepts(const char *path);

/* Write the file with nothing done yet. Returns 0 with `*out`, or -errno. */
int prometheus_open(struct prometheus **out, const struct plan *plan, uint64_t started_ns);

/*
 * Add an interval of a target; after the interval of all targets, or of the only one, the file is
 * replaced. An error is kept for prometheus_close(), and the next interval tries again.
 */
void prometheus_interval(struct prometheus *p, const struct interval_result *i);

/*
 * Write the last state, with the exit status of the run. Returns 0, or the first -errno. Accepts
 * NULL.
 */
int prometheus_close(struct prometheus *p, enum xdd_status status);

/* As prometheus_close(), for a run that does not begin: the file stays as it is. */
void prometheus_free(struct prometheus *p);

#endif
