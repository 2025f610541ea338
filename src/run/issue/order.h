/*
 * The order in which the QThreads of a target issue its operations: -ordering. Private to src/run.
 *
 * Late binding where it can be had: a QThread takes its operation number while it holds the issue lock,
 * so whoever issues is next by construction, and none waits for one that is asleep. Operations whose
 * data is to be made first, at a cost that should not be paid one after the other, take their number
 * early, and wait for their turn in the target operation table (TOT).
 */
#ifndef XDD_RUN_ISSUE_ORDER_H
#define XDD_RUN_ISSUE_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/issue/tot.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/lock.h"
#include "xdd/sync/stop.h"

/* By what means operations are kept in order. */
enum order_by {
	ORDER_BY_NOTHING, /* they are not, or one QThread issues them all */
	ORDER_BY_LOCK,
	ORDER_BY_TOT,
};

struct order {
	/* const after order_init() */
	enum order_by by;
	enum ordering mode;
	bool alone;   /* serial: nothing else is outstanding while an operation is */
	bool audited; /* breaks are counted */

	struct lock lock;
	struct tot tot;

	/* atomic: one more than the operation issued last; on a cache line of its own */
	_Atomic uint64_t next __attribute__((aligned(128)));
};

/*
 * Set up for a target, whose memory is zeroed. `early`: numbers are to be taken before the turn, for
 * the sake of what each operation needs done first. `audited`: count breaks. Registers with `stop`, so
 * that all waits end with it. Returns 0 or -ENOMEM.
 */
int order_init(struct order *o, const struct target_plan *plan, bool early, bool audited,
	       struct stop *stop);

/* Start of a pass, while no QThread is in one. */
void order_begin_pass(struct order *o);

/* Accepts an order that was never set up. */
void order_destroy(struct order *o);

/*
 * Begin to issue. With the lock, `n` is not looked at: the number is taken inside. With the TOT, wait for
 * the turn of operation `n`. Returns 0, or -ECANCELED when the run stops. Every 0 is answered by one
 * order_leave(), whether or not the operation was issued.
 */
int order_enter(struct order *o, uint64_t n);

/* The same without waiting; false: it is somebody else's turn. */
bool order_try(struct order *o, uint64_t n);

/* Let the next one in. Operation `n` was the caller's. */
void order_leave(struct order *o, uint64_t n);

/* The same by a QThread that comes back at once for its next operation, and may be the one to issue that. */
void order_leave_briefly(struct order *o, uint64_t n);

/* What the operations are kept in order by, as a few words for -verbose; NULL when by nothing. */
const char *order_text(const struct order *o);

/* Operation `n` is issued now. Returns 1 when it does not follow the one before it, else 0. Any QThread. */
static inline unsigned order_breaks(struct order *o, uint64_t n)
{
	return atomic_exchange_explicit(&o->next, n + 1, memory_order_relaxed) != n;
}

#endif
