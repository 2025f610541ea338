/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * End-to-end targets of a run, and the blocks of their QThreads. Private to src/run.
 */
#ifndef XDD_RUN_ENDTOEND_ENDTOEND_H
#define XDD_RUN_ENDTOEND_ENDTOEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/sets.h"
#include "xdd/base/status.h"
#include "xdd/io/engine.h"
#include "xdd/net/connection.h"
#include "xdd/net/restart_file.h"
#include "xdd/net/session.h"
#include "xdd/net/wire.h"
#include "xdd/plan/plan.h"
#include "xdd/trace/trace.h"

struct endtoend;
struct endtoend_monitor;
struct endtoend_result;
struct pass_result;
struct proof;
struct qthread;
struct restart;
struct run;
struct target;

/*
 * End-to-end targets of a run: their sessions with the other side, from the listening sockets to
 * the last message. Private to src/run.
 *
 *   main thread        endtoend_open()
 *   target thread      source: opens its target, endtoend_meet(); destination: the other way round
 *                      endtoend_ready()
 *   each QThread       transfer_open()                               endtoend.h
 *   results manager    endtoend_begin()
 *   each QThread       the blocks of the pass, transfer_end_pass()   endtoend.h
 *   last QThread       endtoend_end_pass()
 *   main thread        endtoend_conclude(), endtoend_close()
 *
 * A session that fails ends the run: endtoend_broke() reports why, once.
 */

/* An end-to-end target. */
struct endtoend {
	/* const after endtoend_open() */
	struct target *target;
	bool sends; /* the source */
	struct session *session;

	/*
	 * const after endtoend_meet(): the plan of a destination, which the target uses in place of
	 * its own, with the amounts of the source
	 */
	struct target_plan plan;

	/* const after endtoend_meet() */
	struct wire_plan own;
	struct wire_plan peer;
	bool unsettled; /* the file of a source was changed all the time before they met */
	struct wire_range *ranges; /* with `resumes`: the operations to copy, ascending */
	uint64_t *before;	   /* of each range: operations in those before it */
	size_t n_ranges;
	bool resumes;		 /* the destination has the other operations already */
	uint64_t ops;		 /* of a pass of this session; UINT64_MAX: time ends it */
	struct restart *restart; /* its fields state their owners; NULL: no -restart */
	uint64_t compared_bytes; /* of what the destination had kept, with the source */

	/* the target thread, while a source meets its destination; NULL: not used */
	struct proof *proof;

	/* atomic: it has met the other side */
	_Atomic bool met;

	/* atomic: the first pass was announced; a failure from then on is no failure to start */
	_Atomic bool begun;

	pthread_mutex_t lock;

	/* guarded by lock; of a destination in a pass */
	struct extents received; /* numbers of operations */
	uint64_t *awaited;	 /* of each QThread: the operation whose turn it waits for */

	/* set by the last QThread to leave a pass; NULL: not exchanged */
	struct endtoend_result *result;
	uint64_t first_read_ns; /* of the same pass, from its start; 0: unknown */
	uint64_t last_write_ns; /* the same */
	uint64_t transit_ns;	/* of the connections of a source when the pass was announced */
	uint64_t throttled_ns;	/* cgroup_throttled_ns() when the pass was announced */
};

/* State that the end-to-end targets of a run share. Main thread. */
struct endtoend_run {
	/* const after endtoend_open() */
	struct net_key key;
	struct connection_options options; /* of the listener */
	struct listener *listener;	   /* NULL: no destination */
	struct session_table sources;
	struct session_table destinations;
	uint8_t id[WIRE_SESSION_BYTES]; /* of the run, where this is the source */
};

/* Numbers in `awaited`. */
#define ENDTOEND_AWAITS_NOTHING 0u	   /* it receives, or writes */
#define ENDTOEND_AWAITS_NO_MORE UINT64_MAX /* it has left the pass */

/*
 * Check what can be known of the end-to-end options before the run: the key, and names of hosts.
 * Main thread; reports.
 */
enum xdd_status endtoend_check(const struct plan *plan);

/* Threads that serve the end-to-end targets of a run, beside its QThreads. Main thread. */
uint64_t endtoend_threads(const struct plan *plan);

/*
 * Set up the sessions of all end-to-end targets, and listen for sources, before anything is opened
 * or created. Reports; to be freed with endtoend_close() in all cases. Main thread.
 */
enum xdd_status endtoend_open(struct run *run);

/* True: there are end-to-end targets. Any thread. */
bool endtoend_any(const struct run *run);

/*
 * No target transfers any more, and all of them are open: record what is durable, for -restart.
 * Main thread. (endtoend.c)
 */
void endtoend_release(struct run *run);

/* End the sessions of a run that has gone well. Reports and counts errors. Main thread. */
void endtoend_conclude(struct run *run);

/* Free the sessions, and close the sockets. Main thread, once all threads have ended. */
void endtoend_close(struct run *run);

/*
 * The session of `e` has failed: end the run, and report the reason unless it has stopped already.
 * Any thread.
 */
void endtoend_broke(struct endtoend *e);

/*
 * Meet the other side, and agree on the plan. A source has opened its file, a destination opens it
 * after this. Returns 0 or -errno, reported. Target thread; accepts targets that are not
 * end-to-end, as does endtoend_ready(). (meeting.c)
 */
int endtoend_meet(struct target *t);

/*
 * The target is open, with its first size: record from now on what is durable, for -restart.
 * Returns 0 or -errno, reported. Target thread; accepts targets that are not end-to-end.
 * (meeting.c)
 */
int endtoend_record(struct target *t);

/* Both sides have opened their files. Returns 0 or -errno, reported. Target thread. (meeting.c) */
int endtoend_ready(struct target *t);

