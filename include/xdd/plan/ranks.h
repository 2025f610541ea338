/*
 * The command line of a run with -mpi: all ranks have the same words, and each has plans of its
 * own.
 */
#ifndef XDD_PLAN_RANKS_H
#define XDD_PLAN_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/base/status.h"

struct arena;

struct ranks_place {
	const char *host;
	uint32_t rank, n_ranks, ranks_per_node;
};

/* True if the words, of main(), have -mpi, and are to run something. Main thread. */
bool ranks_wanted(int argc, char **argv);

/*
 * The words of one rank, in memory of `arena`: placeholders are replaced (%h, %r, %n, %%), and
 * -rank, -ranks and, unless it is given, -rankspernode follow. Returns XDD_OK, or a status with one
 * line given to log_error(). Main thread.
 */
enum xdd_status ranks_words(struct arena *arena, int argc, char **argv,
			    const struct ranks_place *place, int *n, char ***words);

#endif
