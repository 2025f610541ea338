/*
 * Results as values: a report whose results go to functions of a caller in this process, and not to
 * outputs. For commands that carry out several plans, one after another.
 */
#ifndef XDD_REPORT_SINK_H
#define XDD_REPORT_SINK_H

#include "xdd/report/report.h"

/* An operation that failed. */
struct report_failure {
	uint32_t target;
	bool write;
	uint64_t offset, bytes;
	const char *why; /* for the time of the call */
};

/*
 * The functions are called by the thread that has the report; NULL: not wanted. What their
 * arguments point to belongs to the caller, for the time of the call: struct figures is copied with
 * figures_add().
 */
struct report_sink {
	void *arg;
	unsigned needs;	   /* enum figures_part: the run measures these */
	const char *title; /* precedes the progress on a terminal; NULL: nothing does */

	/*
	 * Each result: of a target's pass, then over all passes of each target, then of all
	 * targets. Those of QThreads with FIGURES_QTHREADS only.
	 */
	void (*result)(void *arg, const struct result *result);

	/* With FIGURES_PASSES: over the passes of each target, then of all. */
	void (*statistics)(void *arg, const struct pass_statistics *statistics);

	/* The use of each device, where it is known. */
	void (*device)(void *arg, const struct device_use *use);

	/* Each finding, after the results; it is no warning then. */
	void (*finding)(void *arg, const struct finding *finding);

	/* A failed operation, which then is no message. By QThreads, one at a time. */
	void (*failure)(void *arg, const struct report_failure *failure);

	/* The last call. A run that could not begin makes none. */
	void (*end)(void *arg, enum report_end end);
};

/*
 * As report_open(), without outputs: options of the plan that name files or select lines have no
 * effect. `sink` must stay valid until report_close(). Returns XDD_OK, or a status with one line
 * given to log_error().
 */
enum xdd_status report_open_sink(const struct plan *plan, const struct report_sink *sink,
				 struct report **out);

/* True if failed operations go to a sink. Any thread. */
bool report_takes_failures(const struct report *r);

/* Pass a failed operation to the sink. With report_takes_failures(); any thread. */
void report_failure(struct report *r, const struct report_failure *failure);

/* The title of the sink; NULL: there is none. Any thread. */
const char *report_title(const struct report *r);

#endif
