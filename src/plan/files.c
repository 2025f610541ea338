/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of a plan: those that it reads besides its targets, targets that read what others write,
 * and checks of files that would replace each other. Called while a plan is built and resolved.
 */
#include "plan/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/stonewall_record.h"

/*
 * The files that a plan reads besides its targets, so that no output of the same command replaces
 * them.
 */

static void inputs_add(struct plan *plan, const char *option, const char *path)
{
	struct plan_input *input = xarena_alloc(plan->arena, sizeof(*input));

	*input = (struct plan_input){ .option = option, .path = path, .next = plan->inputs };
	plan->inputs = input;
}

void plan_add_setup(struct plan *plan, const char *path)
{
	inputs_add(plan, "-setup", path);
}

/* Lists of targets: the words that begin with @. */
static void add_lists(struct plan *plan, const struct setting *s)
{
	if (s->by_default || s->opt->type != OPT_NAMES)
		return;
	for (size_t i = 0; i < s->n_args; i++) {
		const char *text = s->args[i].text;

		if (*text == '@' && text[1])
			inputs_add(plan, "a list of -targets",
				   strcmp(text, "@-") ? text + 1 : "/dev/stdin");
	}
}

static void add_of_target(struct plan *plan, const struct target_plan *t)
{
	if (t->seek.pattern == SEEK_LOAD)
		inputs_add(plan, "-seek load", seek_load_name(plan, t));
	if (t->pattern.kind == PATTERN_FILE && t->pattern.file)
		inputs_add(plan, "-datapattern file", t->pattern.file);
	if (t->endtoend.key_file)
		inputs_add(plan, "-endtoend key", t->endtoend.key_file);
	if (t->restart.file)
		inputs_add(plan, "-restart file", t->restart.file);
}

static void add_record(struct plan *plan)
{
	char *name;

	if (!plan->stonewall.load_file)
		return;
	name = xneed(stonewall_record_name(plan->stonewall.load_file, plan->rank));
	inputs_add(plan, "-stonewall load", xarena_strdup(plan->arena, name));
	free(name);
}

/* Data that is written over a list or a setup file would destroy it. */
static enum xdd_status check_input(const struct plan *plan, const struct file_id *ids,
				   const struct plan_input *input)
{
	const struct file_id id = plan_file_id(plan->arena, input->path);

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = ids[i].target;

		if (plan_changes(t) && t->kind == TARGET_FILE && file_id_compare(&id, &ids[i]) == 0)
			return plan_refuse(t, "must not be written: %s reads this file",
					   input->option);
	}
	return XDD_OK;
}

static enum xdd_status check_targets(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct file_id *ids;

	if (!plan->inputs || !plan->n_targets)
		return XDD_OK;
	ids = plan_file_ids(plan);
	for (const struct plan_input *input = plan->inputs; input && !status; input = input->next) {
		/* Compared by the check of these files. */
		if (strcmp(input->option, "-restart file"))
			status = check_input(plan, ids, input);
	}
	free(ids);
	return status;
}

enum xdd_status plan_find_inputs(struct plan *plan)
{
	add_record(plan);
	for (size_t i = 0; i < plan->n_settings; i++)
		add_lists(plan, &plan->settings[i]);
	for (size_t i = 0; i < plan->n_targets; i++)
		add_of_target(plan, &plan->targets[i]);
	return check_targets(plan);
}

/*
 * Targets that read what other targets of the same run write: their file may be missing before the
 * run, and ends where the writers end.
 */

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
	return target_fail(XDD_TARGET_FAILED, t, "%s", strerror(ENOENT));
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
		each_file(plan, *ids, give_writer);
	}
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
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

/*
 * Checks of files that would replace each other: targets that are recreated, the lists of -seek
 * save and the files of -createnewfiles; and of targets that write where another verifies.
 */

const char *plan_recreating_option(const struct target_plan *t)
{
	if (t->kind == TARGET_NULL)
		return NULL;
	return t->create_new_files ? "createnewfiles" : t->recreate_files ? "recreatefiles" : NULL;
}

int file_id_compare(const void *a, const void *b)
{
	const struct file_id *p = a, *q = b;

	if (p->dev != q->dev)
		return p->dev < q->dev ? -1 : 1;
	if (p->ino != q->ino)
		return p->ino < q->ino ? -1 : 1;
	return strcmp(p->name, q->name);
}

