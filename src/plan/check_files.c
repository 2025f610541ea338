/*
 * Checks of what is to be done with files besides reading and writing them, and of -force. Called
 * while the plan is resolved.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xdd/base/blockdev.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/parse.h"

/* Where a target lies, for finding two that are the same. */
struct place {
	const struct target_plan *target;
	dev_t dev;
	ino_t ino;
	const char *name; /* of what is not there yet, in the folder dev, ino; else "" */
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
	return strcmp(p->name, q->name);
}

static struct place place_of(const struct target_plan *t)
{
	const char *slash = strrchr(t->path, '/'), *name = slash ? slash + 1 : t->path;
	struct place p = { .target = t, .name = "" };
	struct stat st;
	char *folder;

	if (t->kind == TARGET_NULL)
		return p;
	if (stat(t->path, &st) < 0) {
		p.name = name;
		folder = slash ? strndup(t->path, (size_t)(name - t->path)) : strdup(".");
		if (!folder || stat(folder, &st) < 0)
			st = (struct stat){ .st_ino = 0 };
		free(folder);
	}
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	return p;
}

/* The places of all targets, those of the same file side by side, to be freed; NULL when memory is short, which is said. */
static struct place *sorted_places(const struct plan *plan)
{
	struct place *places = calloc(plan->n_targets, sizeof(*places));

	if (!places) {
		log_error("%s", strerror(ENOMEM));
		return NULL;
	}
	for (size_t i = 0; i < plan->n_targets; i++)
		places[i] = place_of(&plan->targets[i]);
	qsort(places, plan->n_targets, sizeof(*places), compare);
	return places;
}

/* Targets that are made anew must not be another's: each would take the file away from the other. */
static enum xdd_status check_shared(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct place *places;
	bool any = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		any |= replaces(&plan->targets[i]);
	if (!any)
		return XDD_OK;
	places = sorted_places(plan);
	if (!places)
		return XDD_INIT_FAILED;
	for (size_t i = 1; !status && i < plan->n_targets; i++) {
		const struct target_plan *a = places[i - 1].target, *b = places[i].target;

		if (compare(&places[i - 1], &places[i]) || (!replaces(a) && !replaces(b)))
			continue;
		status = plan_refuse(a, "-%s: target %u is the same file",
				     makes_files(replaces(a) ? a : b), b->number);
	}
	free(places);
	return status;
}

/* Whether a target reads back what it writes, and knows by the tags what has to be there. */
static bool keeps_book(const struct target_plan *t)
{
	return t->op == OP_MIXED && t->pattern.kind == PATTERN_TAGGED && t->verify != VERIFY_NONE &&
	       t->kind != TARGET_NULL;
}

/* Whether a target goes, or may go, to all places between its first and its last. */
static bool leaves_no_gaps(const struct target_plan *t)
{
	return !t->rows && !t->pass_offset_bytes &&
	       (t->seek.pattern == SEEK_SEQUENTIAL || t->seek.pattern == SEEK_RANDOM ||
		t->seek.pattern == SEEK_NONE);
}

/* Whether two targets of the same file reach the same bytes; with gaps, they may go between each other's places. */
static bool overlap(const struct target_plan *a, const struct target_plan *b)
{
	return leaves_no_gaps(a) && leaves_no_gaps(b) && a->start_bytes < b->end_bytes &&
	       b->start_bytes < a->end_bytes;
}

static enum xdd_status check_tagged_pair(const struct target_plan *a, const struct target_plan *b)
{
	if (!keeps_book(a) || !plan_writes(b) || !overlap(a, b))
		return XDD_OK;
	return plan_refuse(
		a,
		"-datapattern tagged, -verify: target %u writes to the same bytes, which would be "
		"reported as wrong; give each its own part (-targetoffset), or one target all (-queuedepth)",
		b->number);
}

enum xdd_status plan_check_tagged(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct place *places;
	bool any = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		any |= keeps_book(&plan->targets[i]);
	if (!any)
		return XDD_OK;
	places = sorted_places(plan);
	if (!places)
		return XDD_INIT_FAILED;
	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		for (size_t j = i + 1; j < plan->n_targets && !status; j++) {
			if (compare(&places[i], &places[j]))
				break;
			status = check_tagged_pair(places[i].target, places[j].target);
			if (!status)
				status = check_tagged_pair(places[j].target, places[i].target);
		}
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

/* The path with the links in its folder resolved; false when there is no such folder, or no memory. */
static bool in_folder(const char *path, char real[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	bool found = folder && realpath(folder, real);
	size_t len = found ? strlen(real) : 0;

	free(folder);
	return found && snprintf(real + len, PATH_MAX - len, "%s%s", len > 1 ? "/" : "", name) <
				(int)(PATH_MAX - len);
}

/* The number of a pass as it stands behind the name of a file; 0 when it is none. */
static uint64_t pass_of(const char *text)
{
	char again[24];
	uint64_t pass;

	if (units_parse_u64(text, &pass))
		return 0;
	snprintf(again, sizeof(again), "%08" PRIu64, pass);
	return strcmp(again, text) == 0 ? pass : 0;
}

bool plan_makes_file(const struct plan *plan, const struct target_plan *t, const char *path)
{
	char own[PATH_MAX], other[PATH_MAX];
	uint64_t pass;
	size_t len;

	if (!t->create_new_files || t->kind == TARGET_NULL || !in_folder(t->path, own))
		return false;
	if (!realpath(path, other) && !in_folder(path, other))
		return false;
	len = strlen(own);
	if (strncmp(own, other, len) != 0 || other[len] != '.')
		return false;
	pass = pass_of(other + len + 1);
	return pass && pass <= plan->passes;
}

/* The files of the passes must not be other targets. */
static enum xdd_status check_new_files(const struct plan *plan, const struct target_plan *t)
{
	for (size_t i = 0; i < plan->n_targets && t->create_new_files; i++) {
		const struct target_plan *o = &plan->targets[i];

		if (o->kind != TARGET_NULL && !o->create_new_files &&
		    plan_makes_file(plan, t, o->path))
			return plan_refuse(t, "-createnewfiles would replace target %u, %s",
					   o->number, o->path);
	}
	return XDD_OK;
}

enum xdd_status plan_check_files(struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = check_kind(&plan->targets[i]);
	if (!status)
		status = check_shared(plan);
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = check_new_files(plan, &plan->targets[i]);
	for (size_t i = 0; i < plan->n_force && !status; i++)
		status = resolve_force(plan, plan->force[i]);
	return status;
}
