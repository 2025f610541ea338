/*
 * What the two ways of issuing a pass share: the steps of one operation. Private to src/run.
 *
 * Limits are looked at before numbers are taken, and what was taken is issued, so that the operations issued
 * are exactly 0 to n-1 whatever ends the pass. The exception is release_ops() in issue_sync.c.
 * Nothing but the transfer lies between the two clock readings of an operation.
 */
#ifndef XDD_RUN_ISSUE_ISSUE_H
#define XDD_RUN_ISSUE_ISSUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/gate.h"
#include "run/failures.h"
#include "run/issue/op_hooks.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/qthread.h"
#include "run/results/cputime.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/flow.h"
#include "xdd/stat/histogram.h"
#include "xdd/stat/latency.h"
#include "xdd/sync/stop.h"
#include "xdd/sys/clock.h"

/*
 * What a QThread does for each operation beside the transfer, where it was asked for. Bits of one word, which is
 * const during a pass: where none is set nothing looks for them operation by operation.
 */
enum issue_extra {
	EXTRA_LOCK = 1 << 0, /* in order, by the issue lock */
	EXTRA_TOT = 1 << 1,  /* likewise by the TOT */
	EXTRA_AUDIT = 1 << 2,
	EXTRA_DATA = 1 << 3,
	EXTRA_GATE = 1 << 4,
	EXTRA_RETRY_FLUSH = 1 << 5,
	EXTRA_REST = 1 << 6, /* rest_ns() is not 0 */
	EXTRA_TRACE = 1 << 7,
	EXTRA_HOOK_ISSUE = 1 << 8,
	EXTRA_HOOK_DONE = 1 << 9,
	EXTRA_LATENCY = 1 << 10,
	EXTRA_FLOW = 1 << 11,
	EXTRA_FOLLOWED = 1 << 12,
	EXTRA_OVERHEAD = 1 << 13, /* the time in the engine is to be measured: of one that queues */
};

/* How long a request rests before the next operation takes its place. */
static inline uint64_t rest_ns(const struct target *t)
{
	return t->run->plan->operation_delay_ns + t->plan->throttle.delay_ns;
}

/* Those of a QThread that is ready to issue. */
static inline unsigned issue_extras(const struct qthread *q)
{
	const struct target *t = q->target;

	return (t->order.by == ORDER_BY_LOCK ? EXTRA_LOCK : 0) |
	       (t->order.by == ORDER_BY_TOT ? EXTRA_TOT : 0) |
	       (t->order.audited ? EXTRA_AUDIT : 0) | (q->data ? EXTRA_DATA : 0) |
	       (t->gated ? EXTRA_GATE : 0) | (t->retry_flush ? EXTRA_RETRY_FLUSH : 0) |
	       (rest_ns(t) ? EXTRA_REST : 0) | (q->trace ? EXTRA_TRACE : 0) |
	       (t->hooks_issue ? EXTRA_HOOK_ISSUE : 0) | (t->hooks_done ? EXTRA_HOOK_DONE : 0) |
	       (q->keeps_latency ? EXTRA_LATENCY : 0) | (q->flow ? EXTRA_FLOW : 0) |
	       (t->followed ? EXTRA_FOLLOWED : 0) |
	       ((t->run->needs & FIGURES_OVERHEAD) && plan_queues(t->plan) ? EXTRA_OVERHEAD : 0);
}

/* Whether any of `which` is among them, as is seldom the case. */
static inline bool wants(unsigned extras, unsigned which)
{
	return __builtin_expect((extras & which) != 0, 0);
}

/* From the clock `since_ns` on the QThread waited, or was in the engine. */
static inline void set_apart(struct qthread *q, uint64_t since_ns)
{
	q->apart_ns += clock_now_ns() - since_ns;
}

/* Get the turn for operation `n`, and wait where another QThread has it. Returns what order_enter() does. */
static inline int take_turn(struct qthread *q, uint64_t n)
{
	struct order *o = &q->target->order;
	uint64_t since;
	int err;

	if (order_try(o, n))
		return 0;
	since = clock_now_ns();
	err = order_enter(o, n);
	set_apart(q, since);
	return err;
}

/* Neither the clock nor anybody else has ended the pass. */
static inline bool may_issue(const struct target *t, uint64_t now, uint64_t end)
{
	return now < end && !stop_requested(&t->run->stop) &&
	       !atomic_load_explicit(&t->state.over, memory_order_relaxed);
}

