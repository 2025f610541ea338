/*
 * How the targets of a pass compare in time: -deskew, the user guide's 5.6, and the skew of their starts.
 * Private to src/run; used by the results manager alone.
 */
#ifndef XDD_RUN_DESKEW_H
#define XDD_RUN_DESKEW_H

#include <stddef.h>
#include <stdint.h>

#include "xdd/report/report.h"

struct pass_result;

/* A stretch of time and what moved in it. */
struct stretch {
	uint64_t ns;
	uint64_t bytes;
};

/* A pass of all targets taken apart. `window` is empty where the targets did not overlap; so are the others. */
struct deskew_parts {
	struct stretch whole; /* first issue to last completion of all */
	struct stretch head;  /* until all were transferring */
	struct stretch
		window; /* from the last target's first issue to the first target's last completion */
	struct stretch tail; /* after that */
};

/* Sums over the passes of a run. */
struct deskew {
	struct deskew_parts sum;
	struct stretch *targets; /* each one's own; NULL without -deskew */
	size_t n_targets;
};

/* Without -deskew nothing is kept. Returns 0 or -ENOMEM. */
int deskew_init(struct deskew *d, const struct plan *plan);
void deskew_destroy(struct deskew *d);

/* Take apart one pass: a result of each target, in which what never came is NULL. */
void deskew_parts(struct deskew_parts *parts, struct pass_result *const *results, size_t n);

/* Take in a pass and write its lines. */
void deskew_pass(struct deskew *d, struct report *report, struct pass_result *const *results,
		 uint64_t pass);

/* What the COMBINED line shows of it. */
void deskew_fill(const struct deskew *d, struct result *result);

/* Write the lines about all passes. */
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
 * Take in the result of one target, delays that were asked for taken off, and write a line once all
 * `n_targets` of that pass are in. `list` begins as NULL.
 */
void start_skew_add(struct start_skew **list, struct report *report, const struct pass_result *r,
		    size_t n_targets);
void start_skew_free(struct start_skew *list);

#endif
