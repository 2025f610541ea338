/*
 * Bytes and operations over time: a histogram of constant size, of bytes and of operations. An
 * operation is spread evenly over the time from its issue to its completion. When time outgrows the
 * histogram, its intervals double in length, so at least half of them are always in use.
 *
 * One thread writes; others read when it has finished.
 */
#ifndef XDD_STAT_FLOW_H
#define XDD_STAT_FLOW_H

#include <stdint.h>

#define FLOW_INTERVALS 1024
#define FLOW_FIRST_SHIFT 10 /* intervals begin with 2^10 ns */
/* One operation, in units of flow_amount.op_units: its parts may lie in several intervals. */
#define FLOW_OP (1u << 20)

/* In one struct, because each operation adds to both. */
struct flow_amount {
	uint64_t bytes;
	uint64_t op_units; /* operations that succeeded, in units of 1/FLOW_OP */
};

struct flow {
	uint64_t origin_ns;
	unsigned shift; /* an interval has 2^shift ns */
	struct flow_amount done[FLOW_INTERVALS];
};

/* Empty, from clock `origin_ns` on. */
void flow_begin(struct flow *f, uint64_t origin_ns);

/* Private to flow_add(): an operation that does not lie within one interval. */
void flow_add_slowly(struct flow *f, uint64_t from_ns, uint64_t to_ns, struct flow_amount amount);

/* Add `amount`, done between two clocks; times before the origin count as the origin. */
static inline void flow_add(struct flow *f, uint64_t from_ns, uint64_t to_ns,
			    struct flow_amount amount)
{
	/* Times before the origin wrap, and lie after the last interval. */
	uint64_t first = (from_ns - f->origin_ns) >> f->shift;
	uint64_t last = (to_ns - f->origin_ns) >> f->shift;

	if (__builtin_expect(first != last || last >= FLOW_INTERVALS, 0)) {
		flow_add_slowly(f, from_ns, to_ns, amount);
		return;
	}
	f->done[last].bytes += amount.bytes;
	f->done[last].op_units += amount.op_units;
}

/* Add `from`, which has the same origin. */
void flow_merge(struct flow *f, const struct flow *from);

/*
 * The sum up to clock `at_ns`. Exact at the ends of intervals; within one, its amount counts in
 * proportion to the time.
 */
struct flow_amount flow_before(const struct flow *f, uint64_t at_ns);

#endif
