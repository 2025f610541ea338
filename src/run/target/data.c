/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of operations during a run, operations that fail, and data that is wrong. Called by the
 * target and its QThreads when they start, by the issue loops for operations that need it, outside
 * the timed window, and by run.c after the last operation.
 */
#include "run/target/data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/io/pattern.h"
#include "xdd/io/tag.h"
#include "xdd/io/target_file.h"
#include "xdd/io/verify.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/wait.h"
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

static bool data_report(void *arg, const struct miscompare *m)
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
	uint64_t n = verify_read(&q->data->verifier, &r, detail, data_report, q);

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

/* Failures past the end of the target after which a pass ends. */
#define PAST_END_ERRORS 1000

/* The reason of an error, in the words of the engine where it has any. */
static const char *reason(const struct qthread *q, const struct io_request *req, char *buf,
			  size_t size)
{
	const struct engine *engine = q->target->engine;

	*buf = '\0';
	if (engine->explain)
		engine->explain(q->ctx, req, buf, size);
	if (*buf)
		return buf;
	return req->error == -ENODATA ? "END-OF-FILE" : strerror(-req->error);
}

static void print_error(const struct qthread *q, const struct io_request *req)
{
	const struct target *t = q->target;
	char buf[160], tried[48] = "";

	if (req->tries)
		snprintf(tried, sizeof(tried), ", tried %u times", req->tries + 1);
	log_error("I/O ERROR on Target %u Worker Thread %u: %s of %" PRIu64
		  " bytes at offset %" PRIu64 " of %s, operation %" PRIu64 " of pass %" PRIu64
		  ": %s after %" PRIu64 " bytes%s",
		  t->plan->number, q->number, op_dir_name(req->dir), req->size, req->offset,
		  target_file_path(&t->file, t->plan), req->op, t->pass,
		  reason(q, req, buf, sizeof(buf)), req->done, tried);
}

/* As print_error(), where a sink takes the results. */
static void pass_error(const struct qthread *q, const struct io_request *req)
{
	const struct target *t = q->target;
	char buf[160];

	report_failure(t->run->report,
		       &(struct report_failure){ .target = t->plan->number,
						 .write = req->dir == DIR_WRITE,
						 .offset = req->offset,
						 .bytes = req->size,
						 .why = reason(q, req, buf, sizeof(buf)) });
}

/* The other side of an end-to-end target gets the reason too. */
static void explain_error(const struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	char buf[160];

	run_explain(t,
		    "%s of %" PRIu64 " bytes at offset %" PRIu64 " of %s, operation %" PRIu64
		    " of pass %" PRIu64 ": %s",
		    op_dir_name(req->dir), req->size, req->offset,
		    target_file_path(&t->file, t->plan), req->op, t->pass,
		    reason(q, req, buf, sizeof(buf)));
}

/* End the pass of the target, if nothing has ended it, with the reason. */
static void end_pass(struct target *t, const char *reason)
{
	if (atomic_exchange(&t->state.over, true))
		return;
	target_error(t->plan, "pass %" PRIu64 " ends: %s", t->pass, reason);
	gate_wake(t);
}

/* Count an error in this pass of the target; end the pass or the run if it was the last allowed. */
static void count_error(struct target *t, int detail)
{
	const struct plan *plan = t->run->plan;
	uint64_t in_pass = atomic_fetch_add(&t->state.errors, 1) + 1;
	char reason[80];

	if (plan->stop_on_error)
		run_stop(t->run, STOP_ERROR, detail);
	if (plan->max_errors && in_pass >= plan->max_errors) {
		snprintf(reason, sizeof(reason), "%" PRIu64 " %s (-maxerrors)", in_pass,
			 t->plan->verify == VERIFY_NONE ? "operations have failed" :
							  "errors and miscompares");
		end_pass(t, reason);
	}
}

/*
 * The count for an error that the following operations of the target will have too; NULL for any
 * other error.
 */
static _Atomic uint64_t *ran_out(struct target *t, int error)
{
	switch (error) {
	case -ENODATA:
		return &t->ran_out[RUN_OUT_OF_FILE];
	case -ENOSPC:
		return &t->ran_out[RUN_OUT_OF_SPACE];
	default:
		return NULL;
	}
}

