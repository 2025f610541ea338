/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate of a target, and the arithmetic of its members. Private to src/run.
 */
#ifndef XDD_RUN_COORD_GATE_H
#define XDD_RUN_COORD_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/plan.h"
#include "xdd/sync/wait.h"

struct io_request;
struct qthread;
struct run;
struct target;

/*
 * Lockstep as arithmetic: how far a master and its slave may go, from how far the other has come.
 * The user guide, 5.4. Pure functions; any thread. Private to src/run.
 *
 * The operations of the master make requests, one for each further `when` that is complete. Each
 * request is for one task of the slave: `what` of its operations.
 */

/*
 * How often `m` is in `ops` operations of a target with `bytes` bytes. Not for times. Percents need
 * a target whose pass has a number of operations.
 */
uint64_t measure_count(const struct measure *m, const struct target_plan *t, uint64_t ops,
		       uint64_t bytes);

/* As measure_count(), for the operations before number `n`, as planned. */
uint64_t measure_before(const struct measure *m, const struct target_plan *t, uint64_t n);

/* True: both sides of a lockstep are counted, neither is timed. */
bool lockstep_is_counted(const struct lockstep_plan *l);

/*
 * Requests that must have been made before operation `n` of the slave may be issued. Not for timed
 * tasks.
 */
uint64_t lockstep_slave_needs(const struct lockstep_plan *l, const struct target_plan *slave,
			      uint64_t n);

/*
 * Tasks that the slave must have completed before operation `n` of the master may be issued: all
 * requested tasks, if this operation makes the next request; else all except the last. So the slave
 * lags by one task at most, and both work side by side while it has one. Not where either side is
 * timed: a clock does not wait.
 */
uint64_t lockstep_master_needs(const struct lockstep_plan *l, const struct target_plan *master,
			       uint64_t n);

/*
 * -syncio: the targets of a pass meet after every so many operations. Private to src/run.
 *
 * A target is in round r once r times that many of its operations are complete. Round r is open,
 * so that its operations may be issued, once all targets that have not ended their pass are in it.
 * The state is kept for two passes, because some targets set up the next pass while others are
 * still in the one before.
 */

struct syncio_target {
	uint64_t round;
	bool over;
};

struct syncio_pass {
	/* atomic: the round that is open */
	_Atomic uint64_t open;

	/* guarded by syncio.lock */
	uint64_t pass;
	size_t missing; /* targets not over and not past the open round */
	struct syncio_target *targets;
};

struct syncio {
	/* const after syncio_init() */
	size_t n_targets;

	pthread_mutex_t lock;
	struct syncio_pass passes[2];
};

/* Number of the round that is open in this pass. Any thread. */
static inline uint64_t syncio_open(const struct syncio *s, uint64_t pass)
{
	return atomic_load(&s->passes[pass & 1].open);
}

/*
 * The gate of a target: it holds operations until another target has come far enough (lockstep,
 * triggers, -syncio), until they are due (-throttle), until it is known how far all targets go
 * (-stonewall wearout), or until all operations before them are complete: the last write of a pass
 * with -dio, if its end uses the page cache.
 *
 * A gate answers for operation numbers, and is monotonic: an operation that was admitted stays
 * admitted, and all operations before it are admitted as well. Once the gate is shut it admits no
 * operation after those. So the issued operations are 0 to n-1 whatever ends the pass. The members
 * of the gate are asked in turn; the latest answer counts.
 *
 * Targets learn how far others are from the operations that are complete: `progress` of the gate.
 * It is kept for two passes, because some targets set up the next pass while others are still in
 * the one before.
 */

/* When an operation may be issued. */
enum gate_answer {
	GATE_OPEN,   /* now */
	GATE_AT,     /* ask again at a time */
	GATE_EVENT,  /* ask again after an event, or at a time */
	GATE_CLOSED, /* never in this pass */
};

/* How far a target has come in a pass; other targets read it. All atomic. */
struct progress {
	_Atomic uint64_t ops;	   /* complete, failed operations included */
	_Atomic uint64_t bytes;	   /* of these operations, as planned */
	_Atomic uint64_t start_ns; /* when it began; 0: not yet */
	_Atomic uint64_t end_ns;   /* when it ended; stored before `over` */
	_Atomic bool over;	   /* it has ended; nothing changes any more */
};

