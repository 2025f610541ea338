/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that the results manager keeps of passes and targets: elapsed time, skew, figures for
 * statistics and -stonewall, and stops of this process. Private to src/run.
 */
#ifndef XDD_RUN_RESULTS_SUMS_H
#define XDD_RUN_RESULTS_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/report/result.h"

struct manager;
struct pass_result;
struct tally;

/*
 * The elapsed time of all targets together. Private to src/run; used by the results manager alone.
 *
 * It lasts from the earliest issue to the latest completion, without the times in which every
 * target was between two passes or before its first one: a delay counts unless all targets share
 * it.
 */

/* A time in which some target was in a pass. */
struct window_span {
	uint64_t first_ns;
	uint64_t last_ns;
};

struct window {
	struct window_span *spans; /* disjoint, in order, not in `busy_ns` yet */
	uint64_t *ends;		   /* of each target: end of its latest pass; 0: none */
	size_t n, room, n_targets;
	size_t n_ended; /* targets that have an end */
	uint64_t busy_ns;
};

/* Returns 0; or -ENOMEM, and then the window is one of no targets. */
int window_init(struct window *w, size_t n_targets);
void window_destroy(struct window *w);

/*
 * Add a pass of a target, after its earlier ones. All times in nanoseconds of one clock. When
 * memory is short, a pause of all targets may be counted as elapsed time.
 */
void window_add(struct window *w, size_t target, uint64_t first_ns, uint64_t last_ns);

/* End the window and begin the next. Returns its length in nanoseconds. */
uint64_t window_close(struct window *w);

/*
 * How the targets of a pass compare in time: -deskew, the user guide's 5.6, and the skew of their
 * starts. Private to src/run; used by the results manager alone.
 */

/* Sums over the passes of a run. */
struct deskew {
	struct deskew_result sum; /* all 0 without -deskew */
	struct span *targets;	  /* each one's own; NULL without -deskew */
	size_t n_targets;
};

/* Without -deskew nothing is kept. Returns 0 or -ENOMEM. */
int deskew_init(struct deskew *d, const struct plan *plan);
void deskew_destroy(struct deskew *d);

/* Take in a pass, a result of each target in which what never came is NULL, and report it. */
void deskew_pass(struct deskew *d, struct report *report, struct pass_result *const *results,
		 uint64_t pass);

/* Set the figures of the COMBINED line. */
void deskew_fill(const struct deskew *d, struct result *result);

/* Report all passes. */
void deskew_end(const struct deskew *d, struct report *report);

/* Of a pass of which not all results are in. */
struct start_skew {
	struct start_skew *next;
	uint64_t pass;
	size_t results;
	uint64_t first_ns, last_ns;
	uint32_t first_target, last_target;
};

/*
 * Take in the result of one target, delays that were asked for taken off, and report the pass once
 * all `n_targets` are in. `list` begins as NULL.
 */
void start_skew_add(struct start_skew **list, struct report *report, const struct pass_result *r,
		    size_t n_targets);
void start_skew_free(struct start_skew *list);

/*
 * The figures of each pass, kept for what is said about all passes together, and for -passes
 * until.
 *
 * Owned by the results manager.
 */

/* Passes of which figures are kept, so that memory does not grow with the length of a run. */
#define SERIES_MAX_PASSES PLAN_UNTIL_MAX_PASSES

struct pass_series {
	uint64_t *passes;
	double *values[FIGURE_ALL]; /* NAN: not known */
	size_t n;
	uint64_t left_out;
};

/*
 * Add a pass that is over. One that is not `whole` is only counted, as is one that moved nothing.
 * Returns 0 or -ENOMEM, then with the pass counted as left out.
 */
int series_add(struct pass_series *s, const struct result *pass, bool whole);

/*
 * True if there are enough passes, and the 95 % interval of the bandwidth is within +- `percent`
 * of its mean.
 */
bool series_is_known(const struct pass_series *s, double percent);

/*
 * Half the width of that interval in percent of the mean; INFINITY when nothing is known. The
 * interval takes into account that the run may stop once it is narrow: stats_until_half_width().
 */
double series_percent(const struct pass_series *s);

/* Hand what has come together to the report. */
void series_report(const struct pass_series *s, struct report *report, bool combined,
		   uint64_t target);

/* Safe on one that is all zero, and again. */
void series_free(struct pass_series *s);

/*
 * Time in which this process was stopped: by SIGSTOP, a debugger, a frozen control group, or a
 * pause of the virtual machine. Private to src/run. The results manager sleeps briefly, and knows
 * by its waking late.
 */

/* The longest sleep of a watcher: a stop is measured less by this at most. */
#define STOPPED_TICK_NS (NS_PER_SEC / 10)

/* Belongs to the thread that watches; zeroed at first. */
struct stopped {
	uint64_t total_ns;
	uint64_t wait_ns; /* clock_thread_wait_ns() after the last late sleep */
};

/*
 * After a sleep that was to end at `due_ns` of the kernel's clock at the latest. Reads nothing
 * unless it ended late: all that the thread has waited for a processor since the last late one, or
 * since its start, is taken off, so that a busy machine makes a stop shorter and never longer.
 */
void stopped_after(struct stopped *s, uint64_t due_ns);

/*
 * The part of a sleep that ended `late_ns` late which is a stop: without what the thread waited for
 * a processor, and 0 if that is little. Pure.
 */
uint64_t stopped_part_ns(uint64_t late_ns, uint64_t waited_ns);

/*
 * The figures and the record of -stonewall. Private to src/run; results manager.
 */

/* Report a pass that is over, in which the targets have done `all`. */
void stonewall_pass(struct manager *m, const struct tally *all);

/* Write the record of this rank, once all results are in; a failure is reported. */
void stonewall_save(const struct manager *m);

#endif
