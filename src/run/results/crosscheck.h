/*
 * Cross-checks: whether the numbers of a run mean what they seem to. Private to src/run.
 */
#ifndef XDD_RUN_RESULTS_CROSSCHECK_H
#define XDD_RUN_RESULTS_CROSSCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "run/meter/dirty_sample.h"
#include "run/results/bound.h"
#include "xdd/io/diskstats.h"
#include "xdd/plan/plan.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"
#include "xdd/sys/clock.h"

struct run;

/* A block device that targets with -dio are on, and what they and others did to it. */
struct device_check {
	char name[DISKSTATS_NAME_SIZE];
	struct diskstats before;
	uint64_t ops[2]; /* of this run: reads, writes */
	uint64_t bytes[2];
	uint64_t hole_bytes; /* of the reads */
	bool warmed_up;	     /* the device did more than the operations that are counted */
};

/* State of the cross-checks of a run. Belongs to the results manager. */
struct crosscheck {
	const struct plan *plan;
	struct device_check *devices;
	size_t n_devices;
	const struct target_plan *zeros; /* the first that writes zeros where these may be lost */
	const char *zeros_why;
	int32_t *device_of; /* of each target: index into devices, or -1 */
};

/* Look at the devices; before the first operation. Returns 0 or -ENOMEM. */
int crosscheck_begin(struct crosscheck *c, const struct plan *plan);

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
