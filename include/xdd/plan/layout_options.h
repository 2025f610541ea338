/*
 * The blocks of a file that the targets of all ranks share: -blockperrank, -segments, -reorder.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option
 * table, those marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 *
 * The file consists of segments, and a segment has one block for each target of each rank, in the
 * order of their indexes: block i of segment k begins at (k * n_owners + i) * block_bytes.
 */
#ifndef XDD_PLAN_LAYOUT_OPTIONS_H
#define XDD_PLAN_LAYOUT_OPTIONS_H

#include <stdint.h>

/* Whose blocks a target reads. */
enum reorder {
	REORDER_NONE,	 /* its own */
	REORDER_DEFAULT, /* of the next host, rank or target: the first with others */
	REORDER_RANKS,	 /* of the next rank */
	REORDER_NODE,	 /* of the next host */
	REORDER_SHIFT,	 /* so many targets further */
	REORDER_RANDOM,	 /* of another target, each of exactly one */
};

struct layout_options {
	uint64_t block_blocks; /* option; 0: no blocks */
	uint64_t segments;     /* option; 0: not given */
	enum reorder reorder;  /* option */
	uint64_t shift;	       /* option; targets */
	uint64_t seed;	       /* option; of REORDER_RANDOM */

	uint64_t block_bytes;  /* resolved; 0: no blocks */
	uint64_t n_segments;   /* resolved; that a pass covers */
	uint64_t index;	       /* resolved; rank * targets of a rank + number of the target */
	uint64_t n_owners;     /* resolved; targets of all ranks */
	uint64_t owner;	       /* resolved; index of the target whose blocks it accesses */
	uint32_t owner_number; /* resolved; number of that target in its own rank */
};

#endif
