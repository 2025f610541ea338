/*
 * Refuse files that are shorter than the range that a run reads, unless a pass may end before it
 * reaches its amount. In random and mixed passes each operation is computed, because only some of
 * them may read past the end. Called by run_check().
 */
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "run/short_file.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/io/access.h"

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

bool short_file_found(const struct plan *plan)
{
	uint64_t left = MAX_OPS;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		char a[32], b[32];

		if (!is_short(plan, t, &left))
			continue;
		log_error(
			"target %u, %s: the operations reach to %s, and it has %s; read less (-numreqs, "
			"-bytes), write it first, or end the passes with -timelimit",
			t->number, t->path, units_size_text(t->end_bytes, a, sizeof(a)),
			units_size_text(plan_size_in_run(t), b, sizeof(b)));
		return true;
	}
	return false;
}
