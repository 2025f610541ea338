/*
 * -stonewall: all targets end a pass together, once the first one has ended it.
 *
 * Part of struct plan in xdd/plan/plan.h. Fields marked "option" are set by the option table. Const
 * once the plan is built; any thread.
 */
#ifndef XDD_PLAN_STONEWALL_OPTIONS_H
#define XDD_PLAN_STONEWALL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct stonewall_options {
	bool on;	       /* option */
	uint64_t after_ns;     /* option; since the start of a pass; 0: no time */
	bool wear_out;	       /* option: go on until all have done what the first one had */
	const char *save_file; /* option; NULL: none */
	const char *load_file; /* option; NULL: none */
};

#endif
