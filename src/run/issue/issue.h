/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of one operation, which the issue loop and the fast loop share. Private to src/run.
 *
 * A QThread checks the limits before it takes a number, and issues each number that it took. So the
 * issued operations are exactly 0 to n-1 whatever ends the pass; the exceptions are release_ops()
 * in issue_fast.c, and gate.h. Nothing but the transfer lies between the two clock readings of an
 * operation.
 */
#ifndef XDD_RUN_ISSUE_ISSUE_H
#define XDD_RUN_ISSUE_ISSUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/gate.h"
#include "run/endtoend/endtoend.h"
#include "run/issue/op_hooks.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "xdd/base/log.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Properties of a pass, and work for each operation beside the transfer: bits of one word, which is
 * const during the pass. 0: an engine that queues, and nothing else to do.
 */
enum issue_extra {
	EXTRA_LOCK = 1 << 0, /* order, by the issue lock */
	EXTRA_TOT = 1 << 1,  /* order, by the TOT */
	EXTRA_AUDIT = 1 << 2,
	EXTRA_DATA = 1 << 3,
	EXTRA_GATE = 1 << 4,
	EXTRA_RETRY_FLUSH = 1 << 5,
	EXTRA_REST = 1 << 6, /* slots rest after an operation: -operationdelay, -snooze */
	EXTRA_TRACE = 1 << 7,
	EXTRA_HOOK_ISSUE = 1 << 8,
	EXTRA_HOOK_DONE = 1 << 9,
	EXTRA_LATENCY = 1 << 10,
	EXTRA_FLOW = 1 << 11,
	EXTRA_FOLLOWED = 1 << 12,
	EXTRA_OVERHEAD = 1 << 13,   /* measure the time in the engine, which queues */
	EXTRA_SYNC = 1 << 14,	    /* the engine completes a request inside submit */
	EXTRA_ALONE = 1 << 15,	    /* serial: one request outstanding at a time */
	EXTRA_SEND = 1 << 16,	    /* the source of an end-to-end copy */
	EXTRA_RECEIVE = 1 << 17,    /* its destination */
	EXTRA_WARM = 1 << 18,	    /* the pass begins with a warm-up */
	EXTRA_WARM_LIMIT = 1 << 19, /* which puts off the time limit: warmup_end_ns() */
	EXTRA_HOLD = 1 << 20,	    /* a test holds an operation */
	EXTRA_NET = EXTRA_SEND | EXTRA_RECEIVE,
	EXTRA_SERIAL = EXTRA_LOCK | EXTRA_SYNC | EXTRA_ALONE,
};

/* Nanoseconds between an operation and the next one in its slot, in addition to -snooze. */
static inline uint64_t rest_ns(const struct target *t)
{
	return t->run->plan->operation_delay_ns + t->plan->throttle.delay_ns;
}

/* The extras of a QThread that is ready to issue. */
static inline unsigned issue_extras(const struct qthread *q)
{
	const struct target *t = q->target;

	return (t->order.by == ORDER_BY_LOCK ? EXTRA_LOCK : 0) |
	       (t->order.by == ORDER_BY_TOT ? EXTRA_TOT : 0) |
	       (t->order.audited ? EXTRA_AUDIT : 0) | (q->data ? EXTRA_DATA : 0) |
	       (t->gated ? EXTRA_GATE : 0) | (t->retry_flush ? EXTRA_RETRY_FLUSH : 0) |
	       (rest_ns(t) || t->plan->snooze_percent > 0 ? EXTRA_REST : 0) |
	       (q->trace ? EXTRA_TRACE : 0) | (t->hooks_issue ? EXTRA_HOOK_ISSUE : 0) |
	       (t->hooks_done ? EXTRA_HOOK_DONE : 0) | (q->keeps_latency ? EXTRA_LATENCY : 0) |
	       (q->flow ? EXTRA_FLOW : 0) | (t->followed ? EXTRA_FOLLOWED : 0) |
	       (t->order.alone ? EXTRA_ALONE : 0) |
	       (q->transfer ? (t->endtoend->sends ? EXTRA_SEND : EXTRA_RECEIVE) : 0) |
	       (plan_warms_up(t->plan) ? EXTRA_WARM : 0) |
	       (t->plan->warmup_ops && t->plan->time_limit_ns ? EXTRA_WARM_LIMIT : 0) |
	       (hold_wants(HOLD_OPERATION) ? EXTRA_HOLD : 0) |
	       (!plan_queues(t->plan)		 ? EXTRA_SYNC :
		t->run->needs & FIGURES_OVERHEAD ? EXTRA_OVERHEAD :
						   0);
}

