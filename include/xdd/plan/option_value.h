/*
 * Reading the plan back by the option table: the value of each option, so that a writer of a whole
 * plan omits none.
 */
#ifndef XDD_PLAN_OPTION_VALUE_H
#define XDD_PLAN_OPTION_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

enum option_value_type {
	OPTION_VALUE_NONE,  /* not given, and without a default */
	OPTION_VALUE_FLAG,  /* `flag` */
	OPTION_VALUE_COUNT, /* `count` */
	OPTION_VALUE_REAL,  /* `real` */
	OPTION_VALUE_TEXT,  /* `text` */
	OPTION_VALUE_WORDS, /* `setting`, the last that was given of it: more than a value */
};

struct option_value {
	enum option_value_type type;
	bool flag;
	uint64_t count;
	double real;
	const char *text;
	const struct setting *setting;
};

/*
 * Return the value of `opt`, or of its suboption `sub` if that is not NULL: for the whole run if
 * `target` is NULL, otherwise for that target. Values are in the units of the option. Not for
 * OPT_SUB, OPT_ACTION and OPT_REFUSED. Any thread.
 */
struct option_value option_value(const struct plan *plan, const struct target_plan *target,
				 const struct option *opt, const struct option *sub);

#endif
