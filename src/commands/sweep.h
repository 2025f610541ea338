/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of xdd sweep, and of xdd curve, which is a sweep of its own kind. Private to
 * src/commands; main thread.
 */
#ifndef XDD_COMMANDS_SWEEP_H
#define XDD_COMMANDS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "commands/commands.h"
#include "xdd/base/file.h"
#include "xdd/base/journal.h"
#include "xdd/plan/runs.h"
#include "xdd/report/sweep.h"

struct arena;
struct command;
struct curve_command;
struct option_table;
struct sweep;
struct sweep_warning;

#define SWEEP_SEED_UNSET UINT64_MAX
#define SWEEP_MAX_ROUNDS 10000
#define SWEEP_MORE_WORDS 16 /* after the words of a point, with the end */

/* The command line. */
struct sweep_line {
	const char *until; /* texts: NULL: not given */
	const char *jsonout, *csvout, *journal, *restore, *columns;
	const char *load, *goal;    /* of a curve */
	uint64_t each_ns, round_ns; /* 0: not given */
	uint64_t rounds, most;	    /* 0: not given */
	uint64_t seed;		    /* SWEEP_SEED_UNSET: not given */
	bool pairs, resume, dry_run;
	const char **vary; /* arguments of -vary */
	size_t n_vary;
	const char **words; /* of the runs */
	size_t n_words;
};

/* A command that is a sweep, with its own parts of it. const. */
struct sweep_kind {
	const char *name; /* in messages */
	const struct command *command;
	const struct option_table *options;
	bool varies; /* its words have lists; otherwise it makes its points itself */
	bool seeds;  /* each round has a seed of its own, the same for all points */

	/* Make the points, with the line read and no axis except the lists. NULL: nothing. */
	enum xdd_status (*prepare)(struct sweep *s);
	enum xdd_status (*check)(const struct plan *plan, size_t point); /* a point; or NULL */
	void (*print)(struct sweep *s);					 /* -dryrun */
	bool (*run)(struct sweep *s);					 /* as sweep_rounds() */

	/* standard output: before the first run, after each on a terminal, at the end */
	void (*head)(const struct sweep *s);
	void (*round)(const struct sweep *s, const struct sweep_round *round);
	void (*table)(const struct sweep *s);

	int (*csv)(FILE *f, const struct sweep_results *r); /* as sweep_write_csv() */
};

/* The order of the points in a round, where some read files that others write. */
enum sweep_order {
	SWEEP_ORDER_ANY,   /* of its own: no point depends on another */
	SWEEP_ORDER_FIRST, /* the points' order, until all of them were run once */
	SWEEP_ORDER_KEEP,  /* the points' order, as writes also make files shorter */
};

struct sweep {
	const struct sweep_kind *kind;
	struct arena *arena;
	struct sweep_line line;
	struct vary vary;
	const char *more[4];	    /* words that each point gets after its own; ends with NULL */
	const char *round_words[4]; /* after those, for one round; ends with NULL */
	char seed[24];		    /* one of them */
	const char **buffer;	    /* room for the words of a point and of its round */
	const char *words;	    /* those that a journal must have been begun with */
	struct sweep_results results;
	struct curve_command *curve; /* NULL: not one */
	struct runner runner;

	struct newfile json, csv; /* NULL stream: not used */
	bool json_is_stdout, csv_is_stdout;
	struct sweep_warning *warnings; /* of the plans, before the first run */
	bool quiet;			/* standard output is a file's: no table */
	struct journal journal;
	const char *journal_path;

	bool recreates, preconditions, trims; /* -restore */
	bool terminal;			      /* rounds are shown as they end */
	enum sweep_order order;		      /* by the checks */
	uint64_t in_order_until;	      /* the last round in the order of the points */
	uint64_t begun_ns;	/* clock_ns() when the first run of this process began */
	uint64_t runs;		/* of this process */
	enum xdd_status status; /* the worst of the points, unless canceled */
};

/* ---- sweep.c: the command ---- */

/* Do all of it. Returns an enum xdd_status. */
int sweep_command(const struct sweep_kind *kind, int argc, char **argv);

/*
 * True if the words of the runs have this option, by any of its names. Words of setup files do not
 * count.
 */
bool sweep_has_option(const struct sweep *s, const char *option);

/* ---- sweep_points.c: the command line; statuses are reported ---- */

extern const struct option_table sweep_options;
extern const struct option_table curve_options;

/* `*shows`: as in struct line. */
enum xdd_status sweep_line_read(struct sweep *s, int argc, char **argv, const char **shows);

/* ---- sweep_points.c ---- */

/* "queuedepth 4, reqsize 4k", in `buf`. */
char *sweep_label(const struct vary *v, size_t point, char *buf, size_t size);

/* The plan of a point, as runner_plan(). */
enum xdd_status sweep_plan(struct sweep *s, size_t point, struct plan **plan);

