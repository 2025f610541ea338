/*
 * The hot path of engines that complete inside submit: one operation after the other in each QThread.
 * Called by qthread.c, once a pass.
 */
#include "xdd/run/gate.h"
#include "xdd/run/issue.h"
#include "xdd/run/pace.h"

/* So many operations in a row a QThread may issue, of a target whose operations are in order, before it wakes another. */
#define OPS_A_TURN 64

/* The clock after a wait; without a limit it is not worth reading. */
static uint64_t clock_after(uint64_t now, uint64_t end)
{
	return end == UINT64_MAX ? now : clock_now_ns();
}

/* Wait at the gate. False: `req` is not to be issued any more. */
static bool pass_gate(struct target *t, struct io_request *req, uint64_t end)
{
	uint64_t ask;

	req->due_ns = pace_due(t, req->op);
	/* Due behind the end of the pass, which lasts its time all the same. */
	if (req->due_ns >= end) {
		pace_sleep_until(t, end);
		return false;
	}
	while ((ask = gate_ask(t, req->op, clock_now_ns())) != GATE_OPEN) {
		bool event = ask == GATE_EVENT;
		int err;

		/* Smaller numbers may have been let through, and still be on their way. */
		if (ask == GATE_CLOSED)
			return false;
		err = event ? gate_wait(t, req->op, end) : pace_sleep_until(t, ask);
		if (err || !may_issue(t, event ? clock_after(0, end) : 0, end)) {
			abandon_op(t);
			return false;
		}
	}
	return true;
}

/* Wait for the turn of `req`, which has its number. */
static bool await_turn(struct target *t, const struct io_request *req, uint64_t now, uint64_t end)
{
	if (order_enter(&t->order, req->op))
		return false;
	if (may_issue(t, clock_after(now, end), end))
		return true;
	order_leave(&t->order, req->op);
	return false;
}

/* The next operation of the pass, when it may be issued; false: the pass is over. */
static inline bool next_op(struct qthread *q, struct io_request *req, uint64_t now, uint64_t end)
{
	struct target *t = q->target;
	const enum order_by by = t->order.by;

	if (by == ORDER_BY_LOCK) {
		if (order_enter(&t->order, 0))
			return false;
		now = clock_after(now, end);
	}
	if (!may_issue(t, now, end) || !take_op(t, t->plan->pass_ops, req)) {
		if (by == ORDER_BY_LOCK)
			order_leave(&t->order, 0);
		return false;
	}
	if (__builtin_expect(q->data != NULL, 0))
		data_prepare(q, req);
	if (by == ORDER_BY_TOT && !await_turn(t, req, now, end)) {
		abandon_op(t);
		return false;
	}
	if (__builtin_expect(t->gated, 0) && !pass_gate(t, req, end)) {
		if (by != ORDER_BY_NOTHING)
			order_leave(&t->order, req->op);
		return false;
	}
	return true;
}

/* Try again what failed, where that is wanted. Returns the clock when it was done with. */
static uint64_t try_again(struct qthread *q, struct io_request *req, uint64_t now)
{
	while (watch_retry(q, req)) {
		q->target->engine->submit(q->ctx, req);
		now = clock_now_ns();
	}
	return now;
}

/* What is to be done behind an operation of a target that is watched. Returns the clock after it. */
static uint64_t watch(struct qthread *q, struct io_request *req, uint64_t now)
{
	watch_report(q, req, now);
	if (watch_flush_due(q->target, req))
		watch_flush(q);
	return clock_now_ns();
}

/*
 * Let the next operation in, which this QThread may issue as well as another. To wake one for each would take
 * longer than many an operation, so that is done now and then, and where this QThread has something else to do.
 */
static void leave(struct qthread *q, const struct io_request *req, uint64_t delay)
{
	struct target *t = q->target;

	if (delay || q->data || t->watched || req->op % OPS_A_TURN == OPS_A_TURN - 1)
		order_leave(&t->order, req->op);
	else
		order_leave_briefly(&t->order, req->op);
}

void issue_sync(struct qthread *q, uint64_t now, uint64_t end)
{
	struct target *t = q->target;
	const uint64_t delay = rest_ns(t);
	const struct engine *engine = t->engine;
	const bool ordered = t->order.by != ORDER_BY_NOTHING;
	const bool leave_early = ordered && t->order.mode == ORDERING_LOOSE;
	const bool leave_late = ordered && !leave_early;
	struct io_request req = { .buf = q->slots.buffers[0].iov_base };
	bool first = true;

	while (next_op(q, &req, now, end)) {
		if (leave_early)
			order_leave(&t->order, req.op);
		audit_order(q, &req);
		stamp_issue(q, &req, &first);
		engine->submit(q->ctx, &req);
		now = clock_now_ns();
		if (__builtin_expect(t->watched, 0))
			now = try_again(q, &req, now);
		/*
		 * What completes inside submit has been handed over and is complete: serial and strict. An
		 * error is dealt with first, as it may be the last that is allowed.
		 */
		if (leave_late && !req.error)
			leave(q, &req, delay);
		account(q, &req, now);
		if (leave_late && req.error)
			order_leave(&t->order, req.op);
		if (__builtin_expect(q->data != NULL, 0)) {
			data_complete(q, &req);
			now = clock_after(now, end);
		}
		if (__builtin_expect(t->watched, 0))
			now = watch(q, &req, now);
		if (delay) {
			if (stop_sleep_until(&t->run->stop, now + delay < end ? now + delay : end))
				break;
			now = clock_now_ns();
		}
	}
}
