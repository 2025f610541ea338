/*
 * The bytes of a target that a run touches. Called while a plan is resolved and checked.
 */
#include "plan/extent.h"

#include <inttypes.h>

#include "plan/errors.h"
#include "plan/layout.h"
#include "xdd/plan/mix.h"

bool plan_has_size(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_BLOCK ||
	       (t->kind == TARGET_CHAR && t->size_bytes);
}

bool plan_copies_nothing(const struct target_plan *t)
{
	return t->endtoend.role == E2E_SOURCE && t->kind == TARGET_FILE && !t->writer &&
	       t->size_bytes == t->restart.offset_bytes && t->start_bytes == t->size_bytes;
}

uint64_t plan_last_start(const struct plan *plan, const struct target_plan *t)
{
	return t->start_bytes + (plan->passes - 1) * t->pass_offset_bytes;
}

uint64_t plan_bytes_left(const struct plan *plan, const struct target_plan *t)
{
	uint64_t start = plan_last_start(plan, t), end = plan_has_size(t) ? t->size_bytes : 0;

	if (!end && t->written_bytes != PLAN_UNLIMITED)
		end = t->written_bytes;
	return end > start ? end - start : 0;
}

uint64_t plan_size_in_run(const struct target_plan *t)
{
	if (!plan_has_size(t) && !t->writer)
		return UINT64_MAX;
	return t->written_bytes > t->size_bytes ? t->written_bytes : t->size_bytes;
}

uint64_t plan_lap_ops(const struct target_plan *t)
{
	uint64_t lap = t->mix ? mix_lap_bytes(t) : 0;

	if (t->mix)
		return lap == UINT64_MAX ? lap : lap / t->mix->cycle_bytes * t->mix->cycle_ops;
	return t->range_bytes / t->req_bytes;
}

/* Random requests of a mix end where the last request of one of its sizes does. */
static uint64_t mix_extent(const struct target_plan *t)
{
	const struct request_mix *mix = t->mix;
	uint64_t most = 0;

	if (t->seek.pattern == SEEK_SEQUENTIAL) {
		most = mix_lap_bytes(t);
		return t->pass_bytes < most ? t->pass_bytes : most;
	}
	for (size_t i = 0; i < mix->n; i++) {
		uint64_t end = t->range_bytes - t->range_bytes % mix->sizes[i].bytes;

		most = end > most ? end : most;
	}
	return most;
}

/* -seek streams: as far as the longer of both streams reaches, in the range. */
static uint64_t streams_extent(const struct target_plan *t)
{
	const uint64_t range = t->range_bytes / t->req_bytes * t->req_bytes;
	const uint64_t missing = t->req_bytes - t->last_op_bytes;
	uint64_t ops = t->pass_ops, reads, of_reads, of_writes, most;
	bool last_reads;

	if (ops == PLAN_UNLIMITED)
		return range;
	reads = plan_reads_of(t, ops);
	last_reads = reads > plan_reads_of(t, ops - 1);
	of_reads = reads * t->req_bytes - (last_reads ? missing : 0);
	of_writes = (ops - reads) * t->req_bytes - (last_reads ? 0 : missing);
	most = of_reads > of_writes ? of_reads : of_writes;
	return range && range < most ? range : most;
}

