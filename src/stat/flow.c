/*
 * Bytes and operations per interval. Called by QThreads for each operation of a run with -deskew,
 * and by the results manager.
 */
#include "xdd/stat/flow.h"

#include <string.h>

#include "xdd/base/uint128.h"

void flow_begin(struct flow *f, uint64_t origin_ns)
{
	memset(f, 0, sizeof(*f));
	f->origin_ns = origin_ns;
	f->shift = FLOW_FIRST_SHIFT;
}

static inline void add_to(struct flow_amount *sum, const struct flow_amount *amount)
{
	sum->bytes += amount->bytes;
	sum->op_units += amount->op_units;
}

/* `part` of `whole` of an amount. */
static struct flow_amount share_of(const struct flow_amount *amount, uint64_t part, uint64_t whole)
{
	return (struct flow_amount){
		.bytes = (uint64_t)((uint128)amount->bytes * part / whole),
		.op_units = (uint64_t)((uint128)amount->op_units * part / whole),
	};
}

/* Merge pairs of intervals. */
static void double_intervals(struct flow *f)
{
	for (unsigned i = 0; i < FLOW_INTERVALS / 2; i++) {
		f->done[i] = f->done[2 * i];
		add_to(&f->done[i], &f->done[2 * i + 1]);
	}
	memset(&f->done[FLOW_INTERVALS / 2], 0, sizeof(f->done) / 2);
	f->shift++;
}

/*
 * Spread an amount over the intervals `first` to `last`, which hold the times `from` to `to`.
 * Rounding loses nothing.
 */
static void spread(struct flow *f, uint64_t first, uint64_t last, uint64_t from, uint64_t to,
		   const struct flow_amount *amount)
{
	struct flow_amount before = { 0 };

	for (uint64_t i = first; i < last; i++) {
		uint64_t end = (i + 1) << f->shift;
		struct flow_amount sum = share_of(amount, end - from, to - from);

		f->done[i].bytes += sum.bytes - before.bytes;
		f->done[i].op_units += sum.op_units - before.op_units;
		before = sum;
	}
	f->done[last].bytes += amount->bytes - before.bytes;
	f->done[last].op_units += amount->op_units - before.op_units;
}

void flow_add_slowly(struct flow *f, uint64_t from_ns, uint64_t to_ns, struct flow_amount amount)
{
	uint64_t from = from_ns > f->origin_ns ? from_ns - f->origin_ns : 0;
	uint64_t to = to_ns > f->origin_ns ? to_ns - f->origin_ns : 0;

	if (to < from)
		to = from;
	while (to >> f->shift >= FLOW_INTERVALS)
		double_intervals(f);
	if (from >> f->shift == to >> f->shift)
		add_to(&f->done[from >> f->shift], &amount);
	else
		spread(f, from >> f->shift, to >> f->shift, from, to, &amount);
}

void flow_merge(struct flow *f, const struct flow *from)
{
	unsigned by;

	while (f->shift < from->shift)
		double_intervals(f);
	by = f->shift - from->shift;
	for (unsigned i = 0; i < FLOW_INTERVALS; i++)
		add_to(&f->done[i >> by], &from->done[i]);
}

struct flow_amount flow_before(const struct flow *f, uint64_t at_ns)
{
	uint64_t at = at_ns > f->origin_ns ? at_ns - f->origin_ns : 0;
	uint64_t last = at >> f->shift, part = at - (last << f->shift);
	struct flow_amount sum = { 0 }, rest;

	for (uint64_t i = 0; i < last && i < FLOW_INTERVALS; i++)
		add_to(&sum, &f->done[i]);
	if (last >= FLOW_INTERVALS)
		return sum;
	rest = share_of(&f->done[last], part, 1ull << f->shift);
	add_to(&sum, &rest);
	return sum;
}
