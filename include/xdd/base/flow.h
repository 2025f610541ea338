/*
 * How much was done when: a histogram over time of constant size, of bytes or of operations. An operation is spread
 * evenly over the time from its issue to its completion. When time outgrows the histogram, its intervals
 * double in length, so at least half of them are in use however long it gets.
 *
 * One thread writes; others read once that is over.
 */
#ifndef XDD_BASE_FLOW_H
#define XDD_BASE_FLOW_H

#include <stdint.h>

#define FLOW_INTERVALS 1024
#define FLOW_FIRST_SHIFT 10 /* intervals begin with 2^10 ns */
#define FLOW_OP \
	(1u     \
	 << 20) /* an operation, where these are counted: parts of it may lie in several intervals */

struct flow {
	uint64_t origin_ns;
	unsigned shift; /* an interval has 2^shift ns */
	uint64_t amount[FLOW_INTERVALS];
};

/* What is kept of a target, in an array of these. */
enum flow_kind {
	FLOW_BYTES,
	FLOW_OPS, /* those that succeeded */
	FLOW_KINDS,
};

/* Empty, from clock `origin_ns` on. */
void flow_begin(struct flow *f, uint64_t origin_ns);

/* `amount` was done between two clocks; what lies before the origin counts as at the origin. */
void flow_add(struct flow *f, uint64_t from_ns, uint64_t to_ns, uint64_t amount);

/* Add `from`, which has the same origin. */
void flow_merge(struct flow *f, const struct flow *from);

/*
 * What had been done by clock `at_ns`. Exact at the ends of intervals; inside of one, its amount counts in
 * proportion to the time.
 */
uint64_t flow_before(const struct flow *f, uint64_t at_ns);

#endif
