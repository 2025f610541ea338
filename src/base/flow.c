/*
 * Bytes or operations per interval. Called by QThreads for each operation of a run with -deskew, and by the results
 * manager.
 */
#include "xdd/base/flow.h"

#include <string.h>

typedef unsigned __int128 uint128;

void flow_begin(struct flow *f, uint64_t origin_ns)
{
	memset(f, 0, sizeof(*f));
	f->origin_ns = origin_ns;
	f->shift = FLOW_FIRST_SHIFT;
}

/* Two intervals become one. */
static void double_intervals(struct flow *f)
{
	for (unsigned i = 0; i < FLOW_INTERVALS / 2; i++)
		f->amount[i] = f->amount[2 * i] + f->amount[2 * i + 1];
	memset(&f->amount[FLOW_INTERVALS / 2], 0, sizeof(f->amount) / 2);
	f->shift++;
}

/* Over the intervals `first` to `last`, which hold the times `from` to `to`. Nothing is lost by rounding. */
static void spread(struct flow *f, uint64_t first, uint64_t last, uint64_t from, uint64_t to,
		   uint64_t amount)
{
	uint64_t before = 0;

	for (uint64_t i = first; i < last; i++) {
		uint64_t end = (i + 1) << f->shift;
		uint64_t sum = (uint64_t)((uint128)amount * (end - from) / (to - from));

		f->amount[i] += sum - before;
		before = sum;
	}
	f->amount[last] += amount - before;
}

void flow_add(struct flow *f, uint64_t from_ns, uint64_t to_ns, uint64_t amount)
{
	uint64_t from = from_ns > f->origin_ns ? from_ns - f->origin_ns : 0;
	uint64_t to = to_ns > f->origin_ns ? to_ns - f->origin_ns : 0;

	if (to < from)
		to = from;
	while (to >> f->shift >= FLOW_INTERVALS)
		double_intervals(f);
	if (from >> f->shift == to >> f->shift)
		f->amount[from >> f->shift] += amount;
	else
		spread(f, from >> f->shift, to >> f->shift, from, to, amount);
}

void flow_merge(struct flow *f, const struct flow *from)
{
	unsigned by;

	while (f->shift < from->shift)
		double_intervals(f);
	by = f->shift - from->shift;
	for (unsigned i = 0; i < FLOW_INTERVALS; i++)
		f->amount[i >> by] += from->amount[i];
}

uint64_t flow_before(const struct flow *f, uint64_t at_ns)
{
	uint64_t at = at_ns > f->origin_ns ? at_ns - f->origin_ns : 0;
	uint64_t last = at >> f->shift, part = at - (last << f->shift), sum = 0;

	for (uint64_t i = 0; i < last && i < FLOW_INTERVALS; i++)
		sum += f->amount[i];
	if (last < FLOW_INTERVALS)
		sum += (uint64_t)((uint128)f->amount[last] * part >> f->shift);
	return sum;
}
