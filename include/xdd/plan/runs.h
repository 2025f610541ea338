/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of several runs: one after another, of many ranks, and of the grid of xdd sweep.
 */
#ifndef XDD_PLAN_RUNS_H
#define XDD_PLAN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"

struct arena;
struct option;

/*
 * Placeholders in words of a command line, for a run on many hosts: one command line gives each
 * rank its own targets, offsets and names.
 *
 *   %h  the name of the host      %r  the rank, from 0
 *   %n  the number of ranks       %%  a percent sign
 *
 * A percent sign that ends a word, as in 30%, stands for itself.
 */

/* The longest word that a replacement may give; the kernel admits 128 KiB. */
#define PLACEHOLDER_MAX_BYTES (64u << 10)

struct placeholders {
	const char *host;
	uint32_t rank, n_ranks;
};

/*
 * `word` with its placeholders replaced, in `*result` and in memory of `arena`; a word without a
 * percent sign is returned as it is. Returns NULL, or what is wrong with the word: a placeholder
 * that does not exist, or a result that is too long.
 */
const char *placeholder_replace(struct arena *arena, const char *word, const struct placeholders *p,
				const char **result);

/*
 * The command line of a run with -mpi: all ranks have the same words, and each has plans of its
 * own.
 */

struct ranks_place {
	const char *host;
	uint32_t rank, n_ranks, ranks_per_node;
};

/* True if the words, of main(), have -mpi, and are to run something. Main thread. */
bool ranks_wanted(int argc, char **argv);

/*
 * The words of one rank, in memory of `arena`: placeholders are replaced (%h, %r, %n, %%), and
 * -rank, -ranks and, unless it is given, -rankspernode follow. Returns XDD_OK, or a status with one
 * line given to log_error(). Main thread.
 */
enum xdd_status ranks_words(struct arena *arena, int argc, char **argv,
			    const struct ranks_place *place, int *n, char ***words);

/*
 * Command lines of several runs, which are carried out one after another: a run for each section
 * of the setup files, or with -readback one that writes and one that reads. doc/user-guide.md,
 * "Several runs in one setup file". Main thread.
 */

/* The runs of a command line, read and not yet planned. Their files are not read again. */
struct plan_runs;

/*
 * Plans that are made for checks before the first of them is run, in the order of their runs: each
 * finds files as those before it will leave them.
 */
struct plan_series;

/* A series of at most `most` plans. */
struct plan_series *plan_series_new(size_t most);

/* Accepts NULL. Frees the plans too. */
void plan_series_free(struct plan_series *series);

/* plan_build() of the next run of a series. The plan is the caller's until it is added. */
enum xdd_status plan_series_build(const struct plan_series *series, int argc, char **argv,
				  struct plan **plan);

/* Write the list of -seek save of a target to `f`. Returns 0 or -errno. */
typedef int plan_list_writer(const struct target_plan *t, FILE *f);

/*
 * Add the plan, which belongs to the series from then on. `write_list` gives the lists that it will
 * save; NULL: these do not count.
 */
void plan_series_add(struct plan_series *series, struct plan *plan, plan_list_writer *write_list);

/* Effects of a run on the files of its targets, as it finds them after the runs before it. */
enum plan_effect {
	PLAN_LEAVES,  /* they exist before and after it, with the same size */
	PLAN_EXTENDS, /* some are created or become longer, and none shorter */
	PLAN_SHRINKS, /* some become shorter, or are removed */
};

/* For a plan of plan_series_build() that is not in its series yet. */
enum plan_effect plan_effect(const struct plan *plan);

/*
 * True if such a plan reads a file that a plan of the series changes. `*needed`: the file exists,
 * or has its size, only after that.
 */
bool plan_reads_earlier(const struct plan *plan, bool *needed);

/*
 * plan_build() of a command line that may have several runs: those are in `*runs`, to be freed by
 * plan_runs_free(), and `*plan` is NULL. Otherwise `*runs` is NULL.
 */
enum xdd_status plan_build_runs(int argc, char **argv, struct plan **plan, struct plan_runs **runs);