/* Operations may be issued one after the other at any time; only their accounts differ. */
static inline bool issue_is_fast(unsigned extras)
{
	return extras & EXTRA_SYNC &&
	       !(extras &
		 ~(EXTRA_SYNC | EXTRA_ALONE | EXTRA_AUDIT | EXTRA_TRACE | EXTRA_HOOK_ISSUE |
		   EXTRA_HOOK_DONE | EXTRA_LATENCY | EXTRA_FLOW | EXTRA_WARM));
}

/* True, which is rare, if any of `which` is among them. */
static inline bool wants(unsigned extras, unsigned which)
{
	return __builtin_expect((extras & which) != 0, 0);
}

/* The QThread waited, or was in the engine, since clock `since_ns`. */
static inline void set_apart(struct qthread *q, uint64_t since_ns)
{
	q->apart_ns += clock_now_ns() - since_ns;
}

/* Neither the clock nor an error nor the end of the run has ended the pass. */
static inline bool may_issue(const struct target *t, uint64_t now, uint64_t end)
{
	return now < end && !stop_requested(&t->run->stop) &&
	       !atomic_load_explicit(&t->state.over, memory_order_relaxed);
}

/*
 * Take the next operation numbers of the pass, at most `most`, from `*first` on. Returns their
 * count; 0: none left.
 */
static inline uint32_t take_ops(struct target *t, uint32_t most, uint64_t *first)
{
	const uint64_t ops = t->plan->pass_ops;

	if (t->plan->qthreads == 1) {
		/*
		 * Without others no locked addition, the most expensive instruction of an
		 * operation.
		 */
		*first = atomic_load_explicit(&t->state.next_op, memory_order_relaxed);
		atomic_store_explicit(&t->state.next_op, *first + most, memory_order_relaxed);
	} else {
		*first = atomic_fetch_add_explicit(&t->state.next_op, most, memory_order_relaxed);
	}
	if (*first >= ops)
		return 0;
	return ops - *first < most ? (uint32_t)(ops - *first) : most;
}

/* No operation of this QThread follows one that is complete. */
static inline bool is_last(const struct target *t, uint64_t now, uint64_t end)
{
	return atomic_load_explicit(&t->state.next_op, memory_order_relaxed) >= t->plan->pass_ops ||
	       !may_issue(t, now, end);
}

/* Operation `n` of the pass into `req`. */
static inline void set_op(const struct target *t, uint64_t n, struct io_request *req)
{
	struct access_op op;

	access_op(&t->state.access, n, &op);
	req->op = n;
	req->dir = op.dir;
	req->offset = op.offset;
	req->size = op.size;
	io_request_reset(req);
}

/*
 * A number was taken that will not be issued, so no later one may be. Other QThreads see the limit
 * or the stop that is the reason only when they check.
 */
static inline void end_pass(struct target *t)
{
	atomic_store_explicit(&t->state.over, true, memory_order_relaxed);
}

/* Count `req` if it is submitted out of order. With EXTRA_AUDIT. */
static inline void audit_order(struct qthread *q, const struct io_request *req)
{
	counters_add(&q->counters.order_breaks, order_breaks(&q->target->order, req->op));
}

/* Read the clock at the first issue of a pass. */
static inline void stamp_first(struct qthread *q, struct io_request *req)
{
	cputime_first(q);
	req->issue_ns = clock_now_ns();
	counters_set(&q->counters.first_issue_ns, req->issue_ns);
}

/* Count `req` as issued, and read the clock. */
static ALWAYS_INLINE void stamp_issue(struct qthread *q, struct io_request *req, unsigned extras)
{
	uint64_t before = atomic_load_explicit(&q->counters.issued, memory_order_relaxed);

	counters_set(&q->counters.issued, before + 1);
	if (wants(extras, EXTRA_WARM)) {
		if (warmup_issue(q, req))
			return;
		before = atomic_load_explicit(&q->counters.first_issue_ns, memory_order_relaxed) !=
			 UINT64_MAX;
	}
	if (wants(extras, EXTRA_TRACE | EXTRA_HOOK_ISSUE)) {
		if (extras & EXTRA_TRACE)
			trace_issue(req);
		if (extras & EXTRA_HOOK_ISSUE)
			op_hook_issue(q, req);
	}
	if (__builtin_expect(before != 0, 1))
		req->issue_ns = clock_reader_now_ns(&q->clock);
	else
		stamp_first(q, req);
}

