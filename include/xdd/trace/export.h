/*
 * Traces for other programs: CSV, and JSON in the trace event format of Chrome, which Perfetto
 * reads.
 *
 * Each returns 0 or -ENOMEM; errors of the stream are the caller's to look for.
 */
#ifndef XDD_TRACE_EXPORT_H
#define XDD_TRACE_EXPORT_H

#include <stdio.h>

#include "xdd/trace/trace.h"

/* One header line, one line per operation, all traces merged by the global clock. */
int trace_export_csv(FILE *f, const struct trace *const *traces, size_t n);

/*
 * A process for each host, a thread for each slot of a QThread of a target, and in it an event for
 * each operation. Times are microseconds from the first start, which "otherData" has in nanoseconds
 * since 1970.
 */
int trace_export_json(FILE *f, const struct trace *const *traces, size_t n);

#endif
