/*
 * How the targets of a pass compare in time: what the run hands to the writers with -deskew, and of the
 * starts of several targets.
 */
#ifndef XDD_REPORT_DESKEW_H
#define XDD_REPORT_DESKEW_H

#include <stdint.h>
#include <stdio.h>

/* An interval of time and what was done in it. */
struct stretch {
	uint64_t ns;
	uint64_t bytes;
	uint64_t op_units; /* operations that succeeded, in units of 1/FLOW_OP: parts of some lie outside */
};

/* A target, by its own bytes and time. */
struct stretch_of_target {
	uint32_t target;
	struct stretch own;
};

struct deskew_result {
	uint64_t pass; /* 0: the sums over all */

	/* `window` is empty where the targets did not overlap; so are `head` and `tail`. */
	struct stretch whole; /* first issue to last completion of all */
	struct stretch head;  /* until all were transferring */
	struct stretch
		window; /* from the last target's first issue to the first target's last completion */
	struct stretch tail; /* after that */

	struct stretch_of_target slowest, fastest;
	double fairness; /* bandwidth of the slowest over that of the fastest; 0 where nothing moved */
};

/* Delays that were asked for are taken off. */
struct start_skew_result {
	uint64_t pass;
	uint64_t skew_ns;
	uint32_t first_target, last_target;
};

/* 10^6 bytes a second; 0 where there is no time. */
double stretch_rate(const struct stretch *s);

/* Operations, and operations per second; 0 where there is no time. */
double stretch_ops(const struct stretch *s);
double stretch_iops(const struct stretch *s);

/* The lines for people. */
void deskew_write(FILE *f, const struct deskew_result *d);

#endif
