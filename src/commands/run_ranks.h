/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of many ranks, with -mpi: one command line, one result. Private to src/commands.
 *
 * A NULL group is a run without -mpi: nothing is done. Main thread.
 */
#ifndef XDD_COMMANDS_RUN_RANKS_H
#define XDD_COMMANDS_RUN_RANKS_H

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/group.h"

struct arena;

/*
 * If the words have -mpi, meet the other ranks, and replace `*argc` and `*argv` by the words of
 * this one, in memory of `arena`. Returns XDD_OK, or a status with one line given to log_error().
 */
enum xdd_status ranks_begin(struct arena *arena, int *argc, char ***argv, struct group **g);

/* The worst status of all ranks, where all of them are here. */
enum xdd_status ranks_agree(struct group *g, enum xdd_status status);

/*
 * Outputs are rank 0's, or have a name of their own on each rank. Returns XDD_OK, or a status with
 * one line given to log_error(). All ranks call it.
 */
enum xdd_status ranks_check(struct group *g, struct plan *plan);

/*
 * Gather the documents of all ranks, and write one result: text to standard output, and the
 * document to the file of -jsonout, which may be NULL. Returns the status of the run as a whole.
 */
enum xdd_status ranks_report(struct group *g, const struct plan *plan, const char *document,
			     size_t size, enum xdd_status status);

#endif
