/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranks of a run with -mpi: they begin each pass together, and end together. Private to
 * src/run.
 *
 * Without a group all functions do nothing.
 */
#ifndef XDD_RUN_PROGRESS_RANKS_H
#define XDD_RUN_PROGRESS_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/base/status.h"
#include "xdd/sync/group.h"

struct clock_result;
struct globaltime;
struct run;

/*
 * From now on the end of this run ends the runs of the other ranks, and the other way round.
 * Returns 0 or -errno. Main thread, while the run is set up.
 */
int ranks_attach(struct run *run);

/* This run has ended with `status`, if `run` is not NULL; no rank waits for it. Main thread. */
void ranks_leave(struct group *g, struct run *run, enum xdd_status status);

/* Fill in the global clock; it is unchanged without a group. */
void ranks_clock(const struct run *run, struct clock_result *clock);

/* As ranks_clock(), with its bound, at this moment. Only with a group. */
void ranks_globaltime(const struct run *run, struct globaltime *g);

/* The global clock minus clock_now_ns(): rank 0's wall clock. Only with a group. */
int64_t ranks_wall_ns(const struct run *run);

/*
 * Say whether this rank is for another pass, and meet the other ranks if there is one. Returns
 * whether there is; without a group, `more`. `over`: there is none, whatever others say. Results
 * manager.
 */
bool ranks_begin_pass(struct run *run, bool more, bool over);

/* The QThreads were released into a pass at `at_ns`. Results manager. */
void ranks_released(struct run *run, uint64_t pass, uint64_t at_ns);

#endif
