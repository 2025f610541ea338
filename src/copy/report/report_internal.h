/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the report of a copy. Private to src/copy/report.
 */
#ifndef COPY_REPORT_REPORT_INTERNAL_H
#define COPY_REPORT_REPORT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "copy/message/message.h"
#include "copy/report/report.h"
#include "xdd/copy/copy.h"
#include "xdd/report/endtoend.h"
#include "xdd/report/report.h"
#include "xdd/stat/figures.h"

/* ---- report.c ---- */

/*
 * An entry has ended; for the log of -v and the list of -n. `path` is relative, any bytes; "" is
 * the contents of a source. Any thread.
 */
void copy_report_entry(struct copy_report *r, const char *path, enum copy_kind kind, uint64_t bytes,
		       enum copy_outcome outcome);

/* Failures that the summary repeats. */
#define SUMMARY_FAILURES 10

/* ---- the part that limited a copy: summary.c ---- */

struct copy_bottleneck {
	struct copy_verdict verdict;
	struct copy_shares source, destination;
};

/* `threads`: data connections; `local`: both sides are on one host. Pure. */
struct copy_bottleneck bottleneck_judge(const struct copy_counts *source,
					const struct copy_counts *destination, uint64_t elapsed_ns,
					unsigned threads, bool local);

/* ---- what is known at one time ---- */

/* Of both sides; values, and strings that the report owns. */
struct copy_state {
	const struct copy_request *request;
	struct copy_counts source, destination;
	uint64_t elapsed_ns; /* from the meeting of both sides to the latest counts; 0: none */
	bool inside;	     /* data goes through ssh: one connection, not encrypted */
	int status;	     /* of the copy; for the summary */
	uint64_t failures, warnings;	   /* lines of both sides */
	uint64_t differing;		   /* of these failures: -k */
	uint64_t would_files, would_bytes; /* -n: to be copied */
	char *first[SUMMARY_FAILURES];	   /* "path: text" */
	size_t n_first;
};

/* As bottleneck_judge(), of all that is known at one time. (summary.c) */
struct copy_bottleneck bottleneck_of(const struct copy_state *s);

/* Files and bytes that need nothing more: copied, or there already. */
uint64_t state_done_files(const struct copy_state *s);
uint64_t state_done_bytes(const struct copy_state *s);

/* Data of files that were copied now, without holes and what an earlier copy had sent. */
uint64_t state_data_bytes(const struct copy_state *s);

/* ---- summary.c ---- */

#define PROGRESS_TEXT_SIZE 256
#define PROGRESS_SAMPLES 40

/* How much was done at the latest times, for the rate of now. */
struct progress {
	struct {
		uint64_t ns, files, bytes;
	} samples[PROGRESS_SAMPLES];
	size_t n, next;
};

void progress_add(struct progress *p, uint64_t now_ns, uint64_t files, uint64_t bytes);

/*
 * One line without a newline: what is done, the rate, and the time left where it is known. What
 * does not fit into `columns` is left out as a whole: first files, then bytes.
 */
char *progress_text(const struct progress *p, const struct copy_state *s, size_t columns,
		    char buf[PROGRESS_TEXT_SIZE]);

/* ---- summary.c ---- */

/* The text lines at the end. */
void summary_write(FILE *f, const struct copy_state *s);

/* ---- summary.c ---- */

struct logfile;

/* `path` was checked by no one. Returns 0 or -errno. */
int logfile_open(struct logfile **l, const struct copy_request *request);
/* A line: the time, `word`, and a text, escaped by printable_put_exact(). */
void logfile_line(struct logfile *l, const char *word, const char *text);
void logfile_entry(struct logfile *l, const char *path, enum copy_kind kind, uint64_t bytes,
		   enum copy_outcome outcome);
/* Write what is buffered. */
void logfile_flush(struct logfile *l);
/* The lines of the summary, and the end. Returns 0 or the first -errno. Accepts NULL. */
int logfile_close(struct logfile *l, const struct copy_state *s);

/* ---- json.c ---- */

struct copy_json;

/* Returns 0 or -errno. */
int copy_json_open(struct copy_json **j, const struct copy_request *request);
void copy_json_failure(struct copy_json *j, enum copy_role side, const struct copy_failure *f);
/* Begin the list of failures again. */
void copy_json_forget_failures(struct copy_json *j);
void copy_json_note(struct copy_json *j, const char *text);
void copy_json_connection(struct copy_json *j, const struct connection_info *info);
/* Write all. Returns 0 or the first -errno; the file is then as it was. Accepts NULL. */
int copy_json_close(struct copy_json *j, const struct copy_state *s);

struct names;

/*
 * Names of the entries of a copy between their OFFER and RESULT, so that the log of -v and the
 * list of -n are the same whichever side this process is: a path begins with the name that a
 * source has at the top. Called by report.c.
 */

/* `report` gets copy_report_entry() for each entry at its end. NULL without memory. */
struct names *names_new(struct copy_report *report);
/* Accepts NULL. */
void names_free(struct names *n);

/* The body of an OFFER, which may be wrong. One thread. */
void names_offer(struct names *n, const uint8_t *body, size_t length);
/* The body of a RESULT. Any thread. */
void names_result(struct names *n, const uint8_t *body, size_t length);

#endif
