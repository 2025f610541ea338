/*
 * The hot path of engines that queue: one QThread keeps many operations outstanding. Called by
 * qthread.c, once a pass.
 */
#include <errno.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/throttle.h"
#include "run/issue/data.h"
#include "run/issue/issue.h"
#include "run/issue/order.h"
#include "run/issue/retry_flush.h"
#include "run/qthread.h"
#include "run/results/cputime.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"

/*
 * While operations are outstanding a QThread sleeps in the kernel until one completes, and nothing else wakes
 * it: look again after so long whether it is its turn, and whether the gate is open.
 */
#define TURN_POLL_NS 20000
#define EVENT_POLL_NS 200000

/* The requests of a QThread of an asynchronous engine, while it issues a pass. */
struct flight {
	struct qthread *q;
	unsigned extras; /* enum issue_extra */
	uint64_t end_ns;
	uint64_t now_ns;
	unsigned outstanding;
	bool exhausted; /* no operation is left, or none may be issued any more */

	/* of targets that are ordered or gated */
	struct io_request *waiting; /* has its number, and may not be issued yet */
	uint64_t look_ns; /* when to look again whether it may; UINT64_MAX: there is nothing to wait for */
	bool entered; /* it is this QThread's turn */

	/* with t->retry_flush: nothing more is issued until all is complete, and flushed */
	bool flush_due;
};

/* Slots that are free, oldest first, and when each may be used again (-operationdelay). */
static struct io_request *ring_first(const struct request_ring *s)
{
	return &s->requests[s->free[s->head]];
}

static void ring_take_first(struct request_ring *s)
{
	s->head = s->head + 1 == s->depth ? 0 : s->head + 1;
	s->n_free--;
}

static void ring_put(struct request_ring *s, unsigned slot)
{
	unsigned tail = s->head + s->n_free;

	s->free[tail < s->depth ? tail : tail - s->depth] = slot;
	s->n_free++;
}

/* The engine lost its context: nothing more can be done with it. */
static void engine_broke(struct flight *f, int err)
{
	struct target *t = f->q->target;

	atomic_fetch_add(&t->run->failures.errors, 1);
	f->q->broken = true;
	f->exhausted = true;
	f->outstanding = 0;
	if (run_stop(t->run, STOP_ERROR, -err))
		log_error("target %u, %s: engine %s: %s", t->plan->number, t->plan->path,
			  t->engine->info.name, strerror(-err));
}

/*
 * Get the turn for operation `n`. Others have it as long as it takes to hand over one operation, or, when
 * there is a gate, until that opens: for completions perhaps that this QThread had better collect meanwhile.
 */
static bool get_turn(struct flight *f, uint64_t n)
{
	struct order *o = &f->q->target->order;

	if (order_try(o, n)) {
		f->entered = true;
		return true;
	}
	if (wants(f->extras, EXTRA_GATE) && f->outstanding) {
		f->look_ns = f->now_ns + TURN_POLL_NS;
		return false;
	}
	f->entered = take_turn(f->q, n) == 0;
	f->exhausted = !f->entered;
	if (f->entered && f->end_ns != UINT64_MAX)
		f->now_ns = clock_now_ns();
	return f->entered;
}

static void give_turn(struct flight *f, uint64_t n)
{
	if (f->entered)
		order_leave(&f->q->target->order, n);
	f->entered = false;
}

/* `req` has its number and is not going to be issued, nor is any later one of this QThread. */
static void give_up(struct flight *f, struct io_request *req)
{
	f->exhausted = true;
	f->waiting = NULL;
	if (wants(f->extras, EXTRA_DATA))
		data_release(f->q, req);
	give_turn(f, req->op);
	ring_put(&f->q->ring, req->slot);
}

/* The same, and so the pass is over for all. */
static void abandon(struct flight *f, struct io_request *req)
{
	end_pass(f->q->target);
	give_up(f, req);
}

/* The next operation into the oldest free slot; NULL at the end of the pass, having given the turn back. */
static struct io_request *take(struct flight *f)
{
	struct target *t = f->q->target;
	struct io_request *req = ring_first(&f->q->ring);
	uint64_t n;

