/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text results, and the verdict on a run. Private to src/report.
 */
#ifndef XDD_REPORT_PERSON_H
#define XDD_REPORT_PERSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/screen.h"
#include "xdd/report/report.h"
#include "xdd/report/result.h"
#include "xdd/stat/figures.h"

struct screen;

/*
 * The text results: a block of a few lines about a run, with its verdict. Private to
 * src/report; functions belong to the thread that has the report.
 */

/* The figures that the block shows: the run measures them. */
#define PERSON_NEEDS (FIGURES_PERCENTILES | FIGURES_WAIT | FIGURES_CPU | FIGURES_PASSES)

/* One direction of a target or of all targets, or all directions. */
struct person_figures {
	uint64_t n; /* operations that succeeded */

	/* figures_shown[] of service times and response times; NAN: not known */
	double values[LATENCY_TIMES][FIGURES_SHOWN];
};

/* A target, or all of them, over all passes. */
struct person_sum {
	bool any; /* it has results */
	bool partial;
	bool verified;
	uint64_t passes;
	uint64_t elapsed_ns;
	uint64_t errors, miscompares, outstanding;
	uint64_t warmup_ops; /* of warm-ups, in no other figure */
	uint64_t flush_ns;   /* of -flushwrite and -syncwrite */
	struct person_figures dirs[DIR_COUNT];
	struct person_figures flushes;
	struct person_figures all;
	enum result_bound bound;
	struct result_times times;
};

/* The copy of an end-to-end target; what is said about it is the sum over the passes. */
struct person_copy {
	bool any, complete;
	bool source;
	uint64_t ops;
	char digest[ENDTOEND_HEX_SIZE];
	struct copy_verdict verdict;
};

/* The passes of the run, or of the only target. */
struct person_passes {
	size_t n; /* whole ones */
	double mean, half_width;
	double until_percent;	       /* +- of the mean in percent, as -passes until counts it */
	char why[STATISTICS_WHY_SIZE]; /* "": they are alike */
};

struct person {
	const struct plan *plan;
	struct person_sum all;
	struct person_passes passes;
	struct person_copy copy; /* of the last end-to-end target; `complete`: of each */
	size_t n;
	struct person_sum targets[];
};

/* NULL: no memory. To be freed with free(). */
struct person *person_new(const struct plan *plan);

/* Keep what the block shows of a result; sums of targets and of the run count. */
void person_result(struct person *p, const struct result *result);
void person_statistics(struct person *p, const struct pass_statistics *statistics);
void person_endtoend(struct person *p, const struct endtoend_result *e);

/* The parts of the block: what ran, the table, the verdict. Each returns 0 or -ENOMEM. */
int person_verdict(const struct person *p, const struct finding *findings, size_t n_findings,
		   enum report_end end, const struct screen *screen, FILE *f);

/*
 * The verdict on a run in plain words: what limited it, how certain its figures are, what
 * disturbed it, and what to try next. Private to src/report; pure functions of the facts, any
 * thread.
 */

#define VERDICT_NEXT_MAX 2 /* suggestions */

struct verdict_range {
	double least, most;
};

/* The targets that one cause limited, and their shares of time. */
struct verdict_bound {
	size_t n;
	struct verdict_range busy, waited, held, idle;
};

/* Some of the targets. */
struct verdict_targets {
	size_t n;
	const char *name; /* of the first one, borrowed */
};

struct verdict_facts {
	size_t targets; /* that have results */
	struct verdict_bound bounds[RESULT_BOUNDS];
	bool files;	      /* some target is a file or a block device */
	bool direct;	      /* all of these bypass the page cache */
	const char *pace;     /* the option that sets the pace; NULL: none */
	uint64_t depth;	      /* the greatest queue depth */
	bool queues;	      /* the engines queue: few QThreads keep many requests in flight */
	const char *queueing; /* an engine that queues and is available; NULL: none */
	uint64_t qthreads;    /* of all targets */
	uint64_t processors;  /* of the machine; 0: unknown */

	uint64_t passes_ran;
	double until_percent;	/* -passes until; 0: not given */
	uint64_t run_time_ns;	/* -runtime; 0: not given */
	uint64_t time_limit_ns; /* the longest -timelimit; 0: not given */
	struct person_passes passes;

	uint64_t elapsed_ns;				/* of all passes */
	uint64_t ops, errors, miscompares, outstanding; /* operations; extents of wrong data */
	struct verdict_targets failed, hung; /* targets with errors, or with outstanding requests */
	uint64_t warmup_ops;		     /* of warm-ups, which are not in ops */
	uint64_t flushes;		     /* of -flushwrite and -syncwrite */
	uint64_t flush_ns;		     /* the sum of their times */
	bool verified;
	bool partial;
	enum report_end end;
	struct person_copy copy;

	const struct finding *findings;
	size_t n_findings;
};

/* A line; the label is the part that may have a colour. */
struct verdict_line {
	enum screen_tone tone;
	const char *label; /* const */
	char *text;	   /* owned */
};

struct verdict {
	struct verdict_line *lines;
	size_t n;
};

/* Returns 0 or -ENOMEM; verdict_free() in either case. */
int verdict_make(const struct verdict_facts *facts, struct verdict *v);
void verdict_free(struct verdict *v);

#endif
