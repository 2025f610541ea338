/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results as values: what a run hands to the writers.
 */
#ifndef XDD_REPORT_RESULT_H
#define XDD_REPORT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/report/rule.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/stats.h"

struct report;

/*
 * Findings: what a run found out about its own numbers, such as reads that the page cache
 * answered. The run reports them; the writers of text results read them.
 */

#define FINDING_RUN (-1) /* a target's number: the finding is of the run, or of a device */

/* The subject of a finding. */
struct finding_about {
	int64_t target;
	const char *name; /* of the target, or of several; NULL: the run, or a device */
	bool direct;	  /* -dio is on */
};

struct finding {
	enum rule_id rule;
	int64_t target;
	bool direct;
	const char *text; /* one line without newline or prefix, as in the warning */
	size_t sentence;  /* where the sentence of the rule begins in it */
	size_t advice;	  /* where that ends, and the advice begins */
};

/* A finding about target `t`, about the run, or about several targets that `name` names. */
struct finding_about finding_of_target(const struct target_plan *t);
struct finding_about finding_of_run(const char *name, bool direct);

/* The advice of its rule, for its target; NULL: none. Static; any thread. */
const char *finding_advice(const struct finding *f);

/*
 * Add a finding, with the rule and its sentence from SAYS(). It is a warning on standard error, as
 * log_warning() writes it. Where the text result goes to the same terminal, the verdict there
 * shows it instead. Any thread, between report_open() and report_close(); `r` may be NULL: the
 * warning only.
 */
void report_finding(struct report *r, struct finding_about about, enum rule_id rule,
		    const char *says, ...) __attribute__((format(printf, 4, 5)));

/*
 * Hold the messages of findings back until report_findings_release(), which writes one for four or
 * more targets with the same finding. For the thread that has the report, when no QThread runs.
 */
void report_findings_hold(struct report *r);
void report_findings_release(struct report *r);

/*
 * The findings so far, in the order in which they were added; `*n` is their number. They are valid
 * until the next one is added: for the thread that has the report, when no QThread runs.
 */
const struct finding *report_findings(const struct report *r, size_t *n);

/*
 * An interval of -intervals, for report_interval(): the work that was completed in it.
 */

struct interval_result {
	uint64_t target;  /* their number: all of them */
	uint64_t pass;	  /* 0: of several passes */
	uint64_t from_ns; /* since the first pass began */
	uint64_t to_ns;
	bool partial;		       /* short because a pass begins or ends in it */
	const struct figures *figures; /* tally: operations, bytes and failures only; latency */
};

/*
 * Write the rows of an interval, one for each direction: to the CSV file of -intervals, or without
 * one to the text output, at once; and to the document of -jsonout. The thread that has the report.
 */
void report_interval(struct report *r, const struct interval_result *i);

/*
 * How the targets of a pass compare in time: what the run hands to the writers with -deskew, and
 * of the starts of several targets.
 */

/* An interval of time and what was done in it. */
struct span {
	uint64_t ns;
	uint64_t bytes;
	uint64_t op_units; /* successful operations in 1/FLOW_OP: some lie partly outside */
};

/* A target, by its own bytes and time. */
struct span_of_target {
	uint32_t target;
	struct span own;
};

struct deskew_result {
	uint64_t pass; /* 0: the sums over all */

	/* `window` is empty where the targets did not overlap; so are `head` and `tail`. */
	struct span whole;  /* first issue to last completion of all */
	struct span head;   /* until all were transferring */
	struct span window; /* last target's first issue to first target's last completion */
	struct span tail;   /* after that */

	struct span_of_target slowest, fastest;
	double fairness; /* bandwidth of the slowest over the fastest; 0: nothing moved */
};

/* Delays that were asked for are taken off. */
struct start_skew_result {
	uint64_t pass;
	uint64_t skew_ns;
	uint32_t first_target, last_target;
};

/* 10^6 bytes per second; 0 for an empty interval. */
double span_rate(const struct span *s);

