/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The issue loop: a QThread carries out the operations of a pass, one at a time or with many
 * outstanding. Called by qthread.c, once per pass.
 *
 * It serves both kinds of engines. A synchronous engine completes a request inside submit, so the
 * QThread never has anything outstanding when it comes to wait. issue_fast.c has the plans that
 * need none of this.
 */
#include "run/issue/issue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/pace.h"
#include "run/endtoend/endtoend.h"
#include "run/issue/op_hooks.h"
#include "run/issue/order.h"
#include "run/target/data.h"
#include "xdd/base/log.h"
#include "xdd/io/engine.h"

/* The next step of a QThread. */
enum issue_state {
	ISSUE,	   /* take the next number, into a free slot */
	WAIT_TURN, /* the operation has its number, and waits for its turn in the TOT */
	WAIT_GATE, /* it has its turn, and waits for the gate */
	DRAIN,	   /* nothing more is issued; collect the outstanding requests */
	FLUSH,	   /* the same, then flush and go on */
	DONE,
};

/* When an operation lets the next one have the turn. */
enum leave_when {
	LEAVE_TAKEN,	 /* loose: once it has its number */
	LEAVE_SUBMITTED, /* strict */
	LEAVE_COMPLETE,	 /* serial, and strict with an engine that completes inside submit */
};

/*
 * A QThread in a pass. Inlined functions have `extras` as a parameter, so that the compiler knows
 * it.
 */
struct flight {
	/* const */
	struct qthread *q;
	unsigned extras; /* enum issue_extra */
	enum leave_when leave_when;
	uint64_t end_ns;
	uint64_t limit_ns; /* of a destination: when to ask the source to end the pass */

	enum issue_state state;
	unsigned outstanding;
	bool has_turn;
	struct io_request *req; /* in WAIT_TURN and WAIT_GATE: has its number */
	uint64_t now_ns;
	uint64_t look_ns; /* when to check again; UINT64_MAX: after a completion */
	bool skip;	  /* of a destination: f->req is not to be written */
	bool again;	  /* of a destination: an operation was skipped */
};

/* ---- issue.c, for issue.c ---- */

/* ---- issue.c: end-to-end copies ---- */

/*
 * End-to-end targets: a source sends what it has read, a destination receives what it writes.
 *
 * A source with an engine that queues sends one block at a time and submits the next read before
 * each, so that the engine reads while the connection sends.
 */

/* How often a destination with writes outstanding looks for the next message. */
#define MESSAGE_POLL_NS 100000

/* ---- source ---- */

/* Source: operation `n` of the session into `req`. */
static void net_set_op(const struct target *t, uint64_t n, struct io_request *req)
{
	set_op(t, endtoend_real_op(t->endtoend, n), req);
	req->op = n;
}

/* Source: a read is complete, or has failed. It keeps its slot until it is sent. */
static void net_read(struct flight *f, struct io_request *req)
{
	transfer_read(f->q, req, f->now_ns);
	if (req->error)
		account(f->q, req, f->now_ns, f->extras);
}

/* The session failed before a block was sent: its operation has failed, without a line of its own.
 */
static void count_unsent(struct qthread *q, const struct io_request *req)
{
	counters_add(&q->counters.bytes[req->dir], req->done);
	counters_add(&q->counters.failed_bytes[req->dir], req->done);
	counters_add(&q->counters.failed_ops[req->dir], 1);
	counters_add(&q->counters.errors, 1);
}

/* Wait for the turn of `req` on the network: -ordering network. Returns 0 or -ECANCELED. */
static int enter_network(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	uint64_t since;
	int err;

	if (!t->orders_sends || tot_is_turn(&t->sends, req->op))
		return 0;
	since = clock_now_ns();
	err = tot_wait(&t->sends, req->op);
	counters_add(&q->counters.net_wait_ns, clock_now_ns() - since);
	return err;
}

static void flight_finish(struct flight *f, struct io_request *req);
static void flight_poll(struct flight *f);

/* Send the next block, if its read is complete. */
static bool send_next(struct flight *f)
{
	struct qthread *q = f->q;
	struct target *t = q->target;
	struct io_request *req = transfer_next(q);
	const bool loose = t->plan->network_ordering == ORDERING_LOOSE;
	uint64_t since, done_ns;
	int err;

	if (!req)
		return false;
	if (f->outstanding)
		flight_poll(f);
	since = clock_now_ns();
	done_ns = q->transfer->slots[req->slot].done_ns;
	err = enter_network(q, req);
	if (!err && t->orders_sends && loose)
		tot_pass_on(&t->sends, req->op);
	err = transfer_send(q, err);
	if (!err && t->orders_sends && !loose)
		tot_pass_on(&t->sends, req->op);
	f->now_ns = clock_now_ns();
	q->apart_ns += f->now_ns - since;
	if (!req->error && err) {
		count_unsent(q, req);
	} else if (!req->error) {
		account(q, req, done_ns, f->extras);
		counters_set(&q->counters.last_done_ns, f->now_ns);
	}
	flight_finish(f, req);
	return true;
}

/* ---- destination ---- */

/* A destination begins a pass. */
static void net_begin(struct flight *f)
{
	f->limit_ns = f->end_ns;
	f->end_ns = UINT64_MAX;
}

/*
 * Destination: receive the next operation, into the oldest free slot, as f->req. False: nothing is
 * there yet, and f->look_ns is set; or no more will come, and the state is DRAIN.
 */