/*
 * Look whether another program has changed the file of an end-to-end target in a pass that ends
 * with `own`: a warning for a source. Returns 0; or -errno with a text in `why` for
 * a destination whose file lacks what was written. The last QThread to leave. (meeting.c)
 */
int endtoend_look_at_file(struct target *t, const struct wire_pass *own, struct err *why);

/* The number among all operations of operation `n` of this session. Any thread. (meeting.c) */
uint64_t endtoend_real_op(const struct endtoend *e, uint64_t n);

/*
 * Before pass `pass` of all targets, or of `t` alone: sources announce it, destinations wait for
 * that. Returns true; or false: a source has ended its run as it should, or the run stops. Results
 * manager; the last QThread of `t` to leave a pass. (endtoend.c)
 */
bool endtoend_begin(struct run *run, uint64_t pass);
bool endtoend_begin_target(struct target *t, uint64_t pass);

/*
 * All QThreads have left the pass: exchange the results with the other side, compare them, and give
 * a destination's file its final size. Errors are reported. The last QThread to leave; accepts
 * targets that are not end-to-end. (endtoend.c)
 */
void endtoend_end_pass(struct target *t);

/* Add what the pass of `t` was to `r`, which is its result. The last QThread. (endtoend.c) */
void endtoend_add_result(struct target *t, struct pass_result *r);

/*
 * The blocks that a QThread of an end-to-end target sends or receives on its connection. Private
 * to src/run.
 *
 * On each connection blocks travel in the order of their numbers. So a source whose engine queues
 * holds reads that are complete until those before them are sent. A destination that writes in
 * order can rely on it: the next operation to write is always the first that a connection has.
 */

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
 * The QThread waits for the turn of operation `n`, or waits no longer. The session fails when that
 * turn cannot come, because the operations before it will not arrive.
 */
void transfer_await_turn(struct qthread *q, uint64_t n);
void transfer_has_turn(struct qthread *q);

/*
 * -restart on the destination of a copy: a thread, the restart monitor, flushes the target every
 * so many seconds and then records in the restart file which operations are durable. A later run
 * reads the file, and asks the source for the others.
 *
 * Operations have the numbers of the whole copy, also in a session that copies only a part of it.
 * All functions accept NULL, a target without -restart.
 */

/*
 * Read the restart file of `t`, if it has one; `*r` is NULL where -restart is not for it. Returns
 * 0, or -errno with a message in `why`. Before session_meet(); target
 * thread.
 */
int restart_open(struct restart **r, const struct target_plan *t, struct err *why);

/*
 * The answer to the plan of the source, as session_accept() gives it: 0: copy all; 1: only `ranges`
 * are missing; or -errno with a text in `why`. Any thread, before restart_begin().
 */
int restart_accept(struct restart *r, const struct wire_plan *own, const struct wire_plan *peer,
		   struct wire_range *ranges, size_t *n, struct err *why);

/*
 * After restart_accept() has returned 1, unless -restart trust is given: move the operations of
 * this session that are durable to the empty set `kept`. Those that are right are to be added again
 * by restart_written(). restart_kept_again() then lists in `ranges` what is missing. The former
 * returns 0 or -ENOMEM. Target thread, before restart_begin().
 */
int restart_take_kept(struct restart *r, const struct wire_plan *peer, struct extents *kept);
void restart_kept_again(struct restart *r, const struct wire_plan *peer, struct wire_range *ranges,
			size_t *n);

/*
 * The target is open, as `fd` (-1: null), and has its first shape: start the monitor. Returns 0, or
 * -errno with a text in `why`. Before the first write; target thread.
 */
int restart_begin(struct restart *r, int fd, struct err *why);

/* Operation `op`, with the digest `d`, is written. QThreads. */
void restart_written(struct restart *r, uint64_t op, uint64_t offset, uint64_t length,
		     struct digest d);

/*
 * No more is written: end the monitor, flush, and record what is durable, before the source learns
 * that all is written. Returns 0; or -errno of a flush, with a text in `why`: restart_end() does
 * nothing then. Last QThread to leave the last pass.
 */
int restart_settle(struct restart *r, struct err *why);

/*
 * No more is written; the file is still open. Flush and record what is durable, or that the copy is
 * complete; end the monitor. Later calls do nothing. Returns 0, or -errno with a text in `why`.
 * Last QThread to leave the last pass, or main thread.
 */
int restart_end(struct restart *r, bool complete, struct err *why);

/* Free it, after restart_end() or without restart_begin(). Main thread. */
void restart_free(struct restart *r);

/* The cost of the monitor so far. Any thread, after restart_begin(). */
void restart_costs(struct restart *r, struct endtoend_monitor *cost);

/*
 * A hash of the offsets of the operations of `t`, a source: sources with the same hash and request
 * size have the same data under each number. Any thread.
 */
uint64_t restart_pattern(const struct target_plan *t);

/*
 * The proof of what a destination has kept from an interrupted copy: both sides read it, and
 * compare digests, while they meet. What differs is copied again.
 */

/*
 * Destination, with a plan `peer` that -restart has accepted: compare what it has kept with the
 * source, unless -restart trust is given, and list in `ranges` what is missing then. Reports.
 * Returns 1; or -errno with a text in `why`. Target thread, while it decides on the plan.
 */
int proof_accept(struct endtoend *e, const struct wire_plan *peer, struct wire_range *ranges,
		 size_t *n, struct err *why);

/* Source: struct session_params.prove, for a struct endtoend. Target thread. */
size_t proof_answer(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out);

/* Source: the sides have met, or not. Target thread. */
void proof_end(struct endtoend *e);

#endif