/* Operations, and operations per second; 0 where there is no time. */
double span_iops(const struct span *s);

/* The text lines. */
void deskew_write(FILE *f, const struct deskew_result *d);

/*
 * The stonewall of a pass: what the run hands to the writers with -stonewall.
 */

#define STONEWALL_BY_TIME UINT32_MAX

struct stonewall_result {
	uint64_t pass;
	uint32_t target; /* the first one that ended the pass; or STONEWALL_BY_TIME */
	bool ranks;	 /* -mpi: it is of `rank` */
	unsigned rank;
	uint64_t begin_ns; /* first issue: global clock, since 1970 */

	/* of all targets, from their first issue on */
	struct span at;	 /* until no target issued any more */
	struct span end; /* until the last operation, and flush of -syncwrite, was complete */
};

/* The text lines. */
void stonewall_write(FILE *f, const struct stonewall_result *s);

/*
 * The global clock of a run and its start by that clock, as the run hands them to the writers.
 *
 * Global time is in nanoseconds since 1970. Without a time server it is the machine's wall clock,
 * whose error is not known.
 */

struct clock_result {
	const char *server; /* "host:port", borrowed; NULL: none, and what follows is all 0 */
	bool ranks;	    /* -mpi: it is the clock of rank 0, and `server` its host */
	int64_t offset_ns;  /* global clock minus the wall clock of this machine */
	int64_t local_ns;   /* global clock minus clock_now_ns(), when the first pass began */
	uint64_t bound_ns;  /* the offset is true within this, when the first pass began */
	uint64_t bound_at_end_ns;
	bool drift_known;
	double drift_ppm;	/* how much faster than the clock of this machine the server's is */
	uint64_t round_trip_ns; /* the smallest */
	unsigned exchanges, lost;
	unsigned steps; /* times that the server's clock stepped or the server was another */
};

struct start_result {
	uint64_t requested_ns; /* -starttime, of the global clock; 0: none */
	uint64_t achieved_ns;  /* first operation, without the delays that the user asked for */
	bool bound_known;
	uint64_t bound_ns; /* `achieved_ns` is true within this */
};

/* The document of -jsonout. The thread that has the report, at most once in a run each. */
void report_clock(struct report *r, const struct clock_result *clock);

/* The document; a line with -verbose, and where a start was requested. */
void report_start(struct report *r, const struct start_result *start);

/*
 * How the passes of a target, or of all targets together, came out: what the run hands to the
 * writers at its end.
 */

/* Figures that are compared from pass to pass, and of whole curves. */
enum pass_figure {
	FIGURE_BANDWIDTH, /* bytes per second */
	FIGURE_IOPS,	  /* operations per second */
	FIGURE_LATENCY,	  /* mean completion time of an operation, ns */

	/* percentiles of the completion times, ns; only where latencies are kept */
	FIGURE_P50,
	FIGURE_P99,
	FIGURE_P999,
	FIGURE_COUNT,

	/* of no operation, and not of sweeps: the mean time of a flush, ns */
	FIGURE_FLUSH = FIGURE_COUNT,

	/* mean and percentiles of the response times, ns; only where a rate sets due times */
	FIGURE_RESPONSE,
	FIGURE_RESPONSE_P50,
	FIGURE_RESPONSE_P99,
	FIGURE_RESPONSE_P999,
	FIGURE_ALL,

	/* of a curve, not of passes: its maximum, operations per second, and its knee */
	FIGURE_MAXIMUM = FIGURE_ALL,
	FIGURE_KNEE, /* percent of the maximum */
	FIGURE_NAMES,

	/* of the rounds of a sweep, and not compared: the longest response and service time, ns */
	FIGURE_RESPONSE_MAX = FIGURE_NAMES,
	FIGURE_MAX,
	FIGURE_ROUND, /* the figures that a round may have are below */
};

#define FIGURE_FIRST_PERCENTILE FIGURE_P50

