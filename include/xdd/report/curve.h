/*
 * Response time against load, as xdd curve measures it: a sweep whose points are the maximum of a
 * target and shares of it, its knee, and the greatest load at which a goal holds.
 *
 * A struct curve belongs to the main thread, and what follows reads it and the results. Shares are
 * of the maximum; 1 is the maximum.
 *
 * The knee is the load at which throughput divided by mean response time is greatest: L. Kleinrock,
 * "Power and deterministic rules of thumb for probabilistic problems in computer communications",
 * ICC 1979.
 */
#ifndef XDD_REPORT_CURVE_H
#define XDD_REPORT_CURVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/report/sweep.h"

#define CURVE_MAX_LOADS 128
#define CURVE_RESOLUTION 0.02	/* of the load at which a goal holds */
#define CURVE_KNEE_ROUNDS_MIN 3 /* for an interval of the knee */

struct curve_load {
	double share;
	size_t point; /* of the results */
	bool probe;   /* of the search for the goal, which the knee does not use */

	/* response times in ns at this load where nothing is transferred: how late xdd issues */
	double lateness[SWEEP_RESPONSES];
	bool lateness_known;
};

struct curve_knee {
	bool known;
	double share;
	double low, high; /* 95 % confidence interval; NAN: not known */
	double none_to;	  /* there is no knee up to this share, the greatest without overload */
	const char *why;  /* it is not known: static text */
};

struct curve_goal {
	enum sweep_response figure;
	double limit_ns; /* 0: there is no goal */

	/* resolved by curve_goal_next() */
	double holds;	 /* the greatest load at which it holds; 0: at none */
	double fails;	 /* the least at which it does not; INFINITY: none that was offered */
	bool sure;	 /* both are beyond the confidence intervals of the figure */
	size_t unjudged; /* loads whose rounds have too few operations for the figure */
	bool disturbed;	 /* a load has a greater response time than a greater load */
};

struct curve {
	size_t n_depths; /* points 0 .. n_depths - 1 are closed loops; more than one: a search */
	uint64_t depth;	 /* queue depth of the maximum, from the search; 0: that of the words */

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
	double in_service;	  /* those of them that are issued */
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
 * curve_knee.c: the knee of `n` loads: `shares` ascend, and `responses[i * rounds + k]` is the mean
 * response time of load i in round k, above 0. There is one only if throughput divided by response
 * time falls beyond it, by more than its error from CURVE_KNEE_ROUNDS_MIN rounds on.
 */
struct curve_knee curve_knee_of(const double *shares, const double *responses, size_t n,
				size_t rounds);

/* The knee of the measured loads. */
struct curve_knee curve_knee(const struct curve *c, const struct sweep_results *r);

/*
 * True if the goal can be judged at a load: each round has enough operations for the figure, or
 * most rounds end late.
 */
bool curve_goal_judges(const struct curve *c, const struct sweep_results *r,
		       const struct curve_load *load);

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

/* ---- curve_files.c ---- */

/* The member "curve" of the document; NULL: no memory. */
json_t *curve_value(const struct sweep_results *r);

/* A header line and a line for each load. Returns 0 or -errno. */
int curve_write_csv(FILE *f, const struct sweep_results *r);

#endif