struct file_id plan_file_id(struct arena *arena, const char *path)
{
	struct file_id p = { .name = "" };
	char *name = NULL, *directory;
	struct stat st;

	if (stat(path, &st) < 0) {
		if (fileopen_follow(path, &name))
			name = NULL;
		directory = path_directory(name ? name : path);
		p.name = xarena_strdup(arena, path_last(name ? name : path));
		if (!p.name)
			p.name = path_last(path);
		if (!directory || stat(directory, &st) < 0)
			st = (struct stat){ .st_ino = 0 };
		free(directory);
		free(name);
	}
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	return p;
}

struct file_id *plan_file_ids(const struct plan *plan)
{
	struct file_id *ids = xcalloc(plan->n_targets, sizeof(*ids));

	for (size_t i = 0; i < plan->n_targets; i++) {
		struct target_plan *t = &plan->targets[i];

		ids[i] = t->kind == TARGET_NULL ? (struct file_id){ .name = "" } :
						  plan_file_id(plan->arena, t->path);
		ids[i].target = t;
	}
	qsort(ids, plan->n_targets, sizeof(*ids), file_id_compare);
	return ids;
}

/*
 * The path with the links in its directory resolved, and the links of the file itself if it exists
 * and `follow` is set; to be freed. NULL if there is no such directory, or no memory.
 */
static char *real_path(const char *path, bool follow)
{
	char *real = follow ? realpath(path, NULL) : NULL, *directory, *real_directory;

	if (real)
		return real;
	directory = path_directory(path);
	real_directory = directory ? realpath(directory, NULL) : NULL;
	if (real_directory &&
	    asprintf(&real, "%s%s%s", real_directory, strcmp(real_directory, "/") == 0 ? "" : "/",
		     path_last(path)) < 0)
		real = NULL;
	free(real_directory);
	free(directory);
	return real;
}

static bool recreates(const struct target_plan *t)
{
	return plan_recreating_option(t) && !t->create_new_files;
}

/* True if two targets of one file name it alike: recreated by two names it would become two. */
static bool have_one_name(const struct target_plan *a, const struct target_plan *b)
{
	char *name = real_path(a->path, true), *other = real_path(b->path, true);
	const bool same = name && other && strcmp(name, other) == 0;

	free(name);
	free(other);
	return same;
}

/* The reason why two targets, of which one is recreated, cannot share a file; NULL: they can. */
static const char *keeps_apart(const struct target_plan *a, const struct target_plan *b)
{
	if (a->create_new_files || b->create_new_files || a->kind != b->kind)
		return "is the same file";
	if (!recreates(a) || !recreates(b))
		return "is the same file; recreate it by both of them or by none";
	return have_one_name(a, b) ? NULL : "is the same file by another name";
}

/*
 * The `n` targets of one file. Each that is recreated alone would remove the file of the others;
 * together they recreate it once for each pass.
 */
static enum xdd_status same_file_share(const struct file_id *ids, size_t n)
{
	const struct target_plan *first = ids[0].target;

	for (size_t i = 1; i < n; i++) {
		const struct target_plan *t = ids[i].target;
		const char *option = plan_recreating_option(first) ? plan_recreating_option(first) :
								     plan_recreating_option(t);

		const char *why = option ? keeps_apart(first, t) : NULL;

		if (why)
			return plan_refuse(first, "-%s: target %u %s", option, t->number, why);
	}
	for (size_t i = 0; i < n && n > 1 && recreates(first); i++) {
		ids[i].target->shared_with = first;
		ids[i].target->sharers = (uint32_t)n;
	}
	return XDD_OK;
}

static enum xdd_status check_shared(const struct file_id *ids, size_t n)
{
	enum xdd_status status = XDD_OK;
	size_t first = 0;

	for (size_t i = 1; i <= n && !status; i++) {
		if (i < n && file_id_compare(&ids[first], &ids[i]) == 0)
			continue;
		status = same_file_share(ids + first, i - first);
		first = i;
	}
	return status;
}

/* The file of -seek save is created beside its name, and then renamed. */
static enum xdd_status check_save_file(const struct plan *plan, const struct file_id *ids,
				       const struct target_plan *t)
{
	char *path = xarena_printf(plan->arena, "%s.T%u.txt", t->seek.save_file, t->number);
	const struct file_id *found;
	char why[OUTPUT_WHY_SIZE];
	struct file_id id;

	id = plan_file_id(plan->arena, path);
	found = bsearch(&id, ids, plan->n_targets, sizeof(*ids), file_id_compare);
	if (found)
		return plan_refuse(found->target,
				   "-seek save %s would replace this target: the list goes to %s",
				   t->seek.save_file, path);
	if (!output_check_new(path, why))
		return XDD_OK;
	return log_refuse("-seek save %s: %s: %s", t->seek.save_file, path, why);
}

