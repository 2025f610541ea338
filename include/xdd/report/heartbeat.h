/*
 * Lines of the heartbeat; doc/output.md has the format. Functions of their arguments, any thread.
 */
#ifndef XDD_REPORT_HEARTBEAT_H
#define XDD_REPORT_HEARTBEAT_H

#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/report/outfile.h"

enum heartbeat_state {
	HEARTBEAT_WAITING, /* the pass has not begun */
	HEARTBEAT_RUNNING,
	HEARTBEAT_COMPLETE,
	HEARTBEAT_CUT, /* the run was stopped: there will be no more of it */
};

/* How far a target is. */
struct heartbeat_sample {
	const struct target_plan *target;
	const struct heartbeat_options *options; /* the target's, or what is shown unasked */
	uint64_t limit_ns; /* when a limit ends the pass, since its first operation; 0: none does */
	enum heartbeat_state state;
	uint64_t pass;
	uint64_t ops;	     /* completed in this pass, without those that failed */
	uint64_t done_ops;   /* with those */
	uint64_t bytes;	     /* in this pass */
	uint64_t elapsed_ns; /* since its first operation */
	uint64_t rested_ns;  /* since the end of a complete pass */
	double left_s;	     /* heartbeat_left() */

	/* since the last line of this target, or since the pass began where that was later */
	uint64_t recent_ns;
	uint64_t recent_ops;
	uint64_t recent_bytes;
	double median_ns; /* of these operations; NAN: there were too few */
	double p99_ns;
	uint64_t longest_ns;
};

#define HEARTBEAT_UNKNOWN (-1.0)

/* The times that all targets of a line share. */
struct heartbeat_time {
	uint64_t run_ns; /* since the run began */
	uint64_t beat;	 /* number of the line, for the mark that turns */
};

/*
 * How much of the pass is done, 0 to 1: of its operations, or of its time where only that ends it.
 */
double heartbeat_share(const struct heartbeat_sample *s);

/*
 * heartbeat_left.c: the seconds until the run is over, if all of its targets go on as they have:
 * `samples` has one for each target of the plan. `limit_s` is the time until -runtime ends it, or
 * infinite. HEARTBEAT_UNKNOWN where that cannot be told.
 */
double heartbeat_left(const struct plan *plan, const struct heartbeat_sample *samples,
		      double limit_s);

/* The name of a target's file of -heartbeat output; the caller frees it. NULL: memory is short. */
char *heartbeat_path(const struct target_plan *t);

/*
 * Open that file, emptied or appended to, and write its header line if it holds nothing. Returns 0
 * or -errno. outfile_write() and outfile_close() do the rest.
 */
int heartbeat_open(struct outfile *o, const struct target_plan *t);

/*
 * Write values for `n` samples (at least one), without an end of line, with the fields that each
 * sample's options name. A line begins with a legend, which is that of all samples on it: samples
 * with other fields, or in another pass, follow after `separator` with a legend of their own.
 */
void heartbeat_line(FILE *f, const struct heartbeat_time *time,
		    const struct heartbeat_sample *samples, size_t n, char separator);

/*
 * As heartbeat_line(), for one sample, as a row of a file: with all columns of heartbeat_header(),
 * empty ones too.
 */
void heartbeat_row(FILE *f, const struct heartbeat_time *time,
		   const struct heartbeat_sample *sample);

/* Write the names of the fields of `options`, each with a slash before it. */
void heartbeat_field_names(FILE *f, const struct heartbeat_options *options);

/* Write the line, without its end, that names the columns of a file of such rows. */
void heartbeat_header(FILE *f, const struct heartbeat_options *options);

/*
 * Write what a terminal gets unasked, for `n` samples (at least one): a few words on the whole of
 * them.
 */
void heartbeat_progress(FILE *f, const struct plan *plan, const struct heartbeat_sample *samples,
			size_t n);

#endif
