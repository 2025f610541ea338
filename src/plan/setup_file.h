/*
 * Setup files: doc/user-guide.md, "Setup files". Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_SETUP_FILE_H
#define XDD_PLAN_SETUP_FILE_H

#include <stddef.h>

#include "xdd/base/arena.h"
#include "xdd/plan/option.h"

/*
 * Split the setup file `name` into words, which are in memory of `arena`. Returns XDD_OK, or
 * another status with one line given to log_error().
 */
enum xdd_status setup_file_read(struct arena *arena, const struct word *name, struct word **words,
				size_t *n_words);

#endif
