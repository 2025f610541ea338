/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results of xdd sweep and of xdd curve.
 */
#ifndef XDD_REPORT_SWEEP_H
#define XDD_REPORT_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"
#include "xdd/report/column.h"
#include "xdd/report/result.h"

struct curve;

/*
 * The results of xdd sweep: rounds of the points of a grid, their journal, and the files that are
 * made of them.
 *
 * A struct sweep_results belongs to the main thread. Functions that can fail return 0 or -errno.
 */

#define SWEEP_FORMAT "xdd sweep"
#define SWEEP_VERSION 1
#define SWEEP_MAX_COLUMNS 8 /* of -columns */

/* The figures of response times, in the order of documents; FIGURE_RESPONSE is the first. */
#define SWEEP_RESPONSES 5
extern const enum pass_figure sweep_responses[SWEEP_RESPONSES];

/* One run of a point. */
struct sweep_round {
	uint64_t point;	     /* from 0 */
	uint64_t round;	     /* from 1 */
	uint64_t start_ns;   /* since 1970 */
	uint64_t elapsed_ns; /* first issue to last completion, summed over its passes */
	uint64_t ops, bytes, errors, miscompares;
	uint64_t max_ns; /* the longest operation; 0: not known */

	/* Means over its passes; response times of all of it. NAN: too few for a percentile. */
	double values[FIGURE_ROUND]; /* by enum pass_figure */
	bool known;		     /* it has values up to FIGURE_COUNT */
	bool responded;		     /* it has the figures of sweep_responses[] */

	double columns[SWEEP_MAX_COLUMNS]; /* of all targets; NAN: not known */
	size_t n_columns;
	unsigned findings;	 /* a bit for each enum finding_kind */
	enum result_bound bound; /* of its only target, or of all if they agree */
	int status;		 /* enum xdd_status */
};

struct sweep_point {
	struct sweep_round *rounds; /* in the order in which they were run */
	size_t n;
	uint64_t elapsed_ns; /* of all */
	int status;	     /* the first that is not XDD_OK */
	bool unused;	     /* not to be run, and in no file: its load is not known yet */
	uint64_t extra;	     /* rounds that it needs beyond the least of all, and may have */
};

struct sweep_results {
	/* const once the results are begun */
	const struct vary *vary;
	const char *const *more;    /* words that each point has after `vary`'s; or NULL */
	const char *command_line;   /* the words of the sweep */
	uint64_t seed;		    /* of the order of points, and of round seeds */
	double until_percent;	    /* 0: a number of rounds that is fixed beforehand */
	uint64_t each_ns;	    /* 0: no limit */
	uint64_t least, most;	    /* rounds of a point */
	struct column_list columns; /* further ones, all numbers; of the command */
	const char *restore;	    /* the state before each round of a writing point; or NULL */
	uint64_t started_ns;	    /* since 1970 */

	struct sweep_point *points; /* vary->n_points; owned */
	const struct curve *curve;  /* xdd/report/sweep.h; NULL: not one */
	bool partial;		    /* it was interrupted */
};

/* -ENOMEM: nothing is to be freed. */
int sweep_results_begin(struct sweep_results *r);
void sweep_results_free(struct sweep_results *r);

/* Add a round to its point. */
int sweep_results_add(struct sweep_results *r, const struct sweep_round *round);

/*
 * The value of -seek seed that all runs of round `round` (from 1) of a curve have, which decides
 * their arrivals and offsets: below 2^31. A pure function of `r->seed` and the round.
 */
uint64_t sweep_round_seed(const struct sweep_results *r, uint64_t round);

/* A figure of a round; NAN: the round does not have it. */
double sweep_round_value(const struct sweep_round *round, enum pass_figure figure);

/*
 * The values of a figure, one for each round that has values of its kind, in `x` (room for all
 * rounds). None if one of them is not known, as a percentile of too few operations.
 */
size_t sweep_values(const struct sweep_point *p, enum pass_figure figure, double *x);

