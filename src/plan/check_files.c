/*
 * Checks of what is to be done with files besides reading and writing them, of the files of -seek save,
 * and of -force. Called while the plan is resolved.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/blockdev.h"
#include "xdd/base/log.h"
#include "xdd/plan/parse.h"

/* Where a file lies, for finding two that are the same. */
struct place {
	const struct target_plan *target;
	const char *path;
	dev_t dev;
	ino_t ino; /* 0: nothing is there yet, its path decides */
};

static const char *makes_files(const struct target_plan *t)
{
	return t->create_new_files ? "createnewfiles" : "recreatefiles";
}

static bool replaces(const struct target_plan *t)
{
	return t->kind != TARGET_NULL && (t->create_new_files || t->recreate_files);
}

static enum xdd_status check_kind(const struct target_plan *t)
{
	const char *option = replaces(t) ? makes_files(t) : t->delete_file ? "deletefile" : NULL;

	if (!option || t->kind == TARGET_NULL)
		return XDD_OK;
	if (t->kind == TARGET_BLOCK || t->kind == TARGET_CHAR)
		return plan_refuse(t, "-%s: this is a device, and only regular files are removed",
				   option);
	if (!replaces(t))
		return XDD_OK;
	if (t->op != OP_WRITE)
		return plan_refuse(
			t, "-%s: a new file holds nothing that could be read; say -op write",
			option);
	if (t->engine && strcmp(t->engine, "mmap") == 0)
		return plan_refuse(t, "-%s: the engine mmap cannot write to a new file", option);
	return XDD_OK;
}

static int compare(const void *a, const void *b)
{
	const struct place *p = a, *q = b;

	if (p->dev != q->dev)
		return p->dev < q->dev ? -1 : 1;
	if (p->ino != q->ino)
		return p->ino < q->ino ? -1 : 1;
	return p->ino ? 0 : strcmp(p->path, q->path);
}

/* The places of all targets, those that are the same side by side; to be freed. NULL: memory is short. */
static struct place *sorted_places(const struct plan *plan)
{
	struct place *places = calloc(plan->n_targets, sizeof(*places));

	if (!places)
		return NULL;
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		struct stat st;

		places[i].target = t;
		places[i].path = t->path;
		if (t->kind != TARGET_NULL && stat(t->path, &st) == 0) {
			places[i].dev = st.st_dev;
			places[i].ino = st.st_ino;
		}
	}
	qsort(places, plan->n_targets, sizeof(*places), compare);
	return places;
}

/* Targets that are made anew must not be another's: each would take the file away from the other. */
static enum xdd_status check_shared(const struct place *places, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct target_plan *a = places[i - 1].target, *b = places[i].target;

		if (compare(&places[i - 1], &places[i]) == 0 && (replaces(a) || replaces(b)))
			return plan_refuse(a, "-%s: target %u is the same file",
					   makes_files(replaces(a) ? a : b), b->number);
	}
	return XDD_OK;
}

/* The file of -seek save is made beside its place, and then renamed. */
static enum xdd_status check_save_file(const struct plan *plan, const struct place *places,
				       const struct target_plan *t)
{
	char *path = arena_printf(plan->arena, "%s.T%u.txt", t->seek.save_file, t->number);
	char *copy = path ? arena_strdup(plan->arena, path) : NULL;
	struct place place = { .path = path };
	const struct place *found;
	struct stat st;
	int err = 0;

	if (!copy) {
		err = ENOMEM;
	} else if (stat(path, &st) == 0) {
		err = S_ISDIR(st.st_mode) ? EISDIR : 0;
		place.dev = st.st_dev;
		place.ino = st.st_ino;
	} else if (errno != ENOENT) {
		err = errno;
	}
	found = err ? NULL : bsearch(&place, places, plan->n_targets, sizeof(*places), compare);
	if (found)
		return plan_refuse(found->target,
				   "-seek save %s would replace this target: the list goes to %s",
				   t->seek.save_file, path);
	if (!err && faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) < 0)
		err = errno;
	if (!err)
		return XDD_OK;
	log_error("-seek save %s: %s", t->seek.save_file, strerror(err));
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status check_places(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct place *places;
	bool wanted = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		wanted |= replaces(&plan->targets[i]) || plan->targets[i].seek.save_file;
	if (!wanted)
		return XDD_OK;
	places = sorted_places(plan);
	if (!places)
		return plan_no_memory();
	status = check_shared(places, plan->n_targets);
	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		if (plan->targets[i].seek.save_file)
			status = check_save_file(plan, places, &plan->targets[i]);
	}
	free(places);
	return status;
}

static bool is_same_device(const char *name, const struct target_plan *t)
{
	dev_t a, b;

	if (t->kind == TARGET_NULL)
		return false;
	if (strcmp(name, t->path) == 0)
		return true;
	return (t->kind == TARGET_BLOCK || t->kind == TARGET_CHAR) && blockdev_number(name, &a) &&
	       blockdev_number(t->path, &b) && a == b;
}

static enum xdd_status resolve_force(const struct plan *plan, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < plan->n_targets; i++) {
		struct target_plan *t = &plan->targets[i];

		if (is_same_device(name, t))
			found = t->forced = true;
	}
	if (found)
		return XDD_OK;
	log_error("-force %s: none of the targets is this device; name one that is", name);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status plan_check_files(struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = check_kind(&plan->targets[i]);
	if (!status)
		status = check_places(plan);
	for (size_t i = 0; i < plan->n_force && !status; i++)
		status = resolve_force(plan, plan->force[i]);
	return status;
}
