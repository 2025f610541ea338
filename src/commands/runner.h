/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans that a command carries out in this process, and messages that are kept in place of being
 * printed. Private to src/commands.
 */
#ifndef XDD_COMMANDS_RUNNER_H
#define XDD_COMMANDS_RUNNER_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"
#include "xdd/report/report.h"
#include "xdd/run/run.h"

/*
 * Plans in this process, one after another, with their results as values (xdd/report/report.h).
 *
 * A runner belongs to the main thread.
 */

struct runner {
	struct signals signals;
	/*
	 * Threads of the last run are stuck in the kernel: nothing can be run or freed any more,
	 * and the process must end by _exit().
	 */
	bool stuck;
};

/*
 * Start taking the signals that end a run. Returns XDD_OK, or XDD_INIT_FAILED with one line given
 * to log_error(). Once in a process.
 */
enum xdd_status runner_begin(struct runner *r);

/*
 * Make a plan of `words`, which end with NULL and begin with the name of the program. Returns
 * XDD_OK and the plan, to be freed by plan_free(), or another status with one line given to
 * log_error().
 */
enum xdd_status runner_plan(const char *const *words, struct plan **plan);

/* As runner_plan(), for the next run of a series: files are as the runs before will leave them. */
enum xdd_status runner_plan_next(const struct plan_series *series, const char *const *words,
				 struct plan **plan);

/*
 * Check a plan and carry it out. Returns the exit status that `xdd` would end with; messages go to
 * log_error() and its neighbours as they do there.
 */
enum xdd_status runner_run(struct runner *r, const struct plan *plan,
			   const struct report_sink *sink);

/* True if a signal has ended a run, or is to prevent the next one. */
bool runner_is_canceled(struct runner *r);

/* End the thread that takes signals. Not with `stuck`. */
void runner_end(struct runner *r);

/*
 * Messages that are kept in place of being printed, so that a command can say what they are about.
 * Callers: run.c, sweep_points.c.
 */

#define CAPTURED_TEXT_SIZE 4096

struct captured {
	char text[CAPTURED_TEXT_SIZE]; /* lines; ends with a NUL once there is one */
	size_t size;		       /* 0: none yet */
};

/* For log_divert(), with a struct captured as its argument: what has no room is left out. */
void captured_add(void *captured, const char *text, size_t size);

/* A line without the name of the program in front. */
const char *captured_message(const char *line);

#endif
