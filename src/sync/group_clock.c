/*
 * Comparing the clocks of ranks; see the header. Called by the thread of a group.
 */
#include "sync/group_clock.h"

void clock_bounds_init(struct clock_bounds *b)
{
	b->low_ns = INT64_MIN;
	b->high_ns = INT64_MAX;
}

void clock_bounds_add(struct clock_bounds *b, uint64_t sent_ns, uint64_t answered_ns,
		      uint64_t received_ns)
{
	/* Clocks count from the start of a machine: the differences fit. */
	const int64_t high = (int64_t)(answered_ns - sent_ns);
	const int64_t low = (int64_t)(answered_ns - received_ns);

	if (high < b->high_ns)
		b->high_ns = high;
	if (low > b->low_ns)
		b->low_ns = low;
}

int64_t clock_bounds_offset(const struct clock_bounds *b, uint64_t *bound_ns)
{
	const uint64_t width = (uint64_t)b->high_ns - (uint64_t)b->low_ns;

	*bound_ns = width / 2 + 1;
	return (int64_t)((uint64_t)b->low_ns + width / 2);
}
