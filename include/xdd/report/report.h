/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports: the writers of results, results as values, and output files.
 */
#ifndef XDD_REPORT_REPORT_H
#define XDD_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "xdd/base/output.h"
#include "xdd/plan/plan.h"
#include "xdd/report/endtoend.h"
#include "xdd/report/result.h"

struct report;

/*
 * The writers: result lines to standard output or -output, to -csvout and to -combinedout, and the
 * information sections before and after them.
 *
 * A report belongs to one thread at a time: main until the run starts, the results manager during
 * it, main again afterwards. report_line() is for QThreads too.
 */

/* How the run ended, for the closing line. */
enum report_end {
	REPORT_END_NORMAL,
	REPORT_END_ERRORS,
	REPORT_END_CANCELED,
};

/*
 * Look at -outputformat and the output files (-errout too) without opening any for writing: unknown
 * identifiers, directories that do not exist, names of directories, block devices, two outputs to
 * one file, an output to a target, an existing CSV file whose header line names other columns. To
 * be called before -errout is opened, which truncates it. Returns XDD_OK, or a status with one line
 * given to log_error().
 */
enum xdd_status report_check(const struct plan *plan);

/*
 * Refuse the file `path` of -`option`, of a command that carries out plans, if `plan` reads it: a
 * setup file, a list. Returns XDD_OK, or a status with one line given to log_error(). Main thread.
 */
enum xdd_status report_check_file(const struct plan *plan, const char *option, const char *path);

/* The outputs of plans that are carried out one after another in the same process. Main thread. */
struct report_runs;

/* NULL: no memory. To be freed by report_runs_free(), which accepts NULL. */
struct report_runs *report_runs_new(void);
void report_runs_free(struct report_runs *runs);

/*
 * Add the next plan, which must outlive `runs` and has passed report_check(). Check its outputs
 * against the outputs of the plans before: that neither replaces a file of the other, nor has other
 * columns in a file of both, nor writes to a target of the other. Files must not change between the
 * calls. Returns XDD_OK, or a status with one line given to log_error().
 */
enum xdd_status report_runs_add(struct report_runs *runs, const struct plan *plan);

/*
 * The outputs that a rank of many has for itself, a line each, with the option: all files except
 * also the outputs of -jsonout and -errout. NULL: no memory. The caller frees it.
 */
char *report_outputs(const struct plan *plan);

/*
 * Open the outputs that are pipes, all of them before anything is written to one, and hold them
 * open in `pipes`. After report_check(). Returns XDD_OK, or XDD_BAD_ARGUMENT with one line given to
 * log_error() when a pipe has no reader.
 */
enum xdd_status report_hold_pipes(const struct plan *plan, struct output_pipes *pipes);

/*
 * Open the output files (all are appended to) and write the information sections: the whole of them
 * with -verbose or to an -output file, otherwise only the run's id and time and the targets. CSV
 * files get their header line when they are new or empty. `*out` is freed by report_close().
 * Returns XDD_OK, or a status with one line given to log_error().
 */
enum xdd_status report_open(const struct plan *plan, struct report **out);

/* A document of -jsonout in memory, which its owner frees. */
struct report_document {
	char *text; /* NULL: there is none */
	size_t size;
};

/*
 * As report_open(); nothing goes to standard output, and report_close() puts the document of
 * -jsonout into `document`, which must live as long as the report, and not into a file. NULL:
 * report_open().
 */
enum xdd_status report_open_document(const struct plan *plan, struct report_document *document,
				     struct report **out);

/* The figures that the outputs need, a mask of enum figures_part: the run measures these. */
unsigned report_needs(const struct report *r);

/*
 * Write one result to every output that shows it (files.c): the result lines, after their header;
 * CSV files; the document of -jsonout; latencies; notes. Each line reaches its file before the call
 * returns; the tables of -latency follow in report_trailer().
 */
void report_result(struct report *r, const struct result *result);

/*
 * The latencies of a target (RESULT_TARGET_PASS) or of all of them (RESULT_COMBINED) in an
 * interval of -latency, in nanoseconds since the first pass began: to the CSV file of -latency, or
 * without one to the text output, at once.
 */
void report_latency_interval(struct report *r, const struct result *result, uint64_t from_ns,
			     uint64_t to_ns);

/* Record the use of a device for -jsonout. */
void report_device(struct report *r, const struct device_use *use);

/* How the targets of a pass, or of all, compare in time: lines, and -jsonout. */
void report_deskew(struct report *r, const struct deskew_result *deskew);

/* The stonewall of a pass: lines, and -jsonout. */
void report_stonewall(struct report *r, const struct stonewall_result *stonewall);

/* How far their starts lay apart: a line with -verbose, and -jsonout. */
void report_start_skew(struct report *r, const struct start_skew_result *skew);

/* An end-to-end target: a pass, for -jsonout; or the sums over all passes: lines. */
void report_endtoend(struct report *r, const struct endtoend_result *e);

/* Statistics over the passes of a target, or of all: lines with -verbose, and -jsonout. */
void report_statistics(struct report *r, const struct pass_statistics *statistics);

/*
 * Write one line of information (without newline) to the text output only. Any thread, between
 * report_open() and report_close().
 */