	if (may_issue(t, f->now_ns, f->end_ns) && take_ops(t, 1, &n)) {
		set_op(t, n, req);
		ring_take_first(&f->q->ring);
		if (wants(f->extras, EXTRA_DATA))
			data_prepare(f->q, req);
		return req;
	}
	f->exhausted = true;
	give_turn(f, 0);
	return NULL;
}

/* Whether it is the turn of `req`, by the TOT. Gives it up when the pass is over. */
static bool has_turn(struct flight *f, struct io_request *req)
{
	if (!get_turn(f, req->op)) {
		if (f->exhausted)
			abandon(f, req);
		return false;
	}
	if (may_issue(f->q->target, f->now_ns, f->end_ns))
		return true;
	abandon(f, req);
	return false;
}

/* Nothing is outstanding: wait until the gate may be open for `req`. False: it has been given up. */
static bool wait_at_gate(struct flight *f, struct io_request *req, uint64_t until)
{
	struct target *t = f->q->target;
	bool event = until == GATE_EVENT;
	uint64_t since = clock_now_ns();
	int err = event ? gate_wait(t, req->op, f->end_ns) : throttle_sleep_until(t, until);

	set_apart(f->q, since);
	f->now_ns = clock_now_ns();
	if (!err && may_issue(t, event ? f->now_ns : 0, f->end_ns))
		return true;
	abandon(f, req);
	return false;
}

/* `req` is due behind the end of the pass, which lasts its time all the same. Always false. */
static bool await_end(struct flight *f, struct io_request *req)
{
	uint64_t since;

	if (f->now_ns < f->end_ns && f->outstanding) {
		f->look_ns = f->end_ns;
		return false;
	}
	since = clock_now_ns();
	throttle_sleep_until(f->q->target, f->end_ns);
	set_apart(f->q, since);
	give_up(f, req);
	return false;
}

/* Whether the gate lets `req` pass. If not it is given up, or f->look_ns says when to look again. */
static bool passes_gate(struct flight *f, struct io_request *req)
{
	uint64_t ask;

	while ((ask = gate_ask(f->q, req, f->now_ns)) != GATE_OPEN) {
		/* Smaller numbers may have been let through, and still be on their way. */
		if (ask == GATE_CLOSED) {
			give_up(f, req);
			return false;
		}
		if (ask != GATE_EVENT && ask >= f->end_ns)
			return await_end(f, req);
		if (f->outstanding) {
			f->look_ns = ask == GATE_EVENT ? f->now_ns + EVENT_POLL_NS :
							 ask - THROTTLE_SPIN_NS;
			return false;
		}
		if (!wait_at_gate(f, req, ask))
			return false;
	}
	return true;
}

/* The next operation that may be issued now. NULL: at the end of the pass, or until f->look_ns. */
static inline struct io_request *next_request(struct flight *f)
{
	struct target *t = f->q->target;
	const enum order_by by = t->order.by;
	struct io_request *req = f->waiting;

	if (!req) {
		if (by == ORDER_BY_LOCK && !get_turn(f, 0))
			return NULL;
		req = take(f);
		if (!req)
			return NULL;
		f->waiting = req;
	}
	if (by == ORDER_BY_TOT && !f->entered && !has_turn(f, req))
		return NULL;
	if (wants(f->extras, EXTRA_GATE) && !passes_gate(f, req))
		return NULL;
	f->waiting = NULL;
	return req;
}

/* Hand `req` to the engine. */
static void submit(struct flight *f, struct io_request *req)
{
	struct qthread *q = f->q;
	struct target *t = q->target;
	int err;

	if (t->order.mode == ORDERING_LOOSE)
		give_turn(f, req->op);
	stamp_issue(q, req, f->extras);
	f->now_ns = req->issue_ns;
	f->outstanding++;
	if (wants(f->extras, EXTRA_RETRY_FLUSH))
		f->flush_due = retry_flush_is_due(t, req);
	err = t->engine->submit(q->ctx, req);
	if (wants(f->extras, EXTRA_OVERHEAD))
		set_apart(q, req->issue_ns);
	if (wants(f->extras, EXTRA_AUDIT))
		audit_order(q, req);
	if (err)
		engine_broke(f, err);
	if (err || !t->order.alone)
		give_turn(f, req->op);
}