/* The mean of a figure, and half of its interval in percent; NAN and INFINITY: not known. */
struct sweep_mean {
	size_t n;
	double mean;
	double percent;
};

struct sweep_mean sweep_mean(const struct sweep_results *r, const struct sweep_point *p,
			     enum pass_figure figure);

/* As sweep_mean(), of `n` values; `until`: the rounds ended once their mean was known. */
struct sweep_mean sweep_mean_of(const double *x, size_t n, bool until);

/* As sweep_mean(), of column `i` of the results. */
struct sweep_mean sweep_column_mean(const struct sweep_results *r, const struct sweep_point *p,
				    size_t i);

/* Steady state of its bandwidth, by rounds that have one; `after` is a round, 0: not reached. */
struct sweep_steadiness {
	uint64_t after;
	struct stats_steady steady;
};

struct sweep_steadiness sweep_steady(const struct sweep_point *p);

/* The change of its mean response time over the rounds that have one. */
struct stats_drift sweep_response_drift(const struct sweep_point *p);

/* The findings of all rounds of a point: a bit for each rule. */
unsigned sweep_findings(const struct sweep_point *p);

/*
 * A journal is a header line and a line for each round, each after its CRC-32C. The header names
 * the words of the sweep, which must be the same to continue.
 */
#define SWEEP_JOURNAL_FORMAT "xdd sweep journal"
#define SWEEP_JOURNAL_DIGITS 8 /* at the start of a line */
#define SWEEP_JOURNAL_BEGINS " {\"format\":\"" SWEEP_JOURNAL_FORMAT "\"," /* then follows */

struct sweep_journal {
	const char *words; /* as one line; owned after sweep_journal_line() */
	uint64_t seed;
	uint64_t points;
	uint64_t started_ns;
};

/* The lines of a header and of a round, to be freed; NULL when memory is short. */
char *sweep_journal_header(const struct sweep_journal *header);
char *sweep_journal_round(const struct sweep_round *round);

/* True if the decoded header is of a sweep with these words. */
bool sweep_journal_matches(const struct sweep_journal *header, const char *words);

/* Lines that are read; all zeros before the first one, besides `take` and `arg`. */
struct sweep_journal_lines {
	struct sweep_journal header; /* `words` is to be freed; NULL: no header was read */
	size_t line;		     /* the number of the last one */
	int (*take)(void *arg, const struct sweep_round *round);
	void *arg;
};

/*
 * A journal_decode_fn ("xdd/base/journal.h") of struct sweep_journal_lines: `take` gets each round,
 * and its error ends the reading.
 */
int sweep_journal_line(void *lines, const uint8_t *data, size_t size, size_t *used);

/* The document: `plan` is the plan of a point, for the environment. */
int sweep_write_json(FILE *f, const struct sweep_results *r, const struct plan *plan, int status);

/* ---- csv.c ---- */

/* A header line and a line for each point. */
int sweep_write_csv(FILE *f, const struct sweep_results *r);

/*
 * Response time against load, as xdd curve measures it: a sweep whose points are the maximum of a
 * target and shares of it, its knee, and the greatest load at which a goal holds.
 *
 * A struct curve belongs to the main thread, and what follows reads it and the results. Shares are
 * of the maximum; 1 is the maximum.
 *
 * The knee is the load at which throughput divided by mean response time is greatest: L.
 * Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer
 * communications", ICC 1979.
 */

#define CURVE_MAX_LOADS 128
#define CURVE_RESOLUTION 0.02	/* of the load at which a goal holds */
#define CURVE_KNEE_ROUNDS_MIN 3 /* for an interval of the knee */

struct curve_load {
	double share;
	size_t point; /* of the results */
	bool probe;   /* of the search for the goal, which the knee does not use */

	/* at this load, where nothing is transferred: its response times are how late xdd issues */
	struct sweep_round lateness;
};

