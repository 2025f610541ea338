/*
 * The results for people: a block of a few lines about a run, with its verdict. Private to
 * src/report; functions belong to the thread that has the report.
 */
#ifndef XDD_REPORT_PERSON_H
#define XDD_REPORT_PERSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/report/report.h"
#include "xdd/stat/figures.h"

struct screen;

/* The figures that the block shows: the run measures them. */
#define PERSON_NEEDS (FIGURES_PERCENTILES | FIGURES_WAIT | FIGURES_CPU | FIGURES_PASSES)

/* Latencies, ns. */
struct person_latency {
	bool known;
	double p50, p99; /* NAN: too few operations */
	uint64_t max;
};

/* One direction of a target or of all targets, or all directions; per second. */
struct person_figures {
	uint64_t n; /* operations that succeeded */
	double bytes, ops;
	struct person_latency latency[LATENCY_TIMES];
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
	struct person_figures flushes; /* they have no bytes */
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

/* Write the block. Returns 0 or -ENOMEM, with a part of it missing. */
int person_write(const struct person *p, const struct finding *findings, size_t n_findings,
		 enum report_end end, const struct screen *screen, FILE *f);

/* The parts of the block: what ran, the table, the verdict. Each returns 0 or -ENOMEM. */
int person_words(const struct person *p, const struct screen *screen, FILE *f);
int person_table(const struct person *p, const struct screen *screen, FILE *f);
int person_verdict(const struct person *p, const struct finding *findings, size_t n_findings,
		   enum report_end end, const struct screen *screen, FILE *f);

#endif
