/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of a QThread. Called by the issue loop, and by the QThread as it starts, begins and
 * ends a pass.
 */
#include "run/endtoend/endtoend.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "xdd/base/log.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* ---- joining ---- */

static int join(struct qthread *q)
{
	struct transfer *x = aligned_alloc(128, (sizeof(*x) + 127) / 128 * 128);

	if (!x)
		return -ENOMEM;
	memset(x, 0, sizeof(*x));
	q->transfer = x;
	x->e = q->target->endtoend;
	x->slots = calloc(q->ring.depth, sizeof(*x->slots));
	x->queue = calloc(q->ring.depth, sizeof(struct io_request *));
	return x->slots && x->queue ? 0 : -ENOMEM;
}

int transfer_open(struct qthread *q)
{
	struct target *t = q->target;
	int err;

	if (!t->endtoend)
		return 0;
	err = join(q);
	if (err)
		return run_fail(t, STOP_START, err, "QThread %u: %s", q->number, strerror(-err));
	err = session_join(t->endtoend->session, q->number, &q->transfer->link);
	if (err)
		endtoend_broke(t->endtoend);
	return err;
}

void transfer_close(struct qthread *q)
{
	struct transfer *x = q->transfer;

	if (!x)
		return;
	session_leave(x->link);
	x->link = NULL;
	free(x->slots);
	x->slots = NULL;
	free(x->queue);
	x->queue = NULL;
}

void transfer_begin_pass(struct qthread *q)
{
	struct transfer *x = q->transfer;

	if (!x)
		return;
	x->head = x->n_queued = 0;
	x->first_ns = x->first_read_ns = 0;
	x->over = x->stop_asked = false;
	x->ops = x->bytes = x->failed = x->storage_ns = x->held_ns = 0;
	x->digest = (struct digest){ 0 };
	hold(HOLD_PASS_BEGUN);
}

static int broke(struct qthread *q, int err)
{
	q->transfer->broken = true;
	endtoend_broke(q->transfer->e);
	return err;
}

/* ---- time stamps ---- */

static uint16_t processor(const struct qthread *q)
{
	return q->trace ? (uint16_t)sched_getcpu() : TRACE_NO_CPU;
}

/* The block of `req` was sent or received from clock `start_ns` to `end_ns`, on from `cpu`. */
static void stamp(struct qthread *q, const struct io_request *req, uint64_t start_ns,
		  uint64_t end_ns, uint16_t cpu)
{
	if (!q->trace)
		return;
	q->transfer->slots[req->slot].net = (struct trace_net){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.bytes = (uint32_t)req->size,
		.calls = 1,
		.cpu_start = cpu,
		.cpu_end = processor(q),
	};
}

const struct trace_net *transfer_net(const struct qthread *q, const struct io_request *req)
{
	const struct trace_net *net = q->transfer ? &q->transfer->slots[req->slot].net : NULL;

	return net && net->end_ns ? net : NULL;
}

/* ---- source ---- */

void transfer_issue(struct qthread *q, struct io_request *req)
{
	struct transfer *x = q->transfer;
	unsigned tail = x->head + x->n_queued++;

	x->queue[tail < q->ring.depth ? tail : tail - q->ring.depth] = req;
	x->slots[req->slot].complete = false;
	x->slots[req->slot].net.end_ns = 0;
}

void transfer_read(struct qthread *q, struct io_request *req, uint64_t done_ns)
{
	struct transfer *x = q->transfer;

	x->slots[req->slot].complete = true;
	x->slots[req->slot].done_ns = done_ns;
	if (!x->first_read_ns && !req->error)
		x->first_read_ns = done_ns;
}

struct io_request *transfer_next(const struct qthread *q)
{
	const struct transfer *x = q->transfer;
	struct io_request *req = x->n_queued ? x->queue[x->head] : NULL;

	return req && x->slots[req->slot].complete ? req : NULL;
}

static void dequeue(struct qthread *q)
{
	struct transfer *x = q->transfer;

	x->head = x->head + 1 == q->ring.depth ? 0 : x->head + 1;
	x->n_queued--;
}

/* The block of a request that has been read; `*now_ns` is the clock before and after. */
static struct net_block block_of(struct qthread *q, const struct io_request *req, uint64_t *now_ns)
{
	struct net_block b = { .op = req->op };
	uint64_t since = *now_ns;

	b.failed = req->error != 0;
	if (b.failed)
		return b;
	b.offset = req->offset - q->target->state.extent_from;
	b.length = req->size;
	b.digest = digest_data(req->buf, req->size);
	*now_ns = clock_now_ns();
	counters_add(&q->counters.check_ns, *now_ns - since);
	return b;
}

