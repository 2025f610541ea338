/*
 * The verdict on a run in plain words: what limited it, how certain its figures are, what disturbed
 * it, and what to try next. Private to src/report; pure functions of the facts, any thread.
 */
#ifndef XDD_REPORT_VERDICT_H
#define XDD_REPORT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/person.h"
#include "report/screen.h"
#include "xdd/report/finding.h"
#include "xdd/report/result.h"

#define RESULT_BOUNDS (RESULT_BOUND_LIMIT + 1)
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
	bool files;	     /* some target is a file or a block device */
	bool direct;	     /* all of these bypass the page cache */
	const char *pace;    /* the option that sets the pace; NULL: none */
	uint64_t depth;	     /* the greatest queue depth */
	bool queues;	     /* the engines queue: few QThreads keep many requests in flight */
	uint64_t qthreads;   /* of all targets */
	uint64_t processors; /* of the machine; 0: unknown */

	uint64_t passes_ran, passes_planned;
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
	char *const *prefixes; /* of findings: "target 0, data: "; one per finding, or NULL */
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
