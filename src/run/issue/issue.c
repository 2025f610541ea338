/*
 * The issue loop: a QThread carries out the operations of a pass, one at a time or with many
 * outstanding. Called by qthread.c, once per pass.
 *
 * It serves both kinds of engines. A synchronous engine completes a request inside submit, so the
 * QThread never has anything outstanding when it comes to wait. issue_fast.c has the plans that
 * need none of this.
 */
#include <errno.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/throttle.h"
#include "run/endtoend/transfer.h"
#include "run/issue/flight.h"
#include "run/issue/issue.h"
#include "run/issue/retry_flush.h"
#include "run/target/data.h"
#include "xdd/base/log.h"

/*
 * While operations are outstanding a QThread sleeps in the kernel until one completes, and nothing
 * else wakes it. So after these times it checks again whether it has its turn, and whether the gate
 * is open.
 */
#define TURN_POLL_NS 20000
#define EVENT_POLL_NS 200000

/*
 * A QThread of a synchronous engine wakes another one after this many operations in order. It may
 * issue the next operation just as well, and to wake a thread takes longer than many an operation.
 */
#define OPS_PER_WAKE 64

/* The engine lost its context: the QThread can do nothing more with it. */
static void engine_broke(struct flight *f, int err)
{
	struct target *t = f->q->target;

	atomic_fetch_add(&t->run->failures.errors, 1);
	f->q->broken = true;
	f->state = DRAIN;
	f->outstanding = 0;
	run_explain(t, "%s: engine %s: %s", t->plan->path, t->engine->info.name, strerror(-err));
	if (run_stop(t->run, STOP_ERROR, -err))
		log_error("target %u, %s: engine %s: %s", t->plan->number, t->plan->path,
			  t->engine->info.name, strerror(-err));
}

/* The QThread has waited since clock `since_ns`, for a turn, the gate or a slot. */
static void waited(struct flight *f, uint64_t since_ns)
{
	f->now_ns = clock_now_ns();
	f->q->apart_ns += f->now_ns - since_ns;
	if (f->extras & EXTRA_NET)
		net_held(f, f->now_ns - since_ns);
}

/*
 * The QThread of a source has blocks to send. It may wait for nothing else: the destination, or the
 * QThread that has the turn, may wait for one of them.
 */
static bool has_unsent(const struct flight *f)
{
	return f->extras & EXTRA_SEND && f->q->transfer->n_queued;
}

/* ---- the turn ---- */

/*
 * Get the turn for operation `n`. Another QThread has it for the time of one submission or, if
 * there is a gate, until that opens: perhaps after completions that this QThread must collect.
 * False: end, or check again at look_ns.
 */
static bool take_turn(struct flight *f, uint64_t n)
{
	struct order *o = &f->q->target->order;
	uint64_t since;

	f->has_turn = order_try(o, n);
	if (f->has_turn)
		return true;
	if ((f->extras & (EXTRA_GATE | EXTRA_RECEIVE) && f->outstanding) || has_unsent(f)) {
		f->look_ns = f->now_ns + TURN_POLL_NS;
		return false;
	}
	since = clock_now_ns();
	f->has_turn = order_enter(o, n) == 0;
	waited(f, since);
	if (!f->has_turn)
		f->state = DRAIN;
	return f->has_turn;
}

static void leave_turn(struct flight *f, uint64_t n)
{
	if (f->has_turn)
		order_leave(&f->q->target->order, n);
	f->has_turn = false;
}

/* As leave_turn(), by a QThread that is about to ask for the turn again. */
static ALWAYS_INLINE void leave_turn_briefly(struct flight *f, uint64_t n, unsigned extras)
{
	const bool busy = extras & (EXTRA_DATA | EXTRA_RETRY_FLUSH | EXTRA_REST | EXTRA_NET);

	if (!f->has_turn)
		return;
	if (busy || !(extras & EXTRA_SYNC) || n % OPS_PER_WAKE == OPS_PER_WAKE - 1)
		order_leave(&f->q->target->order, n);
	else
		order_leave_briefly(&f->q->target->order, n);
	f->has_turn = false;
}

/* ---- before an operation is issued ---- */

/* f->req has its number and is not issued, and neither is a later operation of this QThread. */
static void drop(struct flight *f)
{
	if (f->extras & EXTRA_DATA)
		data_release(f->q, f->req);
	leave_turn(f, f->req->op);
	request_ring_put(&f->q->ring, f->req);
	f->state = DRAIN;
}

