/*
 * The cause that limited a target, from how its QThreads spent their time. Private to src/run;
 * pure functions.
 */
#ifndef XDD_RUN_RESULTS_BOUND_H
#define XDD_RUN_RESULTS_BOUND_H

#include <stdbool.h>

#include "xdd/plan/plan.h"
#include "xdd/report/result.h"

/*
 * Shares of the time that the QThreads of a target had, from 0 to 1; the first three add up to 1 at
 * most.
 */
struct bound_facts {
	double own;	     /* at work in xdd */
	double kernel;	     /* at work in the kernel */
	double waited;	     /* ready to run, and without a processor */
	double quota;	     /* the part of it that a CPU quota explains */
	double outstanding;  /* of the queue depth, on average */
	double filled;	     /* of the processors that they may use, the share that this run used */
	bool paced;	     /* operations have a time, or another target, to wait for */
	bool device;	     /* there is one */
	bool waited_unknown; /* the kernel does not tell */
};

/* Of the whole run, with all its targets. */
struct bound_run {
	uint64_t cpu_ns;       /* processor time */
	uint64_t throttled_ns; /* cgroup_throttled_ns() */
	uint64_t stopped_ns; /* in which the process was stopped: no part of the time of a target */
};

/*
 * Compute the facts of a target from `sums`, over all its passes. Returns false, without facts, for
 * passes that were too short.
 */
bool bound_facts(struct bound_facts *f, const struct plan *plan, const struct result *sums,
		 const struct bound_run *run);

/* The share of the time in which the QThreads were idle because no operation was due. */
double bound_held(const struct bound_facts *f);

/* The verdict; RESULT_BOUND_UNKNOWN where the evidence is unclear. */
enum result_bound bound_judge(const struct bound_facts *f);

/* "device-bound" and so on; NULL of an unknown one. */
const char *bound_text(enum result_bound bound);

#endif
