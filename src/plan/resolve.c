/*
 * The last step of building a plan: from the options as given and the targets as they are to numbers
 * that the run can work with. What is then still to be checked is in check.c. Called by plan_build().
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/parse.h"
#include "xdd/plan/seekload.h"

static enum xdd_status resolve_path(struct plan *plan, struct target_plan *t)
{
	if (strcmp(t->name, "null") == 0) {
		t->kind = TARGET_NULL;
		t->path = t->name;
		return XDD_OK;
	}
	if (!t->dir)
		t->dir = "";
	if (!*t->dir)
		t->path = t->name;
	else
		t->path = arena_printf(plan->arena, "%s%s%s", t->dir,
				       t->dir[strlen(t->dir) - 1] == '/' ? "" : "/", t->name);
	if (!t->path)
		return plan_no_memory();
	return XDD_OK;
}

static enum xdd_status resolve_sizes(const struct plan *plan, struct target_plan *t)
{
	uint64_t blocks, moved, passes = plan->passes - 1;

	if (__builtin_mul_overflow(t->req_blocks, t->block_size, &t->req_bytes) ||
	    t->req_bytes > PLAN_MAX_REQUEST_BYTES)
		return plan_refuse(t,
				   "a request of %" PRIu64 " blocks of %" PRIu64
				   " bytes (-reqsize, -blocksize) is larger than 2 GiB",
				   t->req_blocks, t->block_size);
	if (__builtin_mul_overflow(t->target_offset_blocks, t->number, &blocks) ||
	    __builtin_add_overflow(blocks, t->start_offset_blocks, &blocks) ||
	    __builtin_mul_overflow(blocks, t->block_size, &t->start_bytes) ||
	    __builtin_mul_overflow(t->pass_offset_blocks, t->block_size, &t->pass_offset_bytes) ||
	    __builtin_mul_overflow(t->pass_offset_bytes, passes, &moved) ||
	    __builtin_add_overflow(moved, t->start_bytes, &moved) || moved > PLAN_MAX_OFFSET)
		return plan_refuse(t,
				   "-startoffset %" PRIu64 ", -targetoffset %" PRIu64
				   " and -passoffset %" PRIu64 ", in blocks of %" PRIu64
				   " bytes, lead past the largest offset, 8 EiB",
				   t->start_offset_blocks, t->target_offset_blocks,
				   t->pass_offset_blocks, t->block_size);
	if (__builtin_mul_overflow(t->target_start_delay_ns, t->number, &t->delay_ns) ||
	    __builtin_add_overflow(t->delay_ns, t->start_delay_ns, &t->delay_ns))
		return plan_refuse(t, "-startdelay and -targetstartdelay are too long together");
	return XDD_OK;
}

/* The directions of a loaded list against -op; without -op the list decides. */
static enum xdd_status resolve_loaded_op(struct target_plan *t)
{
	bool seen[3] = { false };
	enum op_request list;

	for (size_t i = 0; i < t->n_rows; i++)
		seen[t->rows[i].op == 'r' ? 0 : t->rows[i].op == 'w' ? 1 : 2] = true;
	list = seen[0] + seen[1] + seen[2] > 1 ? OP_MIXED :
	       seen[0]			       ? OP_READ :
	       seen[1]			       ? OP_WRITE :
						 OP_NOOP;
	if (t->op != OP_UNSET && t->op != OP_MIXED && t->op != list)
		return plan_refuse(t, "-op %s: the list of -seek load %s %s", plan_op_name(t->op),
				   t->seek.load_file,
				   list == OP_READ  ? "reads" :
				   list == OP_WRITE ? "writes" :
				   list == OP_NOOP  ? "does neither read nor write" :
						      "mixes reads, writes and noops");
	t->op = list;
	return XDD_OK;
}

static enum xdd_status resolve_load(struct plan *plan, struct target_plan *t)
{
	const char *file = t->seek.load_file, *what = NULL;
	unsigned line = 0;
	int err;

	if (access(file, F_OK) < 0) {
		const char *own = arena_printf(plan->arena, "%s.T%u.txt", file, t->number);

		if (own && access(own, F_OK) == 0)
			file = own;
	}
	err = seekload_read(file, plan->arena, &t->rows, &t->n_rows, &line, &what);
	if (err == -EBADMSG && line) {
		log_error("-seek load %s: line %u: %s", file, line, what);
		return XDD_BAD_ARGUMENT;
	}
	if (err) {
		log_error("-seek load %s: %s", file,
			  err == -EBADMSG ? "holds no operations" : strerror(-err));
		return XDD_BAD_ARGUMENT;
	}
	for (size_t i = 0; i < t->n_rows; i++) {
		uint64_t end;

		if (t->rows[i].blocks > t->req_blocks)
			return plan_refuse(
				t,
				"-seek load %s: operation %zu has %u blocks, a request %" PRIu64
				" (-reqsize)",
				file, i, t->rows[i].blocks, t->req_blocks);
		if (__builtin_mul_overflow(t->rows[i].block + t->rows[i].blocks, t->block_size,
					   &end) ||
		    end > PLAN_MAX_OFFSET)
			return plan_refuse(
				t,
				"-seek load %s: operation %zu lies past the largest offset, 8 EiB",
				file, i);
	}
	return resolve_loaded_op(t);
}

/* No -op: write where nothing can be lost, ask otherwise. */
static enum xdd_status resolve_op(struct target_plan *t)
{
	if (t->op != OP_UNSET)
		return XDD_OK;
	if (t->kind == TARGET_NULL || t->kind == TARGET_MISSING ||
	    (t->kind == TARGET_FILE && t->size_bytes == 0)) {
		t->op = OP_WRITE;
		return XDD_OK;
	}
	return plan_refuse(
		t,
		"it holds data and no operation is given: say -op read, or -op write to overwrite "
		"it");
}

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

	if (t->op != OP_READ || !plan_has_size(t))
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

