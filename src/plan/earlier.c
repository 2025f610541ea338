/*
 * Files as earlier runs will leave them; see the header. Called by feature_target.c after a target
 * was probed, and where lists and records are read.
 */
#include "plan/earlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/errors.h"
#include "plan/extent.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
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

/* The file `path` after the runs before `plan`. */
static void pass_earlier(const struct plan *plan, const char *path, struct state *s)
{
	const struct file_id id = plan_file_id(plan->arena, path);

	for (size_t i = 0; i < plan->n_earlier; i++) {
		pass_targets(&plan->earlier[i], &id, s);
		pass_new_files(plan->earlier[i].plan, path, s);
	}
}

void plan_probe_earlier(const struct plan *plan, struct target_plan *t)
{
	struct state s = { .exists = t->kind == TARGET_FILE, .bytes = t->size_bytes };

	if (!is_file(t) || !plan->n_earlier)
		return;
	pass_earlier(plan, t->path, &s);
	t->foreseen = s.exists != (t->kind == TARGET_FILE) || s.bytes != t->size_bytes;
	t->kind = s.exists ? TARGET_FILE : TARGET_MISSING;
	t->size_bytes = s.exists ? s.bytes : 0;
}

/* ---- series of plans ---- */

struct plan_series *plan_series_new(size_t most)
{
	struct plan_series *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->most = most;
	s->list = calloc(most + 1, sizeof(*s->list));
	if (s->list)
		return s;
	free(s);
	return NULL;
}

void plan_series_free(struct plan_series *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->list[i].ids);
		plan_free(s->list[i].plan);
	}
	free(s->list);
	free(s);
}

void plan_follow(struct plan *plan, const struct plan_series *series)
{
	plan->earlier = series ? series->list : NULL;
	plan->n_earlier = series ? series->n : 0;
}

enum xdd_status plan_series_add(struct plan_series *s, struct plan *plan,
				plan_list_writer *write_list)
{
	struct file_id *ids = s->n < s->most ? plan_file_ids(plan) : NULL;

	if (!ids)
		return plan_no_memory();
	s->list[s->n++] =
		(struct plan_earlier){ .plan = plan, .ids = ids, .write_list = write_list };
	return XDD_OK;
}

/* The file `path` as it is now. False: it is none. */
static bool look(const char *path, struct state *s)
{
	struct stat st;

	*s = (struct state){ .exists = stat(path, &st) == 0 };
	if (!s->exists)
		return errno == ENOENT;
	s->bytes = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode);
}

/* True if an earlier run leaves the files of all passes as `t` does. */
static bool is_made_before(const struct plan *plan, const struct target_plan *t)
{
	for (size_t i = plan->n_earlier; i-- > 0;) {
		const struct plan *before = plan->earlier[i].plan;

		for (size_t k = 0; k < before->n_targets; k++) {
			const struct target_plan *w = &before->targets[k];

			if (w->create_new_files && strcmp(w->path, t->path) == 0 &&
			    before->passes == plan->passes && w->delete_file == t->delete_file &&
			    written(before, w) == written(plan, t))
				return true;
		}
	}
	return false;
}

static enum plan_effect effect_on(const struct plan *plan, const struct target_plan *t)
{
	struct state before, after;

	if (t->create_new_files)
		return is_made_before(plan, t) ? PLAN_LEAVES : PLAN_EXTENDS;
	if (!look(t->path, &before))
		return PLAN_LEAVES;
	pass_earlier(plan, t->path, &before);
	after = before;
	pass_run(plan, t, &after);
	if (before.exists && (!after.exists || after.bytes < before.bytes))
		return PLAN_SHRINKS;
	return after.exists != before.exists || after.bytes != before.bytes ? PLAN_EXTENDS :
									      PLAN_LEAVES;
}

enum plan_effect plan_effect(const struct plan *plan)
{
	enum plan_effect worst = PLAN_LEAVES, effect;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!is_file(t) || (!plan_writes(t) && !t->delete_file))
			continue;
		effect = effect_on(plan, t);
		worst = effect > worst ? effect : worst;
	}
	return worst;
}

/* True if a run before `plan` changes the file of `t`. */
static bool is_changed_before(const struct plan *plan, const struct target_plan *t)
{
	struct state s = { .bytes = UINT64_MAX };

	/* No run leaves a state like that. */
	pass_earlier(plan, t->path, &s);
	return s.exists || s.bytes != UINT64_MAX;
}

bool plan_reads_earlier(const struct plan *plan, bool *needed)
{
	bool reads = false;

	*needed = false;
	for (size_t i = 0; i < plan->n_targets && plan->n_earlier; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!is_file(t) || !plan_reads(t))
			continue;
		reads = reads || is_changed_before(plan, t);
		*needed |= t->foreseen;
	}
	return reads;
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
