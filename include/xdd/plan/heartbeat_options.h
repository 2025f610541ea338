/*
 * -heartbeat: what is shown of a target while it runs, and where.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option table, those marked
 * "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_HEARTBEAT_OPTIONS_H
#define XDD_PLAN_HEARTBEAT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heartbeat_options {
	bool off;	      /* option; not even the line that a terminal gets unasked */
	uint64_t interval_ns; /* option; 0: not given */
	const char *output;   /* option; prefix of the files; NULL: standard error */
	bool append;	      /* option; to the files */
	bool lf;	      /* option; on a terminal too, each line stays */
	bool hostname;	      /* option, as are those below: fields of the line */
	bool tod;
	bool elapsed;
	bool target;
	bool ops;
	bool bytes;
	bool kbytes;
	bool mbytes;
	bool gbytes;
	bool bw;
	bool iops;
	bool pct;
	bool etc;
	bool latency;
	bool on; /* resolved; it was asked for */
};

#endif
