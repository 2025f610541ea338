/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of a target's operations, the target operation table, and the requests of a QThread.
 * Called by the issue loop for ordered targets, by the target when it is set up and between
 * passes, and by QThreads when they start and end.
 */
#include "run/issue/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/engine.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/wait.h"

/*
 * The target operation table, for QThreads that take numbers before the turn.
 *
 * The word of a slot holds how often a turn was given in it, and two bits: a thread sleeps on it,
 * and the table is cancelled. The count tells operation n from n plus the length of the table.
 */

#define TOT_WAITER 1u
#define TOT_CANCELED 2u
#define TOT_BITS 3u
#define TOT_TURN 4u /* step of the count */

static _Atomic uint32_t *slot_of(const struct tot *t, uint64_t n)
{
	return &t->slots[n % t->n_slots];
}

/* The count of the slot of operation `n` once it is its turn, without the bits. */
static uint32_t turn_of(const struct tot *t, uint64_t n)
{
	return ((uint32_t)(n / t->n_slots) + 1) * TOT_TURN;
}

int tot_init(struct tot *t, uint64_t queue_depth)
{
	t->n_slots = (uint32_t)queue_depth * TOT_SLOTS_PER_OPERATION;
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	tot_reset(t);
	return 0;
}

void tot_destroy(struct tot *t)
{
	free(t->slots);
	t->slots = NULL;
}

void tot_reset(struct tot *t)
{
	for (uint32_t i = 0; i < t->n_slots; i++)
		atomic_fetch_and(&t->slots[i], TOT_CANCELED);
	atomic_fetch_or(&t->slots[0], TOT_TURN);
}

bool tot_is_turn(const struct tot *t, uint64_t n)
{
	uint32_t word = atomic_load_explicit(slot_of(t, n), memory_order_acquire);

	return (word & ~TOT_BITS) == turn_of(t, n);
}

int tot_wait(struct tot *t, uint64_t n)
{
	_Atomic uint32_t *slot = slot_of(t, n);
	const uint32_t turn = turn_of(t, n);
	uint32_t word = atomic_load_explicit(slot, memory_order_acquire);

	while ((word & ~TOT_BITS) != turn) {
		if (word & TOT_CANCELED)
			return -ECANCELED;
		if (!(word & TOT_WAITER) && !atomic_compare_exchange_weak_explicit(
						    slot, &word, word | TOT_WAITER,
						    memory_order_acquire, memory_order_acquire))
			continue;
		futex_wait(slot, word | TOT_WAITER, NULL);
		word = atomic_load_explicit(slot, memory_order_acquire);
	}
	return 0;
}

void tot_pass_on(struct tot *t, uint64_t n)
{
	_Atomic uint32_t *slot = slot_of(t, n + 1);
	const uint32_t turn = turn_of(t, n + 1);
	uint32_t word = atomic_load_explicit(slot, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(slot, &word, turn | (word & TOT_CANCELED),
						      memory_order_release, memory_order_relaxed))
		;
	if (word & TOT_WAITER)
		futex_wake_all(slot);
}

void tot_cancel(struct tot *t)
{
	for (uint32_t i = 0; i < t->n_slots; i++) {
		atomic_fetch_or(&t->slots[i], TOT_CANCELED);
		futex_wake_all(&t->slots[i]);
	}
}

/*
 * One QThread takes its numbers in order and submits them in order; serial is a rule of the issue
 * loop.
 */
static bool needs_nothing(const struct target_plan *plan)
{
	return plan->ordering == ORDERING_NONE || plan->qthreads == 1;
}

static void order_cancel(void *arg)
{
	struct order *o = arg;

	if (o->by == ORDER_BY_TOT)
		tot_cancel(&o->tot);
	else
		lock_cancel(&o->lock);
}

int order_init(struct order *o, const struct target_plan *plan, bool early, bool audited,
	       struct stop *stop)
{
	int err = 0;