/*
 * Take the next operation into the oldest free slot, as f->req. False: there is no slot now, or no
 * operation left.
 */
static ALWAYS_INLINE bool take(struct flight *f, unsigned extras)
{
	struct request_ring *ring = &f->q->ring;
	struct target *t = f->q->target;
	uint64_t n;

	if (wants(extras, EXTRA_WARM_LIMIT))
		f->end_ns = warmup_end_ns(f->q, f->end_ns);
	if (!ring->n_free || (wants(extras, EXTRA_ALONE) && f->outstanding) ||
	    (wants(extras, EXTRA_REST) && request_ring_first(ring)->ready_ns > f->now_ns))
		return false;
	if (wants(extras, EXTRA_RECEIVE))
		return net_take(f);
	if (wants(extras, EXTRA_LOCK) && !take_turn(f, 0))
		return false;
	if (!may_issue(t, f->now_ns, f->end_ns) || !take_ops(t, 1, &n) ||
	    (wants(extras, EXTRA_SEND) && n >= t->endtoend->ops)) {
		if (wants(extras, EXTRA_LOCK))
			leave_turn(f, 0);
		f->state = DRAIN;
		return false;
	}
	f->req = request_ring_take(ring);
	if (wants(extras, EXTRA_SEND))
		net_set_op(t, n, f->req);
	else
		set_op(t, n, f->req);
	if (wants(extras, EXTRA_DATA)) {
		data_prepare(f->q, f->req);
		f->now_ns = clock_now_ns();
	}
	return true;
}

/* f->req has its turn in the TOT. False: not yet, or it was dropped. */
static bool pass_turn(struct flight *f)
{
	struct target *t = f->q->target;
	const bool receives = f->extras & EXTRA_RECEIVE;

	if (receives)
		net_await_turn(f);
	if (!take_turn(f, f->req->op) && f->state != DRAIN)
		return false;
	if (receives)
		transfer_has_turn(f->q);
	/* A block that has been received is written, whatever ends the pass. */
	if (f->has_turn && (receives || may_issue(t, f->now_ns, f->end_ns)))
		return true;
	/*
	 * All QThreads must see the limit or the stop that ends the pass here: no later operation
	 * may be issued.
	 */
	end_pass(t);
	drop(f);
	return false;
}

/* The gate admits f->req. False: not yet, or it was dropped. */
static bool pass_gate(struct flight *f)
{
	struct qthread *q = f->q;

	for (;;) {
		uint64_t at, since;
		enum gate_answer answer = gate_ask(q, f->req, f->now_ns, f->end_ns, &at);

		if (answer == GATE_OPEN)
			return true;
		if (answer == GATE_CLOSED) {
			if (f->extras & EXTRA_RECEIVE && !stop_requested(&q->target->run->stop))
				net_skip(f, true);
			else
				drop(f);
			return false;
		}
		if (f->outstanding || has_unsent(f)) {
			f->look_ns = answer == GATE_EVENT ? f->now_ns + EVENT_POLL_NS :
							    at - THROTTLE_SPIN_NS;
			return false;
		}
		since = clock_now_ns();
		gate_wait(q->target, f->req->op, answer, at);
		waited(f, since);
		f->end_ns = warmup_end_ns(q, f->end_ns);
	}
}

/*
 * Bring the next operation to the point where it may be issued, as f->req. False: end, or check
 * again at look_ns.
 */
static ALWAYS_INLINE bool next_op(struct flight *f, unsigned extras)
{
	switch (f->state) {
	case ISSUE:
		if (!take(f, extras))
			return false;
		if (!wants(extras, EXTRA_TOT | EXTRA_GATE | EXTRA_RECEIVE))
			return true;
		if (extras & EXTRA_GATE)
			gate_arrive(f->q, f->req->op);
		f->state = WAIT_TURN;
		/* fallthrough */
	case WAIT_TURN:
		if (extras & EXTRA_TOT && !pass_turn(f))
			return false;
		if (wants(extras, EXTRA_RECEIVE) && f->skip) {
			net_skip(f, false);
			return false;
		}
		f->state = WAIT_GATE;
		/* fallthrough */
	case WAIT_GATE:
		return !(extras & EXTRA_GATE) || pass_gate(f);
	default:
		return false;
	}
}

/* ---- after it is complete ---- */

