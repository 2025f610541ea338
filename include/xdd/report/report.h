/*
 * The writers: result lines to standard output or -output, to -csvout and to -combinedout, and the
 * information sections before and after them.
 *
 * A report belongs to one thread at a time: main until the run starts, the results manager during
 * it, main again afterwards. report_line() is for QThreads too.
 */
#ifndef XDD_REPORT_REPORT_H
#define XDD_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/output.h"
#include "xdd/plan/plan.h"
#include "xdd/report/deskew.h"
#include "xdd/report/endtoend.h"
#include "xdd/report/finding.h"
#include "xdd/report/interval.h"
#include "xdd/report/result.h"
#include "xdd/report/statistics.h"
#include "xdd/report/stonewall.h"

struct report;

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
 * against those of the plans before: that neither replaces a file of the other, nor has other
 * columns in a file of both, nor writes to a target of the other. Files must not change between the
 * calls. Returns XDD_OK, or a status with one line given to log_error().
 */
enum xdd_status report_runs_add(struct report_runs *runs, const struct plan *plan);

/*
 * The outputs that a rank of many has for itself, a line each, with the option: all files except
 * those of -jsonout and -errout. NULL: no memory. The caller frees it.
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
 * Write one result to every output that shows it (writers.c): the result lines, after their header;
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
 * anything else there. NULL when memory is short. Errors are kept with those of the output.
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

#endif
