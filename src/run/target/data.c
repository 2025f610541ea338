/*
 * The data of operations during a run. Called by the target and its QThreads when they start, and
 * by the issue loops for operations that need it.
 */
#include "run/target/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/failures.h"
#include "xdd/io/pattern.h"
#include "xdd/io/tag.h"
#include "xdd/io/tag_book.h"
#include "xdd/io/tag_history.h"
#include "xdd/io/verify.h"
#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"
#include "xdd/sys/clock.h"

/* Up to this size filling a buffer takes less time than waking a thread. */
#define CHEAP_BYTES 4096

static bool moves_data(const struct target_plan *p)
{
	return p->kind != TARGET_NULL && !(plan_engine_caps(p) & ENGINE_NO_PATTERN) &&
	       (plan_reads(p) || plan_writes(p));
}

static bool verifies(const struct target_plan *p)
{
	return p->verify != VERIFY_NONE;
}

static int open_tagged(struct target_data *d, const struct target_plan *p)
{
	uint64_t first, end;

	plan_pass_range(p, 1, &first, &end);
	end = p->end_bytes > first ? p->end_bytes : first + 1;
	d->tagged = plan_writes(p);
	d->tracked = d->tagged && verifies(p);
	if (!d->tagged)
		return verifies(p) ? tag_history_new(&d->history) : 0;
	/* With mmap the program itself copies, and two QThreads may copy to the same offset. */
	return tag_book_init(&d->book, (uint32_t)p->queue_depth, first, d->tracked ? end : 0,
			     plan_engine_caps(p) & ENGINE_MAPS);
}

int target_data_open(struct target *t)
{
	const struct target_plan *p = t->plan;
	int err;

	if (!moves_data(p) || !(p->pattern.given || verifies(p) || p->op == OP_MIXED))
		return 0;
	t->data = aligned_alloc(_Alignof(struct target_data), sizeof(*t->data));
	if (!t->data)
		return -ENOMEM;
	memset(t->data, 0, sizeof(*t->data));
	err = pattern_init(&t->data->pattern, p);
	if (!err && p->pattern.kind == PATTERN_TAGGED)
		err = open_tagged(t->data, p);
	return err;
}

void target_data_close(struct target *t)
{
	if (!t->data)
		return;
	tag_history_free(t->data->history);
	tag_book_destroy(&t->data->book);
	pattern_destroy(&t->data->pattern);
	free(t->data);
	t->data = NULL;
}

void target_data_begin_pass(struct target *t)
{
	const struct target_plan *p = t->plan;

	if (!t->data || !t->data->tagged)
		return;
	t->data->since = tag_book_next(&t->data->book);
	/* -pretruncate happens at each opening. Files that are recreated are only written. */
	if (p->reopen && p->pretruncate)
		tag_book_forget(&t->data->book, p->pretruncate_bytes);
}

/* True: operations need their buffers filled or verified one by one. */
static bool each_operation(const struct target *t)
{
	return verifies(t->plan) || t->plan->op == OP_MIXED ||
	       (plan_writes(t->plan) && pattern_moves(&t->data->pattern));
}

bool data_prepare_early(const struct target *t)
{
	enum pattern_kind kind = t->plan->pattern.kind;
	bool moves = kind == PATTERN_FILE || kind >= PATTERN_RANDOM;

	return moves_data(t->plan) && t->plan->req_bytes > CHEAP_BYTES &&
	       (verifies(t->plan) || t->plan->op == OP_MIXED || (plan_writes(t->plan) && moves));
}

/*
 * Fill the buffers with the pattern once, before anything is timed; they were allocated as zeros.
 */
static void lay_out(struct qthread *q)
{
	const struct target *t = q->target;

	if (!plan_writes(t->plan) || pattern_moves(&t->data->pattern))
		return;
	for (unsigned i = 0; i < q->ring.depth; i++)
		pattern_bytes(&t->data->pattern, 0, 0, q->ring.buffers[i].iov_base,
			      t->plan->req_bytes);
}

static int open_slots(struct qthread *q)
{
	struct qthread_data *d = q->data;
	const struct target *t = q->target;
	uint64_t sectors = t->plan->req_bytes / TAG_SECTOR_BYTES;
	unsigned depth = q->ring.depth;

	d->slots = calloc(depth, sizeof(*d->slots));
	if (!d->slots)
		return -ENOMEM;
	if (t->data->tracked) {
		d->bounds = calloc(depth * sectors, sizeof(*d->bounds));
		if (!d->bounds)
			return -ENOMEM;
	}
	for (unsigned i = 0; i < depth; i++) {
		d->slots[i].laid_out = true;
		d->slots[i].bounds = d->bounds ? d->bounds + i * sectors : NULL;
	}
	return 0;
}