/* `req` is complete and accounted for: verify its data, report it, and let its slot rest. */
static void finish_extras(struct flight *f, struct io_request *req)
{
	struct qthread *q = f->q;

	if (f->extras & (EXTRA_DATA | EXTRA_RETRY_FLUSH) &&
	    is_last(q->target, f->now_ns, f->end_ns))
		cputime_last(q);
	if (f->extras & EXTRA_DATA)
		data_complete(q, req);
	if (f->extras & EXTRA_RETRY_FLUSH)
		retry_flush_report(q, req, f->now_ns);
	if (f->extras & EXTRA_REST)
		req->ready_ns = clock_now_ns() + rest_ns(q->target) +
				snooze_ns(&q->snooze, q->target->plan, req, f->now_ns);
}

/* The slot of `req` is free: the one that is ready first comes first. */
static ALWAYS_INLINE void free_slot(struct flight *f, const struct io_request *req, unsigned extras)
{
	if (wants(extras, EXTRA_REST))
		request_ring_put_ready(&f->q->ring, req);
	else
		request_ring_put(&f->q->ring, req);
}

static ALWAYS_INLINE void finish(struct flight *f, struct io_request *req, unsigned extras)
{
	const bool late = wants(extras, EXTRA_LOCK | EXTRA_TOT) && f->leave_when == LEAVE_COMPLETE;
	struct qthread *q = f->q;

	f->outstanding--;
	if (late && !req->error)
		leave_turn_briefly(f, req->op, extras);
	if (wants(extras, EXTRA_SEND))
		net_read(f, req);
	else
		account(q, req, f->now_ns, extras);
	/* An error keeps the turn until it is accounted for: it may be the last that is allowed. */
	if (late && req->error)
		leave_turn(f, req->op);
	if (wants(extras, EXTRA_SEND))
		return;
	if (wants(extras, EXTRA_RECEIVE))
		transfer_written(q, req);
	if (wants(extras, EXTRA_DATA | EXTRA_RETRY_FLUSH | EXTRA_REST))
		finish_extras(f, req);
	free_slot(f, req, extras);
}

/* The engine completed `req`: finish it, or try it again. */
static ALWAYS_INLINE void complete(struct flight *f, struct io_request *req, unsigned extras)
{
	struct qthread *q = f->q;

	while (wants(extras, EXTRA_RETRY_FLUSH) && retry_flush_try_again(q, req)) {
		int err = q->target->engine->submit(q->ctx, req);

		if (err)
			engine_broke(f, err);
		if (err || !(extras & EXTRA_SYNC))
			return;
		f->now_ns = clock_now_ns();
	}
	finish(f, req, extras);
}

/* The clock after work on complete requests that takes time. */
static ALWAYS_INLINE void read_clock(struct flight *f, unsigned extras)
{
	if (wants(extras, EXTRA_DATA | EXTRA_RETRY_FLUSH | EXTRA_REST))
		f->now_ns = clock_now_ns();
}

/* ---- the loop ---- */

/* Submit f->req. */
static ALWAYS_INLINE void submit(struct flight *f, unsigned extras)
{
	struct qthread *q = f->q;
	struct target *t = q->target;
	struct io_request *req = f->req;
	const bool ordered = wants(extras, EXTRA_LOCK | EXTRA_TOT);
	int err;

	f->state = ISSUE;
	if (wants(extras, EXTRA_RETRY_FLUSH) && retry_flush_is_due(t, req))
		f->state = FLUSH;
	if (ordered && f->leave_when == LEAVE_TAKEN)
		leave_turn(f, req->op);
	if (wants(extras, EXTRA_AUDIT))
		audit_order(q, req);
	stamp_issue(q, req, extras);
	if (wants(extras, EXTRA_NET))
		net_issue(f, req);
	f->now_ns = req->issue_ns;
	f->outstanding++;
	if (wants(extras, EXTRA_HOLD))
		hold_operation(req->op);
	err = t->engine->submit(q->ctx, req);
	if (extras & EXTRA_SYNC) {
		f->now_ns = clock_now_ns();
		complete(f, req, extras);
		read_clock(f, extras);
		return;
	}
	if (wants(extras, EXTRA_OVERHEAD | EXTRA_NET))
		set_apart(q, req->issue_ns);
	if (wants(extras, EXTRA_NET))
		q->transfer->storage_ns += clock_now_ns() - req->issue_ns;
	if (err)
		engine_broke(f, err);
	if (ordered && (err || f->leave_when == LEAVE_SUBMITTED))
		leave_turn(f, req->op);
}

