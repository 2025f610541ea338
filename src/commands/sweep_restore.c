/*
 * The state of the targets before each run of a point that writes: -restore. Called by
 * sweep_points.c for the checks and by sweep_run.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/plan/plan.h"
#include "xdd/run/run.h"

#define NUMBER_SIZE 24
#define MAX_WORDS 24
#define TITLE_SIZE 256

enum xdd_status sweep_restore_read(struct sweep *s)
{
	const char *text = s->line.restore;

	s->results.restore = text;
	s->recreates = text && strcmp(text, "recreate") == 0;
	s->preconditions = text && strcmp(text, "precondition") == 0;
	s->trims = text && strcmp(text, "trim") == 0;
	if (!text || s->recreates || s->preconditions || s->trims)
		return XDD_OK;
	log_error("%s: -restore %.64s: expected recreate, precondition or trim", s->kind->name,
		  text);
	return XDD_BAD_ARGUMENT;
}

bool sweep_writes(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		if (plan_changes(&plan->targets[i]))
			return true;
	}
	return false;
}

static bool is_changed(const struct target_plan *t)
{
	return plan_changes(t) && t->kind != TARGET_NULL;
}

/*
 * True if target `i` is to be restored by a run of its own. All of a file that several targets
 * write is written once, but each of them may have a range of its own to discard.
 */
static bool needs_run(const struct sweep *s, const struct plan *plan, size_t i)
{
	const struct target_plan *t = &plan->targets[i];

	if (!is_changed(t) || s->trims)
		return is_changed(t) && s->trims;
	for (size_t k = 0; k < i && s->preconditions; k++) {
		if (is_changed(&plan->targets[k]) && strcmp(plan->targets[k].path, t->path) == 0)
			return false;
	}
	return s->preconditions;
}

/* The words of a plan, which ends with NULL, and numbers among them. */
struct words {
	const char *list[MAX_WORDS];
	size_t n;
	char first[NUMBER_SIZE], size[NUMBER_SIZE];
};

static void add(struct words *w, const char *option, const char *value)
{
	w->list[w->n++] = option;
	if (value)
		w->list[w->n++] = value;
}

static const char *bytes_text(char *buf, uint64_t bytes)
{
	snprintf(buf, NUMBER_SIZE, "%" PRIu64 "B", bytes);
	return buf;
}

/* Write the whole target once, in sequence. */
static void add_precondition(struct words *w, const struct target_plan *t)
{
	add(w, "-op", "write");
	add(w, "-reqsize", "1M");
	add(w, "-queuedepth", "4");
	add(w, "-bytes", bytes_text(w->size, t->size_bytes));
	/* Storage may compress zeros, or not store them. */
	add(w, "-datapattern", "random");
	add(w, t->direct_io ? "-dio" : "-syncwrite", NULL);
}

/* Discard what the run may touch, from `first` to before `end`. */
static void add_trim(struct words *w, uint64_t first, uint64_t end)
{
	add(w, "-op", "discard");
	add(w, "-ioengine", "psync");
	/* The range begins and ends at any byte; a device has its own rules for that. */
	add(w, "-blocksize", "1B");
	add(w, "-reqsize", "64M");
	add(w, "-startoffset", bytes_text(w->first, first));
	add(w, "-bytes", bytes_text(w->size, end - first));
	/* Or the file system frees the storage while the point is measured. */
	add(w, "-syncwrite", NULL);
}

/* The range of a target that all passes of a run touch, as far as the target exists. */
static void find_range(const struct plan *plan, const struct target_plan *t, uint64_t *first,
		       uint64_t *end)
{
	plan_pass_range(t, 1, first, end);
	*end = t->end_bytes;
	/* An operation that time leaves undone is none past the end. */
	if ((t->pass_ops == PLAN_UNLIMITED || plan_may_end_early(plan, t)) && *end > t->size_bytes)
		*end = t->size_bytes;
}

static enum xdd_status refuse(const struct sweep *s, const struct target_plan *t, const char *why)
{
	log_error("-restore %s: target %u, %s: %s", s->line.restore, t->number, t->path, why);
	return XDD_BAD_ARGUMENT;
}

/* The plan of the run that restores a target, with the guards of any write. */
static enum xdd_status make_plan(const struct sweep *s, const struct plan *point,
				 const struct target_plan *t, struct plan **plan)
{
	struct words w = { .n = 0 };
	uint64_t first, end;

	if (t->kind == TARGET_MISSING)
		return refuse(s, t, "does not exist; write it once before");
	if (!t->size_bytes)
		return refuse(s, t,
			      t->kind == TARGET_FILE ? "is empty; write it once before" :
						       "has no size");
	find_range(point, t, &first, &end);
	if (s->trims && first >= end)
		return refuse(s, t, "has nothing in the range of the point; write it once before");
	add(&w, "xdd", NULL);
	add(&w, "-target", t->path);
	if (s->trims)
		add_trim(&w, first, end);
	else
		add_precondition(&w, t);
	if (t->forced)
		add(&w, "-force", t->path);
	return runner_plan(w.list, plan);
}

enum xdd_status sweep_restore_check(struct sweep *s, const struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		struct plan *writer = NULL;

		if (!needs_run(s, plan, i))
			continue;
		status = make_plan(s, plan, &plan->targets[i], &writer);
		if (!status)
			status = run_check(writer);
		plan_free(writer);
	}
	return status;
}

enum xdd_status sweep_restore(struct sweep *s, const struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];
		char title[TITLE_SIZE];
		const struct report_sink sink = { .title = title };
		struct plan *writer = NULL;

		if (!needs_run(s, plan, i))
			continue;
		snprintf(title, sizeof(title), "%s %.200s", s->line.restore, t->path);
		status = make_plan(s, plan, t, &writer);
		if (!status)
			status = runner_run(&s->runner, writer, &sink);
		if (s->runner.stuck)
			return status;
		plan_free(writer);
	}
	return status;
}
