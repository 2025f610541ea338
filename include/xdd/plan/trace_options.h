/*
 * -timestamps: the table of time stamps of a target, and its reports. The user guide, 5.2.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option
 * table, those marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_TRACE_OPTIONS_H
#define XDD_PLAN_TRACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_TRACE_ENTRY_BYTES 64u /* memory that the time stamps of an operation take */
#define PLAN_TRACE_NET_BYTES 32u   /* the same of its network part, of end-to-end targets */
#define PLAN_TRACE_DEFAULT_OPS \
	(1ull << 20) /* size of the table of a target without a number of ops */

struct trace_options {
	bool on;	   /* option; by itself, or by an option that needs time stamps */
	bool summary;	   /* option; resolved: a report of that kind is written */
	bool detailed;	   /* option; resolved: a detailed report is written */
	bool normalize;	   /* option; times of the global clock in the reports */
	bool append;	   /* option; to the report file that exists */
	bool wrap;	   /* option; keep the newest operations when the table is full */
	bool oneshot;	   /* option; keep the oldest */
	uint64_t size_ops; /* option; 0: not given. resolved: operations that the table holds */
	bool triggered_by_time;	  /* option */
	uint64_t trigger_time_ns; /* option; of the global clock */
	uint64_t trigger_op;	  /* option; operation of the first pass */
	const char *output;	  /* option; prefix, NULL: none */
	const char *dump;	  /* option; prefix, NULL: none */

	/* resolved */
	bool cut;		 /* the table may be smaller than the run */
	bool size_by_default;	 /* and not by an option */
	uint32_t chunk_ops;	 /* entries that a QThread takes for itself at a time */
	uint64_t chunks;	 /* of the table; more than size_ops, for those that are not full */
	const char *report_path; /* NULL: with the results */
	const char *dump_path;	 /* NULL: none */
};

#endif
