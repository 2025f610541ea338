/*
 * The longest and the shortest operation as lines of the report: -extendedstats.
 */
#ifndef XDD_REPORT_EXTREMES_H
#define XDD_REPORT_EXTREMES_H

#include "xdd/report/report.h"
#include "xdd/report/result.h"

/*
 * Two lines about a TARGET_PASS, TARGET_AVERAGE or COMBINED result; nothing when no operation succeeded.
 * Called by the results manager.
 */
void report_extremes(struct report *r, const struct result *result);

#endif
