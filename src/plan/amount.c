/*
 * How much work a pass of a target is, and the range that it goes over: from -numreqs, -bytes, the list of -seek load
 * and the limits of time to operations and bytes. Called while the plan is resolved.
 */
#include <inttypes.h>

#include "plan/parse.h"

static void set_ops(struct target_plan *t, uint64_t ops, uint64_t last)
{
	t->pass_ops = ops;
	t->last_op_bytes = last;
}

/* -bytes and its like: whole requests and one shorter one. */
static void set_bytes(struct target_plan *t, uint64_t bytes)
{
	uint64_t rest = bytes % t->req_bytes, ops = bytes / t->req_bytes + (rest != 0);

	/* One of 2^64-1 is not missed, and that number has a meaning of its own. */
	set_ops(t, ops == PLAN_UNLIMITED ? ops - 1 : ops, rest ? rest : t->req_bytes);
	t->pass_bytes = bytes;
}

/* Nothing said how much: the whole of what is there, once. */
static enum xdd_status whole_target(const struct plan *plan, struct target_plan *t)
{
	uint64_t bytes = plan_bytes_left(plan, t);

	/* Of a new file, what another target writes, if that is known. */
	bool known = t->size_bytes || t->written_bytes != PLAN_UNLIMITED;

	if (t->op != OP_READ || !known || (!plan_has_size(t) && !t->writer))
		return plan_refuse(
			t,
			"no amount of work is given: say -numreqs, -bytes, -mbytes or -timelimit");
	if (!bytes)
		return plan_refuse(
			t,
			t->size_bytes ?
				"there is nothing to read: the start offset is at or past its "
				"end, at %" PRIu64 " bytes" :
				"there is nothing to read: it holds %" PRIu64 " bytes",
			t->size_bytes);
	t->amount_from = AMOUNT_BYTES;
	set_bytes(t, bytes);
	return XDD_OK;
}

/* The first operations of a list that move the amount; the last of them is cut off where it has to be. */
static enum xdd_status rows_of_bytes(struct target_plan *t)
{
	uint64_t bytes = 0, n = 0;

	while (n < t->n_rows && bytes < t->amount_bytes)
		bytes += t->rows[n++].blocks * t->block_size;
	if (bytes < t->amount_bytes)
		return plan_refuse(t,
				   "-bytes %" PRIu64
				   ": is more than the list of -seek load has, %" PRIu64 " bytes",
				   t->amount_bytes, bytes);
	t->amount_from = AMOUNT_BYTES;
	t->pass_bytes = t->amount_bytes;
	bytes -= t->amount_bytes;
	set_ops(t, n, t->rows[n - 1].blocks * t->block_size - bytes);
	return XDD_OK;
}

/* The amount of work where -seek load brings a list: all of it, or its first operations. */
static enum xdd_status resolve_rows(struct target_plan *t)
{
	uint64_t n = t->numreqs ? t->numreqs : t->n_rows;

	if (!t->numreqs && t->amount_bytes)
		return rows_of_bytes(t);
	if (n > t->n_rows)
		return plan_refuse(t,
				   "-numreqs %" PRIu64
				   ": is more than the list of -seek load has, %zu operations",
				   n, t->n_rows);
	t->amount_from = AMOUNT_OPS;
	t->pass_bytes = 0;
	for (uint64_t i = 0; i < n; i++)
		t->pass_bytes += t->rows[i].blocks * t->block_size;
	set_ops(t, n, t->rows[n - 1].blocks * t->block_size);
	return XDD_OK;
}

