/*
 * Operations that fail and data that is wrong: one line each up to -maxerrorstoprint, counts, and
 * the end of the pass or run by -maxerrors and -stoponerror. Private to src/run.
 */
#ifndef XDD_RUN_TARGET_FAILURES_H
#define XDD_RUN_TARGET_FAILURES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct io_request;
struct miscompare;
struct qthread;
struct run;

/* Failures of a run. All fields are atomic. */
struct run_failures {
	_Atomic uint64_t errors;       /* operations that failed */
	_Atomic uint64_t errors_shown; /* those that the messages show */

	_Atomic uint64_t miscompares;	    /* extents of wrong data */
	_Atomic uint64_t miscompared_bytes; /* total of these extents */
};

/* Report and count an operation that failed. QThread, outside the timed window. */
void io_error(struct qthread *q, const struct io_request *req);

/*
 * Report and count wrong data. Returns true if the next miscompare will be shown. QThread, outside
 * the timed window.
 */
bool miscompare(struct qthread *q, const struct miscompare *m);

/* Report the totals, after the last operation. Main thread. */
void io_error_summary(const struct run *run);
void miscompare_summary(const struct run *run);

#endif
