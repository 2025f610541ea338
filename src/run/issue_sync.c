/*
 * The hot path of engines that complete inside submit: one operation after the other in each QThread.
 * Called by qthread.c, once a pass.
 */
#include "xdd/run/gate.h"
#include "xdd/run/issue.h"
#include "xdd/run/pace.h"

/* So many operations in a row a QThread may issue, of a target whose operations are in order, before it wakes another. */
#define OPS_A_TURN 64

#define ALWAYS_INLINE inline __attribute__((always_inline))

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

/* Do what `req`, which has its number, needs before it is issued. False: it is not to be issued any more. */
static bool make_ready(struct qthread *q, struct io_request *req, uint64_t now, uint64_t end,
		       unsigned extras)
{
	struct target *t = q->target;

	if (extras & EXTRA_DATA)
		data_prepare(q, req);
	if (extras & EXTRA_TOT && !await_turn(t, req, now, end)) {
		abandon_op(t);
		return false;
	}
	if (extras & EXTRA_GATE && !pass_gate(t, req, end)) {
		if (extras & (EXTRA_LOCK | EXTRA_TOT))
			order_leave(&t->order, req->op);
		return false;
	}
	return true;
}

/* The next operation of the pass, when it may be issued; false: the pass is over. */
static ALWAYS_INLINE bool next_op(struct qthread *q, struct io_request *req, uint64_t now,
				  uint64_t end, unsigned extras)
{
	struct target *t = q->target;

	if (wants(extras, EXTRA_LOCK)) {
		if (order_enter(&t->order, 0))
			return false;
		now = clock_after(now, end);
	}
	if (!may_issue(t, now, end) || !take_op(t, t->plan->pass_ops, req)) {
		if (extras & EXTRA_LOCK)
			order_leave(&t->order, 0);
		return false;
	}
	return !wants(extras, EXTRA_DATA | EXTRA_TOT | EXTRA_GATE) ||
	       make_ready(q, req, now, end, extras);
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

/* Do what is to be done behind an operation, and rest. Returns the clock after it. */
static uint64_t finish(struct qthread *q, struct io_request *req, uint64_t now, uint64_t end,
		       unsigned extras)
{
	if (extras & EXTRA_DATA) {
		data_complete(q, req);
		now = clock_after(now, end);
	}
	if (extras & EXTRA_WATCH) {
		watch_report(q, req, now);
		if (watch_flush_due(q->target, req))
			watch_flush(q);
		now = clock_now_ns();
	}
	if (extras & EXTRA_REST) {
		uint64_t ready = now + rest_ns(q->target);

		stop_sleep_until(&q->target->run->stop, ready < end ? ready : end);
		now = clock_now_ns();
	}
	return now;
}

/*
 * Let the next operation in, which this QThread may issue as well as another. To wake one for each would take
 * longer than many an operation, so that is done now and then, and where this QThread has something else to do.
 */
static void leave(struct target *t, const struct io_request *req, unsigned extras)
{
	bool busy = extras & (EXTRA_DATA | EXTRA_WATCH | EXTRA_REST);

	if (busy || req->op % OPS_A_TURN == OPS_A_TURN - 1)
		order_leave(&t->order, req->op);
	else
		order_leave_briefly(&t->order, req->op);
}

/* Inlined once for each caller, so that what `extras` rules out is not there. */
static ALWAYS_INLINE void issue(struct qthread *q, uint64_t now, uint64_t end, unsigned extras)
{
	struct target *t = q->target;
	const struct engine *engine = t->engine;
	const bool ordered = extras & (EXTRA_LOCK | EXTRA_TOT);
	const bool leave_early = ordered && t->order.mode == ORDERING_LOOSE;
	const bool leave_late = ordered && !leave_early;
	struct io_request req = { .buf = q->slots.buffers[0].iov_base };

	while (next_op(q, &req, now, end, extras)) {
		if (leave_early)
			order_leave(&t->order, req.op);
		if (wants(extras, EXTRA_AUDIT))
			audit_order(q, &req);
		stamp_issue(q, &req, extras);
		engine->submit(q->ctx, &req);
		now = clock_now_ns();
		if (wants(extras, EXTRA_WATCH))
			now = try_again(q, &req, now);
		/*
		 * What completes inside submit has been handed over and is complete: serial and strict. An
		 * error is dealt with first, as it may be the last that is allowed.
		 */
		if (leave_late && !req.error)
			leave(t, &req, extras);
		account(q, &req, now, extras);
		if (leave_late && req.error)
			order_leave(&t->order, req.op);
		if (wants(extras, EXTRA_DATA | EXTRA_WATCH | EXTRA_REST))
			now = finish(q, &req, now, end, extras);
	}
}

void issue_sync(struct qthread *q, uint64_t now, uint64_t end)
{
	unsigned extras = issue_extras(q);

	if (extras)
		issue(q, now, end, extras);
	else
		issue(q, now, end, 0);
}
