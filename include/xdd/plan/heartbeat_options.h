/*
 * -heartbeat: fields that are shown of a target while it runs, and the output.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option
 * table, those marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_HEARTBEAT_OPTIONS_H
#define XDD_PLAN_HEARTBEAT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields of a line: bits of a word. */
enum heartbeat_field {
	HEARTBEAT_TOD = 1 << 0,
	HEARTBEAT_ELAPSED = 1 << 1,
	HEARTBEAT_HOSTNAME = 1 << 2,
	HEARTBEAT_TARGET = 1 << 3,
	HEARTBEAT_OPS = 1 << 4,
	HEARTBEAT_BYTES = 1 << 5,
	HEARTBEAT_KBYTES = 1 << 6,
	HEARTBEAT_MBYTES = 1 << 7,
	HEARTBEAT_GBYTES = 1 << 8,
	HEARTBEAT_BW = 1 << 9,
	HEARTBEAT_IOPS = 1 << 10,
	HEARTBEAT_PCT = 1 << 11,
	HEARTBEAT_ETC = 1 << 12,
	HEARTBEAT_LATENCY = 1 << 13,
	HEARTBEAT_LF = 1 << 14, /* no field: on a terminal too, each line stays */
};

/* The fields that are shown when no word names one. */
#define HEARTBEAT_DEFAULT (HEARTBEAT_OPS | HEARTBEAT_BW | HEARTBEAT_PCT | HEARTBEAT_ETC)

struct heartbeat_options {
	bool off;	      /* option; not even the line that a terminal gets by default */
	uint64_t interval_ns; /* option; 0: not given */
	const char *output;   /* option; prefix of the files; NULL: standard error */
	bool append;	      /* option; to the files */
	unsigned fields;      /* option; of enum heartbeat_field */
	bool on;	      /* resolved; an option asks for it */
};

#endif
