/*
 * Intervals of intervals.h: what was done in one, and its way to the results manager. Private to
 * intervals.c. Functions are called with the lock of the series or of the sum that they are about.
 */
#ifndef XDD_RUN_PROGRESS_INTERVAL_TAKE_H
#define XDD_RUN_PROGRESS_INTERVAL_TAKE_H

#include <stdint.h>

#include "run/progress/intervals.h"

/* Hold interval `r`, which has ended: the pass may end soon after it. Pass on the one before. */
void interval_hold(struct intervals *i, struct pass_result **held, struct pass_result *r);

/*
 * A pass has ended with `r`, which is part of the interval that is held, if there is one. Returns 0
 * or -ENOMEM.
 */
int interval_finish(struct intervals *i, struct pass_result **held, struct pass_result *r);

/*
 * Progress of `t` since the last call, for its series and for the sum. `now` is its progress in the
 * pass, which the series owns from now on. NULL: out of memory.
 */
struct pass_result *interval_take(struct intervals *i, struct target *t, struct figures *now,
				  uint64_t now_ns);

/* As interval_take(), with the progress that its QThreads have made up to now. */
struct pass_result *interval_take_now(struct intervals *i, struct target *t, uint64_t now_ns);

/* Progress of all targets since the last call, in `pass`. NULL: out of memory. */
struct pass_result *interval_take_sum(struct intervals *i, uint64_t now_ns, uint64_t pass);

/* End the run: -errno `err`. Any thread. */
void intervals_fail(struct intervals *i, int err);

#endif
