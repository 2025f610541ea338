/*
 * Setup files: doc/user-guide.md, "Setup files". Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_SETUP_FILE_H
#define XDD_PLAN_SETUP_FILE_H

#include <stddef.h>

#include "xdd/base/memory.h"
#include "xdd/plan/option.h"

/* A line "[name]": the words that follow, up to the next such line, are a run of their own. */
struct setup_section {
	const char *name;
	unsigned line;
	size_t first; /* of `words`: the number of words before the line */
};

/* The words of a setup file. */
struct setup_words {
	struct word *words;
	size_t n;
	struct setup_section *sections;
	size_t n_sections;
};

/*
 * Split the setup file `name` into words, which are in memory of `arena`. Returns XDD_OK, or
 * another status with one line given to log_error().
 */
enum xdd_status setup_file_read(struct arena *arena, const struct word *name,
				struct setup_words *found);

#endif
