/*
 * The hot path: a QThread's share of a pass, with engines that complete inside submit and with engines
 * that queue. Called by qthread.c, once a pass.
 *
 * Limits are looked at before a number is taken, so that the operations issued are exactly 0 to n-1
 * whatever ends the pass. Nothing but the transfer lies between the two clock readings of an operation.
 */
#include <errno.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/run/internal.h"

/* Count an operation that has come back. */
static void account(struct qthread *q, const struct io_request *req, uint64_t done_ns)
{
	struct counters *c = &q->counters;
	/* Two readings of the counter that follow each other closely may come out as one. */
	uint64_t took_ns = done_ns > req->issue_ns ? done_ns - req->issue_ns : 0;

	counters_add(&c->bytes[req->dir], req->done);
	counters_set(&c->last_done_ns, done_ns);
	if (req->op == 0)
		atomic_store_explicit(&q->target->first_op_ns, took_ns, memory_order_relaxed);
	if (__builtin_expect(req->error != 0, 0)) {
		counters_add(&c->errors, 1);
		io_error(q, req);
		return;
	}
	counters_add(&c->busy_ns[req->dir], took_ns);
	counters_add(&c->ops[req->dir], 1);
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

/* Neither the clock nor anybody else has ended the pass. */
static inline bool may_issue(const struct target *t, uint64_t now, uint64_t end)
{
	return now < end && !stop_requested(&t->run->stop) &&
	       !atomic_load_explicit(&t->pass_over, memory_order_relaxed);
}

/* The clock at the issue of `req`. */
static inline void stamp_issue(struct counters *c, struct io_request *req, bool *first)
{
	req->issue_ns = clock_now_ns();
	if (__builtin_expect(*first, 0)) {
		counters_set(&c->first_issue_ns, req->issue_ns);
		*first = false;
	}
}

void issue_sync(struct qthread *q, uint64_t now, uint64_t end)
{
	struct target *t = q->target;
	const uint64_t ops = t->plan->pass_ops, delay = t->run->plan->operation_delay_ns;
	const struct engine *engine = t->engine;
	struct io_request req = { .buf = q->buffer.data };
	bool first = true;

	while (may_issue(t, now, end) && take_op(t, ops, &req)) {
		counters_add(&q->counters.issued, 1);
		stamp_issue(&q->counters, &req, &first);
		engine->submit(q->ctx, &req);
		now = clock_now_ns();
		account(q, &req, now);
		if (delay) {
			if (stop_sleep_until(&t->run->stop, now + delay < end ? now + delay : end))
				break;
			now = clock_now_ns();
		}
	}
}

/* The requests of a QThread of an asynchronous engine, while it issues a pass. */
struct flight {
	struct qthread *q;
	uint64_t end_ns;
	uint64_t now_ns;
	unsigned outstanding;
	bool exhausted; /* no operation is left, or none may be issued any more */
	bool first;
};

/* Slots that are free, oldest first, and when each may be used again (-operationdelay). */
static struct io_request *slot_first(const struct slots *s)
{
	return &s->requests[s->free[s->head]];
}

static void slot_take_first(struct slots *s)
{
	s->head = s->head + 1 == s->depth ? 0 : s->head + 1;
	s->n_free--;
}

static void slot_give(struct slots *s, unsigned slot)
{
	unsigned tail = s->head + s->n_free;

	s->free[tail < s->depth ? tail : tail - s->depth] = slot;
	s->n_free++;
}

/* The engine lost its context: nothing more can be done with it. */
static void engine_broke(struct flight *f, int err)
{
	struct target *t = f->q->target;

	atomic_fetch_add(&t->run->errors, 1);
	f->exhausted = true;
	f->outstanding = 0;
	if (run_stop(t->run, STOP_ERROR, -err))
		log_error("target %u, %s: engine %s: %s", t->plan->number, t->plan->path,
			  t->engine->name, strerror(-err));
}

/* Issue into the free slots as long as there are any, and operations, and time. */
static void fill(struct flight *f, uint64_t ops)
{
	struct qthread *q = f->q;
	struct target *t = q->target;
	struct slots *s = &q->slots;

	while (s->n_free && slot_first(s)->ready_ns <= f->now_ns) {
		struct io_request *req = slot_first(s);
		int err;

		if (!may_issue(t, f->now_ns, f->end_ns) || !take_op(t, ops, req)) {
			f->exhausted = true;
			return;
		}
		slot_take_first(s);
		counters_add(&q->counters.issued, 1);
		stamp_issue(&q->counters, req, &f->first);
		f->now_ns = req->issue_ns;
		f->outstanding++;
		err = t->engine->submit(q->ctx, req);
		if (err) {
			engine_broke(f, err);
			return;
		}
	}
}

/* Wait for at least one request, but not past the time at which a free slot may be used again. */
static void collect(struct flight *f, uint64_t delay)
{
	struct qthread *q = f->q;
	struct slots *s = &q->slots;
	uint64_t timeout = UINT64_MAX;
	int n;

	if (delay && s->n_free && !f->exhausted) {
		uint64_t ready = slot_first(s)->ready_ns;

		timeout = ready > f->now_ns ? ready - f->now_ns : 0;
	}
	n = q->target->engine->reap(q->ctx, s->done, 1, s->depth, timeout);
	if (n < 0) {
		engine_broke(f, n);
		return;
	}
	f->now_ns = clock_now_ns();
	for (int i = 0; i < n; i++) {
		s->done[i]->ready_ns = delay ? f->now_ns + delay : 0;
		account(q, s->done[i], f->now_ns);
		slot_give(s, s->done[i]->slot);
	}
	f->outstanding -= (unsigned)n;
}

void issue_queued(struct qthread *q, uint64_t now, uint64_t end)
{
	struct target *t = q->target;
	const uint64_t ops = t->plan->pass_ops, delay = t->run->plan->operation_delay_ns;
	struct flight f = { .q = q, .end_ns = end, .now_ns = now, .first = true };

	for (;;) {
		if (!f.exhausted)
			fill(&f, ops);
		if (f.outstanding) {
			collect(&f, delay);
		} else if (f.exhausted) {
			break;
		} else {
			/* All slots are resting. */
			uint64_t ready = slot_first(&q->slots)->ready_ns;

			if (stop_sleep_until(&t->run->stop, ready < end ? ready : end))
				break;
			f.now_ns = clock_now_ns();
		}
	}
}
