/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents of -jsonout, xdd sweep and xdd curve that are read again: from files and from other
 * hosts, of any author. The only reader: combine, compare, report and multi take their facts from
 * it.
 *
 * A document is refused as a whole where no command could use it. A value of another type or size
 * than the schema says is not known; the first one of those that sums need is kept as a fault, for
 * commands that add documents up. A document belongs to one thread at a time; texts, arrays and
 * JSON values of it are valid until document_free().
 */
#ifndef XDD_REPORT_DOCUMENT_H
#define XDD_REPORT_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/report/endtoend.h"
#include "xdd/report/result.h"

struct arena;

#define DOCUMENT_MAX_BYTES (1ull << 30)

/* In place of the number of a target: all of them together. */
#define DOCUMENT_ALL (-1)

/* ---- statistics over passes, or over the rounds of a point ---- */

struct document_figure {
	const double *values; /* of each pass, in the unit of the figure */
	size_t n;	      /* 0: the document lacks the figure */
	double mean, high;    /* and the end of its interval; NAN: not known */
};

struct document_statistic {
	int64_t target; /* or DOCUMENT_ALL */
	const uint64_t *passes;
	size_t n; /* passes that count */
	struct document_figure figures[FIGURE_ALL];
	const char *not_reproducible; /* "": no reason against it is known */
	bool steady_known, steady;
	uint64_t steady_after; /* the last pass before the steady state */
};

struct document_statistics {
	const struct document_statistic *list;
	size_t n;
};

/* The statistics of `target` over at least one pass; NULL: there are none. */
const struct document_statistic *document_statistic(const struct document_statistics *s,
						    int64_t target);

/* ---- results of a run ---- */

/* A result of a target in a pass, of a target, of all targets or of a host; others are left out. */
struct document_result {
	enum result_what what;
	bool known;	 /* the numbers below are; otherwise those that are not are 0 */
	uint64_t pass;	 /* or the number of passes */
	uint64_t target; /* of all targets: their number */
	uint64_t host;	 /* of a host: its place in the list */
	uint64_t queue_depth, request_bytes, block_bytes;
	uint64_t elapsed_ns;
	bool placed; /* the next two are known: global clock */
	uint64_t begin_ns, finish_ns;
	bool partial;
	bool verified;	    /* reads were checked */
	enum op_request op; /* OP_MIXED where it is not known */
	enum result_bound bound;
	const json_t *value; /* the object */
};

/*
 * The figures of a result: what the document does not have is not `known` in them. Returns 0;
 * -EBADMSG, with the first value that is not as it should be in `why`; or -ENOMEM. The figures are
 * to be freed by figures_free() in either case.
 */
#define DOCUMENT_WHY_SIZE 160
int document_figures(const struct document_result *r, struct figures *f,
		     char why[DOCUMENT_WHY_SIZE]);

/* As document_figures(), for the whole result, as columns read it; without its plan. */
struct document;
int document_result_read(const struct document *d, const struct document_result *r,
			 struct result *to, char why[DOCUMENT_WHY_SIZE]);

/* The standard deviation of the service times in a direction, or of flushes; NAN: not known. */
double document_deviation_ns(const struct document_result *r, unsigned dir);

/* An interval of time, as jvalue_span() writes it. */
struct span document_span(const json_t *o);

/* The sums of -deskew over the passes; NULL: there are none. */
json_t *document_deskew(const json_t *root);

/* The first result of a kind; NULL: there is none. */
const struct document_result *document_result(const struct document *d, enum result_what what);

/*
 * The percentiles that a result has, of HISTOGRAM_ALL, in the order of the document; returns how
 * many.
 */
#define DOCUMENT_MAX_PERCENTS 100
size_t document_percents(const struct document_result *r, uint32_t percents[DOCUMENT_MAX_PERCENTS]);

/*
 * Operations in the histograms of a kind of results: so few that the sum over all hosts does not
 * overflow.
 */
#define DOCUMENT_MAX_OPS (1ull << 48)

/* The verdict on an end-to-end copy. */
struct document_copy {
	uint64_t target;
	struct copy_verdict verdict;
};

/* The clock of the host. */
struct document_clock {
	bool bound_known; /* how exact it is: */
	uint64_t bound_ns, end_bound_ns;
	const char *machine;	/* whose monotonic clock it read; NULL: not known */
	int64_t machine_offset; /* global clock minus that clock, ns */
};

/* ---- points of a sweep or a curve ---- */