struct pass_statistics {
	bool combined;	   /* all targets together */
	uint64_t target;   /* otherwise: its number */
	uint64_t left_out; /* passes cut short, without operations, or past the limit */
	size_t n;	   /* passes that count */
	unsigned known;	   /* a bit for each enum pass_figure: each of these passes has it */

	/* of these: their numbers, from 1, and their figures; owned by the run */
	const uint64_t *passes;
	const double *values[FIGURE_ALL];

	struct stats_summary summary[FIGURE_ALL];
	struct stats_stability stability[FIGURE_ALL];
};

/* The unit of a figure: its name, and the text of a value. */
struct figure_unit {
	const char *name; /* in documents */
	bool is_rate;	  /* follows from the load, where a load is set */
	int width;	  /* of a column of text() */
	char *(*text)(double value, char *buf);
};

/* A row for each enum pass_figure. */
struct pass_figure_row {
	const char *name; /* in documents */
	const struct figure_unit *unit;
	const char *shown; /* the name in text; NULL: it is not shown */

	/* Of the histogram of `time`: percentile, LATENCY_MEAN or LATENCY_MAX; 0: of none. */
	enum latency_time time;
	uint32_t stat;
};

extern const struct pass_figure_row pass_figures[FIGURE_ROUND];

/* The name and the unit of its row. */
const char *figure_name(enum pass_figure figure);
const struct figure_unit *figure_unit(enum pass_figure figure);

/* True for a percentile, which needs many operations. */
bool figure_is_percentile(enum pass_figure figure);

/* A value of it with three digits and a unit, such as "412 MB/s", into `buf` (SCALED_SIZE). */
char *figure_text(enum pass_figure figure, double value, char *buf);

/* The figure of response times that a figure of completion times has; other figures: themselves. */
enum pass_figure figure_of_response(enum pass_figure figure);

/* A figure of the histograms of `l`, ns; NAN: not known, or of no histogram. */
double figure_of_latency(const struct latency *l, enum pass_figure figure);

/* Any figure of a pass with these figures; NAN: not known. */
double figure_of_pass(const struct figures *f, enum pass_figure figure);

/*
 * As figure_of_pass(), of a direction, LATENCY_ALL_DIRS or LATENCY_FLUSHES, also where latencies
 * are of a sample.
 */
double figure_of_dir(const struct figures *f, enum pass_figure figure, unsigned dir);

/*
 * The figures that tables of targets, hosts or directions show, their headings there, and the
 * columns that figure_text() takes.
 */
#define FIGURES_SHOWN 5
extern const enum pass_figure figures_shown[FIGURES_SHOWN];
const char *figure_heading(enum pass_figure figure);
int figure_width(enum pass_figure figure);

/*
 * Fill in the figures of the `n` passes of `s`: those that have a value in each pass, where NAN
 * stands for one that is not known. Rates and the mean time always have. `values` are borrowed.
 */
void statistics_take(struct pass_statistics *s, double *const values[FIGURE_ALL]);

/* True if `s` has that figure of each pass. */
bool statistics_has(const struct pass_statistics *s, enum pass_figure figure);

/* The text lines, without percentiles: nothing for less than 3 passes. */
void statistics_write(FILE *f, const struct pass_statistics *s);

/*
 * The reason why the bandwidth of the passes is not reproducible, such as "pass 1 is 38 % slower
 * than the others", into `buf` (STATISTICS_WHY_SIZE bytes); returns `buf`, or NULL when nothing
 * does.
 */
#define STATISTICS_WHY_SIZE 160
char *statistics_why(const struct pass_statistics *s, char *buf);

/*
 * One result line as values: what the run hands to the writers, and the columns read.
 */