uint64_t plan_extent(const struct plan *plan, const struct target_plan *t)
{
	uint64_t start = plan_last_start(plan, t), bytes;

	if (t->rows) {
		uint64_t end = 0, own = t->start_bytes - t->start_offset_blocks * t->block_size;

		for (uint64_t i = 0; i < t->pass_ops; i++) {
			uint64_t size = i + 1 < t->pass_ops ? t->rows[i].blocks * t->block_size :
							      t->last_op_bytes;
			uint64_t e = t->rows[i].block * t->block_size + size;

			if (e > end)
				end = e;
		}
		return own + (plan->passes - 1) * t->pass_offset_bytes + end;
	}
	if (t->layout.block_bytes)
		bytes = layout_extent(t);
	else if (!t->pass_ops)
		bytes = 0;
	else if (t->mix)
		bytes = mix_extent(t);
	else if (t->pass_ops == PLAN_UNLIMITED && t->endtoend.role == E2E_DESTINATION)
		bytes = t->range_bytes;
	else if (t->pass_ops == 1 && t->range_bytes / t->req_bytes <= 1)
		bytes = t->last_op_bytes;
	else if (t->seek.pattern == SEEK_NONE)
		bytes = t->req_bytes;
	else if (t->seek.pattern == SEEK_STREAMS)
		bytes = streams_extent(t);
	else if (t->seek.pattern == SEEK_STAGGER)
		bytes = plan_stagger_offset(t, t->pass_ops - 1) + t->last_op_bytes;
	else if (plan_ends_with_tail(t))
		bytes = t->pass_bytes;
	else if (t->range_bytes)
		bytes = t->pass_bytes < t->range_bytes && t->seek.pattern == SEEK_SEQUENTIAL ?
				t->pass_bytes :
				t->range_bytes / t->req_bytes * t->req_bytes;
	else if (t->seek.pattern == SEEK_INTERLEAVE) {
		if (__builtin_mul_overflow((t->pass_ops - 1) * t->req_bytes, t->seek.interleave,
					   &bytes) ||
		    __builtin_add_overflow(bytes, t->last_op_bytes, &bytes))
			return UINT64_MAX;
	} else {
		bytes = t->pass_bytes;
	}
	return __builtin_add_overflow(start, bytes, &bytes) ? UINT64_MAX : bytes;
}

bool plan_may_end_early(const struct plan *plan, const struct target_plan *t)
{
	return t->time_limit_ns || plan->run_time_ns || t->stop_trigger.on ||
	       (t->lockstep.on && t->lockstep.stop);
}

void plan_limit_ops(struct target_plan *t, uint64_t ops)
{
	if (ops >= t->pass_ops)
		return;
	t->pass_ops = ops;
	t->last_op_bytes = t->mix ? mix_op(t->mix, ops - 1).size : t->req_bytes;
	t->pass_bytes = t->mix ? mix_bytes(t->mix, ops) : ops * t->req_bytes;
}

uint64_t plan_sure_passes(const struct plan *plan)
{
	return plan->until_percent > 0 && plan->passes > PLAN_UNTIL_MIN_PASSES ?
		       PLAN_UNTIL_MIN_PASSES :
		       plan->passes;
}

/* The first size of a mix that is no multiple. */
static uint64_t first_apart(const struct request_mix *mix, uint32_t unit_bytes)
{
	size_t i = 0;

	while (i + 1 < mix->n && mix->sizes[i].bytes % unit_bytes == 0)
		i++;
	return mix->sizes[i].bytes;
}

enum xdd_status plan_check_multiples(const struct target_plan *t, const char *option,
				     uint32_t unit_bytes, bool last)
{
	const uint64_t requests = t->mix ? t->mix->unit_bytes : t->req_bytes;
	const bool blocks = t->rows || t->seek.pattern == SEEK_STAGGER;
	const struct {
		const char *what;
		uint64_t bytes;
	} parts[] = {
		{ t->mix ? "each request size (-reqsize mix)" :
			   "the request size (-reqsize, -blocksize)",
		  requests },
		{ "the start offset (-startoffset, -targetoffset)", t->start_bytes },
		{ "the pass offset (-passoffset)", t->pass_offset_bytes },
		{ "the block size (-blocksize)", blocks ? t->block_size : 0 },
		{ "the size of the last operation (-bytes)", last ? t->last_op_bytes : 0 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].bytes % unit_bytes)
			return plan_refuse(t,
					   "%s: %s must be a multiple of %u bytes; it is %" PRIu64,
					   option, parts[i].what, unit_bytes,
					   i == 0 && t->mix ? first_apart(t->mix, unit_bytes) :
							      parts[i].bytes);
	}
	return XDD_OK;
}
