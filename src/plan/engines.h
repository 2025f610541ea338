/*
 * Engines as suboptions of -ioengine. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_ENGINES_H
#define XDD_PLAN_ENGINES_H

#include "xdd/plan/engine_info.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

#define ENGINE_NAMES_MAX 32 /* engines that a message lists */

/* The words that may follow -ioengine. */
extern const struct option_source engine_words;

/* -ioengine list. */
extern const struct option option_engine_list;

/*
 * Have `engine` drive the target, with the defaults of its keywords; `s` is the setting that asks
 * for it. Returns XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status engine_choose(const struct setting *s, struct target_plan *t,
			      const struct engine_info *engine);

#endif