struct document_point {
	double number;	      /* NAN: not known */
	const json_t *varied; /* an object of texts */
	struct document_statistics statistics;
	size_t rounds;
	uint64_t ops, bytes, errors;	     /* of all rounds */
	uint64_t max_ns;		     /* of the longest operation; 0: not known */
	struct document_figure response_max; /* of each round */
	const json_t *columns;		     /* -columns: an object of means; NULL: none */
	double status;			     /* NAN: not known */
	unsigned findings;		     /* of any round: a bit for each rule */
	bool responds;			     /* a load: its rounds have response times */
};

/* An option that a sweep varies, and its values. */
struct document_axis {
	const char *option;
	const char *const *values;
	size_t n;
};

/* Of a curve; numbers that are not known are NAN. Response times are from FIGURE_RESPONSE on. */
#define DOCUMENT_RESPONSES (FIGURE_ALL - FIGURE_RESPONSE)
struct document_load {
	double percent, offered_iops, reached_iops;
	double point; /* its number */
	double response_ns[DOCUMENT_RESPONSES], service_ns, lateness_ns, lateness_p99_ns;
	double interval_percent; /* half of it, of the mean response time */
	double queue, in_service;
	double drift_percent; /* may be negative */
	bool overloaded, disturbed;
	bool steady; /* where the drift is known */
};

struct document_curve {
	struct {
		bool known;
		double point, iops, interval_percent, steady_after;
	} maximum;
	struct {
		bool known;
		double percent, low_percent, high_percent, iops;
		const char *missing; /* why it is not known */
	} knee;
	struct {
		bool given;
		const char *figure;
		double limit_ns, holds_percent, holds_iops, fails_percent;
		bool disturbed;
	} goal;
	const struct document_load *loads;
	size_t n_loads;
	double rounds_least;
};

/* ---- the document ---- */

struct document_message {
	bool error;
	const char *level, *text;
};

struct document {
	const char *name;	       /* in messages: the path, or a host's; the caller's */
	json_t *root;		       /* owned; NULL: nothing was read */
	struct arena *arena;	       /* owned: what follows */
	bool sweep;		       /* of xdd sweep or xdd curve */
	bool curved;		       /* of xdd curve */
	char fault[DOCUMENT_WHY_SIZE]; /* "": sums can be made of it */

	/* "" where the document does not say */
	const char *xdd, *command_line, *start_time, *end_time, *end, *host;
	const char *run_id;	   /* NULL: none */
	uint64_t start_ns, end_ns; /* by the host's wall clock; 0: not known */
	double status;		   /* NAN: not known */
	bool partial;
	bool ranked; /* the next two are known */
	uint64_t rank, ranks;
	bool combined; /* xdd combine made it */
	struct document_clock clock;
	double late_ns;	    /* after -starttime; NAN: not known */
	double run_time_ns; /* -runtime; NAN: not given */

	const char *const *targets; /* the paths of the targets of the plan; "": not known */
	size_t n_targets;
	struct document_statistics statistics; /* of a run */
	const struct document_result *results;
	size_t n_results;
	const struct document_copy *copies;
	size_t n_copies;
	const struct document_point *points; /* of a sweep */
	size_t n_points;
	const struct document_axis *axes;
	size_t n_axes;
	struct document_curve curve;
	const struct document_message *messages;
	size_t n_messages;
};

/*
 * Read the file `path`, which may be no directory. With `first`, one of many documents that are
 * combined, which may be `d` itself: parts that a combined result does not need are left out, and
 * what is equal shares its memory. False: one line, which begins with `command`, was given to
 * log_error(). document_free() is safe in any case.
 */
bool document_load(struct document *d, const char *command, const char *path,
		   const struct document *first);

/*
 * Parse a document of `size` bytes, which another host has sent, and take it up by
 * document_read(). Returns 0, -EBADMSG where it is no JSON, or -ENOMEM.
 */
int document_parse(struct document *d, const char *text, size_t size);

/* Check and decode what document_parse() has read. False: reported, as by document_load(). */
bool document_read(struct document *d, const char *command, const char *name);

/*
 * Check that sums can be made of a document of a run: all its results are as they should be. False:
 * reported.
 */
bool document_check_sums(const struct document *d, const char *command);

void document_free(struct document *d);

/* ---- values of free form ---- */

/* A member that is a number and not negative; NAN: it is not. */
double document_real(const json_t *o, const char *key);

/* A member that is a text; otherwise "". */
const char *document_text(const json_t *o, const char *key);

#endif
