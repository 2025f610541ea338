/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of commands: options by their rows, with the values and messages of a run's
 * options, and other words.
 */
#ifndef XDD_PLAN_LINE_H
#define XDD_PLAN_LINE_H

#include <stdbool.h>

#include "xdd/base/status.h"

struct option;
struct option_table;

/* A command line that is read. Main thread. */
struct line {
	/* set by the caller */
	const char *name; /* of the command; messages begin with it */
	const struct option_table *options;
	void *to; /* the struct that the fields of the rows are in */

	/*
	 * Take `word`, which is no option: a name, "-", or any word after "--". NULL: the command
	 * has options only.
	 */
	enum xdd_status (*operand)(struct line *l, const char *word);

	/*
	 * Look at the word at `at` before line_read() does, also at "--", and take it, with words
	 * after it, by moving `at` past them. NULL: no word has a meaning of its own.
	 */
	enum xdd_status (*other)(struct line *l);

	/* Note that an option, typed as `word`, was stored. NULL: there is nothing to note. */
	void (*stored)(struct line *l, const struct option *opt, const char *word,
		       const char *value);

	/* set by line_read() */
	int argc;
	char *const *argv;
	int at;		   /* the next word */
	bool ended;	   /* "--" has ended the options */
	const char *shows; /* help or version was asked for: the name of that option; or NULL */
};

/*
 * Read `argv` from its second word on, which ends with NULL, up to a use of an option that is
 * OPT_ACTION (help, version). The value of an option is its next word, or follows "=". Options are
 * global and have one value or none. Returns XDD_OK, or a status of the functions above, or
 * XDD_BAD_ARGUMENT or XDD_BAD_OPTION, reported.
 */
enum xdd_status line_read(struct line *l, int argc, char *const *argv);

/*
 * The option that the word at `at` names, or NULL. `*value` is what follows its "=", or NULL.
 */
const struct option *line_option(const struct line *l, const char **value);

/*
 * For `other`, where an option is typed in a way of its own: store `opt`, which was typed as
 * `word`, with `value`, or NULL. Returns as line_read().
 */
enum xdd_status line_store(struct line *l, const struct option *opt, const char *word,
			   const char *value);

/* As line_store(); the value is the word at `at`, if the option takes one. */
enum xdd_status line_store_next(struct line *l, const struct option *opt, const char *word);

#endif
