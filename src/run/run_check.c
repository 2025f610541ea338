/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks of a plan against the machine, before anything is opened. Called by main, and by run.c
 * for refusals.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "run/endtoend/endtoend.h"
#include "run/run_state.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/io/guard.h"
#include "xdd/io/tag.h"
#include "xdd/io/target_file.h"
#include "xdd/plan/plan.h"
#include "xdd/run/run.h"
#include "xdd/sync/thread.h"

/*
 * Refuse files that are shorter than the range that a run reads, unless a pass may end before it
 * reaches its amount. In random and mixed passes each operation is computed, because only some of
 * them may read past the end.
 */

/* Operations that are computed, of all targets together; takes a tenth of a second. */
#define MAX_OPS (1ull << 22)

/* Files of procfs, sysfs and the like hold more than their size shows. */
static bool size_is_true(const struct target_plan *t)
{
	struct statfs fs;

	return t->kind != TARGET_FILE || statfs(t->path, &fs) || fs.f_blocks ||
	       fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

/* The end of a file that another target reads and writes is not known before the run. */
static bool is_mixed_by_another(const struct plan *plan, const struct target_plan *t)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *other = &plan->targets[i];

		if (other != t && other->op == OP_MIXED && strcmp(other->path, t->path) == 0)
			return true;
	}
	return false;
}

/* True: the last operation by offset ends where the range of the target ends. */
static bool end_is_exact(const struct target_plan *t)
{
	if (t->seek.pattern == SEEK_ONCE)
		return t->op == OP_READ && t->pass_ops >= t->range_bytes / t->req_bytes;
	return t->op == OP_READ && t->seek.pattern != SEEK_RANDOM && t->seek.pattern != SEEK_ZIPF &&
	       !(t->seek.pattern == SEEK_INTERLEAVE && t->range_bytes);
}

/*
 * True: one of the next `*left` operations reads past `size` and past all data written before it.
 */
static bool reads_past(const struct plan *plan, const struct target_plan *t, uint64_t size,
		       uint64_t *left)
{
	uint64_t passes = plan_sure_passes(plan);

	for (uint64_t pass = 1; pass <= passes; pass++) {
		struct access access;
		struct access_op op;

		access_init(&access, t, pass);
		for (uint64_t n = 0; n < t->pass_ops; n++) {
			if (!*left)
				return false;
			--*left;
			access_op(&access, n, &op);
			if (op.offset + op.size <= size || op.dir == DIR_NOOP)
				continue;
			if (op.dir == DIR_READ)
				return true;
			size = op.offset + op.size;
		}
	}
	return false;
}

static bool is_short(const struct plan *plan, const struct target_plan *t, uint64_t *left)
{
	uint64_t size = plan_size_in_run(t);

	if ((t->kind != TARGET_FILE && t->kind != TARGET_MISSING) || !plan_reads(t) ||
	    t->pass_ops == PLAN_UNLIMITED || plan_may_end_early(plan, t))
		return false;
	if (t->writer && t->writer->pretruncate && size < t->writer->pretruncate_bytes)
		size = t->writer->pretruncate_bytes;
	return t->end_bytes > size && size_is_true(t) && !is_mixed_by_another(plan, t) &&
	       (end_is_exact(t) || reads_past(plan, t, size, left));
}

/*
 * Report the first target that reads past the end of its file and past all data that the run writes
 * there. Targets that may end before their amount is reached are left out. Opens nothing. Main
 * thread.
 */
static enum xdd_status check_ends(const struct plan *plan)
{
	uint64_t left = MAX_OPS;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		char a[32], b[32];

		if (!is_short(plan, t, &left))
			continue;
		return plan_refuse(
			t,
			"the operations reach to %s, and it has %s; read less (-numreqs, -bytes), "
			"write it first, or end the passes with -timelimit",
			units_size_text(t->end_bytes, a, sizeof(a)),
			units_size_text(plan_size_in_run(t), b, sizeof(b)));
	}
	return XDD_OK;
}

/* Threads of any run beside its QThreads and the main thread: signals and results manager. */
#define OWN_THREADS 2

/* Files of any run that stay open: standard input, output and error. */
#define OWN_FILES 3

static enum xdd_status check_engine(const struct target_plan *t)
{
	struct err why;
	int err = engine_check(t, &why);

	return err ? plan_refuse(t, "-ioengine %s: %s", engine_of(t)->info.name,
				 err_text(&why, err)) :
		     XDD_OK;
}

/* Check limits that targets share: each target may be within them and all together not. */
static enum xdd_status check_engines(const struct plan *plan)
{
	const struct engine *engine;
	struct err why;
	int err = engine_check_all(plan, &engine, &why);

	return err ? log_refuse("-ioengine %s: %s", engine->info.name, why.text) : XDD_OK;
}

enum xdd_status run_refuse(const struct guard_refusal *r)
{
	return target_fail(XDD_TARGET_FAILED, r->target, "%s", r->why.text);
}

/* Refuse a run that needs more threads than the machine allows, before thousands are started. */
static enum xdd_status check_threads(const struct plan *plan, uint64_t *most)
{
	uint64_t threads = OWN_THREADS + endtoend_threads(plan);
	bool would_queue = false;
	struct err why;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		threads += t->qthreads;
		would_queue |= t->qthreads > 1 && t->kind != TARGET_NULL && !plan_queues(t);
	}
	/* All ranks of a host share its limits. */
	threads *= plan->ranks_per_node < plan->n_ranks ? plan->ranks_per_node : plan->n_ranks;
	if (threads <= *most || !thread_limit_exceeded(threads, &why)) {
		*most = threads > *most ? threads : *most;
		return XDD_OK;
	}
	return log_refuse("-targets, -queuedepth: the run needs %" PRIu64
			  " threads: %s; use fewer targets%s a smaller queue depth%s",
			  threads, why.text, would_queue ? "," : " or",
			  would_queue ? " or -ioengine libaio" : "");
}

/* Refuse a run whose files cannot all be open, before hundreds of them are. */
static enum xdd_status check_files(const struct plan *plan)
{
	const uint64_t files = private_fd_files(plan) + OWN_FILES;
	uint64_t limit;

	if (fileopen_make_room(files, &limit))
		return XDD_OK;
	return log_refuse("-targets: the run needs %" PRIu64
			  " open files, and the limit is %" PRIu64
			  " (ulimit -n); raise it, or use fewer targets",
			  files, limit);
}

enum xdd_status run_check(const struct plan *plan)
{
	uint64_t threads = 0;

	return run_check_next(plan, &threads);
}

enum xdd_status run_check_next(const struct plan *plan, uint64_t *threads)
{
	struct guard_refusal refusal;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		const char *missing;
		struct err why;
		int err = target_file_check(t, &why);

		if (err)
			return target_fail(XDD_TARGET_FAILED, t, "%s", err_text(&why, err));
		if (check_engine(t))
			return XDD_BAD_ARGUMENT;
		if (t->pattern.kind == PATTERN_TAGGED && !tag_available(&missing))
			return plan_refuse(t, "-datapattern tagged: %s", missing);
	}
	if (check_engines(plan) || check_threads(plan, threads) || check_files(plan) ||
	    endtoend_check(plan))
		return XDD_BAD_ARGUMENT;
	if (guard_check(plan, &refusal))
		return run_refuse(&refusal);
	return check_ends(plan) ? XDD_BAD_ARGUMENT : plan_check_room(plan);
}