static enum xdd_status check_replaced(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct file_id *ids;
	bool wanted = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		wanted |= plan_recreating_option(&plan->targets[i]) ||
			  plan->targets[i].seek.save_file;
	if (!wanted)
		return XDD_OK;
	ids = plan_file_ids(plan);
	status = check_shared(ids, plan->n_targets);
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		if (plan->targets[i].seek.save_file)
			status = check_save_file(plan, ids, &plan->targets[i]);
	free(ids);
	return status;
}

/* The number of a pass at the end of the name of a file; 0 if there is none. */
static uint64_t pass_of(const char *text)
{
	char again[24];
	uint64_t pass;

	if (units_parse_u64(text, &pass))
		return 0;
	snprintf(again, sizeof(again), "%08" PRIu64, pass);
	return strcmp(again, text) == 0 ? pass : 0;
}

/* True if `path` is the file that -createnewfiles creates for `name` in one of the passes. */
static bool is_of_pass(const struct plan *plan, const char *name, const char *path)
{
	size_t len = strlen(name);
	uint64_t pass;

	if (strncmp(name, path, len) != 0 || path[len] != '.')
		return false;
	pass = pass_of(path + len + 1);
	return pass && pass <= plan->passes;
}

bool plan_makes_file(const struct plan *plan, const struct target_plan *t, const char *path)
{
	bool makes = t->create_new_files && t->kind != TARGET_NULL;
	char *name = makes ? real_path(t->path, false) : NULL;
	char *real = name ? real_path(path, true) : NULL;

	makes = real && is_of_pass(plan, name, real);
	free(real);
	free(name);
	return makes;
}

/* Refuse targets of `plan` that `t` would replace; `real` has the names of their files, or NULL. */
static enum xdd_status check_new_files_of(const struct plan *plan, const struct target_plan *t,
					  char *const *real)
{
	enum xdd_status status = XDD_OK;
	char *name = real_path(t->path, false);

	for (size_t i = 0; name && i < plan->n_targets && !status; i++) {
		const struct target_plan *o = &plan->targets[i];

		if (real[i] && !o->create_new_files && is_of_pass(plan, name, real[i]))
			status = plan_refuse(t, "-createnewfiles would replace target %u, %s",
					     o->number, o->path);
	}
	free(name);
	return status;
}

/* The files of the passes must not be other targets. */
static enum xdd_status check_new_files(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	bool wanted = false;
	char **real;

	for (size_t i = 0; i < plan->n_targets; i++)
		wanted |= plan->targets[i].create_new_files;
	if (!wanted)
		return XDD_OK;
	real = xcalloc(plan->n_targets, sizeof(*real));
	for (size_t i = 0; i < plan->n_targets; i++)
		if (plan->targets[i].kind != TARGET_NULL)
			real[i] = real_path(plan->targets[i].path, true);
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		if (plan->targets[i].create_new_files && plan->targets[i].kind != TARGET_NULL)
			status = check_new_files_of(plan, &plan->targets[i], real);
	for (size_t i = 0; i < plan->n_targets; i++)
		free(real[i]);
	free(real);
	return status;
}

enum xdd_status plan_check_same_files(const struct plan *plan)
{
	enum xdd_status status = check_replaced(plan);

	return status ? status : check_new_files(plan);
}

/* The file of -restart, where the target has one; otherwise NULL. */
static const char *restart_file(const struct target_plan *t)
{
	return t->endtoend.role == E2E_DESTINATION ? t->restart.file : NULL;
}

/* The restart file is created beside its name, and then renamed. */
static enum xdd_status check_restart_file(const struct plan *plan, const struct file_id *ids,
					  const struct target_plan *t)
{
	struct file_id id = plan_file_id(plan->arena, t->restart.file);
	const struct file_id *found =
		bsearch(&id, ids, plan->n_targets, sizeof(*ids), file_id_compare);
	char why[OUTPUT_WHY_SIZE];

	if (found)
		return plan_refuse(t, "-restart file %s: is target %u", t->restart.file,
				   found->target->number);
	for (const struct target_plan *o = plan->targets; o < t; o++) {
		struct file_id other;

		if (!restart_file(o))
			continue;
		other = plan_file_id(plan->arena, o->restart.file);
		if (file_id_compare(&id, &other) == 0)
			return plan_refuse(t, "-restart file %s: is the file of target %u too",
					   t->restart.file, o->number);
	}
	if (!output_check_new(t->restart.file, why))
		return XDD_OK;
	return plan_refuse(t, "-restart file %s: %s", t->restart.file, why);
}

