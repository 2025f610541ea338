/*
 * An interval of -intervals, for report_interval(): the work that was completed in it.
 */
#ifndef XDD_REPORT_INTERVAL_H
#define XDD_REPORT_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/stat/figures.h"

struct report;

struct interval_result {
	uint64_t target;  /* their number: all of them */
	uint64_t pass;	  /* 0: of several passes */
	uint64_t from_ns; /* since the first pass began */
	uint64_t to_ns;
	bool partial;		       /* short because a pass begins or ends in it */
	const struct figures *figures; /* tally: operations, bytes and failures only; latency */
};

/*
 * Write the rows of an interval, one for each direction: to the CSV file of -intervals, or without
 * one to the text output, at once; and to the document of -jsonout. The thread that has the report.
 */
void report_interval(struct report *r, const struct interval_result *i);

#endif
