/*
 * -lockstep, -starttrigger and -stoptrigger: the conditions on which a target waits; and
 * -timeserver.
 *
 * Parts of struct target_plan and of struct plan in xdd/plan/plan.h. Fields marked "option" are set
 * by the option table, those marked "resolved" by plan_resolve(). Const once the plan is built; any
 * thread.
 */
#ifndef XDD_PLAN_COORDINATION_OPTIONS_H
#define XDD_PLAN_COORDINATION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much of a target's pass: a time, or a number of operations, a share of them, or bytes. */
enum measure_unit {
	MEASURE_TIME,	 /* nanoseconds */
	MEASURE_OPS,	 /* operations */
	MEASURE_PERCENT, /* of the operations of a pass; 100 is PLAN_RATIO_ONE */
	MEASURE_BYTES,	 /* bytes */
};

struct measure {
	enum measure_unit unit;
	uint64_t value; /* at least 1 */
};

/* -lockstep, of the slave. */
struct lockstep_plan {
	bool on;
	uint32_t master;
	struct measure when; /* of the master, between two requests */
	struct measure what; /* of the slave, for each request */
	bool run;	     /* one task before the first request */
	bool stop;	     /* no more than was requested, once the master has ended */
};

/* -starttrigger and -stoptrigger, of the target that starts or stops. */
struct trigger_plan {
	bool on;
	uint32_t by; /* the target that pulls it */
	struct measure when;
};

#define TIMESERVER_PORT 2000
#define TIMESERVER_BOUNCE 100
#define TIMESERVER_MAX_BOUNCE 10000

/* -timeserver, of the run. */
struct timeserver_options {
	const char *host; /* NULL: none */
	uint64_t port;
	uint64_t bounce;       /* exchanges of messages before the run */
	uint64_t max_error_ns; /* of the global clock before the run; 0: any */
	uint64_t wait_ns;      /* for the server, and for that error; 0: one attempt */
};

#endif