/* A target to wake each time another `each` of this target is complete. */
struct gate_watch {
	struct target *watcher;
	struct measure each;
};

struct gate {
	/* const after gate_init() */
	struct target *master;		/* of the lockstep in which this target is the slave */
	struct target *start_by;	/* pulls its start trigger */
	struct target *stop_by;		/* pulls its stop trigger */
	struct target **counted_slaves; /* slaves that may hold it */
	size_t n_counted_slaves;
	bool last_alone; /* the last operation waits until all others of its pass are complete */
	bool others;	 /* other targets may hold operations of this one */
	struct gate_watch *watches;
	size_t n_watches;

	/* its own QThreads wait for it */
	struct event event;

	/*
	 * written by its own QThreads, and by the last one to leave a pass; by number of the pass
	 */
	struct progress progress[2] __attribute__((aligned(128)));

	/*
	 * atomic: operations before this one are admitted; plus GATE_SHUT: no other will be; plus
	 * GATE_HELD: no other until gate_limit()
	 */
	_Atomic uint64_t admitted;

	/* atomic: no operation from this one on is admitted */
	_Atomic uint64_t limit;

	/*
	 * makes the decision on an operation and the move of the schedule one step; with `others`
	 * and -throttle
	 */
	pthread_mutex_t throttle_lock;

	/* of a slave with timed tasks */
	pthread_mutex_t slice_lock;
	uint64_t slices;       /* guarded by slice_lock: tasks begun */
	uint64_t slice_end_ns; /* guarded by slice_lock: of the last task */
};

#define GATE_SHUT (1ull << 63)
#define GATE_HELD (1ull << 62)

/* The number of operations that were admitted in this pass. Any thread. */
static inline uint64_t gate_admitted(const struct gate *g)
{
	return atomic_load(&g->admitted) & ~(GATE_SHUT | GATE_HELD);
}

/*
 * Connect the gates of all targets, once their plans and memory exist; sets `gated` and `followed`
 * of each. Registers with run->stop, so that all waits end with it. Returns 0 or -errno.
 * (gate.c)
 */
int gate_init(struct run *run);

/* Accepts a run that gate_init() has not seen, or failed on. (gate.c) */
void gate_destroy(struct run *run);

/* Set up pass t->pass. While no QThread of the target is in a pass. */
void gate_begin_pass(struct target *t);

/* The pass begins at clock `start_ns`, unless a trigger starts it. Each QThread of the target. */
void gate_start(struct target *t, uint64_t start_ns);

/* The pass has ended. The last QThread to leave it. */
void gate_end_pass(struct target *t);

/* `q` brings operation `n`, the next that it will issue. QThread, of a target that is gated. */
void gate_arrive(struct qthread *q, uint64_t n);

/*
 * Ask whether `req`, which has arrived, may be issued in a pass that ends at clock `end_ns`.
 * GATE_OPEN: req->due_ns is set, and the caller must issue it. GATE_AT and GATE_EVENT: `*at_ns` is
 * the time to ask again at the latest. GATE_CLOSED: smaller numbers may be admitted, and the
 * QThreads that have them must ask for themselves. QThread.
 */
enum gate_answer gate_ask(struct qthread *q, struct io_request *req, uint64_t now_ns,
			  uint64_t end_ns, uint64_t *at_ns);

/*
 * Block after such an answer for operation `n` until it may have changed. QThread, with nothing
 * outstanding.
 */
void gate_wait(struct target *t, uint64_t n, enum gate_answer answer, uint64_t at_ns);

/*
 * Sleep until the clock reaches `until_ns`, between two operations of one slot. Returns 0, or
 * -ECANCELED as soon as nothing more may be issued: the run stops, the pass was ended, or the stop
 * trigger was pulled. For all targets, gated or not. QThread.
 */
int gate_rest(struct target *t, uint64_t until_ns);

/*
 * An operation of a target that is followed is complete, or has failed. Its QThreads, once counted.
 */
void gate_completed(struct target *t, uint64_t bytes);

/*
 * Admit no operation until gate_limit(). Returns how many were admitted. Of a target that is gated.
 * Any thread.
 */
uint64_t gate_hold(struct target *t);

/* From now on admit the operations before `ops`. Any thread. */
void gate_limit(struct target *t, uint64_t ops);

/* Have the threads that wait at the target's gate ask again: its pass was ended. Any thread. */
void gate_wake(struct target *t);

#endif