static bool net_take(struct flight *f)
{
	struct qthread *q = f->q;
	struct io_request *req = request_ring_first(&q->ring);
	enum transfer_answer answer = transfer_receive(q, req, !f->outstanding, f->limit_ns);
	uint64_t since = f->now_ns;

	f->now_ns = clock_now_ns();
	q->apart_ns += f->now_ns - since;
	if (answer == TRANSFER_NOTHING) {
		f->look_ns = f->now_ns + MESSAGE_POLL_NS;
		return false;
	}
	if (answer == TRANSFER_OVER) {
		f->state = DRAIN;
		return false;
	}
	f->req = request_ring_take(&q->ring);
	f->skip = answer == TRANSFER_SKIP;
	return true;
}

/* Destination: f->req is about to wait for its turn. */
static void net_await_turn(struct flight *f)
{
	if (!order_try(&f->q->target->order, f->req->op))
		transfer_await_turn(f->q, f->req->op);
}

static void flight_leave_turn(struct flight *f, uint64_t n);

/* Destination: f->req, which has its turn, is not written. `failed`: it was received. */
static void net_skip(struct flight *f, bool failed)
{
	struct order *o = &f->q->target->order;

	if (failed)
		f->q->transfer->failed++;
	/* The next operation follows the one before. */
	if (f->extras & EXTRA_AUDIT)
		order_breaks(o, f->req->op);
	/* The gate may hold the last operation until those before it are done with. */
	if (f->extras & EXTRA_FOLLOWED)
		gate_completed(f->q->target, f->req->size);
	flight_leave_turn(f, f->req->op);
	request_ring_put(&f->q->ring, f->req);
	f->state = ISSUE;
	f->again = true;
}

/* The QThread has waited for a turn, the gate or a slot. */
static void net_held(struct flight *f, uint64_t ns)
{
	counters_add(&f->q->counters.net_wait_ns, ns);
	f->q->transfer->held_ns += ns;
}

/* The QThread was in reap of an engine that queues. */
static void net_waited(struct flight *f, uint64_t ns)
{
	const bool receives = f->extras & EXTRA_RECEIVE && f->state == ISSUE && f->q->ring.n_free &&
			      !(f->extras & EXTRA_ALONE);

	if (receives)
		counters_add(&f->q->counters.net_wait_ns, ns);
	else
		f->q->transfer->storage_ns += ns;
}

/* ---- both ---- */

/*
 * `req` is stamped, and is submitted next.
 *
 * The elapsed time of a destination begins with the first message.
 */
static void net_issue(struct flight *f, struct io_request *req)
{
	struct counters *c = &f->q->counters;
	uint64_t first_ns = f->q->transfer->first_ns;

	if (f->extras & EXTRA_SEND)
		transfer_issue(f->q, req);
	else if (first_ns < atomic_load_explicit(&c->first_issue_ns, memory_order_relaxed))
		counters_set(&c->first_issue_ns, first_ns);
}

/*
 * Nothing can be issued now. Source: send the next block if its read is complete. True: done, or
 * an operation was skipped, so that another may be issued.
 */
static bool net_step(struct flight *f)
{
	const bool again = f->again;

	if (f->extras & EXTRA_SEND)
		return send_next(f);
	f->again = false;
	return again;
}

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
	run_fail(t, STOP_ERROR, err, "engine %s: %s", t->engine->info.name, strerror(-err));
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
static void issue_drop(struct flight *f)
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
static ALWAYS_INLINE bool issue_take(struct flight *f, unsigned extras)
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
	issue_drop(f);
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
				issue_drop(f);
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
		if (!issue_take(f, extras))
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
static ALWAYS_INLINE void free_slot(struct flight *f, struct io_request *req, unsigned extras)
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
		f->now_ns = clock_reader_now_ns(&f->q->clock);
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
		f->now_ns = clock_reader_now_ns(&q->clock);
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
static ALWAYS_INLINE void issue_collect(struct flight *f, unsigned extras)
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
	f->now_ns = clock_reader_now_ns(&q->clock);
	if (since)
		q->apart_ns += f->now_ns - since;
	if (wants(extras, EXTRA_NET))
		net_waited(f, f->now_ns - since);
	for (int i = 0; i < n; i++) {
		complete(f, ring->done[i], extras);
		if (wants(extras, EXTRA_RETRY_FLUSH) && q->broken)
			break;
	}
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
static void issue_idle(struct flight *f)
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

/* ---- for issue.c ---- */

/* The operation `n` has the turn no longer, if it has it. */
static void flight_leave_turn(struct flight *f, uint64_t n)
{
	leave_turn(f, n);
}

/* The work after a complete operation that is accounted for. Its slot is not free yet. */
static void flight_finish(struct flight *f, struct io_request *req)
{
	if (f->extras & (EXTRA_DATA | EXTRA_RETRY_FLUSH | EXTRA_REST))
		finish_extras(f, req);
	free_slot(f, req, f->extras);
}

/* Collect what is complete, without a wait. */
static void flight_poll(struct flight *f)
{
	f->look_ns = f->now_ns;
	issue_collect(f, f->extras);
}

static ALWAYS_INLINE void issue_run(struct flight *f, unsigned extras)
{
	while (f->state != DONE) {
		f->look_ns = UINT64_MAX;
		while (next_op(f, extras))
			submit(f, extras);
		if (wants(extras, EXTRA_NET) && net_step(f))
			continue;
		if (f->outstanding)
			issue_collect(f, extras);
		else
			issue_idle(f);
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
		issue_run(&f, 0);
	else if (extras == EXTRA_SERIAL)
		issue_run(&f, EXTRA_SERIAL);
	else
		issue_run(&f, extras);
}
