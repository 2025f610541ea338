/*
 * How the targets of a pass compare in time: what the run hands to the writers with -deskew, and of
 * the starts of several targets.
 */
#ifndef XDD_REPORT_DESKEW_H
#define XDD_REPORT_DESKEW_H

#include <stdint.h>
#include <stdio.h>

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
double span_ops(const struct span *s);
double span_iops(const struct span *s);

/* A line for people: "<of>, <what>, 1.234567, seconds, ..." */
void span_write(FILE *f, const char *of, const char *what, const struct span *s);

/* The lines for people. */
void deskew_write(FILE *f, const struct deskew_result *d);

#endif
