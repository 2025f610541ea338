/*
 * The rows of several traces in the order in which the operations began by the global clock.
 */
#ifndef XDD_TRACE_MERGE_H
#define XDD_TRACE_MERGE_H

#include "trace/walk.h"

struct trace_merged_row {
	struct trace_row row;
	size_t trace;	  /* index of the trace it is from */
	int64_t start_ns; /* of the global clock, as is the end; since 1970 */
	int64_t end_ns;
};

struct trace_merge {
	struct trace_merged_row *rows;
	size_t n;
	struct trace_sums *sums; /* one a trace */
};

/* Returns 0 or -ENOMEM. The traces must outlive it. Free with trace_merge_free(), in any case. */
int trace_merge(struct trace_merge *m, const struct trace *const *traces, size_t n);
void trace_merge_free(struct trace_merge *m);

#endif
