/*
 * The longest and the shortest operation, with their numbers.
 *
 * struct extremes_live is written by one thread, at the cost of two comparisons per operation, and
 * may be read by any other at the same time. struct extremes is a copy, or the extremes of several
 * copies.
 */
#ifndef XDD_STAT_EXTREMES_H
#define XDD_STAT_EXTREMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/stat/counters.h"

enum extremes_which {
	EXTREMES_LONGEST,
	EXTREMES_SHORTEST,
	EXTREMES_COUNT,
};

/* An operation. */
struct extreme {
	uint64_t took_ns;
	uint64_t op; /* its number */
	uint64_t offset;
	uint64_t bytes;
	uint64_t pass;
	uint64_t target;
	enum op_dir dir;
};

struct extremes {
	bool any; /* there was an operation at all */
	struct extreme of[EXTREMES_COUNT];
};

/* Fields of an operation as they are written; pass and target are the same for all of a QThread. */
struct extreme_live {
	_Atomic uint64_t took_ns;
	_Atomic uint64_t op;
	_Atomic uint64_t offset;
	_Atomic uint64_t bytes;
	_Atomic uint32_t dir;
};

/* All zero is empty. */
struct extremes_live {
	/* atomic: written by the owner, read by anyone */
	_Atomic uint32_t turn; /* odd while the others change; 0: empty */
	struct extreme_live of[EXTREMES_COUNT];
};

/* Owner only, while no thread reads: start of a pass. */
void extremes_reset(struct extremes_live *e);

/* Owner only. For an `o` that is the first, or longer or shorter than all before it. */
void extremes_note(struct extremes_live *e, const struct extreme *o);

/* Owner only. True if extremes_note() must be called for an operation that took so long. */
static inline bool extremes_are_met(const struct extremes_live *e, uint64_t took_ns)
{
	const struct extreme_live *of = e->of;

	return took_ns >
		       atomic_load_explicit(&of[EXTREMES_LONGEST].took_ns, memory_order_relaxed) ||
	       took_ns <
		       atomic_load_explicit(&of[EXTREMES_SHORTEST].took_ns, memory_order_relaxed) ||
	       atomic_load_explicit(&e->turn, memory_order_relaxed) == 0;
}

/* A copy of `e` for `target` and `pass`. Any thread. */
struct extremes extremes_read(const struct extremes_live *e, uint64_t target, uint64_t pass);

/*
 * Add the extremes of `from` to those of `e`; of two that took equally long, the earlier stays.
 */
void extremes_add(struct extremes *e, const struct extremes *from);

#endif
