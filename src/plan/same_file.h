/*
 * Targets, and files that a run creates, that are the same file. Main thread, while a plan is
 * resolved and checked.
 */
#ifndef XDD_PLAN_SAME_FILE_H
#define XDD_PLAN_SAME_FILE_H

#include <sys/types.h>

#include "xdd/plan/plan.h"

struct arena;

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
 * The identities of all targets, those of the same file adjacent; to be freed by the caller. NULL:
 * memory is short.
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

#endif
