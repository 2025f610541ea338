/*
 * From words to settings to a plan: the state of reading a command line. Called by plan_build();
 * main thread.
 */
#ifndef XDD_PLAN_PARSE_H
#define XDD_PLAN_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

/* A setup file that is being read, innermost first: for the message about a loop of files. */
struct setup_file {
	const struct setup_file *outer;
	dev_t dev;
	ino_t ino;
};

/* A section of a setup file, whose words are those of a run of its own. */
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

/* Create the targets, give every option its default, and apply the settings from left to right. */
enum xdd_status apply_settings(struct parse *p);

/*
 * Refuse two operations (-op, -rwratio) for all targets on the command line or in one setup file.
 */
enum xdd_status parse_check_operations(const struct parse *p);

/* Fill `by_option` of a plan that has its settings. */
enum xdd_status plan_sort_settings(struct plan *plan);

#endif
