/*
 * From words to runs: the part of "xdd/plan/runs.h" that plan_build() uses. Main thread, while a
 * plan is built.
 */
#ifndef XDD_PLAN_RUNS_PRIVATE_H
#define XDD_PLAN_RUNS_PRIVATE_H

#include <stdbool.h>

#include "plan/parse.h"
#include "xdd/plan/runs.h"

/*
 * The runs of words that were read, at least one, in memory of their arena. All return XDD_OK, or
 * another status with one line given to log_error().
 */
enum xdd_status plan_runs_read(const struct parse *p, int argc, char **argv,
			       struct plan_runs **runs);

/* True if it is one run, and not a half of -readback. */
bool plan_runs_is_one(const struct plan_runs *runs);

/* Refuse several runs where one is expected. */
enum xdd_status plan_runs_refuse(const struct plan_runs *runs);

/* Give `p`, which has no settings or those for all runs, the settings of run `i`. */
enum xdd_status plan_runs_settings(const struct plan_runs *runs, size_t i, struct parse *p);

/* ---- plan.c ---- */

/* A plan without anything but its command line; NULL: no memory. */
struct plan *plan_new(int argc, char **argv);

/* Apply the settings of `p`. */
enum xdd_status plan_apply(struct parse *p);

#endif