/* Accepts NULL. Frees the plans of plan_runs_foresee() too. */
void plan_runs_free(struct plan_runs *runs);

size_t plan_runs_count(const struct plan_runs *runs);

/* The name of a run, for messages and in names of files. */
const char *plan_runs_name(const struct plan_runs *runs, size_t i);

/* The setup file that the run has its section in; NULL: none. */
const char *plan_runs_file(const struct plan_runs *runs, size_t i);

/*
 * The plan of run `i`, as plan_build(); what it says of files is what they are now. To be freed by
 * plan_free() before `runs`.
 */
enum xdd_status plan_runs_build(struct plan_runs *runs, size_t i, struct plan **plan);

/*
 * As plan_runs_build(), before the first run, for checks: files are as the runs before will leave
 * them, and so are the lists that these save, by `write_list`, unless that is NULL. Called for all
 * runs in their order. The plans belong to `runs`.
 */
enum xdd_status plan_runs_foresee(struct plan_runs *runs, size_t i, plan_list_writer *write_list,
				  struct plan **plan);

/*
 * Command lines whose options have several values: the grid of xdd sweep.
 *
 * Each option with a list is an axis; a point has one value of each, and its words are the words of
 * an ordinary run. Nothing is planned here: plan_build() judges the words of a point.
 *
 * A struct vary is const once it is read, and its memory is the arena's. Main thread.
 */

#define VARY_MAX_VALUES 10000
#define VARY_MAX_POINTS 100000

struct vary_value {
	const char *text;	  /* as a column shows it */
	const char *const *words; /* that stand in the place of the list */
	size_t n_words;
};

struct vary_axis {
	const char *name; /* the option, perhaps with its suboption and target: "queuedepth" */
	const struct vary_value *values;
	size_t n;
	size_t use; /* of an option, among all of the command line */
};

/* A word that all points have, or the place of an axis. */
struct vary_slot {
	const char *word; /* NULL: `axis` */
	size_t axis;
};

struct vary {
	struct arena *arena;
	const char *command; /* in messages: "sweep" */
	struct vary_slot *slots;
	size_t n_slots;
	struct vary_axis *axes;
	size_t n_axes;
	bool pairs; /* point i has value i of every axis; otherwise all combinations are points */
	size_t n_points;
};

/*
 * Find the lists in `words`, the options of a run, and add the lists of `extra`, each
 * "<option>=<list>" as -vary has it. `command` is the name of the command in messages, a static
 * text. Returns XDD_OK, or XDD_BAD_ARGUMENT with one line given to log_error().
 */
enum xdd_status vary_read(struct arena *arena, const char *command, const char *const *words,
			  size_t n_words, const char *const *extra, size_t n_extra, bool pairs,
			  struct vary *v);

/*
 * Add an axis whose words follow all others; `values` are kept, and their texts and words may still
 * change, up to the `n_words` that they have now. Without another axis its values are the points.
 * False: reported.
 */
bool vary_add_axis(struct vary *v, const char *name, const struct vary_value *values, size_t n);

/* The value that point `point` has of axis `axis`. The last axis changes fastest. */
size_t vary_at(const struct vary *v, size_t point, size_t axis);

/*
 * The words of a point, in `words`, which has room for vary_room() of them: the name of the program
 * first, then the words of the run and of `more` (ends with NULL; or NULL), then NULL. Returns
 * their number.
 */
size_t vary_words(const struct vary *v, size_t point, const char *const *more, const char **words);
size_t vary_room(const struct vary *v, const char *const *more);

/*
 * Split `text`, a list of values for `row`: items between commas, each a value or, where the type
 * is a number, a range: 1..8 by ones, 1..64x2 by a factor, 0..1M+64k by a step. `*values` is
 * memory of the arena. Returns NULL, or what is wrong in memory of the arena.
 */
const char *vary_list(struct arena *arena, const struct option *row, const char *text,
		      const char *const **values, size_t *n);

/* True if `text` is a list for `row`: its type is one whose values have no commas or ranges. */
bool vary_is_list(const struct option *row, const char *text);

#endif
