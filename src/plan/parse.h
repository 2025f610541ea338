/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From words to settings to a plan: reading words, setup files and runs, and messages about a plan
 * that is refused. Called by plan_build(); main thread.
 */
#ifndef XDD_PLAN_PARSE_H
#define XDD_PLAN_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"

/*
 * Words of the command line as values of option rows.
 */

/* The longest time that an option accepts. */
#define PLAN_CENTURY_NS (100ull * 365 * 24 * 3600 * NS_PER_SEC)

/* The arity of rows that take a whole number or nothing. */
size_t option_arity_number(const struct word *args, size_t avail);

/*
 * Store the value of a setting in `dst`, the struct that its row's `off` is in, with all further
 * fields that the row sets, and call the row's `apply`. Returns XDD_OK, or another status with one
 * line given to log_error().
 */
enum xdd_status parse_apply(const struct setting *s, void *dst);

/*
 * As parse_apply(), with the `row` to store by, where it is not the row of the option or suboption.
 */
enum xdd_status parse_apply_row(const struct setting *s, const struct option *row, void *dst);

/*
 * Give the fields of `rows` their defaults by reading them as if they had been written; `opt` is
 * the option they are suboptions of, or NULL for options, of which the ones in `scope` count.
 * Returns XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status parse_defaults(struct arena *arena, const struct option *opt,
			       const struct option *rows, void *dst, enum option_scope scope);

/*
 * Messages about a plan that is refused: log_error(), one line each.
 */

/*
 * Report a bad value of an option: "file:line: -name value: <text>", on the command line of a run
 * "-name value: <text> (argument N)", or on a command's "command -name value: <text>; hint".
 * `w` is the word to blame, or NULL. Returns `status`.
 */
enum xdd_status parse_error(enum xdd_status status, const struct setting *s, const struct word *w,
			    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Report a word that is not the number of a target. Returns XDD_BAD_ARGUMENT. */
enum xdd_status parse_no_target(const struct plan *plan, const struct setting *s,
				const struct word *w);

/*
 * Report a word that is none of those that `at` returns for `words`, with the one that is probably
 * meant. Returns XDD_BAD_ARGUMENT.
 */
enum xdd_status parse_error_words(const struct setting *s, const struct word *w, suggest_word_at at,
				  const void *words);

/* Write "a, b or c" to `buf`; returns `buf`. */
char *parse_list_words(suggest_word_at at, const void *words, char *buf, size_t size);

/*
 * Setup files: doc/user-guide.md, "Setup files".
 */

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

/*
 * The state of reading a command line.
 */

/* A setup file that is being read, innermost first: for the message about a loop of files. */
struct setup_file {
	const struct setup_file *outer;
	dev_t dev;
	ino_t ino;
};

/* A section of a setup file; its words are the words of a run of its own. */
struct section {
	const char *name;
	const char *file;
	unsigned line;
	struct setting *settings;
	size_t n_settings;
	size_t before; /* of the settings for all runs: those that stand before its own */
	bool is_chosen;
};

struct parse {
	const struct option_table *table;
	struct plan *plan;
	struct arena *arena; /* the plan's */
	struct setting *settings;
	size_t n_settings;
	size_t cap_settings;
	size_t n_words;			/* read so far, also from setup files */
	const struct setup_file *setup; /* innermost open setup file */
	unsigned n_setup_files;		/* read so far */
	bool done;			/* -help and the like: there is nothing to run */

	struct section *sections; /* of the setup files on the command line, in order */
	size_t n_sections;
	const char *section;	 /* whose words are being read; NULL: none */
	struct setting *choices; /* uses of -section */
	size_t n_choices;
};

/* All return XDD_OK, or another status with one line given to log_error(). */

/*
 * XDD_OK if xdd would carry out a run of these words, were all targets regular files that suit
 * them. Examines no target. (plan.c)
 */
enum xdd_status plan_suppose(const struct word *words, size_t n_words);

/* Turn words into settings of `p`; setup files are read where they stand. */
enum xdd_status parse_words(struct parse *p, const struct word *words, size_t n_words);

/* Refuse a word that begins no option. */
enum xdd_status parse_unknown_word(const struct option_table *table, struct arena *arena,
				   const struct word *w);

/* True if words may follow the option's name. */
bool option_takes_value(const struct option *opt);

/* The action of -setup. */
enum xdd_status parse_setup(struct parse *p, const struct setting *s);

/* The action of -section. */
enum xdd_status parse_choice(struct parse *p, const struct setting *s);

/*
 * Refuse two operations (-op, -rwratio) for all targets on the command line or in one setup file.
 */
enum xdd_status parse_check_operations(const struct parse *p);

/* True if some of the settings is `-name`, or `-name sub` where `sub` is not NULL. */
bool settings_have(const struct setting *settings, size_t n, const char *name, const char *sub);

/* Fill `by_option` of a plan that has its settings. */
void plan_sort_settings(struct plan *plan);

/*
 * From words to runs: the part of "xdd/plan/runs.h" that plan_build() uses.
 */

/*
 * The runs of words that were read, at least one, in memory of their arena. All return XDD_OK, or
 * another status with one line given to log_error().
 */
enum xdd_status plan_runs_read(const struct parse *p, int argc, char **argv,
			       struct plan_runs **runs);

/* True if it is one run, and not a half of -readback. */
bool plan_runs_is_one(const struct plan_runs *runs);

/* Refuse several runs where one is expected. */
enum xdd_status plan_runs_refuse(const struct plan_runs *runs);

/* Give `p`, which has no settings or those for all runs, the settings of run `i`. */
enum xdd_status plan_runs_settings(const struct plan_runs *runs, size_t i, struct parse *p);

/* ---- plan.c ---- */

/* A plan without anything but its command line. */
struct plan *plan_new(int argc, char **argv);

/* Apply the settings of `p`. */
enum xdd_status plan_apply(struct parse *p);

#endif
