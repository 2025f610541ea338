/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the results manager, and the lines that it writes. Belongs to its thread. Private
 * to src/run.
 */
#ifndef XDD_RUN_RESULTS_MANAGER_H
#define XDD_RUN_RESULTS_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "run/meter/meter.h"
#include "run/results/crosscheck.h"
#include "run/results/global_clock.h"
#include "run/results/sums.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/sys/clock.h"

struct global_span;
struct plan;
struct report;
struct run;
struct target;

/*
 * The reports and the dump of time stamps.
 */

/* Sums over the passes of one target. */
struct target_sum {
	struct figures figures;
	struct throttle_times paced;
	struct dirty_sample dirty; /* of the last pass */
	uint64_t passes;
	uint64_t most_ops;	    /* issued in a pass, the most of all passes */
	struct global_anchor clock; /* after its latest pass */
	bool partial;
	struct pass_series series;
	struct endtoend_result *endtoend; /* owned; NULL: none */
};

struct manager {
	struct run *run;
	const struct plan *plan;
	struct report *report;
	struct target_sum *sums;
	struct window window;	   /* of the pass; with -nobarrier of the run */
	bool keep_series;	   /* an output shows statistics over passes */
	struct pass_series series; /* of all targets together; none with -nobarrier */
	struct result
		together; /* the pass that is being collected, of all targets; owns its figures */
	uint64_t combined_ns; /* windows of the passes that are over */
	uint64_t passes;
	uint64_t grace_end_ns;	/* of the kernel's clock */
	uint64_t settle_end_ns; /* of the kernel's clock */
	uint64_t stonewall_ns;	/* when the time of -stonewall is over; UINT64_MAX: never */
	uint64_t look_ns;	/* when to look for operations that hang; UINT64_MAX: not known */
	uint64_t resync_ns;	/* of the kernel's clock: when to call clock_resync() next */
	uint64_t processors;	/* that percentages of CPU time are of */
	uint64_t online;
	uint64_t throttled_ns; /* by CPU quotas: before the first pass; at the end, of the run */
	uint64_t cpu_ns;       /* processor time of all targets; at the end */
	struct stopped stopped;
	struct crosscheck crosscheck;
	struct deskew deskew;
	struct start_skew *start_skew;
	struct global_clock clock;
};

/* Add `from` to `sum`; a lack of memory ends the run. */
void manager_add(struct manager *m, struct figures *sum, const struct figures *from);

/* -passes until: there have been enough. */
bool manager_is_known(const struct manager *m);

/* Print the clock source and the features that each engine obtained. */
void manager_describe(struct manager *m);

/* The line of an interval of -latency, and of a pass of one target. */
void manager_write_interval(struct manager *m, const struct pass_result *r);
void manager_write_pass(struct manager *m, struct pass_result *r);

/* The lines of -stonewall in the CSV: all targets in the last pass, of the global clock. */
void manager_write_stonewall(struct manager *m, enum result_what what, const struct tally *sum,
			     uint64_t begin_ns, uint64_t elapsed_ns);

/* Write all results that follow the last pass. */
void manager_write_end(struct manager *m);

/* The function of the results manager's thread; `arg` is the struct run. */
void *results_main(void *arg);

#endif