/*
 * True if the operation, and all that follow it in the pass, lie past the end of the target. They
 * fail at once, a million per second, and their time would count as time of the others.
 */
static bool only_past_end(const struct target_plan *t, const struct io_request *req)
{
	return (req->error == -ENODATA || (req->error == -ENOSPC && t->kind == TARGET_BLOCK)) &&
	       !req->done && t->seek.pattern == SEEK_SEQUENTIAL;
}

void io_error(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	struct run *run = t->run;
	_Atomic uint64_t *count = ran_out(t, req->error);
	bool first = !count || atomic_fetch_add(count, 1) == 0;

	atomic_fetch_add(&run->failures.errors, 1);
	if (run->takes_failures)
		pass_error(q, req);
	else if (first &&
		 atomic_fetch_add(&run->failures.errors_shown, 1) < run->plan->max_errors_to_print)
		print_error(q, req);
	if (t->endtoend)
		explain_error(q, req);
	count_error(t, -req->error);
	if (atomic_load(&t->state.errors) >= PAST_END_ERRORS && only_past_end(t->plan, req))
		end_pass(t, "all further operations are past the end of the target");
}

/*
 * Report the operations that failed after the first for lack of a resource. Returns their number.
 */
static uint64_t failures_summarize(const struct target *t, enum run_out kind, const char *why)
{
	uint64_t more = atomic_load(&t->ran_out[kind]);

	more -= more > 0;
	if (more)
		target_error(t->plan, "%" PRIu64 " more operations failed: %s", more, why);
	return more;
}

void io_error_summary(const struct run *run)
{
	uint64_t own = atomic_load(&run->failures.errors);

	if (run->takes_failures)
		return;
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		own -= failures_summarize(&run->targets[i], RUN_OUT_OF_FILE, "END-OF-FILE");
		own -= failures_summarize(&run->targets[i], RUN_OUT_OF_SPACE, strerror(ENOSPC));
	}
	if (own > run->plan->max_errors_to_print)
		log_error("a total of %" PRIu64 " operations failed, %" PRIu64
			  " are shown (-maxerrorstoprint)",
			  atomic_load(&run->failures.errors), run->plan->max_errors_to_print);
}

static void print_miscompare(const struct qthread *q, const struct miscompare *m)
{
	const struct target *t = q->target;
	char expected[2 * VERIFY_SHOWN_BYTES + 1], found[2 * VERIFY_SHOWN_BYTES + 1];

	log_error("DATA MISCOMPARE on Target %u Worker Thread %u: %s, read operation %" PRIu64
		  " of pass %" PRIu64 ": %" PRIu64 " bytes at offset %" PRIu64
		  " are wrong: at %" PRIu64 " expected 0x%s, found 0x%s: %s%s%s",
		  t->plan->number, q->number, t->plan->path, m->op, m->pass, m->bytes, m->offset,
		  m->shown_at, text_hex(m->expected, m->shown, expected),
		  text_hex(m->found, m->shown, found), miscompare_name(m->kind),
		  *m->text ? ": " : "", m->text);
}

bool miscompare(struct qthread *q, const struct miscompare *m)
{
	struct target *t = q->target;
	const uint64_t limit = t->run->plan->max_errors_to_print;
	uint64_t total = atomic_fetch_add(&t->run->failures.miscompares, 1) + 1;

	atomic_fetch_add(&t->run->failures.miscompared_bytes, m->bytes);
	if (total <= limit)
		print_miscompare(q, m);
	count_error(t, EBADMSG);
	return total < limit;
}

void miscompare_summary(const struct run *run)
{
	uint64_t total = atomic_load(&run->failures.miscompares),
		 limit = run->plan->max_errors_to_print;

	if (total)
		log_error("a total of %" PRIu64 " data miscompares, %" PRIu64 " bytes, %" PRIu64
			  " are shown (-maxerrorstoprint)",
			  total, atomic_load(&run->failures.miscompared_bytes),
			  total < limit ? total : limit);
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];
		uint64_t unjudged = t->data ? atomic_load(&t->data->unjudged) : 0;

		if (unjudged)
			target_notice(t->plan,
				      "%" PRIu64 " sectors without a tag, not written by this run, "
				      "cannot be verified",
				      unjudged);
	}
}
