/*
 * The reports and the dump of time stamps. Private to src/run.
 */
#ifndef XDD_RUN_RESULTS_TRACE_REPORT_H
#define XDD_RUN_RESULTS_TRACE_REPORT_H

#include <stdbool.h>

struct global_span;
struct run;
struct target;

/*
 * Write reports and dump of the time stamps of `t`, and say what is missing; `span` is the global
 * clock during the run. Results manager.
 */
void trace_report(struct run *run, struct target *t, const struct global_span *span, bool partial);

#endif
