/*
 * The names of the targets, while they are collected from the command line. Main thread, while a
 * plan is built.
 */
#ifndef XDD_PLAN_TARGET_NAMES_H
#define XDD_PLAN_TARGET_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/status.h"
#include "xdd/plan/option.h"

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

/* Add `n` targets of the name in `w`. */
enum xdd_status target_names_add(struct target_names *t, const struct setting *s,
				 const struct word *w, uint64_t n);

/*
 * True if `w`, the only name after the count `n`, stands for `n` numbered names. One target of the
 * very name of a file that exists is that file.
 */
bool target_names_is_numbered(const struct target_names *t, const struct setting *s,
			      const struct word *w, uint64_t n);

/* Add `n` targets with the names that `w` stands for: file%02d is file00, file01 and so on. */
enum xdd_status target_names_numbered(struct target_names *t, const struct setting *s,
				      const struct word *w, uint64_t n);

/*
 * Add the targets that `w` stands for: a name, a pattern of names, a directory, or @ and the name
 * of a list.
 */
enum xdd_status target_names_expand(struct target_names *t, const struct setting *s,
				    const struct word *w);

#endif
