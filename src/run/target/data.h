/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of operations, and operations that fail. Private to src/run.
 */
#ifndef XDD_RUN_TARGET_DATA_H
#define XDD_RUN_TARGET_DATA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/io/pattern.h"
#include "xdd/io/tag.h"
#include "xdd/io/verify.h"

struct io_request;
struct miscompare;
struct qthread;
struct run;
struct target;

/*
 * Contents of the buffers: filled with the data pattern before a write, poisoned before a read
 * that is verified, verified after it. Private to src/run.
 *
 * All of this happens outside the timed window of an operation. A run that neither writes data
 * that depends on the request nor verifies any has no struct qthread_data, and the issue loops
 * skip all of it.
 */

/* Shared by all QThreads of a target; there is none where the buffers stay zeros. */
struct target_data {
	/* const after target_data_open() */
	struct pattern pattern;
	bool tagged;  /* writes carry tags */
	bool tracked; /* reads are verified while tagged writes are in flight */

	/* their fields state their owners */
	struct tag_book book;
	struct tag_history *history; /* tagged data is verified, and none is written; else NULL */

	/* const during a pass, set between passes: number of the first write of the pass */
	uint64_t since;

	/* atomic: sectors read without a tag that this run had not written */
	_Atomic uint64_t unjudged;
};

/* Data of the request in one slot of a QThread. */
struct data_slot {
	bool laid_out;	  /* the buffer holds the pattern, which is the same for all requests */
	uint64_t logged;  /* position in the tag book when the read was issued */
	uint64_t *bounds; /* positions in the tag book, one per sector */
};

struct qthread_data {
	/* const after qthread_data_open() */
	bool moves;	      /* each write is filled again */
	uint32_t first_place; /* of slot 0 in the tag book of the target */

	/* owned by this QThread */
	struct verifier verifier;
	struct data_slot *slots;
	uint64_t *bounds; /* memory of all slots */
};

/*
 * Set up the data of a target. Returns 0 or -errno; free with target_data_close() in both cases,
 * after its QThreads have ended. Target thread, before its other QThreads start.
 */
int target_data_open(struct target *t);
void target_data_close(struct target *t);

/* A pass begins. The QThread that sets it up, while the others wait. */
void target_data_begin_pass(struct target *t);

/*
 * True: preparing the data of an operation is expensive enough to do it before the turn of the
 * operation, where operations are issued in order. Any thread.
 */
bool data_prepare_early(const struct target *t);

/*
 * Fill the buffers of a QThread with the pattern, and set up the data of its operations. Returns 0
 * or -ENOMEM. The QThread itself, as for all functions below.
 */
int qthread_data_open(struct qthread *q);
void qthread_data_close(struct qthread *q);

/* Prepare the data of the operation in `req`, which will be issued. Only with q->data. */
void data_prepare(struct qthread *q, struct io_request *req);

/*
 * The operation failed and will be tried again: poison the data beyond `done` bytes, which the
 * failed try may have left there. Only with q->data.
 */
void data_prepare_again(const struct qthread *q, struct io_request *req);

/* The operation will not be issued after all. Only with q->data. */
void data_release(struct qthread *q, const struct io_request *req);

/* The operation is complete: verify it, or record the write. Only with q->data. */
void data_complete(struct qthread *q, const struct io_request *req);

/*
 * Operations that fail and data that is wrong: one line each up to -maxerrorstoprint, counts, and
 * the end of the pass or run by -maxerrors and -stoponerror. Private to src/run.
 */

/* Failures of a run. All fields are atomic. */
struct run_failures {
	_Atomic uint64_t errors;       /* operations that failed */
	_Atomic uint64_t errors_shown; /* those that the messages show */

	_Atomic uint64_t miscompares;	    /* extents of wrong data */
	_Atomic uint64_t miscompared_bytes; /* total of these extents */
};

/* Report and count an operation that failed. QThread, outside the timed window. */
void io_error(struct qthread *q, const struct io_request *req);

/*
 * Report and count wrong data. Returns true if the next miscompare will be shown. QThread, outside
 * the timed window.
 */
bool miscompare(struct qthread *q, const struct miscompare *m);

/* Report the totals, after the last operation. Main thread. */
void io_error_summary(const struct run *run);
void miscompare_summary(const struct run *run);

#endif
