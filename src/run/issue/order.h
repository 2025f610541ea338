/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of operations, and the requests that a QThread may have outstanding. Private to
 * src/run.
 */
#ifndef XDD_RUN_ISSUE_ORDER_H
#define XDD_RUN_ISSUE_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "xdd/io/engine.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/wait.h"

struct qthread;

/*
 * The target operation table: the turn among operations that have their numbers already. User
 * guide, 5.7. Private to src/run.
 *
 * Each operation has a slot, found by its number, never by its thread. The table is longer than
 * the greatest number of operations in flight, so that no two of them share a slot.
 */

#define TOT_SLOTS_PER_OPERATION 20 /* times the queue depth; the guide's default */

struct tot {
	/* const after tot_init() */
	uint32_t n_slots;

	/* atomic: the words of order.c, one per slot */
	_Atomic uint32_t *slots;
};

/* A table for `queue_depth` operations in flight. Returns 0 or -ENOMEM. */
int tot_init(struct tot *t, uint64_t queue_depth);

/* Accepts a zeroed table. */
void tot_destroy(struct tot *t);

/* Operation 0 has the turn. While no thread uses the table. */
void tot_reset(struct tot *t);

/*
 * Wait for the turn of operation `n`. Returns 0, or -ECANCELED once the table is cancelled. Any
 * thread.
 */
int tot_wait(struct tot *t, uint64_t n);

/* True: operation `n` has the turn. Any thread. */
bool tot_is_turn(const struct tot *t, uint64_t n);

/*
 * Pass the turn of operation `n` on to the next. Once per operation, by the thread that has the
 * turn.
 */
void tot_pass_on(struct tot *t, uint64_t n);

/* End all present and future waits with -ECANCELED. Any thread. */
void tot_cancel(struct tot *t);

/*
 * The order in which the QThreads of a target issue its operations: -ordering. Private to src/run.
 *
 * A QThread takes its operation number while it holds the issue lock, so the QThread that issues
 * is next by construction, and none waits for a thread that sleeps. Operations with data that is
 * expensive to make take their number early, make the data side by side, and wait for their turn
 * in the target operation table (TOT).
 */

/* The means that keep operations in order. */
enum order_by {
	ORDER_BY_NOTHING, /* no order is required, or one QThread issues them all */
	ORDER_BY_LOCK,
	ORDER_BY_TOT,
};

struct order {
	/* const after order_init() */
	enum order_by by;
	enum ordering mode;
	bool alone;   /* serial: one operation is outstanding at a time */
	bool audited; /* breaks are counted */

	struct lock lock;
	struct tot tot;

	/* atomic: one more than the operation issued last; on a cache line of its own */
	_Atomic uint64_t next __attribute__((aligned(128)));
};

/*
 * Set up for a target; `o` is zeroed. `early`: QThreads take numbers before the turn, to prepare
 * operations. `audited`: count breaks. Registers with `stop`, so that all waits end with it.
 * Returns 0 or -ENOMEM.
 */
int order_init(struct order *o, const struct target_plan *plan, bool early, bool audited,
	       struct stop *stop);

/* Set up a pass. While no QThread is in one. */
void order_begin_pass(struct order *o);

/* Accepts an order that was never set up. */
void order_destroy(struct order *o);

/*
 * Get the turn. With the lock `n` is ignored: the QThread takes its number after that. With the
 * TOT, wait for the turn of operation `n`. Returns 0, or -ECANCELED when the run stops. After each
 * 0 call order_leave() once, even if the operation is not issued. QThread.
 */
int order_enter(struct order *o, uint64_t n);

/* As order_enter(), without waiting. False: another operation has the turn. QThread. */
bool order_try(struct order *o, uint64_t n);

/* Release the turn of operation `n`, and wake a waiter. QThread. */
void order_leave(struct order *o, uint64_t n);

/*
 * As order_leave(), without waking a waiter of the lock, by a QThread that is about to ask for the
 * turn again. QThread.
 */
void order_leave_briefly(struct order *o, uint64_t n);

/* The means as a few words for -verbose; NULL: none. */
const char *order_text(const struct order *o);

/* Operation `n` is issued now. Returns 1 if it does not follow the one before, else 0. QThread. */
static inline unsigned order_breaks(struct order *o, uint64_t n)
{
	return atomic_exchange_explicit(&o->next, n + 1, memory_order_relaxed) != n;
}

/*
 * The requests that a QThread may have outstanding, with their buffers. Private to src/run.
 *
 * The ring belongs to its QThread: no other thread touches it.
 */

/* One request, or the share of the queue depth that the QThread has. */
struct request_ring {
	unsigned depth;
	struct io_request *requests; /* one per slot */
	struct io_request **done;    /* room for all of them */
	struct iovec *buffers;	     /* one per slot */

	/* ring of the requests whose slots are free, oldest first */
	struct io_request **free;
	unsigned head;
	unsigned n_free;
};

/*
 * Allocate q->ring and q->buffer. Returns 0 or -errno, then perhaps with a text in `why`.
 * Free with request_ring_free() in both cases. QThread.
 */
int request_ring_init(struct qthread *q, struct err *why);
void request_ring_free(struct qthread *q);

/* The request of the oldest free slot; valid if there is one. */
static inline struct io_request *request_ring_first(const struct request_ring *ring)
{
	return ring->free[ring->head];
}

/* Remove that request, which exists, from the free slots. */
static inline struct io_request *request_ring_take(struct request_ring *ring)
{
	struct io_request *req = request_ring_first(ring);

	ring->head = ring->head + 1 == ring->depth ? 0 : ring->head + 1;
	ring->n_free--;
	return req;
}

/* `req` is complete: its slot is the youngest free one. */
static inline void request_ring_put(struct request_ring *ring, struct io_request *req)
{
	unsigned tail = ring->head + ring->n_free++;

	ring->free[tail < ring->depth ? tail : tail - ring->depth] = req;
}

/* As request_ring_put(), before the free slots that are ready later. */
void request_ring_put_ready(struct request_ring *ring, struct io_request *req);

#endif
