/*
 * Command lines of several runs, which are carried out one after another: a run for each section of
 * the setup files, or with -readback one that writes and one that reads. doc/user-guide.md,
 * "Several runs in one setup file". Main thread.
 */
#ifndef XDD_PLAN_RUNS_H
#define XDD_PLAN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"

/* The runs of a command line, read and not yet planned. Their files are not read again. */
struct plan_runs;

/*
 * Plans that are made for checks before the first of them is run, in the order of their runs: each
 * finds files as those before it will leave them.
 */
struct plan_series;

/* A series of at most `most` plans; NULL: no memory. */
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
 * save; NULL: these do not count. XDD_OK, or another status with one line given to log_error() and
 * the plan still the caller's.
 */
enum xdd_status plan_series_add(struct plan_series *series, struct plan *plan,
				plan_list_writer *write_list);

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

/* The name of a run, for people and in names of files. */
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

#endif
