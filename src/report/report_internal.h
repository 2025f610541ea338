/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a report that its files share: the outputs and their checks, the lines on their way
 * to them, and CSV files.
 *
 * Functions belong to the thread that has the report, unless stated.
 */
#ifndef XDD_REPORT_REPORT_INTERNAL_H
#define XDD_REPORT_REPORT_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/jsonout.h"
#include "report/latency.h"
#include "report/person.h"
#include "report/screen.h"
#include "xdd/base/memory.h"
#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/report/column.h"
#include "xdd/report/report.h"
#include "xdd/report/result.h"

/*
 * CSV files: their header line, and whether a file that is there already goes on with it.
 */

enum csv_start {
	CSV_START_NEW,	 /* no regular file, or an empty one: the header line has to be written */
	CSV_START_SAME,	 /* its first line is the header line */
	CSV_START_OTHER, /* its first line is another one */
};

/*
 * Put the cells of the header line, or of `r`, into `cells` (room for list->n); returns how
 * many they are. There are none for delimiters.
 */
size_t csv_header_cells(struct line_cell *cells, const struct column_list *list);
size_t csv_result_cells(struct line_cell *cells, const struct column_list *list,
			const struct result *r);

/*
 * Compare the first line of `path` with `header` (`len` bytes, newline included). Returns an enum
 * csv_start, or -errno when the file cannot be read.
 */
int csv_look(const char *path, const char *header, size_t len);

struct report {
	/* const after report_open() */
	const struct plan *plan;
	struct report_document *document; /* gets the document of -jsonout; NULL: its file does */
	const struct report_sink *sink;	  /* gets the results; NULL: the outputs do */
	uint64_t started_ns;		  /* of clock_wall_ns() */
	struct column_list list, csv_list;

	/* owned by the thread that has the report: room for a line */
	struct line_cell *cells;
	char *line;

	/*
	 * guarded by text_lock: QThreads put lines between the lines of the results; `held` has the
	 * lines of the table, which follows the result block; NULL stream: they are written at
	 * once
	 */
	pthread_mutex_t text_lock;
	struct outfile text;
	struct memstream held;
	bool begun; /* lines were written */
	bool folds; /* const after report_open(): `text` is a terminal, its lines are to fit */

	/* owned by the thread that has the report: the files of lines; fd -1: not used */
	struct outfile csv;
	struct outfile combined;
	struct outfile latency;
	struct outfile series;
	struct prometheus *prometheus; /* NULL: not used */

	/*
	 * owned by the thread that has the report: the tables of -latency, which follow the results
	 */
	struct memstream table, octaves;
	struct latency_screen latency_screen; /* in their place, where tables have to fit */
	bool header_done;		      /* the header of the result table is written */
	bool intervals_begun;		      /* the header of the table of intervals is written */
	bool series_begun;		      /* the header of the table of -intervals is written */
	struct jsonout *json;		      /* NULL: not used */
	struct person *person;		      /* NULL: the results are not text */
	struct outfile screen; /* gets the block where `text` is a file; fd -1: not used */
	enum xdd_status status;

	/* guarded by findings_lock: report_finding(), report_failure() */
	pthread_mutex_t findings_lock;
	struct finding *findings; /* owns its texts */
	size_t n_findings;
	bool findings_held; /* no message yet for those from `first_held` on */
	size_t first_held;
};

/* True if the results are written as text, with a verdict. */
static inline bool report_person(const struct report *r)
{
	return r->plan->person;
}

/* True if the text output has the guide's lines: preamble, table and trailer. */
static inline bool report_guide(const struct report *r)
{
	const struct plan *plan = r->plan;

	return !plan->person || plan->output_file || plan->verbose || plan->output_format ||
	       plan->qthread_info;
}

/*
 * True if the guide's lines wait until the result block is written. With -verbose they appear
 * during the run, and the block is last.
 */
