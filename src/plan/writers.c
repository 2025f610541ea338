/*
 * Targets that read what other targets of the same run write: their file may be missing before the
 * run, and ends where the writers end. Called while the plan is resolved.
 */
#include "plan/writers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/extent.h"
#include "xdd/base/log.h"

/* Only files grow; the files of -createnewfiles have other names than the target. */
static bool is_file(const struct target_plan *t)
{
	return (t->kind == TARGET_FILE || t->kind == TARGET_MISSING) && !t->create_new_files;
}

static bool is_writer(const struct target_plan *t)
{
	return is_file(t) && t->op == OP_WRITE;
}

static bool is_reader(const struct target_plan *t)
{
	return is_file(t) && t->op != OP_WRITE;
}

typedef void visit_file(const struct plan *plan, const struct file_id *ids, size_t n);

/* Call `visit` for the targets of each file. */
static void each_file(const struct plan *plan, const struct file_id *ids, visit_file *visit)
{
	size_t first = 0, n = plan->n_targets;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && file_id_compare(&ids[first], &ids[i]) == 0)
			continue;
		visit(plan, ids + first, i - first);
		first = i;
	}
}

/* Set the writer of each reader of a file: the first one, if any. */
static void give_writer(const struct plan *plan, const struct file_id *ids, size_t n)
{
	const struct target_plan *writer = NULL;

	(void)plan;
	for (size_t i = 0; i < n && !writer; i++) {
		if (is_writer(ids[i].target))
			writer = ids[i].target;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_reader(ids[i].target))
			ids[i].target->writer = writer;
	}
}

static enum xdd_status missing(const struct target_plan *t)
{
	log_error("target %u, %s: %s", t->number, t->path, strerror(ENOENT));
	return XDD_TARGET_FAILED;
}

enum xdd_status plan_find_writers(const struct plan *plan, struct file_id **ids)
{
	bool writers = false, readers = false;

	*ids = NULL;
	for (size_t i = 0; i < plan->n_targets; i++) {
		writers |= is_writer(&plan->targets[i]);
		readers |= is_reader(&plan->targets[i]);
	}
	if (writers && readers) {
		*ids = plan_file_ids(plan);
		if (!*ids)
			return plan_no_memory();
		each_file(plan, *ids, give_writer);
	}
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->kind == TARGET_MISSING && t->op != OP_WRITE && !t->writer)
			return missing(t);
	}
	return XDD_OK;
}

/* Set the end of what the writers of a file write for each of its readers. */
static void give_end(const struct plan *plan, const struct file_id *ids, size_t n)
{
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		const struct target_plan *t = ids[i].target;
		uint64_t own = t->pass_ops == PLAN_UNLIMITED ? PLAN_UNLIMITED :
							       plan_extent(plan, t);

		if (is_writer(t) && own > end)
			end = own;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_reader(ids[i].target))
			ids[i].target->written_bytes = end;
	}
}

void plan_find_ends(const struct plan *plan, const struct file_id *ids)
{
	if (ids)
		each_file(plan, ids, give_end);
}
