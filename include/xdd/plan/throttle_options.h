/*
 * -throttle: the rate of a target.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option
 * table, those marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_THROTTLE_OPTIONS_H
#define XDD_PLAN_THROTTLE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum throttle_by {
	THROTTLE_NONE,
	THROTTLE_OPS,
	THROTTLE_BANDWIDTH,
	THROTTLE_DELAY,
};

struct throttle_options {
	enum throttle_by by;	      /* option */
	double rate;		      /* option; operations or 10^6 bytes per second */
	double var_percent;	      /* option; of the interval between operations; 0: none */
	bool poisson;		      /* option; arrivals of a Poisson process */
	uint64_t delay_ns;	      /* option; after each operation */
	double interval_ns;	      /* resolved; between operations of full size, with
					 -throttle poisson the mean; 0: not paced */
	uint64_t rank;		      /* resolved; arrivals of each rank are its own */
	const uint64_t *bytes_before; /* resolved; n_rows + 1, at a rate of bytes with -seek load */
};

#endif
