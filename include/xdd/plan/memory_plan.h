/*
 * How the I/O buffers of a QThread lie in memory: one after the other in a region of its own.
 *
 * Part of struct target_plan in xdd/plan/plan.h. Fields marked "option" are set by the option
 * table, those marked "resolved" by plan_resolve(). Const once the plan is built; any thread.
 */
#ifndef XDD_PLAN_MEMORY_PLAN_H
#define XDD_PLAN_MEMORY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/base/sets.h"
#include "xdd/sys/machine.h"

struct memory_plan {
	/* option */
	uint64_t align_asked; /* -memalign; 0: none */
	bool shared;	      /* in a segment of System V shared memory */
	bool huge_pages;      /* in explicit huge pages */
	enum mempolicy policy;
	const struct idset *nodes; /* for the policies bind and interleave */

	/* resolved */
	uint64_t page_bytes;  /* the region is whole pages of this size */
	uint64_t align_bytes; /* its start is a multiple of this: a power of two, a page at least */
	uint64_t shift_bytes; /* the first buffer begins so far after that */
	uint64_t stride_bytes; /* from one buffer to the next; 0: the operations need none */
	uint64_t last_bytes;   /* the last one takes no more than this, its shift included */
};

#endif