/* As sweep_plan(), with up to 6 words more, which end with NULL, and without -restore. */
enum xdd_status sweep_plan_with(struct sweep *s, size_t point, const char *const *more,
				struct plan **plan);

/*
 * Plan and check every point, with files as the points before it will leave them; nothing is opened
 * for writing, created or changed. The first that cannot be run is reported with its values.
 */
enum xdd_status sweep_check(struct sweep *s);

/*
 * Once a journal may have been read: check what is left of a round that was begun, and settle
 * until when rounds are in the order of the points.
 */
enum xdd_status sweep_check_rest(struct sweep *s);

/* Print the command lines of the first `n` points. */
void sweep_print_points(struct sweep *s, size_t n);

/* ---- sweep_run.c: the state before each run of a point that writes ---- */

enum xdd_status sweep_restore_read(struct sweep *s);

/* True if a target is written to. */
bool sweep_writes(const struct plan *plan);

/* Check that the state can be restored before a run of `plan`. Opens nothing for writing. */
enum xdd_status sweep_restore_check(struct sweep *s, const struct plan *plan);

/* ---- sweep.c: further columns of the files ---- */

/* Read -columns into the results. */
enum xdd_status sweep_columns_read(struct sweep *s);

/* ---- sweep_run.c ---- */

/*
 * Begin a journal, or with -resume read what is there and go on with it: the rounds are then in the
 * results. Nothing without a journal.
 */
enum xdd_status sweep_journal_open(struct sweep *s);

/* Write a round so that it survives the process and the power. False: reported. */
bool sweep_journal_add(struct sweep *s, const struct sweep_round *round);

/* Close it; remove it where `done`: the document has everything. */
void sweep_journal_close(struct sweep *s, bool done);

/* ---- sweep_run.c ---- */

/* Run the sweep by its kind. Returns XDD_OK, the worst status of a point, or XDD_CANCELED. */
enum xdd_status sweep_run(struct sweep *s);

/*
 * Run a plan; its results go to `round`, and its status is returned. `title` is for the line of
 * progress.
 */
enum xdd_status sweep_run_plan(struct sweep *s, const struct plan *plan, const char *title,
			       struct sweep_round *round);

/*
 * Run the rounds that points in use are missing. False: the sweep ends here, with `s->status`.
 */
bool sweep_rounds(struct sweep *s);

/* True if the point needs another round. A pure function. */
bool sweep_wants(const struct sweep_results *r, const struct sweep_point *p);

/* True if the point has had this round. */
bool sweep_has_round(const struct sweep_point *p, uint64_t number);

/* Order `order[0..n)`, the numbers of points, for a round. A pure function of seed and round. */
void sweep_shuffle(uint64_t seed, uint64_t round, size_t *order, size_t n);

/* ---- sweep.c: standard output ---- */

/* The transient line before a run: which one, and the time left. In `buf`. */
char *sweep_title(const struct sweep *s, const struct sweep_round *round, char *buf, size_t size);

/* ---- sweep.c: warnings and findings, each once with its points ---- */

/* Keep the warnings of the plan of a point. */
void sweep_keep_warnings(struct sweep *s, size_t point, const struct plan *plan);

/* ---- sweep.c ---- */

/* Write "label: text" to standard output, in lines that fit; without a label, the text. */
void sweep_say(const struct sweep *s, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Half an interval, in `buf`: "+-1.5 %", or "too few" (rounds). */
const char *sweep_percent_text(double percent, char *buf, size_t size);

/*
 * xdd curve.
 */

#define CURVE_DEPTHS 8 /* of a search: 1, 2, 4 .. 128 */
#define CURVE_REFINE 2 /* loads next to the knee */
#define CURVE_PROBES 16
#define CURVE_WORDS 6 /* of a point: -queuedepth D -throttle ops R poisson */
#define CURVE_NUMBER 40
#define CURVE_SHARE_MAX 10.0

/* The words of a point, which are made when its load is known. */
struct curve_words {
	const char *words[CURVE_WORDS];
	char depth[CURVE_NUMBER], rate[CURVE_NUMBER], text[CURVE_NUMBER];
};

struct curve_command {
	struct curve results;
	struct vary_value *values; /* one for each point: depths, loads, values of later use */
	struct curve_words *words;
	size_t n_given; /* depths and loads of the command line */
	size_t n_used;	/* points that have a load */
};

/* ---- curve_run.c ---- */

/* All of a curve, as struct sweep_kind has it. */
bool curve_run(struct sweep *s);

/*
 * Give point `point` the words of a load: `rate` is a text, NULL for a closed loop; `depth` is 0
 * for the user's.
 */
void curve_set_words(struct curve_command *c, size_t point, uint64_t depth, const char *rate);

/* "12.5 %", for the share 0.125. In `buf` of CURVE_NUMBER bytes. */
const char *curve_percent(double share, char *buf);

/* ---- curve_run.c ---- */

/* ---- curve.c: standard output ---- */

#endif
