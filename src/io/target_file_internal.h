/*
 * Shared by the checks of targets before a run and the operations on their files.
 */
#ifndef XDD_IO_TARGET_FILE_INTERNAL_H
#define XDD_IO_TARGET_FILE_INTERNAL_H

#include "xdd/plan/plan.h"

/* Set `*why` to `text` (static) and return `err`. */
static inline int target_file_fail(int err, const char **why, const char *text)
{
	*why = text;
	return err;
}

/* Opened for reading: every target that does more than write or discard. */
static inline bool target_file_is_readable(const struct target_plan *plan)
{
	return plan->op != OP_WRITE && plan->op != OP_DISCARD;
}

/* A target that reads has no use for a new file. */
static inline bool target_file_may_create(const struct target_plan *plan)
{
	return plan->op == OP_WRITE;
}

/* The name of the file of a pass with -createnewfiles, to be freed; NULL when memory is short. */
char *target_file_name_of_pass(const struct target_plan *plan, uint64_t pass);

/*
 * Check that `name` can become the file of a pass: a regular file or nothing has that name. Returns
 * 0, or -errno with a text for people in `*why` (static) where the errno does not say it all.
 */
int target_file_check_name(const char *name, const char **why);

#endif