static enum xdd_status resolve_amount(const struct plan *plan, struct target_plan *t)
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

	if (!plan_has_size(t) || (grows && t->seek.pattern != SEEK_RANDOM)) {
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

/* With a rate of bytes, when an operation is due depends on the sizes of all before it. */
static enum xdd_status sum_rows(struct plan *plan, struct target_plan *t)
{
	uint64_t *before = arena_alloc(plan->arena, t->n_rows * sizeof(*before)), sum = 0;

	if (!before)
		return plan_no_memory();
	for (size_t i = 0; i < t->n_rows; i++) {
		before[i] = sum;
		sum += t->rows[i].blocks * t->block_size;
	}
	t->throttle.bytes_before = before;
	return XDD_OK;
}

static enum xdd_status resolve_throttle(struct plan *plan, struct target_plan *t)
{
	struct throttle_options *throttle = &t->throttle;

	switch (throttle->by) {
	case THROTTLE_OPS:
		throttle->interval_ns = (double)UNITS_NS_PER_SEC / throttle->rate;
		return XDD_OK;
	case THROTTLE_BANDWIDTH:
		/* 10^6 bytes a second are one byte a microsecond. */
		throttle->interval_ns = (double)t->req_bytes * 1000 / throttle->rate;
		return t->rows ? sum_rows(plan, t) : XDD_OK;
	case THROTTLE_DELAY:
	case THROTTLE_NONE:
		break;
	}
	if (throttle->var_percent > 0)
		return plan_refuse(
			t,
			"-throttle var varies a rate: say -throttle ops or -throttle bw as well");
	return XDD_OK;
}

/* One QThread an operation, or, with an engine that queues, few that share the operations. */
static enum xdd_status resolve_qthreads(struct target_plan *t)
{
	uint64_t n = t->queue_depth;

	if (t->kind == TARGET_NULL)
		t->engine_queues = false;
	else if (t->threads && !t->engine_queues)
		return plan_refuse(
			t,
			"-threads: the engine %s has a QThread for each operation; -threads is for "
			"libaio and io_uring",
			t->engine ? t->engine : "psync");
	if (t->engine_queues) {
		n = t->threads ? t->threads : 1;
		if (n > t->queue_depth)
			n = t->queue_depth;
	}
	t->qthreads = (uint32_t)n;
	return XDD_OK;
}

/* A number alone, or a file, is enough to ask for a heartbeat. */
static void resolve_heartbeat(struct target_plan *t)
{
	struct heartbeat_options *h = &t->heartbeat;
	bool fields = h->ops || h->bytes || h->kbytes || h->mbytes || h->gbytes || h->bw ||
		      h->iops || h->pct || h->etc || h->latency;
	bool asked = fields || h->interval_ns || h->output || h->target || h->tod || h->elapsed ||
		     h->hostname || h->lf;

	h->on = asked && !h->off;
	if (!fields)
		h->ops = h->bw = h->pct = h->etc = h->on;
}

static enum xdd_status resolve_target(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = resolve_path(plan, t);

	if (!status)
		status = probe_target(t);
	/* The file of that name is none of those that are made; reading is refused later on. */
	if (!status && t->create_new_files && t->kind == TARGET_FILE &&
	    (t->op == OP_WRITE || t->op == OP_UNSET)) {
		t->kind = TARGET_MISSING;
		t->size_bytes = 0;
	}
	if (!status)
		status = resolve_sizes(plan, t);
	if (!status && t->seek.pattern == SEEK_LOAD)
		status = resolve_load(plan, t);
	if (!status)
		status = resolve_op(t);
	if (!status && t->kind == TARGET_MISSING && t->op != OP_WRITE) {
		log_error("target %u, %s: %s", t->number, t->path, strerror(ENOENT));
		return XDD_TARGET_FAILED;
	}
	/* From here on the size is the one that operations will find. */
	if (!status && plan_recreates(t))
		t->size_bytes = 0;
	if (!status && t->kind == TARGET_FILE && t->pretruncate && plan_writes(t))
		t->size_bytes = t->pretruncate_bytes;
	if (!status)
		status = resolve_amount(plan, t);
	if (!status)
		status = resolve_range(plan, t);
	if (!status)
		status = resolve_throttle(plan, t);
	if (!status)
		status = resolve_qthreads(t);
	if (!status)
		resolve_memory(t);
	if (!status)
		status = plan_resolve_trace(plan, t);
	resolve_heartbeat(t);
	return status;
}

enum xdd_status plan_resolve(struct plan *plan)
{
	enum xdd_status status = plan_check_passes(plan);
	uint64_t qthreads = 0;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		status = resolve_target(plan, &plan->targets[i]);
		plan->targets[i].first_qthread = qthreads;
		qthreads += plan->targets[i].qthreads;
	}
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = plan_check_target(plan, &plan->targets[i]);
	if (!status)
		status = plan_check_files(plan);
	if (!status)
		status = plan_check_places(plan);
	if (!status)
		status = plan_resolve_data(plan);
	if (!status)
		status = plan_check_tagged(plan);
	if (!status)
		status = plan_check_coordination(plan);
	if (!status)
		status = plan_check_memory(plan);
	if (!status)
		status = plan_check_trace_memory(plan);
	plan->keep_extremes = plan->extended_stats ||
			      (plan->output_format && (strstr(plan->output_format, "+LONGEST") ||
						       strstr(plan->output_format, "+SHORTEST")));
	plan->audit_order = plan->verbose || plan->json_file ||
			    (plan->output_format && strstr(plan->output_format, "+ORDERBREAKS"));
	return status;
}
