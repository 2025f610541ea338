/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ranks of a run with -mpi: processes on many hosts that make one run together.
 *
 * A thread of its own makes all calls of MPI. It also sends signs of life, forwards messages to
 * rank 0, and notices ranks that are gone; the group is then broken, and all functions that wait
 * return -ECONNABORTED. Functions that wait are called by one thread at a time, in the same order
 * on all ranks; where all of them stand here, a NULL group is a process alone: rank 0 of 1.
 */
#ifndef XDD_SYNC_GROUP_H
#define XDD_SYNC_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/status.h"
#include "xdd/sync/wait.h"

struct group;

/*
 * Load the plugin, start MPI and meet all other ranks. From then on the messages of all ranks are
 * written by rank 0. Returns XDD_OK, or a status with one line given to log_error(). Main thread,
 * before other threads run.
 */
enum xdd_status group_begin(struct group **out);

/*
 * End MPI, together with all other ranks; a group that is broken is left as it is, and the process
 * is to end. Accepts NULL. Main thread.
 */
void group_end(struct group *g);

/* Const after group_begin(); NULL is rank 0 of 1. Any thread. */
unsigned group_rank(const struct group *g);
unsigned group_size(const struct group *g);
unsigned group_ranks_per_node(const struct group *g);
const char *group_host(const struct group *g, unsigned rank);
const char *group_library(const struct group *g);

/*
 * The clock of rank 0 is clock_now_ns() plus `offset_ns`, true within +-`bound_ns` at this moment:
 * the bound grows, because clocks may run at different rates. Any thread.
 */
struct group_clock {
	int64_t offset_ns;
	uint64_t bound_ns;
};

struct group_clock group_clock(const struct group *g);

/* The global clock: the wall clock of rank 0 when the group began, minus its clock_now_ns(). */
int64_t group_wall_ns(const struct group *g);

/* True once a rank is gone. Any thread. */
bool group_is_broken(struct group *g);

/* A rank votes before a pass; the decision is the union of all votes, the same on all ranks. */
enum group_vote {
	GROUP_STOP = 1, /* this run was stopped, by an error or a signal */
	GROUP_END = 2,	/* no further pass: -passes or -runtime are over */
	GROUP_MORE = 4, /* the results are to become more certain */
};

/* Returns 0 and stores the votes of all ranks, or -ECONNABORTED. */
int group_vote(struct group *g, unsigned votes, unsigned *all);

/*
 * This rank votes no more: `votes` count in each later decision. Any thread, also while another
 * one votes.
 */
void group_leave(struct group *g, unsigned votes);

/*
 * Meet all other ranks. `*entered_ns` and `*left_ns` (may be NULL) are of clock_now_ns(). Returns
 * 0 or -ECONNABORTED.
 */
int group_barrier(struct group *g, uint64_t *entered_ns, uint64_t *left_ns);

/* The targets of this rank were released into pass `pass` (from 1) at `at_ns` of its clock. */
void group_released(struct group *g, uint64_t pass, uint64_t at_ns);

/* How far the releases of a pass were apart, in the clock of rank 0. */
struct group_skew {
	uint64_t pass;	  /* 0: none */
	uint64_t skew_ns; /* between the first and the last */
	uint64_t bound_ns;
	unsigned first, last; /* ranks */
};

#define GROUP_SKEWS 1000 /* passes whose skew is kept, the first ones */

/* Of all passes, on rank 0: `*n` of them. The largest is `*most`. After the last vote. */
const struct group_skew *group_skews(struct group *g, size_t *n, struct group_skew *most);

/* Data of a rank, with a zero after them. */
struct group_piece {
	char *data;
	size_t size;
};

#define GROUP_PIECE_MAX ((size_t)1 << 30)

/*
 * Send `size` bytes to rank 0, which gets the bytes of all ranks in `pieces`, one for each, in the
 * memory at pieces[0].data, which it frees; unused on other ranks. Returns 0, -ECONNABORTED or
 * -EFBIG.
 */
int group_gather(struct group *g, const void *data, size_t size, struct group_piece *pieces);

/* Copy the data of rank 0 to all others. Returns 0 or -errno. */
int group_broadcast(struct group *g, void *data, size_t size);

/* The greatest `value` of all ranks. Returns 0 or -errno. */
int group_max(struct group *g, uint64_t *value);

/*
 * The end of a pass for all ranks, which one of them has caused: its rank, and what that rank said
 * in group_wall_tell(). The same on all ranks.
 */
struct group_wall {
	uint64_t pass; /* from 1 */
	unsigned rank;
	uint32_t target;
};

/*
 * The pass is over on this rank, or over() says that it is; `n` is a count of this rank. Each rank
 * tells each such pass once, before it votes for the next one. Any thread.
 */
void group_wall_tell(struct group *g, uint64_t pass, uint32_t target, uint64_t n);

/* Wait for the end of a pass that this rank has told. Returns 0 or -ECONNABORTED. */
int group_wall_wait(struct group *g, uint64_t pass, struct group_wall *wall);

struct group_wall_calls {
	/* A rank, perhaps this one, has ended a pass. */
	void (*over)(void *arg, const struct group_wall *wall);
	/* All ranks have told the pass; `most` is the greatest count. */
	void (*counted)(void *arg, uint64_t pass, uint64_t most);
};

/*
 * From now on the thread of the group calls these, without delays above about a millisecond. NULL:
 * no longer, and no call is running when this returns. Main thread.
 */
void group_on_wall(struct group *g, const struct group_wall_calls *calls, void *arg);

/*
 * The run of this rank stops, and the runs of the other ranks with it: group_on_stop(). Any thread.
 */
void group_stop(struct group *g, enum stop_reason reason, int detail);

/*
 * From now on `stopped(arg, reason, detail)` is called when another rank stops its run; at once if
 * one has done so. NULL: no longer, and no call is running when this returns. Main thread.
 */
void group_on_stop(struct group *g, void (*stopped)(void *arg, enum stop_reason reason, int detail),
		   void *arg);

#endif
