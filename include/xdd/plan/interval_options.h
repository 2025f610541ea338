/*
 * -intervals: progress of each interval of time.
 *
 * Part of struct plan in xdd/plan/plan.h. Fields marked "option" are set by the option table, those
 * marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_INTERVAL_OPTIONS_H
#define XDD_PLAN_INTERVAL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct interval_options {
	bool shown;	    /* option; any part of it was given */
	uint64_t length_ns; /* option, resolved; 0: no intervals */
	const char *file;   /* option; CSV; NULL: a table in the text output */
};

#endif
