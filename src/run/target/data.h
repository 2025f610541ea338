/*
 * What is in the buffers: filled with the data pattern before a write, poisoned before a read that is
 * verified, verified after it. Private to src/run.
 *
 * None of it is in the timed window of an operation. A run that neither writes data that depends on the
 * request nor verifies any has no struct qthread_data, and pays nothing an operation (issue.h).
 */
#ifndef XDD_RUN_TARGET_DATA_H
#define XDD_RUN_TARGET_DATA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/io/pattern.h"
#include "xdd/io/tag_book.h"
#include "xdd/io/tag_history.h"
#include "xdd/io/verify.h"

struct io_request;
struct qthread;
struct target;

/* What all QThreads of a target share; there is none where buffers are to stay as they are, all zeros. */
struct target_data {
	/* const after target_data_open() */
	struct pattern pattern;
	bool tagged;  /* writes are */
	bool tracked; /* reads are verified while tagged writes go on */

	/* each of its fields says who may touch it */
	struct tag_book book;
	struct tag_history *history; /* tagged data is verified, and none is written; else NULL */

	/* const during a pass; set at rest: number of the first write of the pass */
	uint64_t since;

	/* atomic: sectors without a tag that this run had not written */
	_Atomic uint64_t unjudged;
};

/* What a QThread keeps for the request in each of its slots. */
struct data_slot {
	bool laid_out;	  /* the buffer holds the pattern, which is the same for all requests */
	uint64_t logged;  /* of the book, when the read was issued */
	uint64_t *bounds; /* likewise, one a sector */
};

struct qthread_data {
	/* const after qthread_data_open() */
	bool moves;	      /* each write is filled anew */
	uint32_t first_place; /* in the book of the target, of slot 0 */

	/* owned by this QThread */
	struct verifier verifier;
	struct data_slot *slots;
	uint64_t *bounds; /* memory of all slots */
};

/*
 * Set up what a target's data needs, before its other QThreads start. Returns 0 or -errno. Freed by
 * target_data_close(), once all of them are gone.
 */
int target_data_open(struct target *t);
void target_data_close(struct target *t);

/* A pass begins; its QThreads are at rest. */
void target_data_begin_pass(struct target *t);

/*
 * Whether what operations need done first is dear enough to be done before their turn, where they are
 * issued in order.
 */
bool data_is_dear(const struct target *t);

/*
 * Lay the pattern out in the buffers of a QThread, and set up what it needs for its operations. Returns 0
 * or -ENOMEM. By the QThread itself, as is all that follows.
 */
int qthread_data_open(struct qthread *q);
void qthread_data_close(struct qthread *q);

/* The operation in `req` is about to be issued. Only with q->data. */
void data_prepare(struct qthread *q, struct io_request *req);

/*
 * It has failed, and is about to be tried again: what the failed try may have left behind `done` must not be
 * taken for what the next one reads. Only with q->data.
 */
void data_prepare_again(const struct qthread *q, struct io_request *req);

/* It is not going to be issued after all. Only with q->data. */
void data_release(struct qthread *q, const struct io_request *req);

/* It has come back. Only with q->data. */
void data_complete(struct qthread *q, const struct io_request *req);

#endif
