/*
 * The gate of a target: what may hold its operations back until another target has come so far, lockstep,
 * triggers and -syncio, until they are due, -throttle, or until those before are complete: the last write of a
 * pass with -dio whose end goes through the page cache. Private to src/run.
 *
 * A gate answers for operation numbers, and is monotonic: what was let through stays so, and all before it
 * with it; so whatever ends a pass, what was issued of it is a prefix. Its members are asked in
 * turn, and the latest of their answers counts.
 *
 * Targets tell others how far they are by the operations that are complete, one gate's `progress`. It
 * is kept for two passes, because some targets set up the next while others are still in the one before.
 */
#ifndef XDD_RUN_COORD_GATE_H
#define XDD_RUN_COORD_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/sync/event.h"

struct io_request;
struct qthread;
struct run;
struct target;

/* Answers of gate_ask() that are not a time. */
#define GATE_OPEN 0
#define GATE_EVENT (UINT64_MAX - 1) /* when something has happened: gate_wait() */
#define GATE_CLOSED UINT64_MAX	    /* never in this pass */

/* How far a target has come in a pass; what others look at. All atomic. */
struct progress {
	_Atomic uint64_t ops;	   /* complete, those that failed too */
	_Atomic uint64_t bytes;	   /* of these operations, as planned */
	_Atomic uint64_t start_ns; /* when it began; 0: not yet */
	_Atomic uint64_t end_ns;   /* when it ended; before `over` */
	_Atomic bool over;	   /* has ended, and says no more */
};

/* Who is to be woken each time another so much of a target is complete. */
struct gate_watch {
	struct target *who;
	struct measure each;
};

struct gate {
	/* const after gate_init() */
	struct target *master;		/* of the lockstep in which this target is the slave */
	struct target *start_by;	/* pulls its start trigger */
	struct target *stop_by;		/* pulls its stop trigger */
	struct target **counted_slaves; /* those that may hold it */
	size_t n_counted_slaves;
	bool last_alone; /* the last operation waits until all others of its pass are complete */
	bool others;	 /* other targets may hold operations of this one */
	struct gate_watch *watches; /* who looks at it */
	size_t n_watches;

	/* what its own QThreads wait for */
	struct event event;

	/* written by its own QThreads, and by the last one to leave a pass; by number of the pass */
	struct progress progress[2] __attribute__((aligned(128)));

	/* atomic: operations before this one have been let through */
	_Atomic uint64_t granted;

	/* makes deciding about an operation and moving the schedule one step; with `others`, where paced */
	pthread_mutex_t throttle_lock;

	/* of a slave with timed tasks */
	pthread_mutex_t slice_lock;
	uint64_t slices;       /* guarded by slice_lock: tasks begun */
	uint64_t slice_end_ns; /* guarded by slice_lock: of the last one */
};

/*
 * Put the gates of all targets together, once their plans and memory are there; sets `gated` and
 * `followed` of each. Registers with run->stop, so that all waits end with it. Returns 0 or -errno.
 */
int gate_init(struct run *run);

/* Accepts a run that gate_init() has not seen, or failed on. */
void gate_destroy(struct run *run);

/* The target's pass t->pass is set up; while none of its QThreads is in one. */
void gate_begin_pass(struct target *t);

/* Its operations may be issued from `start_ns` on, as far as it is concerned. Each of its QThreads. */
void gate_start(struct target *t, uint64_t start_ns);

/* Its pass has ended. By the last QThread to leave. */
void gate_end_pass(struct target *t);

/*
 * When `req`, the next operation of this QThread, may be issued. GATE_OPEN: now; req->due_ns is set. A clock
 * reading: ask again then. GATE_EVENT: when something happens. GATE_CLOSED: never in this pass; other QThreads find
 * out for themselves, for smaller numbers may have been let through. Only for targets that are gated.
 */
uint64_t gate_ask(struct qthread *q, struct io_request *req, uint64_t now_ns);

/*
 * Block until the answer for `n` is GATE_OPEN or GATE_CLOSED, or the pass of the target has been ended, or
 * the clock reaches `until_ns`. Returns 0, or -ECANCELED when the run stops.
 */
int gate_wait(struct target *t, uint64_t n, uint64_t until_ns);

/*
 * Sleep until the clock reaches `until_ns`, between two operations of one slot. Returns 0, or -ECANCELED as soon as
 * nothing more may be issued: the run stops, the pass was ended, or the stop trigger was pulled. For all targets, gated
 * or not. Its QThreads.
 */
int gate_rest(struct target *t, uint64_t until_ns);

/* An operation of a target that is followed is complete, or has failed. Its QThreads, once counted. */
void gate_completed(struct target *t, uint64_t bytes);

/* Have those who wait at the target's gate look again: its pass was ended. Any thread. */
void gate_wake(struct target *t);

#endif