	o->by = needs_nothing(plan) ? ORDER_BY_NOTHING : early ? ORDER_BY_TOT : ORDER_BY_LOCK;
	o->mode = plan->ordering;
	o->alone = plan->ordering == ORDERING_SERIAL;
	o->audited = audited;
	lock_init(&o->lock);
	if (o->by == ORDER_BY_TOT)
		err = tot_init(&o->tot, plan->queue_depth);
	if (!err && o->by != ORDER_BY_NOTHING)
		err = stop_on_request(stop, order_cancel, o);
	return err;
}

void order_begin_pass(struct order *o)
{
	atomic_store_explicit(&o->next, 0, memory_order_relaxed);
	if (o->by == ORDER_BY_TOT)
		tot_reset(&o->tot);
}

void order_destroy(struct order *o)
{
	tot_destroy(&o->tot);
}

int order_enter(struct order *o, uint64_t n)
{
	return o->by == ORDER_BY_TOT ? tot_wait(&o->tot, n) : lock_take(&o->lock);
}

bool order_try(struct order *o, uint64_t n)
{
	return o->by == ORDER_BY_TOT ? tot_is_turn(&o->tot, n) : lock_try(&o->lock);
}

void order_leave(struct order *o, uint64_t n)
{
	if (o->by == ORDER_BY_TOT)
		tot_pass_on(&o->tot, n);
	else
		lock_release(&o->lock);
}

void order_leave_briefly(struct order *o, uint64_t n)
{
	if (o->by == ORDER_BY_TOT)
		tot_pass_on(&o->tot, n);
	else
		lock_release_quietly(&o->lock);
}

const char *order_text(const struct order *o)
{
	if (o->mode == ORDERING_NONE)
		return NULL;
	return o->by == ORDER_BY_TOT  ? "by turns in the target operation table" :
	       o->by == ORDER_BY_LOCK ? "by the issue lock" :
					"by the one QThread that issues them";
}

/*
 * The requests that a QThread may have outstanding, with their buffers in one mapping of its own.
 */

static int request_ring_allocate(struct request_ring *s, unsigned depth)
{
	s->requests = calloc(depth, sizeof(*s->requests));
	s->done = calloc(depth, sizeof(struct io_request *));
	s->buffers = calloc(depth, sizeof(*s->buffers));
	s->free = calloc(depth, sizeof(struct io_request *));
	return s->requests && s->done && s->buffers && s->free ? 0 : -ENOMEM;
}

int request_ring_init(struct qthread *q, struct err *why)
{
	const struct target_plan *plan = q->target->plan;
	const struct memory_plan *memory = &plan->memory;
	struct request_ring *s = &q->ring;
	bool lock = !q->target->run->plan->no_memory_lock;
	unsigned depth = plan_depth_of(plan, q->number);
	int err = 0;

	s->depth = depth;
	if (memory->stride_bytes)
		err = io_buffer_alloc(&q->buffer, plan_region_bytes(memory, depth), memory, lock,
				      why);
	if (!err)
		err = request_ring_allocate(s, depth);
	if (err)
		return err;
	for (unsigned i = 0; i < depth; i++) {
		if (memory->stride_bytes) {
			s->buffers[i].iov_base = (char *)q->buffer.data + memory->shift_bytes +
						 i * memory->stride_bytes;
			s->buffers[i].iov_len = plan->req_bytes;
		}
		s->requests[i].slot = i;
		s->requests[i].buf = s->buffers[i].iov_base;
		s->free[i] = &s->requests[i];
	}
	s->n_free = depth;
	return 0;
}

void request_ring_free(struct qthread *q)
{
	struct request_ring *s = &q->ring;

	free(s->requests);
	free(s->done);
	free(s->buffers);
	free(s->free);
	memset(s, 0, sizeof(*s));
	io_buffer_free(&q->buffer);
}

void request_ring_put_ready(struct request_ring *ring, struct io_request *req)
{
	unsigned at = ring->n_free;

	request_ring_put(ring, req);
	for (; at > 0; at--) {
		struct io_request **mine = &ring->free[(ring->head + at) % ring->depth];
		struct io_request **before = &ring->free[(ring->head + at - 1) % ring->depth];

		if ((*before)->ready_ns <= req->ready_ns)
			return;
		*mine = *before;
		*before = req;
	}
}
