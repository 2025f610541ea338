/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines about the progress of a run, as text and for programs.
 */
#ifndef XDD_REPORT_HEARTBEAT_H
#define XDD_REPORT_HEARTBEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"
#include "xdd/report/report.h"

/*
 * How far a run is, as a line for programs: an attached run (-attached) writes one each second to
 * standard error, and xdd multi reads the lines of all hosts. doc/output.md has the format.
 * Functions of their arguments; any thread.
 */

#define PROGRESS_LINE_SIZE 256

/* The line begins with this, and with the version of the format. */
#define PROGRESS_LINE_MARK "@xdd "

enum progress_state {
	PROGRESS_READY,	  /* the process has started, and no operation was issued */
	PROGRESS_RUNNING, /* operations are issued */
	PROGRESS_ENDING,  /* results are written */
};

/* All targets of the run together. */
struct progress_line {
	enum progress_state state;
	uint64_t pass, passes;
	int64_t done_ppm;    /* how much of the pass is done, 0 to 1000000; -1: unknown */
	uint64_t bytes;	     /* in this pass */
	uint64_t ops;	     /* in this pass, without those that failed */
	uint64_t elapsed_ns; /* since the first operation of the pass */
	int64_t left_s;	     /* until the run is over; -1: unknown */
};

/* Write the line with its newline to `text`. Returns its length. */
size_t progress_line_encode(const struct progress_line *p, char text[PROGRESS_LINE_SIZE]);

/*
 * Read a line, without its newline, that may come from any source. Returns 0 with `*p` checked;
 * -ENOMSG: it is another line; -EBADMSG: it is malformed, or of another version.
 */
int progress_line_decode(const char *text, struct progress_line *p);

/*
 * Lines of the heartbeat; doc/output.md has the format. Functions of their arguments, any thread.
 */

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
 * heartbeat.c: the seconds until the run is over, if all of its targets go on as they have:
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
 * sample's options name. A line begins with a legend for all samples on it: samples
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