/* When to stop waiting for a completion: to check again, or because a slot has rested. */
static ALWAYS_INLINE uint64_t wait_until(const struct flight *f, unsigned extras)
{
	const struct request_ring *ring = &f->q->ring;
	uint64_t look_ns = f->look_ns;

	if (wants(extras, EXTRA_REST) && f->state == ISSUE && ring->n_free &&
	    request_ring_first(ring)->ready_ns < look_ns)
		look_ns = request_ring_first(ring)->ready_ns;
	return look_ns;
}

/* Wait for at least one request, and finish all that are complete. */
static ALWAYS_INLINE void collect(struct flight *f, unsigned extras)
{
	struct qthread *q = f->q;
	struct request_ring *ring = &q->ring;
	uint64_t until = wait_until(f, extras), timeout = UINT64_MAX, since = 0;
	int n;

	if (until != UINT64_MAX)
		timeout = until > f->now_ns ? until - f->now_ns : 0;
	if (wants(extras, EXTRA_OVERHEAD | EXTRA_NET))
		since = clock_now_ns();
	n = q->target->engine->reap(q->ctx, ring->done, 1, ring->depth, timeout);
	if (n < 0) {
		engine_broke(f, n);
		return;
	}
	f->now_ns = clock_now_ns();
	if (since)
		q->apart_ns += f->now_ns - since;
	if (wants(extras, EXTRA_NET))
		net_waited(f, f->now_ns - since);
	for (int i = 0; i < n && f->outstanding; i++)
		complete(f, ring->done[i], extras);
	read_clock(f, extras);
}

/*
 * All slots rest, and no number is taken. The limit ends the pass also if none of them is ready by
 * then.
 */
static void rest(struct flight *f)
{
	uint64_t ready = request_ring_first(&f->q->ring)->ready_ns, since = clock_now_ns();
	int err = gate_rest(f->q->target, ready < f->end_ns ? ready : f->end_ns);

	waited(f, since);
	if (err || f->now_ns >= f->end_ns)
		f->state = DRAIN;
}

/* Nothing is outstanding. */
static void idle(struct flight *f)
{
	if (f->state == DRAIN) {
		f->state = DONE;
	} else if (f->state == FLUSH) {
		retry_flush_run(f->q);
		f->now_ns = clock_now_ns();
		f->state = ISSUE;
	} else {
		rest(f);
	}
}

/* ---- for issue_net.c ---- */

void flight_leave_turn(struct flight *f, uint64_t n)
{
	leave_turn(f, n);
}

void flight_finish(struct flight *f, struct io_request *req)
{
	if (f->extras & (EXTRA_DATA | EXTRA_RETRY_FLUSH | EXTRA_REST))
		finish_extras(f, req);
	free_slot(f, req, f->extras);
}

void flight_poll(struct flight *f)
{
	f->look_ns = f->now_ns;
	collect(f, f->extras);
}

static ALWAYS_INLINE void run(struct flight *f, unsigned extras)
{
	while (f->state != DONE) {
		f->look_ns = UINT64_MAX;
		while (next_op(f, extras))
			submit(f, extras);
		if (wants(extras, EXTRA_NET) && net_step(f))
			continue;
		if (f->outstanding)
			collect(f, extras);
		else
			idle(f);
	}
}

void issue_pass(struct qthread *q, uint64_t now, uint64_t end)
{
	const struct order *o = &q->target->order;
	const unsigned extras = issue_extras(q);
	struct flight f = { .q = q, .extras = extras, .end_ns = end, .now_ns = now };

	if (extras & EXTRA_RECEIVE)
		net_begin(&f);

	if (issue_is_fast(extras)) {
		issue_fast(q, now, end, extras);
		return;
	}
	f.leave_when = o->mode == ORDERING_LOOSE	   ? LEAVE_TAKEN :
		       extras & (EXTRA_SYNC | EXTRA_ALONE) ? LEAVE_COMPLETE :
							     LEAVE_SUBMITTED;
	/* For the compiler to leave out what these exclude. */
	if (!extras)
		run(&f, 0);
	else if (extras == EXTRA_SERIAL)
		run(&f, EXTRA_SERIAL);
	else
		run(&f, extras);
}
