/*
 * The issue loop of end-to-end targets: a source sends what it has read, a destination receives
 * what it writes. Called by issue.c.
 *
 * A source with an engine that queues sends one block at a time and submits the next read before
 * each, so that the engine reads while the connection sends.
 */
#include <errno.h>

#include "run/endtoend/endtoend.h"
#include "run/endtoend/transfer.h"
#include "run/issue/flight.h"
#include "run/issue/request_ring.h"

/* How often a destination with writes outstanding looks for the next message. */
#define MESSAGE_POLL_NS 100000

/* ---- source ---- */

void net_set_op(const struct target *t, uint64_t n, struct io_request *req)
{
	set_op(t, endtoend_real_op(t->endtoend, n), req);
	req->op = n;
}

void net_read(struct flight *f, struct io_request *req)
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

void net_begin(struct flight *f)
{
	f->limit_ns = f->end_ns;
	f->end_ns = UINT64_MAX;
}

bool net_take(struct flight *f)
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

void net_await_turn(struct flight *f)
{
	if (!order_try(&f->q->target->order, f->req->op))
		transfer_await_turn(f->q, f->req->op);
}

void net_skip(struct flight *f, bool failed)
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

void net_held(struct flight *f, uint64_t ns)
{
	counters_add(&f->q->counters.net_wait_ns, ns);
	f->q->transfer->held_ns += ns;
}

void net_waited(struct flight *f, uint64_t ns)
{
	const bool receives = f->extras & EXTRA_RECEIVE && f->state == ISSUE && f->q->ring.n_free &&
			      !(f->extras & EXTRA_ALONE);

	if (receives)
		counters_add(&f->q->counters.net_wait_ns, ns);
	else
		f->q->transfer->storage_ns += ns;
}

/* ---- both ---- */

/* The elapsed time of a destination begins with the first message. */
void net_issue(struct flight *f, struct io_request *req)
{
	struct counters *c = &f->q->counters;
	uint64_t first_ns = f->q->transfer->first_ns;

	if (f->extras & EXTRA_SEND)
		transfer_issue(f->q, req);
	else if (first_ns < atomic_load_explicit(&c->first_issue_ns, memory_order_relaxed))
		counters_set(&c->first_issue_ns, first_ns);
}

bool net_step(struct flight *f)
{
	const bool again = f->again;

	if (f->extras & EXTRA_SEND)
		return send_next(f);
	f->again = false;
	return again;
}