/* Count a block that was sent or written. */
static void count(struct transfer *x, const struct net_block *b)
{
	x->ops++;
	x->bytes += b->length;
	digest_add(&x->digest, b->offset, b->length, b->digest);
}

int transfer_send(struct qthread *q, int err)
{
	struct transfer *x = q->transfer;
	struct io_request *req = x->queue[x->head];
	uint64_t now = clock_now_ns(), end;
	uint16_t cpu;
	struct net_block b;

	dequeue(q);
	if (err || x->broken)
		return err ? err : -ECONNABORTED;
	b = block_of(q, req, &now);
	cpu = processor(q);
	err = session_send(x->link, (uint32_t)q->target->pass, &b, req->buf);
	if (err)
		return broke(q, err);
	end = clock_now_ns();
	counters_add(&q->counters.net_ns, end - now);
	if (b.failed) {
		x->failed++;
	} else {
		count(x, &b);
		stamp(q, req, now, end, cpu);
	}
	return 0;
}

/* ---- destination ---- */

/* The source did what it may not do. */
static enum transfer_answer refuse(struct qthread *q, const struct net_block *b, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "the source sent operation %" PRIu64 " of pass %" PRIu64 ", %s", b->op,
		 atomic_load(&q->target->pass), what);
	session_fail(q->transfer->e->session, XDD_IO_ERROR, text);
	broke(q, -EBADMSG);
	return TRANSFER_OVER;
}

/* The complaint about a block that is not acceptable; NULL: there is none. */
static const char *complaint(struct endtoend *e, const struct net_block *b, uint64_t from)
{
	const uint64_t most = INT64_MAX - from;
	int err;

	if (b->op >= e->ops)
		return "which is not in the plan";
	if (!b->failed &&
	    (b->length > e->plan.req_bytes || b->offset > most || b->length > most - b->offset))
		return "which lies outside of the copied extent";
	pthread_mutex_lock(&e->lock);
	err = extents_add_new(&e->received, b->op, b->op + 1);
	pthread_mutex_unlock(&e->lock);
	if (!err)
		return NULL;
	return err == -EEXIST ? "for the second time" : "with too many missing before it";
}

/* Wait for a message. TRANSFER_BLOCK: there is one. */
static enum transfer_answer await(struct qthread *q, bool wait, uint64_t end_ns)
{
	struct transfer *x = q->transfer;

	for (;;) {
		uint64_t now = clock_now_ns(), limit = UINT64_MAX;
		int there;

		if (now >= end_ns && !x->stop_asked) {
			session_stop_pass(x->e->session, (uint32_t)q->target->pass);
			x->stop_asked = true;
		}
		if (!x->stop_asked && end_ns != UINT64_MAX)
			limit = end_ns - now;
		/* A header is waited for without another system call. */
		if (wait && limit == UINT64_MAX)
			return TRANSFER_BLOCK;
		there = session_wait(x->link, wait ? limit : 0);
		if (there < 0) {
			broke(q, there);
			return TRANSFER_OVER;
		}
		if (there || !wait)
			return there ? TRANSFER_BLOCK : TRANSFER_NOTHING;
	}
}

/* The data of `b` into the buffer of `req`. */
static int receive_data(struct qthread *q, const struct net_block *b, struct io_request *req)
{
	struct transfer *x = q->transfer;
	const uint16_t cpu = processor(q);
	uint64_t since = clock_now_ns(), check_ns = 0, took;
	int err = session_receive_data(x->link, b, req->buf, &check_ns);

	took = clock_now_ns() - since;
	stamp(q, req, since, since + (took > check_ns ? took - check_ns : 0), cpu);
	counters_add(&q->counters.check_ns, check_ns);
	counters_add(&q->counters.net_ns, took > check_ns ? took - check_ns : 0);
	return err;
}

static enum transfer_answer take_block(struct qthread *q, const struct net_block *b,
				       struct io_request *req)
{
	struct transfer *x = q->transfer;
	struct target *t = q->target;
	const char *why = complaint(x->e, b, t->state.extent_from);

	if (why)
		return refuse(q, b, why);
	req->op = b->op;
	req->dir = t->state.access.dir;
	req->offset = t->state.extent_from + b->offset;
	req->size = b->length;
	io_request_reset(req);
	x->slots[req->slot].block = *b;
	if (b->failed)
		return TRANSFER_SKIP;
	if (receive_data(q, b, req)) {
		broke(q, -EBADMSG);
		return TRANSFER_OVER;
	}
	if (!atomic_load_explicit(&t->state.over, memory_order_relaxed))
		return TRANSFER_BLOCK;
	/* -maxerrors has ended the pass. */
	x->failed++;
	return TRANSFER_SKIP;
}