/* Issue into the free slots as long as there are any, and operations, and time. */
static void fill(struct flight *f)
{
	const struct request_ring *s = &f->q->ring;
	const bool alone = f->q->target->order.alone;

	f->look_ns = UINT64_MAX;
	while (!f->exhausted && !f->flush_due &&
	       (f->waiting || (s->n_free && ring_first(s)->ready_ns <= f->now_ns)) &&
	       !(alone && f->outstanding)) {
		struct io_request *req = next_request(f);

		if (!req)
			return;
		submit(f, req);
	}
}

/* Try a request that failed again, where that is wanted; true: it is under way. */
static bool try_again(struct flight *f, struct io_request *req)
{
	int err;

	if (!retry_flush_try_again(f->q, req))
		return false;
	err = f->q->target->engine->submit(f->q->ctx, req);
	if (err)
		engine_broke(f, err);
	return true;
}

/* A request has come back and is done with. */
static void finish(struct flight *f, struct io_request *req, uint64_t delay)
{
	struct qthread *q = f->q;

	f->outstanding--;
	req->ready_ns = delay ? f->now_ns + delay : 0;
	account(q, req, f->now_ns, f->extras);
	/* Serial: the one operation under way is complete, the next may be issued. */
	if (q->target->order.alone)
		give_turn(f, req->op);
	if (wants(f->extras, EXTRA_DATA | EXTRA_RETRY_FLUSH) && f->exhausted)
		cputime_last(q);
	if (wants(f->extras, EXTRA_DATA))
		data_complete(q, req);
	if (wants(f->extras, EXTRA_RETRY_FLUSH))
		retry_flush_report(q, req, f->now_ns);
	ring_put(&q->ring, req->slot);
}

/* Wait for at least one request, but not past the time at which a free slot may be used again. */
static void collect(struct flight *f, uint64_t delay)
{
	struct qthread *q = f->q;
	struct request_ring *s = &q->ring;
	uint64_t look_ns = f->look_ns, timeout = UINT64_MAX, since = 0;
	int n;

	if (delay && s->n_free && !f->exhausted && ring_first(s)->ready_ns < look_ns)
		look_ns = ring_first(s)->ready_ns;
	if (look_ns != UINT64_MAX)
		timeout = look_ns > f->now_ns ? look_ns - f->now_ns : 0;
	if (wants(f->extras, EXTRA_OVERHEAD))
		since = clock_now_ns();
	n = q->target->engine->reap(q->ctx, s->done, 1, s->depth, timeout);
	if (n < 0) {
		engine_broke(f, n);
		return;
	}
	f->now_ns = clock_now_ns();
	if (since)
		q->apart_ns += f->now_ns - since;
	for (int i = 0; i < n && f->outstanding; i++) {
		if (wants(f->extras, EXTRA_RETRY_FLUSH) && try_again(f, s->done[i]))
			continue;
		finish(f, s->done[i], delay);
	}
	if (wants(f->extras, EXTRA_DATA) && f->end_ns != UINT64_MAX)
		f->now_ns = clock_now_ns();
}

static void flush(struct flight *f)
{
	retry_flush_run(f->q);
	f->flush_due = false;
	f->now_ns = clock_now_ns();
}

/* All slots are resting, and no number is taken. The limit ends the pass also when none of them is ready by then. */
static void rest(struct flight *f)
{
	uint64_t ready = ring_first(&f->q->ring)->ready_ns, since = clock_now_ns();
	int err = gate_rest(f->q->target, ready < f->end_ns ? ready : f->end_ns);

	set_apart(f->q, since);
	f->now_ns = clock_now_ns();
	f->exhausted = err || f->now_ns >= f->end_ns;
}

void issue_queued(struct qthread *q, uint64_t now, uint64_t end)
{
	const uint64_t delay = rest_ns(q->target);
	struct flight f = { .q = q, .extras = issue_extras(q), .end_ns = end, .now_ns = now };

	for (;;) {
		if (!f.exhausted)
			fill(&f);
		if (f.outstanding) {
			collect(&f, delay);
		} else if (f.flush_due) {
			flush(&f);
		} else if (f.exhausted) {
			break;
		} else {
			rest(&f);
		}
	}
}
