/*
 * How the targets of a pass compare in time: -deskew, the user guide's 5.6, and the skew of their
 * starts. Private to src/run; used by the results manager alone.
 */
#ifndef XDD_RUN_RESULTS_DESKEW_H
#define XDD_RUN_RESULTS_DESKEW_H

#include <stddef.h>
#include <stdint.h>

#include "xdd/report/report.h"

struct pass_result;

/* Sums over the passes of a run. */
struct deskew {
	struct deskew_result sum; /* all 0 without -deskew */
	struct span *targets;	  /* each one's own; NULL without -deskew */
	size_t n_targets;
};

/* Without -deskew nothing is kept. Returns 0 or -ENOMEM. */
int deskew_init(struct deskew *d, const struct plan *plan);
void deskew_destroy(struct deskew *d);

/* Take in a pass, a result of each target in which what never came is NULL, and report it. */
void deskew_pass(struct deskew *d, struct report *report, struct pass_result *const *results,
		 uint64_t pass);

/* Set the figures of the COMBINED line. */
void deskew_fill(const struct deskew *d, struct result *result);

/* Report all passes. */
void deskew_end(const struct deskew *d, struct report *report);

/* Of a pass of which not all results are in. */
struct start_skew {
	struct start_skew *next;
	uint64_t pass;
	size_t results;
	uint64_t first_ns, last_ns;
	uint32_t first_target, last_target;
};

/*
 * Take in the result of one target, delays that were asked for taken off, and report the pass once
 * all `n_targets` are in. `list` begins as NULL.
 */
void start_skew_add(struct start_skew **list, struct report *report, const struct pass_result *r,
		    size_t n_targets);
void start_skew_free(struct start_skew *list);

#endif