static inline bool report_holds(const struct report *r)
{
	return r->plan->person && !r->plan->output_file && !r->plan->verbose;
}

/* True if tables are for a screen: scaled numbers, in its width. */
static inline bool report_fits(const struct report *r)
{
	return r->plan->person && !r->plan->output_file;
}

/* Write the result block; then the lines that wait for it. (person.c) */
void report_person_write(struct report *r, enum report_end end);

/* Write the lines that wait, and from now on each at once. With text_lock held. */
void report_release_held(struct report *r);

void findings_free(struct report *r);

/* A report without outputs, to be freed by report_free(); NULL: no memory. */
struct report *report_new(const struct plan *plan);

/* The last calls of a sink. */
void report_end_sink(const struct report *r, enum report_end end);

/* As report_write_text(), for lines of the guide, which may have to wait. Any thread. */
void report_write_table(struct report *r, const char *line, size_t len);

/*
 * Write the lines of `l` to `o`, one of the outputs of `r`, and free them; an error stays with the
 * output. Control characters in the text of the environment, such as the name of a disk, do not
 * reach a terminal; CSV is exact.
 */
void report_write_lines(struct report *r, struct outfile *o, struct memstream *l);

/* As report_write_lines(), to the text output, for lines of the guide, which may have to wait. */
void report_write_table_lines(struct report *r, struct memstream *l);

/*
 * Write the rows of a result, or of an interval, to the file of -latency output; without a result,
 * its header line. Without that file: nothing.
 */
void report_latency_csv(struct report *r, const struct result *result,
			const struct latency_interval *interval);

/* Write the tables of -latency, each after its header; nothing where they are empty. */
void report_latency_text(struct report *r);

/*
 * Write two lines about the longest and the shortest operation; nothing where no operation
 * succeeded.
 */
void extremes_write(struct report *r, const struct result *result);

/*
 * -intervals prometheus: the counts of a run so far as OpenMetrics text, in a file that is replaced
 * after each interval. (prometheus.c)
 */

struct prometheus;

/* False: the path is of a stream, device or pipe, which cannot be replaced as a whole. */
bool prometheus_accepts(const char *path);

/* Write the file with nothing done yet. Returns 0 with `*out`, or -errno. */
int prometheus_open(struct prometheus **out, const struct plan *plan, uint64_t started_ns);

/*
 * Add an interval of a target; after the interval of all targets, or of the only one, the file is
 * replaced. An error is kept for prometheus_close(), and the next interval tries again.
 */
void prometheus_interval(struct prometheus *p, const struct interval_result *i);

/*
 * Write the last state, with the exit status of the run. Returns 0, or the first -errno. Accepts
 * NULL.
 */
int prometheus_close(struct prometheus *p, enum xdd_status status);

/* As prometheus_close(), for a run that does not begin: the file stays as it is. */
void prometheus_free(struct prometheus *p);

/*
 * Checks that report_check() makes before a run, and report_open() again when it opens the files.
 * Each returns XDD_OK, or a status with one line given to log_error().
 */

/* The columns of -outputformat, or the default ones; to be freed by column_list_free(). */
enum xdd_status report_columns(const struct plan *plan, struct column_list *list);

/*
 * As report_columns(), for CSV files, which by default have columns that identify the run as well.
 */
enum xdd_status report_csv_columns(const struct plan *plan, struct column_list *list);

/*
 * Check whether CSV file `path` of -`option` may be continued with lines under `header` (`len`
 * bytes), and whether that line has to be written first.
 */
enum xdd_status report_csv_start(const char *option, const char *path, const char *header,
				 size_t len, bool *write_header);

/* As report_csv_start(), for the file of -latency output, which has another header line. */
enum xdd_status report_latency_start(const struct plan *plan, bool *write_header);

/* As report_latency_start(), for the file of -intervals output. */
enum xdd_status report_series_start(const struct plan *plan, bool *write_header);

#endif