/*
 * The part of a wait for a message that belongs to the pass: from the first operation of the target
 * on, and to the last one that is done where no block follows (`last`).
 */
static uint64_t wait_within(const struct qthread *q, uint64_t from_ns, uint64_t to_ns, bool last)
{
	const struct target *t = q->target;
	uint64_t first_ns = UINT64_MAX, done_ns = 0;

	/* After its first block and before its last a QThread is within the pass. */
	if (q->transfer->first_ns && !last)
		return to_ns > from_ns ? to_ns - from_ns : 0;
	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		const struct counters *c = &t->qthreads[i].counters;

		first_ns = ns_earlier(first_ns, atomic_load_explicit(&c->first_issue_ns,
								     memory_order_relaxed));
		done_ns = ns_later(done_ns,
				   atomic_load_explicit(&c->last_done_ns, memory_order_relaxed));
	}
	from_ns = ns_later(from_ns, first_ns);
	if (last)
		to_ns = ns_earlier(to_ns, done_ns);
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

enum transfer_answer transfer_receive(struct qthread *q, struct io_request *req, bool wait,
				      uint64_t end_ns)
{
	struct transfer *x = q->transfer;
	struct target *t = q->target;
	uint64_t since = clock_now_ns(), first_ns = since;
	enum transfer_answer answer;
	struct net_block b;
	int err;

	if (x->over || x->broken)
		return TRANSFER_OVER;
	if (atomic_load_explicit(&t->state.over, memory_order_relaxed))
		end_ns = since;
	answer = await(q, wait, end_ns);
	if (answer != TRANSFER_BLOCK)
		return answer;
	err = session_receive(x->link, (uint32_t)t->pass, &b, &first_ns);
	if (err) {
		broke(q, err);
		return TRANSFER_OVER;
	}
	x->over = b.last;
	counters_add(&q->counters.net_wait_ns, wait_within(q, since, first_ns, b.last));
	if (b.last)
		return TRANSFER_OVER;
	if (!x->first_ns)
		x->first_ns = first_ns;
	atomic_fetch_add_explicit(&t->state.next_op, 1, memory_order_relaxed);
	return take_block(q, &b, req);
}

void transfer_written(struct qthread *q, const struct io_request *req)
{
	struct transfer *x = q->transfer;
	const struct net_block *b = &x->slots[req->slot].block;

	if (req->error) {
		x->failed++;
		return;
	}
	count(x, b);
	restart_written(x->e->restart, endtoend_real_op(x->e, b->op), b->offset, b->length,
			b->digest);
}

/*
 * The first operation that has not arrived: it cannot arrive any more once each QThread waits for
 * the turn of a later one, or has left the pass, because numbers ascend on each connection. With
 * the lock.
 */
static bool is_stuck(const struct endtoend *e, uint64_t *missing)
{
	bool any = false;

	*missing = extents_first_missing(&e->received, 0);
	for (uint32_t i = 0; i < e->target->plan->qthreads; i++) {
		if (e->awaited[i] <= *missing)
			return false;
		any |= e->awaited[i] != ENDTOEND_AWAITS_NO_MORE;
	}
	return any;
}

static void set_awaited(struct qthread *q, uint64_t n, bool *stuck, uint64_t *missing)
{
	struct endtoend *e = q->transfer->e;

	pthread_mutex_lock(&e->lock);
	e->awaited[q->number] = n;
	*stuck = n != ENDTOEND_AWAITS_NOTHING && is_stuck(e, missing);
	pthread_mutex_unlock(&e->lock);
}

void transfer_await_turn(struct qthread *q, uint64_t n)
{
	uint64_t missing;
	char text[160];
	bool stuck;

	set_awaited(q, n, &stuck, &missing);
	if (!stuck)
		return;
	snprintf(text, sizeof(text),
		 "the source did not send operation %" PRIu64 " of pass %" PRIu64
		 ", which must be written before others",
		 missing, atomic_load(&q->target->pass));
	session_fail(q->transfer->e->session, XDD_IO_ERROR, text);
	broke(q, -EBADMSG);
}

void transfer_has_turn(struct qthread *q)
{
	uint64_t missing;
	bool stuck;

	set_awaited(q, ENDTOEND_AWAITS_NOTHING, &stuck, &missing);
}

void transfer_end_pass(struct qthread *q)
{
	struct transfer *x = q->transfer;
	int err;

	if (!x || x->broken || stop_requested(&q->target->run->stop))
		return;
	if (!x->e->sends) {
		transfer_await_turn(q, ENDTOEND_AWAITS_NO_MORE);
		return;
	}
	err = session_last(x->link, (uint32_t)q->target->pass);
	if (err)
		broke(q, err);
}