/* The times of an operation into the histograms. */
static inline void keep_latency(struct qthread *q, const struct io_request *req, uint64_t took_ns,
				uint64_t done_ns)
{
	histogram_add(&q->latency[LATENCY_SERVICE][req->dir], took_ns);
	if (req->due_ns)
		histogram_add(&q->latency[LATENCY_RESPONSE][req->dir],
			      done_ns > req->due_ns ? done_ns - req->due_ns : 0);
}

/* Count an operation that failed, which is not in busy_ns. */
static inline void count_error(struct qthread *q, const struct io_request *req, uint64_t took_ns,
			       uint64_t done_ns)
{
	counters_publish(&q->counters.bytes[req->dir], req->done);
	counters_set(&q->counters.last_done_ns, done_ns);
	counters_add(&q->counters.errors, 1);
	counters_add(&q->counters.failed_ops[req->dir], 1);
	counters_add(&q->counters.failed_bytes[req->dir], req->done);
	/* The time in the engine: busy_ns has it only for operations that succeeded. */
	if (!plan_queues(q->target->plan))
		q->apart_ns += took_ns;
	io_error(q, req);
}

/*
 * Count a complete operation in the QThread's own counters. busy_ns before the others, and the sum
 * of the histogram after them, bracket what a reader must see together: read_direction(), meter.c.
 */
static ALWAYS_INLINE void count(struct qthread *q, const struct io_request *req, uint64_t took_ns,
				uint64_t done_ns)
{
	struct counters *c = &q->counters;
	const enum op_dir dir = req->dir;

	/* 0 stands for unknown; a clock that was set back a little stands still for a moment. */
	if (__builtin_expect(req->op == 0, 0))
		atomic_store_explicit(&q->target->state.first_op_ns, took_ns ? took_ns : 1,
				      memory_order_relaxed);
	if (__builtin_expect(req->error != 0, 0)) {
		count_error(q, req, took_ns, done_ns);
		return;
	}
	counters_add(&c->busy_ns[dir], took_ns);
	counters_publish(&c->bytes[dir], req->done);
	counters_set(&c->last_done_ns, done_ns);
	counters_publish(&c->ops[dir], 1);
}

static inline void keep_flow(struct qthread *q, const struct io_request *req, uint64_t done_ns)
{
	flow_add(q->flow, req->issue_ns, done_ns,
		 (struct flow_amount){ req->done, req->error ? 0 : FLOW_OP });
}

/* Count a complete operation, and record it where the extras ask for it. */
static ALWAYS_INLINE void account(struct qthread *q, const struct io_request *req, uint64_t done_ns,
				  unsigned extras)
{
	uint64_t took_ns = done_ns - req->issue_ns;

	/* The processor may swap two readings of the counter that follow each other closely. */
	if (__builtin_expect((int64_t)took_ns < 0, 0))
		took_ns = 0;
	if (wants(extras, EXTRA_WARM) && req->warm) {
		warmup_done(q, req, took_ns);
		if (extras & EXTRA_FOLLOWED)
			gate_completed(q->target, req->size);
		return;
	}
	if (wants(extras, EXTRA_TRACE | EXTRA_HOOK_DONE)) {
		if (extras & EXTRA_TRACE)
			trace_done(q->trace, req, transfer_net(q, req), q->target->pass, done_ns);
		if (extras & EXTRA_HOOK_DONE)
			op_hook_done(q, req, took_ns);
	}
	count(q, req, took_ns, done_ns);
	if (wants(extras, EXTRA_LATENCY) && !req->error)
		keep_latency(q, req, took_ns, done_ns);
	if (wants(extras, EXTRA_FLOW | EXTRA_FOLLOWED)) {
		if (extras & EXTRA_FLOW)
			keep_flow(q, req, done_ns);
		if (extras & EXTRA_FOLLOWED)
			gate_completed(q->target, req->size);
	}
}

/*
 * Issue the operations of the pass from clock `now` until `end`, and wait until all are complete.
 * QThread.
 */
void issue_pass(struct qthread *q, uint64_t now, uint64_t end);

/*
 * As issue_pass(), for a synchronous engine and extras that issue_is_fast() accepts. (issue_fast.c)
 */
void issue_fast(struct qthread *q, uint64_t now, uint64_t end, unsigned extras);

#endif
