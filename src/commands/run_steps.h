/*
 * The steps of a run, for a command line of one run and for one of several. Private to
 * src/commands; main thread.
 */
#ifndef XDD_COMMANDS_RUN_STEPS_H
#define XDD_COMMANDS_RUN_STEPS_H

#include <stdbool.h>

#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/run/run.h"
#include "xdd/sync/group.h"

struct globaltime_client;

/* All return XDD_OK, or another status, reported. */

/*
 * Check the outputs of a plan without a change to any file. Pipes among them are held open, except
 * with -dryrun.
 */
enum xdd_status run_check_outputs(const struct plan *plan, struct output_pipes *pipes);

/*
 * Send the messages to the file of -errout, those from before the run included, where a plan has
 * `status`. Returns that, or what went wrong.
 */
enum xdd_status run_open_errout(const struct plan *plan, enum xdd_status status);

/* Start taking signals. Once in a process. */
enum xdd_status run_take_signals(struct signals *signals);

/* Save lists of seeks, and reach the time server. */
enum xdd_status run_prepare(const struct plan *plan, struct signals *signals,
			    struct globaltime_client **clock);

/*
 * Carry out a plan. With `*stuck` set, threads are stuck in the kernel and still use the plan: the
 * process must end by _exit().
 */
enum xdd_status run_plan(const struct plan *plan, struct globaltime_client *clock, struct group *g,
			 struct signals *signals, bool *stuck);

#endif