void report_line(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * As report_line(), for a line that belongs to the table: the summary of -report person has its
 * contents.
 */
void report_table_line(struct report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Write a line that only -verbose shows. Any thread, as report_line(). */
void report_detail(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A stdio stream to the text output, for what is many lines: to be closed before its owner writes
 * anything else there. NULL when memory is short. Errors are kept with the errors of the output.
 */
FILE *report_stream(struct report *r);

/*
 * The information sections about the run and target number `target`, to be freed; NULL: no memory.
 */
char *report_information(const struct plan *plan, uint32_t target);

/* Write the closing lines: the ending time and how the run ended. */
void report_trailer(struct report *r, enum report_end end);

/*
 * The exit status, as far as it is known when the outputs are closed; for -jsonout. Accepts NULL.
 */
void report_status(struct report *r, enum xdd_status status);

/*
 * Close all outputs; accepts NULL. Returns XDD_OK, or XDD_IO_ERROR with one line given to
 * log_error() for each output that could not be written (a full disk, a closed pipe).
 */
enum xdd_status report_close(struct report *r);

/*
 * Results as values: a report whose results go to functions of a caller in this process, and not
 * to outputs. For commands that carry out several plans, one after another.
 */

/* An operation that failed. */
struct report_failure {
	uint32_t target;
	bool write;
	uint64_t offset, bytes;
	const char *why; /* for the time of the call */
};

/*
 * The functions are called by the thread that has the report; NULL: not wanted. What their
 * arguments point to belongs to the caller, for the time of the call: struct figures is copied with
 * figures_add().
 */
struct report_sink {
	void *arg;
	unsigned needs;	   /* enum figures_part: the run measures these */
	const char *title; /* precedes the progress on a terminal; NULL: nothing does */

	/*
	 * Each result: of a target's pass, then over all passes of each target, then of all
	 * targets. Those of QThreads with FIGURES_QTHREADS only.
	 */
	void (*result)(void *arg, const struct result *result);

	/* With FIGURES_PASSES: over the passes of each target, then of all. */
	void (*statistics)(void *arg, const struct pass_statistics *statistics);

	/* The use of each device, where it is known. */
	void (*device)(void *arg, const struct device_use *use);

	/* Each finding, after the results; it is no warning then. */
	void (*finding)(void *arg, const struct finding *finding);

	/* A failed operation, which then is no message. By QThreads, one at a time. */
	void (*failure)(void *arg, const struct report_failure *failure);

	/* The last call. A run that could not begin makes none. */
	void (*end)(void *arg, enum report_end end);
};

/*
 * As report_open(), without outputs: options of the plan that name files or select lines have no
 * effect. `sink` must stay valid until report_close(). Returns XDD_OK, or a status with one line
 * given to log_error().
 */
enum xdd_status report_open_sink(const struct plan *plan, const struct report_sink *sink,
				 struct report **out);

/* True if failed operations go to a sink. Any thread. */
bool report_takes_failures(const struct report *r);

/* Pass a failed operation to the sink. With report_takes_failures(); any thread. */
void report_failure(struct report *r, const struct report_failure *failure);

/* The title of the sink; NULL: there is none. Any thread. */
const char *report_title(const struct report *r);

/*
 * A file, pipe or terminal that lines are written to: opened for append, one write(2) a line of a
 * regular file, and the first error remembered. How writes wait for a reader: output.h.
 *
 * An outfile belongs to one thread at a time.
 */

struct outfile {
	int fd;	       /* -1: not wanted */
	bool shared;   /* standard output or standard error: not ours to close */
	bool empty;    /* it held nothing when it was opened, or what it held is no matter */
	bool mid_line; /* the last line has no end: the next write ends it first */
	int error;     /* the first errno of a write, 0: none */
};

/* The identity of a path: an existing file, or a name in a directory. */
struct outfile_id {
	bool known; /* false: nothing that two outputs could disagree about */
	dev_t dev;
	ino_t ino;
	char missing[256]; /* a file to be created: its name in the directory dev, ino; else "" */
};

/*
 * The identity of `path`; or, for NULL, of the regular file that standard output is. A symbolic
 * link to nothing is the file that would be created. Standard streams (output_standard()) and
 * /dev/null have none: several outputs may go there.
 */
void outfile_identify(struct outfile_id *id, const char *path);

/* The identity of the file or block device that a standard stream is redirected to. */
void outfile_identify_stream(struct outfile_id *id, int fd);

bool outfile_is_same(const struct outfile_id *a, const struct outfile_id *b);

/*
 * Open for append; NULL is standard output. A name of a standard stream is that stream, so that all
 * who have it write at one offset. Returns 0 or -errno, as output_open() does.
 */
int outfile_open(struct outfile *o, const char *path);

/* Write all of it. Errors are remembered; the next call tries again, on a new line. */
void outfile_write(struct outfile *o, const char *data, size_t size);

/* Write all of `spool`; errors of `o` are kept in it. Returns 0 or -errno of the spool. */
int outfile_copy(struct outfile *o, FILE *spool);

/* Safe on one that is not open. Returns 0, or -errno of the first failed write or of close(2). */
int outfile_close(struct outfile *o);

/*
 * Facts about a file or device: its file system, mount and disk.
 */

/*
 * The members "file_system" and "device", as in the environment of a document of -jsonout; each is
 * missing where nothing is known. Nothing is opened. The caller releases the object; NULL when
 * memory is short. Any thread.
 */
json_t *path_facts(const char *path);

#endif
