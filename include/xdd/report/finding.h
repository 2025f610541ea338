/*
 * Findings: what a run found out about its own numbers, such as reads that the page cache answered.
 * The run reports them; the writers of results for people read them.
 */
#ifndef XDD_REPORT_FINDING_H
#define XDD_REPORT_FINDING_H

#include <stddef.h>
#include <stdint.h>

struct report;

/* The cause, which decides what to try next. */
enum finding_kind {
	FINDING_CACHED,	   /* reads were answered by the page cache */
	FINDING_HOLES,	   /* reads were of data that was never written */
	FINDING_DIRTY,	   /* writes were in memory when the run ended */
	FINDING_ZEROS,	   /* storage may compress or drop the zeros that were written */
	FINDING_GENERATOR, /* the QThreads limited the run, not the device */
	FINDING_STARVED,   /* the QThreads had no processor */
	FINDING_OTHERS,	   /* a device moved data that is not of this run */
	FINDING_SPLIT,	   /* the kernel split requests */
	FINDING_MERGED,	   /* the kernel merged requests */
	FINDING_RATE,	   /* the rate of -throttle was not reached */
	FINDING_PASSES,	   /* fewer passes than requested */
	FINDING_GAP,	   /* operations were not issued */
	FINDING_LATE,	   /* the targets were not ready at -starttime */
	FINDING_QUOTA,	   /* a CPU quota stopped the QThreads */
	FINDING_STOPPED,   /* the process was stopped for a while */
	FINDING_LOOP,	   /* a loop device used the page cache */
	FINDING_LIMIT,	   /* a device reached the limit of a control group */
};

#define FINDING_RUN (-1) /* a target's number: the finding is of the run, or of a device */

struct finding {
	enum finding_kind kind;
	int64_t target;
	const char *text; /* one line without newline or prefix, as in the warning */
};

/*
 * Add a finding. It is a warning on standard error, as log_warning() writes it. Where the result
 * for people goes to the same terminal, the verdict there shows it instead. Any thread, between
 * report_open() and report_close(); `r` may be NULL: the warning only.
 */
void report_finding(struct report *r, enum finding_kind kind, int64_t target, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Hold the messages of findings back until report_findings_release(), which writes one for four or
 * more targets with the same finding. For the thread that has the report, when no QThread runs.
 */
void report_findings_hold(struct report *r);
void report_findings_release(struct report *r);

/*
 * The findings so far, in the order in which they were added; `*n` is their number. They are valid
 * until the next one is added: for the thread that has the report, when no QThread runs.
 */
const struct finding *report_findings(const struct report *r, size_t *n);

#endif
