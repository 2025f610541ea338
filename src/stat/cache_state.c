/*
 * Sums of cache states. Called by figures_add().
 */
#include "xdd/stat/cache_state.h"

void cache_state_add(struct cache_state *sum, const struct cache_state *from)
{
	sum->range_bytes += from->range_bytes;
	sum->resident_bytes += from->resident_bytes;
	sum->hole_bytes += from->hole_bytes;
	sum->holes_unknown |= from->holes_unknown;
	if (from->accuracy > sum->accuracy)
		sum->accuracy = from->accuracy;
}
