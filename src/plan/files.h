/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of a plan: names of targets, those that are the same, that others write, that are read,
 * and as earlier runs leave them. Main thread, while a plan is built, resolved and checked.
 */
#ifndef XDD_PLAN_FILES_H
#define XDD_PLAN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xdd/base/status.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"

struct arena;

/*
 * Names with a number in them: file%02d stands for file00, file01 and so on.
 */

/* True if `name` has a conversion: %d, or %0Nd with N from 1 to 9. */
bool numbered_name_is(const char *name);

/*
 * The percent sign in `name` that begins neither a conversion nor "%%", or NULL. Such a sign makes
 * no sense in a name with a conversion.
 */
const char *numbered_name_wrong(const char *name);

/*
 * `name`, without such a sign, with `n` in place of each conversion and "%" in place of "%%"; in
 * memory of `arena`. NULL: there is none.
 */
const char *numbered_name(struct arena *arena, const char *name, uint64_t n);

/*
 * The names of the targets, while they are collected from the command line.
 */

/* A target before there is a plan for it. */
struct target_name {
	const char *text;
	const char *directory; /* that it was found in, if only that was named; NULL: was named */
};

/* The destination of OPT_NAMES. */
struct target_names {
	const char *dir;	   /* -targetdir of all targets; NULL: none */
	struct target_name *names; /* PLAN_MAX_TARGETS of them, or NULL */
	size_t n;
	const char **notes; /* on words with several names; ends with NULL; or NULL */
	size_t n_notes;
};

/* All return XDD_OK, or another status with one line given to log_error(). */

/*
 * Targets, and files that a run creates, that are the same file.
 */

/* The option by which files of the target are recreated, without its dash; NULL: none. */
const char *plan_recreating_option(const struct target_plan *t);

/* The identity of a target's file: the same for two targets of one file. */
struct file_id {
	struct target_plan *target;
	dev_t dev;
	ino_t ino;
	const char *name; /* of a missing file, in the directory dev, ino; otherwise "" */
};

/*
 * The identities of all targets, with equal ones adjacent; to be freed by the caller.
 */
struct file_id *plan_file_ids(const struct plan *plan);

/*
 * The identity of a file by its path, without a target, in memory of `arena`. A dangling link is
 * the file that it leads to.
 */
struct file_id plan_file_id(struct arena *arena, const char *path);

/* For qsort() and the like: 0 for two that are the same file. */
int file_id_compare(const void *a, const void *b);

/*
 * Refuse targets and outputs of which one would replace the file of another: -recreatefiles,
 * -createnewfiles, -seek save. XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status plan_check_same_files(const struct plan *plan);

/*
 * Refuse files of -restart that would replace a target, or each other. XDD_OK, or another status
 * with one line given to log_error().
 */
enum xdd_status plan_check_restart_files(const struct plan *plan);

/*
 * Refuse targets of which one is to read what another writes, and the buffer of an engine would
 * keep it from that. After plan_resolve_data(). XDD_OK, or another status with one line given to
 * log_error().
 */
enum xdd_status plan_check_buffered(const struct plan *plan);

/*
 * Refuse targets that verify tagged data while another target writes to the same bytes. After
 * plan_resolve_data(). XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status plan_check_tagged(const struct plan *plan);

/*
 * Targets that read what other targets of the run write.
 */

/*
 * Set `writer` of the targets that read a file which another target writes, once kinds and
 * operations are known; refuse a missing file that no target writes. `*ids` is for
 * plan_find_ends(), and to be freed by the caller; it may be NULL. Returns XDD_OK, or another
 * status with one line given to log_error().
 */
enum xdd_status plan_find_writers(const struct plan *plan, struct file_id **ids);

/* Set `written_bytes` of the readers, once the amounts of the writers are known. Accepts NULL. */
void plan_find_ends(const struct plan *plan, const struct file_id *ids);

/*
 * The files that a plan reads besides its targets: xdd/plan/plan.h, struct plan_input.
 */

/* Add the setup file `path`, which outlives the plan, to `plan`. */
void plan_add_setup(struct plan *plan, const char *path);

/*
 * Set `inputs` of a plan whose settings are applied, and refuse targets that write to one of them.
 * XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status plan_find_inputs(struct plan *plan);

/*
 * Files as earlier runs of the same command line will leave them, for the checks before the first
 * of these.
 */

struct plan_series {
	struct plan_earlier *list; /* of `most`; it does not move, as plans point to it */
	size_t n, most;
};

/* A run that comes before, and the files of its targets, sorted. */
struct plan_earlier {
	struct plan *plan;
	struct file_id *ids;
	plan_list_writer *write_list;
};

/* `plan`, which is about to be built, comes after the runs of `series`; NULL: of none. */
void plan_follow(struct plan *plan, const struct plan_series *series);

/*
 * Give `t`, which has been probed, the kind and the size that its file will have. Nothing where no
 * earlier run writes to it.
 */
void plan_probe_earlier(const struct plan *plan, struct target_plan *t);

/* True if an earlier run saves the list `path`: -seek save. */
bool plan_saves_list(const struct plan *plan, const char *path);

/*
 * The text of that list, or of the record `path` of a stonewall, as an earlier run saves it: the
 * last of several; to be freed. NULL: there is no such run. All operations of a pass count in a
 * record. plan_earlier_list() returns 0, or -errno.
 */
int plan_earlier_list(const struct plan *plan, const char *path, char **text);
char *plan_earlier_record(const struct plan *plan, const char *path);

/*
 * The kind, size and alignment of a target.
 */

/*
 * Find the kind of the target's path, its size, and the alignments of direct I/O. Nothing is opened
 * for I/O. Returns XDD_OK, or XDD_TARGET_FAILED with one line given to log_error().
 */
enum xdd_status probe_target(struct target_plan *t);

/*
 * The bytes of a target that a run touches. Main thread, while a plan is built.
 */

/* The largest offset a file may have. */
#define PLAN_MAX_OFFSET ((uint64_t)INT64_MAX)

/* True if the size of the target is known. */
bool plan_has_size(const struct target_plan *t);

/*
 * True if the source of a copy has nothing to send: an empty file, or one that -restart offset
 * leaves nothing of.
 */
bool plan_copies_nothing(const struct target_plan *t);

/* First byte of the range of the last pass. */
uint64_t plan_last_start(const struct plan *plan, const struct target_plan *t);

/*
 * Bytes of the target that every pass can have to itself, including those that other targets of the
 * run write to a new file; 0 where nothing is known or left.
 */
uint64_t plan_bytes_left(const struct plan *plan, const struct target_plan *t);

/*
 * The operations after which a sequential pass in a range starts over; UINT64_MAX: a pass of a mix
 * never does.
 */
uint64_t plan_lap_ops(const struct target_plan *t);

/* The byte after the last one that a run may touch; UINT64_MAX where it does not fit. */
uint64_t plan_extent(const struct plan *plan, const struct target_plan *t);

/*
 * Check that sizes and offsets of all operations are multiples of `unit_bytes`, which `option` asks
 * for; the size of the last one as well with `last`. Returns XDD_OK, or another status with one
 * line given to log_error().
 */
enum xdd_status plan_check_multiples(const struct target_plan *t, const char *option,
				     uint32_t unit_bytes, bool last);

/* Let a pass of target `t` have `ops` operations at most, 1 or more. */
void plan_limit_ops(struct target_plan *t, uint64_t ops);

#endif
