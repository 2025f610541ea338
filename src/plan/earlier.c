/*
 * Files as earlier runs will leave them; see the header. Called by feature_target.c after a target
 * was probed, and where lists and records are read.
 */
#include "plan/earlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/extent.h"
#include "xdd/base/arena.h"
#include "xdd/base/memstream.h"
#include "xdd/base/path.h"
#include "xdd/plan/stonewall_record.h"

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

/* ---- lists and records ---- */

/* Files of many targets: names that end otherwise are not looked up. */
static bool is_file_of(const struct plan *plan, const char *path, const char *other)
{
	struct file_id a, b;

	if (strcmp(path_last(path), path_last(other)))
		return false;
	a = plan_file_id(plan->arena, path);
	b = plan_file_id(plan->arena, other);
	return file_id_compare(&a, &b) == 0;
}

/* The target whose list an earlier run saves as `path`, and that run; NULL: none. */
static const struct target_plan *find_list(const struct plan *plan, const char *path,
					   const struct plan_earlier **run)
{
	for (size_t i = plan->n_earlier; i-- > 0;) {
		const struct plan *before = plan->earlier[i].plan;

		*run = &plan->earlier[i];
		for (size_t k = 0; k < before->n_targets && (*run)->write_list; k++) {
			const struct target_plan *t = &before->targets[k];
			const char *name = t->seek.save_file ?
						   arena_printf(plan->arena, "%s.T%u.txt",
								t->seek.save_file, t->number) :
						   NULL;

			if (name && is_file_of(plan, path, name))
				return t;
		}
	}
	return NULL;
}

bool plan_saves_list(const struct plan *plan, const char *path)
{
	const struct plan_earlier *run;

	return find_list(plan, path, &run);
}

/* The text that `m` has got, whose writer returned `err`. */
static int text_of(struct memstream *m, int err, char **text)
{
	const int closed = memstream_close(m);

	*text = m->text;
	err = err ? err : closed;
	if (!err)
		return 0;
	free(m->text);
	*text = NULL;
	return err;
}

int plan_earlier_list(const struct plan *plan, const char *path, char **text)
{
	const struct plan_earlier *run;
	const struct target_plan *t = find_list(plan, path, &run);
	struct memstream m;

	*text = NULL;
	if (!t)
		return 0;
	if (!memstream_open(&m))
		return -ENOMEM;
	return text_of(&m, run->write_list(t, m.f), text);
}

static bool saves_record(const struct plan *plan, const struct plan *before, const char *path)
{
	char *name = before->stonewall.save_file ?
			     stonewall_record_name(before->stonewall.save_file, before->rank) :
			     NULL;
	const bool saves = name && is_file_of(plan, path, name);

	free(name);
	return saves;
}

int plan_earlier_record(const struct plan *plan, const char *path, char **text)
{
	const struct plan *before = NULL;
	struct memstream m;

	*text = NULL;
	for (size_t i = plan->n_earlier; i-- > 0 && !before;) {
		if (saves_record(plan, plan->earlier[i].plan, path))
			before = plan->earlier[i].plan;
	}
	if (!before)
		return 0;
	if (!memstream_open(&m))
		return -ENOMEM;
	stonewall_record_begin(m.f, before);
	for (size_t i = 0; i < before->n_targets; i++) {
		const struct target_plan *t = &before->targets[i];

		if (t->op == OP_WRITE)
			stonewall_record_put(m.f, t, t->pass_ops);
	}
	return text_of(&m, 0, text);
}
