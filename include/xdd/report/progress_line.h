/*
 * How far a run is, as a line for programs: an attached run (-attached) writes one each second to
 * standard error, and xdd multi reads those of all hosts. doc/output.md has the format. Functions
 * of their arguments; any thread.
 */
#ifndef XDD_REPORT_PROGRESS_LINE_H
#define XDD_REPORT_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
