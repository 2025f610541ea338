/*
 * Output of a copy for people and programs: progress, summary, failures, log and JSON. The process
 * that the user has started has a report that prints; that of a server only counts.
 *
 * Calls lock; any thread. They never block on the network.
 */
#ifndef COPY_REPORT_REPORT_H
#define COPY_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/message/message.h"
#include "xdd/copy/copy.h"
#include "xdd/net/connection.h"

struct copy_report;

/*
 * `request` NULL: of a server. Opens log and JSON. Returns 0 or an exit status, reported. The
 * counters of both sides start at zero.
 */
int copy_report_open(struct copy_report **r, const struct copy_request *request);

/*
 * Start the thread that draws progress, once the sides have met. In a further attempt all counts
 * begin at zero again, and the failures of the one before do not count any more: what it has not
 * repaired fails again. No line is printed twice.
 */
int copy_report_begin(struct copy_report *r);

/* The latest counts of a side: from its own threads each 250 ms, or from COUNTS of the peer. */
void copy_report_counts(struct copy_report *r, enum copy_role side, const struct copy_counts *c);

/* A failure or warning of a side. Printed at once, up to a limit; in log and JSON without one. */
void copy_report_failure(struct copy_report *r, enum copy_role side, const struct copy_failure *f);

/*
 * The bodies of each OFFER and each RESULT, for the log of -v and the list of -n. That of an OFFER
 * before a RESULT can answer it, and by one thread.
 */
void copy_report_offer(struct copy_report *r, const uint8_t *body, size_t length);
void copy_report_results(struct copy_report *r, const uint8_t *body, size_t length);

/* A line for people that is no failure: "data goes through ssh: ...". */
void copy_report_note(struct copy_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A fact of a data connection, for log and JSON. */
void copy_report_connection(struct copy_report *r, const struct connection_info *info);

/* `inside`: data goes through ssh, which protects it. Before each copy_report_begin(). */
void copy_report_inside(struct copy_report *r, bool inside);

/* The worst status of the failures of this attempt; 0: none. */
int copy_report_status(const struct copy_report *r);

/*
 * Print the summary, write JSON, close all. `status` is that of the copy. Returns the exit status,
 * which is worse if an output could not be written. Accepts NULL.
 */
int copy_report_close(struct copy_report *r, int status);

#endif
