/*
 * What the two ways of issuing a pass share: the steps of one operation. Private to src/run.
 *
 * Limits are looked at before a number is taken, so that the operations issued are exactly 0 to n-1
 * whatever ends the pass. Nothing but the transfer lies between the two clock readings of an operation.
 */
#ifndef XDD_RUN_ISSUE_H
#define XDD_RUN_ISSUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/run/internal.h"
#include "xdd/run/observe.h"

/* Neither the clock nor anybody else has ended the pass. */
static inline bool may_issue(const struct target *t, uint64_t now, uint64_t end)
{
	return now < end && !stop_requested(&t->run->stop) &&
	       !atomic_load_explicit(&t->pass_over, memory_order_relaxed);
}

/* The next operation of the pass into `req`; false when there is none left. */
static inline bool take_op(struct target *t, uint64_t ops, struct io_request *req)
{
	uint64_t n = atomic_fetch_add_explicit(&t->next_op, 1, memory_order_relaxed);
	struct access_op op;

	if (n >= ops)
		return false;
	access_op(&t->access, n, &op);
	req->op = n;
	req->dir = op.dir;
	req->offset = op.offset;
	req->size = op.size;
	io_request_reset(req);
	return true;
}

/*
 * A number was taken that is not going to be issued: no later one may be either. What makes that true of
 * the others, a limit or a stop, is seen by them only when they look.
 */
static inline void abandon_op(struct target *t)
{
	atomic_store_explicit(&t->pass_over, true, memory_order_relaxed);
}

/* Whether `req` is handed over in order. */
static inline void audit_order(struct qthread *q, const struct io_request *req)
{
	struct order *o = &q->target->order;

	if (__builtin_expect(o->audited, 0))
		counters_add(&q->counters.order_breaks, order_breaks(o, req->op));
}

/* The clock at the issue of `req`. */
static inline void stamp_issue(struct qthread *q, struct io_request *req, bool *first)
{
	counters_add(&q->counters.issued, 1);
	if (__builtin_expect(q->trace != NULL, 0))
		trace_issue(req);
	if (__builtin_expect(q->target->observes_issue, 0))
		observe_issue(q, req);
	req->issue_ns = clock_now_ns();
	if (__builtin_expect(*first, 0)) {
		counters_set(&q->counters.first_issue_ns, req->issue_ns);
		*first = false;
	}
}

/* How long a request rests before the next operation takes its place. */
static inline uint64_t rest_ns(const struct target *t)
{
	return t->run->plan->operation_delay_ns + t->plan->throttle.delay_ns;
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
static inline void count(struct qthread *q, const struct io_request *req, uint64_t done_ns)
{
	struct counters *c = &q->counters;
	/* Two readings of the counter that follow each other closely may come out as one. */
	uint64_t took_ns = done_ns > req->issue_ns ? done_ns - req->issue_ns : 0;

	if (__builtin_expect(q->trace != NULL, 0))
		trace_done(q->trace, req, q->target->pass, done_ns);
	counters_add(&c->bytes[req->dir], req->done);
	counters_set(&c->last_done_ns, done_ns);
	if (req->op == 0)
		atomic_store_explicit(&q->target->first_op_ns, took_ns, memory_order_relaxed);
	if (__builtin_expect(q->target->observes_done, 0))
		observe_done(q, req, took_ns);
	if (__builtin_expect(req->error != 0, 0)) {
		counters_add(&c->errors, 1);
		io_error(q, req);
		return;
	}
	counters_add(&c->busy_ns[req->dir], took_ns);
	counters_add(&c->ops[req->dir], 1);
	if (__builtin_expect(q->keeps_latency, 0))
		keep_latency(q, req, took_ns, done_ns);
}

/* Count an operation that has come back, and tell those who want to know. */
static inline void account(struct qthread *q, const struct io_request *req, uint64_t done_ns)
{
	count(q, req, done_ns);
	if (__builtin_expect(q->flow != NULL, 0))
		flow_add(q->flow, req->issue_ns, done_ns, req->done);
	if (__builtin_expect(q->target->followed, 0))
		gate_completed(q->target, req->size);
}

#endif