static enum xdd_status resolve_ops(const struct plan *plan, struct target_plan *t)
{
	if (t->rows)
		return resolve_rows(t);
	if (t->numreqs) {
		t->amount_from = AMOUNT_OPS;
		set_ops(t, t->numreqs, t->req_bytes);
		if (__builtin_mul_overflow(t->numreqs, t->req_bytes, &t->pass_bytes) ||
		    t->pass_bytes > PLAN_MAX_OFFSET)
			return plan_refuse(t,
					   "-numreqs %" PRIu64
					   ": that is more than 8 EiB in one pass",
					   t->numreqs);
	} else if (t->amount_bytes) {
		t->amount_from = AMOUNT_BYTES;
		set_bytes(t, t->amount_bytes);
	} else if (t->time_limit_ns || plan->run_time_ns) {
		set_ops(t, PLAN_UNLIMITED, t->req_bytes);
		t->pass_bytes = PLAN_UNLIMITED;
	} else {
		return whole_target(plan, t);
	}
	return XDD_OK;
}

/* An unlimited pass starts over at the end of what is there; a file that has nothing there grows when written. */
static enum xdd_status unlimited_range(const struct plan *plan, struct target_plan *t)
{
	uint64_t bytes = plan_bytes_left(plan, t);
	bool grows = t->kind == TARGET_FILE && t->op == OP_WRITE && !bytes;

	if ((!plan_has_size(t) && !bytes) || (grows && t->seek.pattern != SEEK_RANDOM)) {
		if (t->seek.pattern == SEEK_RANDOM)
			return plan_refuse(
				t,
				"-seek random: say the range with -seek range, or an amount of work "
				"that implies it");
		t->range_bytes = (PLAN_MAX_OFFSET - t->start_bytes) / 2;
		return XDD_OK;
	}
	if (bytes < t->req_bytes)
		return plan_refuse(t,
				   "it holds %" PRIu64
				   " bytes from the start offset on, less than one request of "
				   "%" PRIu64 "%s",
				   bytes, t->req_bytes,
				   t->kind == TARGET_FILE && t->op == OP_WRITE ?
					   "; say -pretruncate 0 to write a file that grows, or an "
					   "amount of work" :
					   "");
	t->range_bytes = bytes;
	return XDD_OK;
}

static enum xdd_status resolve_range(const struct plan *plan, struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;
	bool limited = t->pass_ops != PLAN_UNLIMITED;
	uint64_t need;

	if (seek->pattern == SEEK_LOAD)
		return XDD_OK;
	if (seek->pattern == SEEK_STAGGER && !limited)
		return plan_refuse(
			t,
			"-seek stagger: say how many operations there are, with -numreqs or -bytes");
	if (seek->range_blocks) {
		if (__builtin_mul_overflow(seek->range_blocks, t->block_size, &t->range_bytes) ||
		    t->range_bytes > PLAN_MAX_OFFSET - t->start_bytes)
			return plan_refuse(t,
					   "-seek range %" PRIu64
					   ": it ends past the largest offset, 8 EiB",
					   seek->range_blocks);
		if (t->range_bytes < t->req_bytes)
			return plan_refuse(t,
					   "-seek range %" PRIu64
					   ": the range is smaller than one request of "
					   "%" PRIu64 " blocks",
					   seek->range_blocks, t->req_blocks);
	} else if (!limited) {
		return unlimited_range(plan, t);
	} else if (seek->pattern == SEEK_RANDOM) {
		t->range_bytes = t->pass_bytes < t->req_bytes ? t->req_bytes : t->pass_bytes;
	}
	if (__builtin_mul_overflow(t->pass_ops, t->req_bytes, &need))
		need = UINT64_MAX;
	if (seek->pattern == SEEK_STAGGER && !t->range_bytes)
		t->range_bytes = need;
	if (seek->pattern == SEEK_STAGGER && need > t->range_bytes)
		return plan_refuse(t,
				   "-seek stagger: a range of %" PRIu64
				   " blocks does not hold %" PRIu64 " requests of %" PRIu64
				   " blocks",
				   t->range_bytes / t->block_size, t->pass_ops, t->req_blocks);
	return XDD_OK;
}

enum xdd_status plan_resolve_amount(const struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = resolve_ops(plan, t);

	return status ? status : resolve_range(plan, t);
}
