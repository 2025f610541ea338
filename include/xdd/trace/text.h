/*
 * The detailed and summary reports of a trace, in the layout of the user guide, 10.7, with further
 * columns after the guide's. doc/output.md explains them.
 *
 * Each returns 0 or -ENOMEM; errors of the stream are the caller's to look for.
 */
#ifndef XDD_TRACE_TEXT_H
#define XDD_TRACE_TEXT_H

#include <stdio.h>

#include "xdd/trace/trace.h"

/* The parts of a report. */
struct trace_text {
	bool detailed;
	bool summary;
	bool normalize; /* times of the global clock */
};

/* Number of the target and the sections of information, then the reports. */
int trace_text_write(FILE *f, const struct trace *t, const struct trace_text *want);

/*
 * The detailed report of several traces as one, in the order of the global clock, each row with the
 * host it is from; then the summaries one by one.
 */
int trace_text_merged(FILE *f, const struct trace *const *traces, size_t n,
		      const struct trace_text *want);

#endif
