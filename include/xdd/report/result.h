/*
 * One result line as values: what the run hands to the writers, and the columns read.
 */
#ifndef XDD_REPORT_RESULT_H
#define XDD_REPORT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/report/deskew.h"
#include "xdd/stat/figures.h"

/* The cause that limited a target, by how its threads spent their time. */
enum result_bound {
	RESULT_BOUND_UNKNOWN,
	RESULT_BOUND_DEVICE,	/* its QThreads had time to spare */
	RESULT_BOUND_GENERATOR, /* QThreads at work, or waiting for this run's own */
	RESULT_BOUND_PACED,	/* no operation was due: -throttle, delays, -lockstep */
	RESULT_BOUND_STARVED,	/* its QThreads waited for processors that others used */
	RESULT_BOUND_MIXED,	/* more than one of these */
	RESULT_BOUND_QUOTA,	/* the CPU quota of its control group stopped its QThreads */
	RESULT_BOUND_LIMIT,	/* its device reached what its control group allows */
};

/* How the QThreads of a target spent their time: shares from 0 to 1. */
struct result_times {
	bool known;
	double busy;   /* at work, in xdd and in the kernel */
	double waited; /* ready to run, and without a processor */
	double held;   /* idle until an operation was due */
	double idle;   /* the rest: they waited for the device, if there is one */
};

enum result_what {
	RESULT_QUEUE_PASS,
	RESULT_TARGET_PASS,
	RESULT_TARGET_AVERAGE,
	RESULT_COMBINED,
	RESULT_STONEWALL_AT,  /* -stonewall: all targets in a pass, until none issued any more */
	RESULT_STONEWALL_END, /* and to its end */
};

struct result {
	enum result_what what;
	uint64_t pass;	 /* from 1; AVERAGE and COMBINED: number of passes */
	uint64_t target; /* COMBINED, STONEWALL: number of targets */
	/* queue depth; QUEUE_PASS: QThread number; COMBINED, STONEWALL: sum of queue depths */
	uint64_t queue;
	struct figures figures; /* borrowed: latencies are the caller's, for the time of the call */
	/* first issue, last completion: global clock, since 1970; 0: nothing was completed */
	uint64_t begin_ns, finish_ns;
	bool verified;	     /* reads were checked: tally.miscompares is a number */
	uint64_t processors; /* base of Pct_CPU: 1, or all with -percentcpu relative */
	uint64_t qthreads;   /* of the target, or of all; QUEUE_PASS: 1 */
	enum op_request op;
	uint64_t req_bytes;  /* request size; COMBINED: of target 0 */
	uint64_t block_size; /* COMBINED: of target 0 */
	struct span window; /* COMBINED with -deskew: while all targets were transferring; else 0 */
	struct span tail;   /* also with -deskew: after it */
	double fairness;    /* also with -deskew: slowest target over fastest */
	enum result_bound bound;   /* TARGET_AVERAGE */
	struct result_times times; /* TARGET_AVERAGE: the evidence */
	const struct plan *plan;   /* set by report_result(); NULL: not known */
	uint64_t started_ns; /* the same: when the run started, of clock_wall_ns(); 0: not known */
	bool partial;	     /* cut short: stopped, limited by errors, or operations outstanding */
};

/* The use of a device during a run: requests that the kernel counted, and the run's own. */
struct device_use {
	const char *name;
	uint64_t ops;	/* of the run's targets on it */
	uint64_t bytes; /* of the run's targets on it */
	uint64_t requests;
	uint64_t merged;
	uint64_t device_bytes;
};

#endif
