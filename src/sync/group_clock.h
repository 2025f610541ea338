/*
 * How the clocks of two ranks compare, from messages that go to and fro. Private to src/sync.
 */
#ifndef XDD_SYNC_GROUP_CLOCK_H
#define XDD_SYNC_GROUP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define GROUP_PINGS 20 /* exchanges with each rank */

/* Bounds of the other clock minus the own one. */
struct clock_bounds {
	int64_t low_ns, high_ns;
};

/* State of rank 0 while it measures one rank after another. */
struct group_pings {
	unsigned rank, done; /* exchanges with that rank */
	uint64_t sent_ns;
	struct clock_bounds bounds;
};

void clock_bounds_init(struct clock_bounds *b);

/*
 * An exchange: sent and received here at `sent_ns` and `received_ns`, answered there at
 * `answered_ns`. Whatever the two ways took, the difference lies within the bounds.
 */
void clock_bounds_add(struct clock_bounds *b, uint64_t sent_ns, uint64_t answered_ns,
		      uint64_t received_ns);

/* The middle, and how far the truth may be from it. */
int64_t clock_bounds_offset(const struct clock_bounds *b, uint64_t *bound_ns);

#endif