int qthread_data_open(struct qthread *q)
{
	struct target *t = q->target;
	struct target_data *shared = t->data;

	if (!shared)
		return 0;
	lay_out(q);
	if (!each_operation(t))
		return 0;
	q->data = calloc(1, sizeof(*q->data));
	if (!q->data)
		return -ENOMEM;
	q->data->moves = pattern_moves(&shared->pattern);
	for (uint32_t i = 0; i < q->number; i++)
		q->data->first_place += plan_depth_of(t->plan, i);
	verifier_init(&q->data->verifier, t->plan, &shared->pattern, t->run->id,
		      shared->tracked ? &shared->book : NULL, shared->history);
	return open_slots(q);
}

void qthread_data_close(struct qthread *q)
{
	if (!q->data)
		return;
	atomic_fetch_add(&q->target->data->unjudged, q->data->verifier.unjudged);
	free(q->data->slots);
	free(q->data->bounds);
	free(q->data);
	q->data = NULL;
}

static void fill_tagged(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	struct target_data *d = t->data;
	bool sweeps = t->plan->op == OP_WRITE && t->plan->seek.pattern == SEEK_SEQUENTIAL;
	struct tag tag = {
		.run = t->run->id,
		.offset = req->offset,
		.since = d->since,
		.request = req->offset,
		.sweep = sweeps ? t->state.access.base : req->offset,
		.target = t->plan->number,
		.pass = (uint32_t)t->pass,
		.bytes = (uint32_t)req->size,
	};

	tag.generation = tag_book_write(&d->book, q->data->first_place + req->slot, req->offset,
					req->size, &tag.oldest);
	tag_fill(&tag, req->buf, req->size);
}

static void prepare_write(struct qthread *q, const struct io_request *req)
{
	const struct target *t = q->target;
	struct data_slot *slot = &q->data->slots[req->slot];

	if (t->data->tagged) {
		fill_tagged(q, req);
	} else if (q->data->moves) {
		pattern_bytes(&t->data->pattern, req->offset, 0, req->buf, req->size);
	} else if (!slot->laid_out) {
		pattern_bytes(&t->data->pattern, 0, 0, req->buf, t->plan->req_bytes);
		slot->laid_out = true;
	}
}

static void prepare_read(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	struct data_slot *slot = &q->data->slots[req->slot];

	slot->laid_out = false;
	if (!verifies(t->plan))
		return;
	verify_poison(req->buf, 0, req->size);
	/* Last before the issue: the read may return data that is written from here on. */
	if (t->data->tracked)
		slot->logged = tag_book_read(&t->data->book, req->offset, req->size, slot->bounds);
}

void data_prepare(struct qthread *q, struct io_request *req)
{
	uint64_t start = clock_now_ns();

	if (req->dir == DIR_WRITE)
		prepare_write(q, req);
	else if (req->dir == DIR_READ)
		prepare_read(q, req);
	counters_add(&q->counters.fill_ns, clock_now_ns() - start);
}

void data_prepare_again(const struct qthread *q, struct io_request *req)
{
	if (req->dir == DIR_READ && verifies(q->target->plan))
		verify_poison(req->buf, req->done, req->size);
}

static bool report(void *arg, const struct miscompare *m)
{
	return miscompare(arg, m);
}

static void verify(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	const struct data_slot *slot = &q->data->slots[req->slot];
	const struct verify_read r = {
		.buf = req->buf,
		.offset = req->offset,
		.bytes = req->done,
		.op = req->op,
		.pass = t->pass,
		.bounds = slot->bounds,
		.logged = slot->logged,
	};
	bool detail = atomic_load_explicit(&t->run->failures.miscompares, memory_order_relaxed) <
		      t->run->plan->max_errors_to_print;
	uint64_t n = verify_read(&q->data->verifier, &r, detail, report, q);

	if (n)
		counters_add(&q->counters.miscompares, n);
}

void data_release(struct qthread *q, const struct io_request *req)
{
	struct target_data *d = q->target->data;

	if (req->dir == DIR_WRITE && d->tagged)
		tag_book_release(&d->book, q->data->first_place + req->slot);
}

void data_complete(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;

	if (req->dir == DIR_WRITE && t->data->tagged)
		tag_book_written(&t->data->book, q->data->first_place + req->slot, !req->error);
	else if (req->dir == DIR_READ && verifies(t->plan) && !req->error)
		verify(q, req);
}
