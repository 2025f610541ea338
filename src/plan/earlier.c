/*
 * Files as earlier runs will leave them; see the header. Called by feature_target.c after a target
 * was probed.
 */
#include "plan/earlier.h"

#include <stdlib.h>

#include "plan/extent.h"

/* Of a file that a run ends by time: large enough for any range, and far from an overflow. */
#define UNKNOWN_BYTES (UINT64_C(1) << 50)

/* A file between two runs. */
struct state {
	bool exists;
	uint64_t bytes;
};

static bool is_file(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_MISSING;
}

static bool ends_with_pass(const struct plan *plan, const struct target_plan *t)
{
	return t->pass_ops == PLAN_UNLIMITED || plan_may_end_early(plan, t) || plan->stonewall.on;
}

/* The end of what `t` writes, at most. */
static uint64_t written(const struct plan *plan, const struct target_plan *t)
{
	return ends_with_pass(plan, t) ? UNKNOWN_BYTES : plan_extent(plan, t);
}

/* The run with target `w` on the file. */
static void pass_run(const struct plan *plan, const struct target_plan *w, struct state *s)
{
	uint64_t end;

	if (plan_writes(w)) {
		if (plan_recreates(w))
			s->bytes = 0;
		if (w->pretruncate)
			s->bytes = w->pretruncate_bytes;
		end = written(plan, w);
		s->bytes = end > s->bytes ? end : s->bytes;
		s->exists = true;
	}
	if (w->delete_file)
		*s = (struct state){ .exists = false };
}

/* The targets of an earlier run on the file with `id`. */
static void pass_targets(const struct plan_earlier *e, const struct file_id *id, struct state *s)
{
	const size_t n = e->plan->n_targets;
	const struct file_id *found = bsearch(id, e->ids, n, sizeof(*e->ids), file_id_compare);

	if (!found)
		return;
	while (found > e->ids && file_id_compare(found - 1, id) == 0)
		found--;
	for (; found < e->ids + n && file_id_compare(found, id) == 0; found++) {
		if (is_file(found->target) && !found->target->create_new_files)
			pass_run(e->plan, found->target, s);
	}
}

/* Files with the number of a pass in their names. */
static void pass_new_files(const struct plan *plan, const char *path, struct state *s)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *w = &plan->targets[i];

		if (!w->create_new_files || !plan_makes_file(plan, w, path))
			continue;
		*s = (struct state){ .exists = !w->delete_file, .bytes = written(plan, w) };
	}
}

void plan_probe_earlier(const struct plan *plan, struct target_plan *t)
{
	struct state s = { .exists = t->kind == TARGET_FILE, .bytes = t->size_bytes };
	struct file_id id;

	if (!is_file(t) || !plan->n_earlier)
		return;
	id = plan_file_id(plan->arena, t->path);
	for (size_t i = 0; i < plan->n_earlier; i++) {
		pass_targets(&plan->earlier[i], &id, &s);
		pass_new_files(plan->earlier[i].plan, t->path, &s);
	}
	t->foreseen = s.exists != (t->kind == TARGET_FILE) || s.bytes != t->size_bytes;
	t->kind = s.exists ? TARGET_FILE : TARGET_MISSING;
	t->size_bytes = s.exists ? s.bytes : 0;
}
