/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cross-checks: whether the numbers of a run mean what they seem to. Private to src/run.
 */
#ifndef XDD_RUN_RESULTS_CROSSCHECK_H
#define XDD_RUN_RESULTS_CROSSCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "run/meter/sample.h"
#include "xdd/io/datamap.h"
#include "xdd/plan/plan.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/machine.h"

struct run;

/*
 * The cause that limited a target, from how its QThreads spent their time. Private to src/run;
 * pure functions.
 */

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

/*
 * Checks of what a run wrote: data that is in memory when the run ends, and zeros. Private to
 * src/run.
 */

/* A block device that targets are on, and what they and others did to it. */
struct device_check {
	char name[DISKSTATS_NAME_SIZE];
	char loop_file[256]; /* which it reads and writes through the page cache; or "" */
	struct cgroup_io limits;
	uint64_t all_ops[2], all_bytes[2]; /* of this run: reads, writes */
	uint64_t elapsed_ns;		   /* of the target that took longest */
	/* Of targets with -dio: the kernel chooses what of the page cache reaches the device. */
	bool counted;
	struct diskstats before, after;
	uint64_t ops[2];
	uint64_t bytes[2];
	uint64_t hole_bytes; /* of the reads */
	bool warmed_up;	     /* the device did more than the operations that are counted */
};

/* Targets of which each moved too little to be judged by itself. */
struct small_targets {
	size_t n;
	const struct target_plan *first;
	bool direct; /* all of them */
	uint64_t bytes[2];
	struct cache_state cache;
	struct dirty_sample dirty;
	double dirty_of; /* bytes */
};

/* State of the cross-checks of a run. Belongs to the results manager. */
struct crosscheck {
	const struct plan *plan;
	struct device_check *devices;
	size_t n_devices;
	bool started;			 /* their counts were read */
	const struct target_plan *zeros; /* the first that writes zeros where these may be lost */
	const char *zeros_why;
	int32_t *device_of; /* of each target: index into devices, or -1 */
	struct small_targets small;
};

/* Look at the devices; before the first operation. Returns 0 or -ENOMEM. */
int crosscheck_begin(struct crosscheck *c, const struct plan *plan);

/*
 * Read the counts of the devices: at the last moment before operations can begin, and at the first
 * after all of them have ended. Both accept a crosscheck that was not begun.
 */
void crosscheck_start(struct crosscheck *c);
void crosscheck_stop(struct crosscheck *c);

/*
 * Add the figures of target `t` over all passes, each target once, before the next two functions.
 */
void crosscheck_add(struct crosscheck *c, const struct target_plan *t, const struct figures *f);

/* True where the device of target `t` reached what a control group allows. */
bool crosscheck_is_limited(const struct crosscheck *c, const struct target_plan *t);

/*
 * Look at what the targets are on, once all of them are open; before the first operation. Accepts a
 * crosscheck that was not begun, as crosscheck_target() does. Results manager.
 */
void crosscheck_open(struct crosscheck *c);

/*
 * Check the sums of a target over all passes; `facts` say how its QThreads spent their time, NULL:
 * too short to tell; `dirty` is about its last pass.
 */
void crosscheck_target(struct crosscheck *c, struct run *run, const struct result *sums,
		       const struct bound_facts *facts, const struct dirty_sample *dirty);

/* Check the devices, after the last operation. Accepts a crosscheck that was not begun. */
void crosscheck_end(struct crosscheck *c, struct run *run);

#endif