/* The cause that limited a target, by how its threads spent their time. */
enum result_bound {
	RESULT_BOUND_UNKNOWN,
	RESULT_BOUND_DEVICE,	/* its QThreads had time to spare */
	RESULT_BOUND_GENERATOR, /* QThreads at work, or waiting for this run's own */
	RESULT_BOUND_PACED,	/* no operation was due: -throttle, delays, -lockstep */
	RESULT_BOUND_STARVED,	/* its QThreads waited for processors that others used */
	RESULT_BOUND_MIXED,	/* more than one of these */
	RESULT_BOUND_QUOTA,	/* the CPU quota of its control group stopped its QThreads */
	RESULT_BOUND_LIMIT,	/* its device reached what its control group allows */
};
#define RESULT_BOUNDS (RESULT_BOUND_LIMIT + 1)

/* The words for a cause (finding.c): none for one that is not known. */
struct result_cause {
	const char *name;  /* in documents */
	const char *text;  /* in the details of a run */
	const char *words; /* on the page */
	const char *share; /* its evidence, a member of "bound_shares"; NULL: none alone */
	bool disturbs;	   /* it is no property of the storage or of the command */
	enum rule_id rule; /* it says the case in which the cause holds */
};

extern const struct result_cause result_causes[RESULT_BOUNDS];

/* How the QThreads of a target spent their time: shares from 0 to 1. */
struct result_times {
	bool known;
	double busy;   /* at work, in xdd and in the kernel */
	double waited; /* ready to run, and without a processor */
	double held;   /* idle until an operation was due */
	double idle;   /* the rest: they waited for the device, if there is one */
};

enum result_what {
	RESULT_QUEUE_PASS,
	RESULT_TARGET_PASS,
	RESULT_TARGET_AVERAGE,
	RESULT_COMBINED,
	RESULT_STONEWALL_AT,  /* -stonewall: all targets in a pass, until none issued any more */
	RESULT_STONEWALL_END, /* and to its end */
	RESULT_HOST,	      /* COMBINED of a host, in a document of several */
};

struct result {
	enum result_what what;
	uint64_t pass;	 /* from 1; AVERAGE and COMBINED: number of passes */
	uint64_t target; /* COMBINED, STONEWALL: number of targets */
	/* queue depth; QUEUE_PASS: QThread number; COMBINED, STONEWALL: sum of queue depths */
	uint64_t queue;
	struct figures figures; /* borrowed: latencies are the caller's, for the time of the call */
	bool verified;		/* reads were checked: tally.miscompares is a number */
	uint64_t processors;	/* base of Pct_CPU: 1, or all with -percentcpu relative */
	uint64_t qthreads;	/* of the target, or of all; QUEUE_PASS: 1 */
	enum op_request op;
	uint64_t req_bytes;  /* request size; COMBINED: of target 0 */
	uint64_t block_size; /* COMBINED: of target 0 */
	struct span window; /* COMBINED with -deskew: while all targets were transferring; else 0 */
	struct span tail;   /* also with -deskew: after it */
	double fairness;    /* also with -deskew: slowest target over fastest */
	enum result_bound bound;   /* TARGET_AVERAGE */
	struct result_times times; /* TARGET_AVERAGE: the evidence */
	const struct plan *plan;   /* set by report_result(); NULL: not known */
	uint64_t started_ns; /* the same: when the run started, of clock_wall_ns(); 0: not known */
	bool partial;	     /* cut short: stopped, limited by errors, or operations outstanding */
};

/* The parts of the figures of `r` that are known: bits of enum figures_part. */
static inline unsigned result_known(const struct result *r)
{
	const unsigned of_result = FIGURES_VERIFIED | FIGURES_FILE;

	return (r->figures.known & ~of_result) | (r->verified ? FIGURES_VERIFIED : 0) |
	       (r->what == RESULT_QUEUE_PASS ? 0 : FIGURES_FILE);
}

/* The use of a device during a run: requests that the kernel counted, and the run's own. */
struct device_use {
	const char *name;
	uint64_t ops;	/* of the run's targets on it */
	uint64_t bytes; /* of the run's targets on it */
	uint64_t requests;
	uint64_t merged;
	uint64_t device_bytes;
};

#endif
