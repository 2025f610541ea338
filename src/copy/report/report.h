/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of a copy: its outputs, its time stamps, and the processor time of its data threads.
 */
#ifndef XDD_COPY_REPORT_REPORT_H
#define XDD_COPY_REPORT_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/message/message.h"
#include "xdd/copy/copy.h"
#include "xdd/net/connection.h"
#include "xdd/sys/clock.h"

struct copy_job;
struct copy_report;
struct role;
struct stamps;

/*
 * Output of a copy: progress, summary, failures, log and JSON. The process
 * that the user has started has a report that prints; a server's only counts.
 *
 * Calls lock; any thread. They never block on the network.
 */

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

/* A line that reports no failure: "data goes through ssh: ...". */
void copy_report_note(struct copy_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A fact of a data connection, for log and JSON. */
void copy_report_connection(struct copy_report *r, const struct connection_info *info);

/* `inside`: data goes through ssh, which protects it. Before each copy_report_begin(). */
void copy_report_inside(struct copy_report *r, bool inside);

/* The worst status of the failures of this attempt; 0: none. */
int copy_report_status(const struct copy_report *r);

/*
 * Print the summary, write JSON, close all. `status` is the copy's. Returns the exit status,
 * which is worse if an output could not be written. Accepts NULL.
 */
int copy_report_close(struct copy_report *r, int status);

/*
 * Time stamps of one side of a copy (-v, -w): a record of each message with data, with the time of
 * its storage and network transfer. Callers: source/ and destination/.
 *
 * Each data thread records into a table of its own, without a lock. The tables have a fixed size;
 * what does not fit is counted.
 */

/* Records of all threads together. */
#define STAMPS_MAX (128u << 10)

/* One message: a block of a large file, or a bundle of small files. */
struct stamp {
	uint64_t offset_bytes; /* in its file; 0 for a bundle */
	uint32_t bytes;
	uint64_t storage_begin_ns, storage_end_ns;
	uint64_t network_begin_ns, network_end_ns; /* 0: not known */
};

/*
 * Where the settings ask for time stamps: `*s` for job->data->n threads. Otherwise, and without
 * memory, it is NULL, which the other functions accept. Returns 0 or -ENOMEM. Main thread.
 */
int stamps_open(struct stamps **s, const struct copy_job *job, enum copy_role side);

/* The clock, where there are time stamps. Any thread. */
static inline uint64_t stamps_now(const struct stamps *s)
{
	return s ? clock_now_ns() : 0;
}

/* Record a message of data thread `thread`, by this thread only. */
void stamps_add(struct stamps *s, unsigned thread, const struct stamp *stamp);

/*
 * Write the report, and with -w the dump, into the directory `dir_fd`, which may be AT_FDCWD, or
 * -errno of its opening. All data threads have ended. `partial`: the copy ended early. A failure is
 * one of `role`. Main thread.
 */
void stamps_write(struct stamps *s, struct role *role, int dir_fd, bool partial);

void stamps_close(struct stamps *s);

/*
 * The processor time of data threads, which they read while they work: once a thread has ended,
 * nothing tells it.
 */

/* Sums over threads; any reader. */
struct cpu_sums {
	_Atomic uint64_t cpu_ns;  /* running on a processor */
	_Atomic uint64_t wait_ns; /* ready to run, and without a processor */
};

/* The latest reading of a thread, which owns it. Zeros: it has not begun. */
struct cpu_use {
	uint64_t at_ns, cpu_ns, wait_ns;
};

/*
 * Add what the calling thread has used since its last reading to `sums`; nothing the first time. It
 * is read at most each 5 ms, as that costs a few system calls.
 */
void cpu_use_add(struct cpu_use *u, struct cpu_sums *sums);

#endif
