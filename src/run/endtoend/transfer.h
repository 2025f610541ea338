/*
 * The blocks that a QThread of an end-to-end target sends or receives on its connection. Private to
 * src/run.
 *
 * On each connection blocks travel in the order of their numbers. So a source whose engine queues
 * holds reads that are complete until those before them are sent. A destination that writes in
 * order can rely on it: the next operation to write is always the first that a connection has.
 */
#ifndef XDD_RUN_ENDTOEND_TRANSFER_H
#define XDD_RUN_ENDTOEND_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/io/engine.h"
#include "xdd/net/session.h"
#include "xdd/net/wire.h"
#include "xdd/trace/trace.h"

struct endtoend;
struct qthread;

/* The block in a slot of a QThread. */
struct transfer_slot {
	struct net_block block; /* destination */
	uint64_t done_ns;	/* source: clock at which the read was complete */
	bool complete;		/* source: it can be sent */
	struct trace_net net;	/* with time stamps: its way over the network; end_ns 0: none */
};

struct transfer {
	/* const after transfer_open() */
	struct endtoend *e;
	struct link *link;
	struct transfer_slot *slots;

	/* owned by the QThread */
	struct io_request **queue; /* source: a ring of requests, in the order of their numbers */
	unsigned head, n_queued;
	uint64_t first_ns; /* destination: clock at which the first header of the pass had come */
	bool over;	   /* destination: the source sends no more in this pass */
	bool stop_asked;   /* destination: the source was asked to end the pass */
	bool broken;	   /* the session has failed */

	/* of the pass: written by the QThread before it leaves, read by the last one to leave */
	uint64_t ops;
	uint64_t bytes;
	uint64_t failed;
	uint64_t first_read_ns; /* clock of the first complete read; 0: none */
	uint64_t storage_ns;	/* of an engine that queues: waits for it with nothing else to do */
	uint64_t held_ns; /* waits at the gate, for a turn or a slot: of its pace, if it has one */
	struct digest digest;
};

/*
 * Join the session with a connection, as q->transfer; nothing for other targets. Returns 0 or
 * -errno, reported. transfer_close() is called in both cases. QThread, as all functions here.
 *
 * When the run stops, a QThread may end before the last one to leave its pass has read its sums, so
 * q->transfer lasts as long as the other state of the QThread.
 */
int transfer_open(struct qthread *q);
void transfer_close(struct qthread *q);

/* A pass begins; or the QThread has no more to send or to receive in it. Any target. */
void transfer_begin_pass(struct qthread *q);
void transfer_end_pass(struct qthread *q);

/*
 * For its time stamp: the way of `req` over the network; NULL: none, or the target is not
 * end-to-end.
 */
const struct trace_net *transfer_net(const struct qthread *q, const struct io_request *req);

/* ---- source ---- */

/* `req` is about to be issued. */
void transfer_issue(struct qthread *q, struct io_request *req);

/* It is complete, or has failed, at clock `done_ns`. */
void transfer_read(struct qthread *q, struct io_request *req, uint64_t done_ns);

/* The request to send next, once it is complete; else NULL. It stays the next one. */
struct io_request *transfer_next(const struct qthread *q);

/*
 * Remove it from the queue and, unless there is an error `err` already, send it, or that it has
 * failed. Returns 0 or -errno; that the session failed is reported.
 */
int transfer_send(struct qthread *q, int err);

/* ---- destination ---- */

enum transfer_answer {
	TRANSFER_BLOCK,	  /* a block is in the buffer of the request */
	TRANSFER_SKIP,	  /* an operation has come that is not to be written */
	TRANSFER_NOTHING, /* nothing has come yet */
	TRANSFER_OVER,	  /* nothing more will come in this pass, or the session has failed */
};

/*
 * Receive the next block into `req`, which is free: its number, offset, size and data. With `wait`,
 * block until something comes. From clock `end_ns` on, ask the source to end the pass.
 */
enum transfer_answer transfer_receive(struct qthread *q, struct io_request *req, bool wait,
				      uint64_t end_ns);

/* `req` is complete, or has failed. */
void transfer_written(struct qthread *q, const struct io_request *req);

/*
 * The QThread waits for the turn of operation `n`, or waits no longer. Returns false when that turn
 * cannot come: the operations before it will not arrive. The session fails then.
 */
bool transfer_await_turn(struct qthread *q, uint64_t n);
void transfer_has_turn(struct qthread *q);

#endif
