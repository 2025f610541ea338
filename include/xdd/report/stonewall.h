/*
 * The stonewall of a pass: what the run hands to the writers with -stonewall.
 */
#ifndef XDD_REPORT_STONEWALL_H
#define XDD_REPORT_STONEWALL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/report/deskew.h"

#define STONEWALL_BY_TIME UINT32_MAX

struct stonewall_result {
	uint64_t pass;
	uint32_t target; /* the first one that ended the pass; or STONEWALL_BY_TIME */
	bool ranks;	 /* -mpi: it is of `rank` */
	unsigned rank;
	uint64_t begin_ns; /* first issue: global clock, since 1970 */

	/* of all targets, from their first issue on */
	struct span at;	 /* until no target issued any more */
	struct span end; /* until the last operation, and flush of -syncwrite, was complete */
};

/* The lines for people. */
void stonewall_write(FILE *f, const struct stonewall_result *s);

#endif
