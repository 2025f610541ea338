/*
 * How many bytes moved when: a histogram over time of constant size. The bytes of an operation are spread
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

struct flow {
	uint64_t origin_ns;
	unsigned shift; /* an interval has 2^shift ns */
	uint64_t bytes[FLOW_INTERVALS];
};

/* Empty, from clock `origin_ns` on. */
void flow_begin(struct flow *f, uint64_t origin_ns);

/* `bytes` bytes moved between two clocks; what lies before the origin counts as at the origin. */
void flow_add(struct flow *f, uint64_t from_ns, uint64_t to_ns, uint64_t bytes);

/* Add `from`, which has the same origin. */
void flow_merge(struct flow *f, const struct flow *from);

/*
 * Bytes that had moved by clock `at_ns`. Exact at the ends of intervals; inside of one, its bytes count in
 * proportion to the time.
 */
uint64_t flow_before(const struct flow *f, uint64_t at_ns);

#endif
