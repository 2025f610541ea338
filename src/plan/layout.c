/*
 * The amount and extent of targets with -blockperrank; see the header. Called by the features of
 * amounts and offsets.
 */
#include "plan/layout.h"

#include <inttypes.h>

#include "plan/errors.h"
#include "plan/extent.h"
#include "xdd/base/units.h"

uint64_t layout_amount(const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;
	uint64_t bytes;

	return __builtin_mul_overflow(l->segments ? l->segments : 1, l->block_bytes, &bytes) ?
		       UINT64_MAX :
		       bytes;
}

/* Without -segments as many as the amount needs. */
static uint64_t count_segments(const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;

	if (l->segments)
		return l->segments;
	if (t->pass_ops == PLAN_UNLIMITED || !t->pass_bytes)
		return 1;
	return t->pass_bytes / l->block_bytes + (t->pass_bytes % l->block_bytes != 0);
}

/* The byte after the last block of the file in the last pass; UINT64_MAX where it does not fit. */
static uint64_t file_end(const struct plan *plan, const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;
	uint64_t start = plan_last_start(plan, t) - l->owner * l->block_bytes, bytes;

	if (__builtin_mul_overflow(l->n_owners, l->block_bytes, &bytes) ||
	    __builtin_mul_overflow(bytes, l->n_segments, &bytes) ||
	    __builtin_add_overflow(bytes, start, &bytes))
		return UINT64_MAX;
	return bytes;
}

/* A rank that cuts the file removes blocks that others have written. */
static enum xdd_status check_file_size(const struct target_plan *t, uint64_t end)
{
	char text[32];

	if (!t->pretruncate || !plan_writes(t) || t->pretruncate_bytes >= end ||
	    t->layout.n_owners == 1)
		return XDD_OK;
	return plan_refuse(t,
			   "-pretruncate %" PRIu64
			   ": would remove blocks of other targets (-blockperrank); the file has "
			   "%s, which is -pretruncate %" PRIu64,
			   t->pretruncate_bytes, units_size_text(end, text, sizeof(text)), end);
}

enum xdd_status layout_resolve_range(const struct plan *plan, struct target_plan *t)
{
	struct layout_options *l = &t->layout;
	uint64_t end;

	if (t->last_op_bytes != t->req_bytes)
		return plan_refuse(t,
				   "-bytes %" PRIu64
				   ": must be a multiple of the request size, %" PRIu64
				   " bytes, with -blockperrank",
				   t->pass_bytes, t->req_bytes);
	l->n_segments = count_segments(t);
	end = file_end(plan, t);
	if (end > PLAN_MAX_OFFSET)
		return plan_refuse(t,
				   "-blockperrank: %" PRIu64 " segments of %" PRIu64
				   " blocks reach past the largest offset, 8 EiB",
				   l->n_segments, l->n_owners);
	t->range_bytes = l->n_segments * l->block_bytes;
	return check_file_size(t, end);
}

uint64_t layout_extent(const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;
	uint64_t bytes = t->range_bytes, whole;

	if (!t->pass_ops)
		return 0;
	if (t->seek.pattern == SEEK_SEQUENTIAL && t->pass_ops != PLAN_UNLIMITED &&
	    t->pass_bytes < bytes)
		bytes = t->pass_bytes;
	whole = (bytes - 1) / l->block_bytes;
	return whole * l->n_owners * l->block_bytes + bytes - whole * l->block_bytes;
}
