/*
 * Lines of the heartbeat. The format is that of the old program, see doc/output.md; functions of their
 * arguments, any thread.
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

	/* of the operations completed since the last line; all 0: there were none */
	uint64_t median_ns;
	uint64_t p99_ns;
	uint64_t longest_ns;
};

/* What is the same for all targets of a line. */
struct heartbeat_time {
	uint64_t run_ns; /* since the run began */
	uint64_t beat;	 /* number of the line, for the mark that turns */
};

/* The name of a target's file of -heartbeat output; the caller frees it. NULL: memory is short. */
char *heartbeat_path(const struct target_plan *t);

/*
 * Open that file, made anew or appended to, and write its header line if it holds nothing. Returns 0 or
 * -errno. outfile_write() and outfile_close() do the rest.
 */
int heartbeat_open(struct outfile *o, const struct target_plan *t);

/*
 * Write one line of values, without its end, for `n` samples (at least one) with the fields that each
 * sample's options name; the legend is that of the first.
 */
void heartbeat_line(FILE *f, const struct heartbeat_time *time,
		    const struct heartbeat_sample *samples, size_t n);

/* Write the line, without its end, that names the columns of a file of such lines with one sample. */
void heartbeat_header(FILE *f, const struct heartbeat_options *options);

/* Write what a terminal gets unasked, for `n` samples: a few words on the whole of them. */
void heartbeat_progress(FILE *f, const struct plan *plan, const struct heartbeat_sample *samples,
			size_t n);

#endif
