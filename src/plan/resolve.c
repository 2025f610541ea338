/*
 * The last step of building a plan: from the options as given and the targets as they are to numbers
 * that the run can work with. What is then still to be checked is in check.c. Called by plan_build().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/parse.h"
#include "plan/seekload.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/base/units.h"

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

/* With a rate of bytes, when an operation is due depends on the sizes of all before it. */
static enum xdd_status sum_rows(struct plan *plan, struct target_plan *t)
{
	uint64_t *before = arena_alloc(plan->arena, (t->n_rows + 1) * sizeof(*before)), sum = 0;

	if (!before)
		return plan_no_memory();
	for (size_t i = 0; i < t->n_rows; i++) {
		before[i] = sum;
		sum += t->rows[i].blocks * t->block_size;
	}
	before[t->n_rows] = sum;
	t->throttle.bytes_before = before;
	return XDD_OK;
}

static enum xdd_status resolve_throttle(struct plan *plan, struct target_plan *t)
{
	struct throttle_options *throttle = &t->throttle;

	switch (throttle->by) {
	case THROTTLE_OPS:
		throttle->interval_ns = (double)NS_PER_SEC / throttle->rate;
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

/* A number alone asks for the usual fields; with any word, only what is named is shown. */
static void resolve_heartbeat(struct target_plan *t)
{
	struct heartbeat_options *h = &t->heartbeat;
	bool named = h->ops || h->bytes || h->kbytes || h->mbytes || h->gbytes || h->bw ||
		     h->iops || h->pct || h->etc || h->latency || h->output || h->target ||
		     h->tod || h->elapsed || h->hostname || h->lf;

	h->on = (named || h->interval_ns) && !h->off;
	if (!named)
		h->ops = h->bw = h->pct = h->etc = h->on;
}

/* What the target is, and what is to be done with it. */
static enum xdd_status resolve_target(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = probe_target(t);

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
	return status ? status : resolve_op(t);
}

/* How much of it, and how. */
static enum xdd_status resolve_work(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status;

	/* From here on the size is the one that operations will find. */
	if (plan_recreates(t))
		t->size_bytes = 0;
	if (t->kind == TARGET_FILE && t->pretruncate && plan_writes(t))
		t->size_bytes = t->pretruncate_bytes;
	status = plan_resolve_amount(plan, t);
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

/* Those that read what others of the run write last: how much there is depends on these. */
static enum xdd_status resolve_targets(struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct place *places = NULL;

	/* All of them, before the first that is refused: the outputs are compared with them. */
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = resolve_path(plan, &plan->targets[i]);
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = resolve_target(plan, &plan->targets[i]);
	if (!status)
		status = plan_find_writers(plan, &places);
	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		if (!plan->targets[i].writer)
			status = resolve_work(plan, &plan->targets[i]);
	}
	if (!status)
		plan_find_ends(plan, places);
	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		if (plan->targets[i].writer)
			status = resolve_work(plan, &plan->targets[i]);
	}
	free(places);
	return status;
}

enum xdd_status plan_resolve(struct plan *plan)
{
	enum xdd_status status = plan_check_passes(plan);
	uint64_t qthreads = 0;

	if (!status)
		status = resolve_targets(plan);
	for (size_t i = 0; i < plan->n_targets; i++) {
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
	/* The document has every column. */
	plan->keep_extremes = plan->extended_stats || plan->json_file ||
			      (plan->output_format && (strstr(plan->output_format, "+LONGEST") ||
						       strstr(plan->output_format, "+SHORTEST")));
	plan->audit_order = plan->verbose || plan->json_file ||
			    (plan->output_format && strstr(plan->output_format, "+ORDERBREAKS"));
	return status;
}
