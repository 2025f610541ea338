/*
 * The order in which the QThreads of a target issue its operations: -ordering. Private to src/run.
 *
 * A QThread takes its operation number while it holds the issue lock, so the QThread that issues is
 * next by construction, and none waits for a thread that sleeps. Operations with data that is
 * expensive to make take their number early, make the data side by side, and wait for their turn in
 * the target operation table (TOT).
 */
#ifndef XDD_RUN_ISSUE_ORDER_H
#define XDD_RUN_ISSUE_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/issue/tot.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/wait.h"

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

#endif