struct curve_knee {
	bool known;
	double share;
	double low, high; /* 95 % confidence interval; NAN: not known */
	double none_to;	  /* there is no knee up to this share, the greatest without overload */
	const char *why;  /* it is not known: static text; else NULL */
};

struct curve_goal {
	enum pass_figure figure; /* of response times */
	double limit_ns;	 /* 0: there is no goal */

	/* resolved by curve_goal_next() */
	double holds;	 /* the greatest load at which it holds; 0: at none */
	double fails;	 /* the least at which it does not; INFINITY: none that was offered */
	bool sure;	 /* both are beyond the confidence intervals of the figure */
	size_t unjudged; /* loads whose rounds have too few operations for the figure */
	bool disturbed;	 /* a load has a greater response time than a greater load */
};

struct curve {
	size_t n_depths; /* points 0 .. n_depths - 1 are closed loops; more than one: a search */
	uint64_t depth;	 /* queue depth of the maximum, from the search; 0: as in the words */

	/* resolved by curve_find_maximum() */
	size_t max_point;
	double maximum;	       /* operations per second; 0: not known */
	double percent;	       /* half of its 95 % interval */
	uint64_t steady_after; /* a round; 0: it is not steady */

	struct curve_load loads[CURVE_MAX_LOADS]; /* ascending */
	size_t n_loads;
	struct curve_knee knee;
	struct curve_goal goal;
};

/*
 * Take the maximum from the rounds of point `point`: the mean over the first window that is steady;
 * over all of them without one. False: the point has no figures.
 */
bool curve_find_maximum(struct curve *c, const struct sweep_results *r, size_t point);

/* Insert a load in its place. False: there are CURVE_MAX_LOADS, or it is there. */
bool curve_add_load(struct curve *c, const struct curve_load *load);

/* A load as it was measured. NAN: not known. */
struct curve_figures {
	double offered, reached;  /* operations per second */
	double service_ns;	  /* mean */
	double queue;		  /* operations that are due and not complete, by Little's law */
	double in_service;	  /* of these, the issued ones */
	bool overloaded;	  /* most rounds ended too late: the queue grew */
	struct stats_drift drift; /* of the mean response time over the rounds */

	/* a greater load whose mean response time is lower, as none of a queue is; NULL: none */
	const struct curve_load *disturbed_by;
};

struct curve_figures curve_figures(const struct curve *c, const struct sweep_results *r,
				   const struct curve_load *load);

/*
 * The load, other than probes and overloads, at which the mean response time divided by the load is
 * least. SIZE_MAX: there is none.
 */
size_t curve_turn(const struct curve *c, const struct sweep_results *r);

/*
 * curve.c: the knee of `n` loads: `shares` ascend, and `responses[i * rounds + k]` is the mean
 * response time of load i in round k, above 0. There is one only if throughput divided by response
 * time falls beyond it, by more than its error from CURVE_KNEE_ROUNDS_MIN rounds on.
 */
struct curve_knee curve_knee_of(const double *shares, const double *responses, size_t n,
				size_t rounds);

/* The knee of the measured loads. */
struct curve_knee curve_knee(const struct curve *c, const struct sweep_results *r);

/*
 * Judge if the goal holds at such a load. `*sure`: the limit is outside the 95 % interval of the
 * figure.
 */
bool curve_goal_holds(const struct curve *c, const struct sweep_results *r,
		      const struct curve_load *load, bool *sure);

/*
 * Find where the goal ceases to hold among the loads. True: `*share` is the load to try next.
 */
bool curve_goal_next(struct curve *c, const struct sweep_results *r, double *share);

/*
 * The greatest load at which the goal holds, or the least above it at which it does not, as
 * curve_goal_next() has found them. NULL: there is none. Points into `c`.
 */
const struct curve_load *curve_goal_side(const struct curve *c, bool holds);

/* ---- csv.c ---- */

/* A header line and a line for each load. Returns 0 or -errno. */
int curve_write_csv(FILE *f, const struct sweep_results *r);

#endif
