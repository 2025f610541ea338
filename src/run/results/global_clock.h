/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The global clock of a run, and its start by that clock. Private to src/run.
 */
#ifndef XDD_RUN_RESULTS_GLOBAL_CLOCK_H
#define XDD_RUN_RESULTS_GLOBAL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/net/globaltime.h"
#include "xdd/report/result.h"

struct pass_result;
struct result;
struct run;

/*
 * -starttime: all QThreads begin the first pass at a moment of the global clock. Private to
 * src/run.
 *
 * The results manager lets them pass the barrier a little earlier. Each then does what precedes
 * the first operation, and waits for the moment itself, the last part of it without sleeping.
 */

/*
 * Sleep until the barrier is to be passed, if there is a start time. Returns 0, or -ECANCELED when
 * the run stops. Results manager.
 */
int start_time_wait(struct run *run);

/*
 * When the first pass begins that passed its barrier at `release_ns`, of clock_now_ns(): the
 * moment, or `release_ns` without one and when it has passed. Any thread.
 */
uint64_t start_time_moment(const struct run *run, uint64_t release_ns);

/* The moment has not come yet. False without one. Any thread. */
bool start_time_is_ahead(const struct run *run);

/*
 * Right before the first operation: sleep until the moment is near. False: it has passed, or the
 * run stops; else start_time_hold() waits for it without sleeping. QThreads.
 */
bool start_time_approach(struct run *run);
void start_time_hold(const struct run *run);

/* start_time_moment(); reports that the barrier was passed too late. Results manager. */
uint64_t start_time_check(const struct run *run, uint64_t release_ns);

/*
 * The global clock of a run: the times that it adds to results, and the start of the run by it.
 * Private to src/run.
 */

/* The global clock as it was known at a moment of clock_now_ns(). */
struct global_anchor {
	uint64_t at_ns;	     /* 0: none */
	struct globaltime g; /* without a time server `offset_ns` is all */
};

/* Belongs to the results manager. */
struct global_clock {
	int64_t wall_ns;	    /* wall clock minus clock_now_ns() when the first pass began */
	struct global_anchor begin; /* when the first pass began */
	struct start_result start;  /* achieved_ns 0: no operation was issued */
};

/*
 * clock_now_ns() at `global_ns`, since 1970, as far as is known now; 0 for times before. Any
 * thread.
 */
uint64_t global_clock_local_ns(const struct run *run, uint64_t global_ns);

/* The first pass begins. */
void global_clock_begin(struct global_clock *c, const struct run *run);

/*
 * The global clock during a pass of a target: a line between what was known at its ends. The client
 * learns more later; results of the pass, and sums with them, agree because this does not change.
 */
struct global_span {
	struct global_anchor from, to;
};

/*
 * The span of a pass that is over, with its sums in `r`; `*last` is what was known after the pass
 * of this target before it, and becomes what is known now. Takes in the start of the run, too.
 */
void global_clock_pass(struct global_clock *c, const struct run *run, const struct pass_result *r,
		       struct global_anchor *last, struct global_span *span);

/* The span of the whole run, up to now. */
void global_clock_run(const struct global_clock *c, const struct run *run,
		      struct global_span *span);

/* Set begin and finish of `f`, which belongs to the pass, from its tally. */
void global_span_fill(const struct global_span *span, struct figures *f);

/* Report clock and start, and warn about a server that stopped answering or stepped. */
void global_clock_report(struct global_clock *c, const struct run *run);

#endif
