/*
 * The parts of a report that its files share: the outputs and the lines on their way to them.
 *
 * Functions belong to the thread that has the report, unless stated.
 */
#ifndef XDD_REPORT_REPORT_INTERNAL_H
#define XDD_REPORT_REPORT_INTERNAL_H

#include <pthread.h>
#include <stdio.h>

#include "report/jsonout.h"
#include "report/latency.h"
#include "report/line.h"
#include "xdd/base/memstream.h"
#include "xdd/report/column.h"
#include "xdd/report/finding.h"
#include "xdd/report/outfile.h"
#include "xdd/report/report.h"
#include "xdd/report/sink.h"

struct report {
	/* const after report_open() */
	const struct plan *plan;
	const struct report_sink *sink; /* gets the results; NULL: the outputs do */
	uint64_t started_ns;		/* of clock_wall_ns() */
	struct column_list list, csv_list;

	/* owned by the thread that has the report: room for a line */
	struct line_cell *cells;
	char *line;

	/* guarded by text_lock: QThreads put lines between those of the results */
	pthread_mutex_t text_lock;
	struct outfile text;

	/* owned by the thread that has the report: the files of lines; fd -1: not used */
	struct outfile csv;
	struct outfile combined;
	struct outfile latency;
	struct outfile series;

	/*
	 * owned by the thread that has the report: the tables of -latency, which follow the results
	 */
	struct memstream table, octaves;
	bool header_done;     /* the header of the result table is written */
	bool intervals_begun; /* the header of the table of intervals is written */
	bool series_begun;    /* the header of the table of -intervals is written */
	struct jsonout *json; /* NULL: not used */
	enum xdd_status status;

	/* guarded by findings_lock: report_finding() */
	pthread_mutex_t findings_lock;
	struct finding *findings; /* owns its texts */
	size_t n_findings;
};

/* True if the results are written for people, with a verdict. */
static inline bool report_person(const struct report *r)
{
	(void)r;
	return false;
}

void findings_free(struct report *r);

/* Write `len` bytes of whole lines to the text output. Any thread. */
void report_write_text(struct report *r, const char *line, size_t len);

/*
 * Write the lines of `l` to `o`, one of the outputs of `r`, and free them; an error stays with the
 * output. Control characters in the text of the environment, such as the name of a disk, do not
 * reach a terminal; CSV is exact.
 */
void report_write_lines(struct report *r, struct outfile *o, struct memstream *l);

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

#endif