enum xdd_status plan_check_restart_files(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct file_id *ids = NULL;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!restart_file(t))
			continue;
		if (!ids)
			ids = plan_file_ids(plan);
		status = check_restart_file(plan, ids, t);
	}
	free(ids);
	return status;
}

/* True if what a target writes is verified by the tags, by itself or by the run after this one. */
static bool keeps_book(const struct plan *plan, const struct target_plan *t)
{
	const bool verifies = (t->op == OP_MIXED && t->verify != VERIFY_NONE) ||
			      (t->op == OP_WRITE && plan->read_back);

	return verifies && t->pattern.kind == PATTERN_TAGGED && t->kind != TARGET_NULL;
}

/* True if a target may use all offsets between its first and its last. */
static bool leaves_no_gaps(const struct target_plan *t)
{
	return !t->rows && !t->pass_offset_bytes && !t->layout.block_bytes &&
	       (t->seek.pattern == SEEK_SEQUENTIAL || seek_is_random(t->seek.pattern) ||
		t->seek.pattern == SEEK_NONE);
}

/*
 * True if two targets of the same file reach the same bytes; with gaps, their offsets may differ.
 */
static bool overlap(const struct target_plan *a, const struct target_plan *b)
{
	return leaves_no_gaps(a) && leaves_no_gaps(b) && a->start_bytes < b->end_bytes &&
	       b->start_bytes < a->end_bytes;
}

static enum xdd_status check_tagged_pair(const struct plan *plan, const struct target_plan *a,
					 const struct target_plan *b)
{
	if (!keeps_book(plan, a) || !plan_changes(b) || !overlap(a, b))
		return XDD_OK;
	return plan_refuse(
		a,
		"-datapattern tagged, -verify: target %u %s the same bytes, which would be "
		"reported as wrong; give each its own part (-targetoffset), or one target all "
		"(-queuedepth)",
		b->number, plan_writes(b) ? "writes to" : "discards");
}

/* True if what the target reads or writes stays in a buffer of its engine. */
static bool is_buffered(const struct target_plan *t)
{
	return plan_engine_caps(t) & ENGINE_BUFFERS;
}

/* `reader` may depend on what `writer` writes. */
static enum xdd_status check_buffered_pair(const struct plan *plan,
					   const struct target_plan *reader,
					   const struct target_plan *writer)
{
	const struct target_plan *buffered = is_buffered(writer) ? writer : reader;

	(void)plan;
	if (!plan_reads(reader) || !plan_writes(writer) || !is_buffered(buffered) ||
	    (reader->verify == VERIFY_NONE && reader->writer != writer))
		return XDD_OK;
	return plan_refuse(buffered,
			   "-ioengine %s: the buffer keeps target %u from reading what target %u "
			   "has written; say unbuffered, or write and read in two runs",
			   plan_engine(buffered)->name, reader->number, writer->number);
}

typedef enum xdd_status check_pair(const struct plan *plan, const struct target_plan *a,
				   const struct target_plan *b);

/* Call `check` with the targets of each file, two at a time, in both orders. */
static enum xdd_status check_pairs(const struct plan *plan, check_pair *check)
{
	enum xdd_status status = XDD_OK;
	struct file_id *ids = plan_file_ids(plan);

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		for (size_t j = i + 1; j < plan->n_targets && !status; j++) {
			if (file_id_compare(&ids[i], &ids[j]))
				break;
			status = check(plan, ids[i].target, ids[j].target);
			if (!status)
				status = check(plan, ids[j].target, ids[i].target);
		}
	}
	free(ids);
	return status;
}

enum xdd_status plan_check_buffered(const struct plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		any |= is_buffered(&plan->targets[i]);
	return any && plan->n_targets > 1 ? check_pairs(plan, check_buffered_pair) : XDD_OK;
}

enum xdd_status plan_check_tagged(const struct plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		any |= keeps_book(plan, &plan->targets[i]);
	return any ? check_pairs(plan, check_tagged_pair) : XDD_OK;
}
