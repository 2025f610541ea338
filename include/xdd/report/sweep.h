/*
 * The results of xdd sweep: rounds of the points of a grid, their journal, and the files that are
 * made of them.
 *
 * A struct sweep_results belongs to the main thread. Functions that can fail return 0 or -errno.
 */
#ifndef XDD_REPORT_SWEEP_H
#define XDD_REPORT_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/plan/vary.h"
#include "xdd/report/column.h"
#include "xdd/report/result.h"
#include "xdd/report/statistics.h"

#define SWEEP_FORMAT "xdd sweep"
#define SWEEP_VERSION 1
#define SWEEP_MAX_COLUMNS 8 /* of -columns */

/* Response times of a run: from the due times of operations, where a throttle sets them; ns. */
enum sweep_response {
	SWEEP_RESPONSE_MEAN,
	SWEEP_RESPONSE_P50,
	SWEEP_RESPONSE_P99,
	SWEEP_RESPONSE_P999,
	SWEEP_RESPONSE_MAX,
	SWEEP_RESPONSES,
};

/* One run of a point. */
struct sweep_round {
	uint64_t point;	     /* from 0 */
	uint64_t round;	     /* from 1 */
	uint64_t start_ns;   /* since 1970 */
	uint64_t elapsed_ns; /* first issue to last completion, summed over its passes */
	uint64_t ops, bytes, errors, miscompares;
	uint64_t max_ns;	     /* the longest operation; 0: not known */
	double values[FIGURE_COUNT]; /* means over its passes; a percentile may be NAN: not known */
	bool known;		     /* there are values */
	bool responded;		     /* there are response times */
	double responses[SWEEP_RESPONSES]; /* the same */
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

struct curve;

struct sweep_results {
	/* const once the results are begun */
	const struct vary *vary;
	const char *const *more;    /* words that each point has after those of `vary`; or NULL */
	const char *command_line;   /* the words of the sweep */
	uint64_t seed;		    /* of the order of points, and of round seeds */
	double until_percent;	    /* 0: a number of rounds that is fixed beforehand */
	uint64_t each_ns;	    /* 0: no limit */
	uint64_t least, most;	    /* rounds of a point */
	struct column_list columns; /* further ones, all numbers; of the command */
	const char *restore;	    /* the state before each round of a writing point; or NULL */
	uint64_t started_ns;	    /* since 1970 */

	struct sweep_point *points; /* vary->n_points; owned */
	const struct curve *curve;  /* xdd/report/curve.h; NULL: not one */
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

/*
 * The values of a figure, one for each round that has values, in `x` (room for all rounds). None if
 * a round lacks this figure, as a percentile of too few operations.
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

/* As sweep_mean(), of response times; the number of rounds is fixed beforehand. */
size_t sweep_response_values(const struct sweep_point *p, enum sweep_response which, double *x);
struct sweep_mean sweep_response_mean(const struct sweep_point *p, enum sweep_response which);

/* "response", "response_p50", "response_p99", "response_p99.9" or "response_max". */
const char *sweep_response_name(enum sweep_response which);

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

/* ---- sweep_findings.c ---- */

/*
 * The name of an enum finding_kind in documents, and what it says of a point in words; NULL past
 * the last. Static; any thread.
 */
const char *sweep_finding_name(unsigned kind);
const char *sweep_finding_text(unsigned kind);

/* The findings of all rounds of a point: a bit for each kind. */
unsigned sweep_findings(const struct sweep_point *p);

/* ---- sweep_journal.c ---- */

/*
 * A journal is a header line and a line for each round, each after its CRC-32C. The header names
 * the words of the sweep, which must be the same to continue.
 */
#define SWEEP_JOURNAL_FORMAT "xdd sweep journal"
#define SWEEP_JOURNAL_DIGITS 8 /* at the start of a line */
#define SWEEP_JOURNAL_BEGINS " {\"format\":\"" SWEEP_JOURNAL_FORMAT "\"," /* then follows */

struct sweep_journal {
	const char *words; /* as one line; owned after sweep_journal_decode() */
	uint64_t seed;
	uint64_t points;
	uint64_t started_ns;
};

int sweep_journal_header(FILE *f, const struct sweep_journal *header);
int sweep_journal_round(FILE *f, const struct sweep_round *round);

/* True if the decoded header is of a sweep with these words. */
bool sweep_journal_matches(const struct sweep_journal *header, const char *words);

/*
 * Decode `text` of `size` bytes; `take` gets each round, and its error ends the decoding. A last
 * line that is cut short is left out: `*whole` is the size of the lines before it. Returns 0;
 * -EBADMSG with the number of the first line that is wrong in `*line`; or another error.
 * `header->words` is to be freed in any case.
 */
int sweep_journal_decode(const char *text, size_t size, struct sweep_journal *header,
			 int (*take)(void *arg, const struct sweep_round *round), void *arg,
			 size_t *whole, size_t *line);

/* ---- sweep_files.c ---- */

/* The document: `plan` is that of a point, for the environment. */
int sweep_write_json(FILE *f, const struct sweep_results *r, const struct plan *plan, int status);

/* The further columns at the end of a line of CSV: their names, and the means of a point. */
void sweep_csv_column_names(FILE *f, const struct sweep_results *r);
void sweep_csv_columns(FILE *f, const struct sweep_results *r, const struct sweep_point *p);

/* A header line and a line for each point. */
int sweep_write_csv(FILE *f, const struct sweep_results *r);

#endif