/* Take the next operation numbers of the pass, at most `most`, from `*first` on. Returns how many; 0: there are none left. */
static inline uint32_t take_ops(struct target *t, uint32_t most, uint64_t *first)
{
	const uint64_t ops = t->plan->pass_ops;

	if (t->plan->qthreads == 1) {
		/* No other QThread takes any: no locked addition, the most expensive instruction of an operation. */
		*first = atomic_load_explicit(&t->state.next_op, memory_order_relaxed);
		atomic_store_explicit(&t->state.next_op, *first + most, memory_order_relaxed);
	} else {
		*first = atomic_fetch_add_explicit(&t->state.next_op, most, memory_order_relaxed);
	}
	if (*first >= ops)
		return 0;
	return ops - *first < most ? (uint32_t)(ops - *first) : most;
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
 * A number was taken that is not going to be issued: no later one may be either. What makes that true of
 * the others, a limit or a stop, is seen by them only when they look.
 */
static inline void end_pass(struct target *t)
{
	atomic_store_explicit(&t->state.over, true, memory_order_relaxed);
}

/* Look whether `req` is handed over in order. With EXTRA_AUDIT. */
static inline void audit_order(struct qthread *q, const struct io_request *req)
{
	counters_add(&q->counters.order_breaks, order_breaks(&q->target->order, req->op));
}

/* The clock at the issue of `req`. */
static inline void stamp_issue(struct qthread *q, struct io_request *req, unsigned extras)
{
	uint64_t before = atomic_load_explicit(&q->counters.issued, memory_order_relaxed);

	counters_set(&q->counters.issued, before + 1);
	if (wants(extras, EXTRA_TRACE | EXTRA_HOOK_ISSUE)) {
		if (extras & EXTRA_TRACE)
			trace_issue(req);
		if (extras & EXTRA_HOOK_ISSUE)
			op_hook_issue(q, req);
	}
	if (__builtin_expect(before == 0, 0))
		cputime_first(q);
	req->issue_ns = clock_now_ns();
	if (__builtin_expect(before == 0, 0))
		counters_set(&q->counters.first_issue_ns, req->issue_ns);
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

/* Count an operation that has come back, in the QThread's own counters. */
static inline void count(struct qthread *q, const struct io_request *req, uint64_t took_ns,
			 uint64_t done_ns)
{
	struct counters *c = &q->counters;

	counters_add(&c->bytes[req->dir], req->done);
	counters_set(&c->last_done_ns, done_ns);
	if (req->op == 0)
		atomic_store_explicit(&q->target->state.first_op_ns, took_ns, memory_order_relaxed);
	if (__builtin_expect(req->error != 0, 0)) {
		counters_add(&c->errors, 1);
		counters_add(&c->failed_bytes[req->dir], req->done);
		/* The engine's time: busy_ns has that of operations which succeeded. */
		if (!plan_queues(q->target->plan))
			q->apart_ns += took_ns;
		io_error(q, req);
		return;
	}
	counters_add(&c->busy_ns[req->dir], took_ns);
	counters_add(&c->ops[req->dir], 1);
}

static inline void keep_flow(struct qthread *q, const struct io_request *req, uint64_t done_ns)
{
	flow_add(q->flow, req->issue_ns, done_ns,
		 (struct flow_amount){ req->done, req->error ? 0 : FLOW_OP });
}

/* Count an operation that has come back, and tell those who want to know. */
static inline void account(struct qthread *q, const struct io_request *req, uint64_t done_ns,
			   unsigned extras)
{
	/* Two readings of the counter that follow each other closely may come out as one. */
	uint64_t took_ns = done_ns > req->issue_ns ? done_ns - req->issue_ns : 0;

	if (wants(extras, EXTRA_TRACE | EXTRA_HOOK_DONE)) {
		if (extras & EXTRA_TRACE)
			trace_done(q->trace, req, q->target->pass, done_ns);
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
 * Issue the operations of the pass from clock `now` until `end`, and wait for them. QThread.
 * issue_sync() is for engines that complete inside submit, issue_queued() for those that queue.
 */
void issue_sync(struct qthread *q, uint64_t now, uint64_t end);
void issue_queued(struct qthread *q, uint64_t now, uint64_t end);

#endif
