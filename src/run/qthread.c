/*
 * QThreads: they pull operation numbers from their target and carry them out. QThread 0 is the target
 * thread, which opens the target and starts the others. Started by run_execute().
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/run/internal.h"
#include "xdd/run/thread.h"

/* Count an operation that has come back. */
static void account(struct qthread *q, uint64_t n, const struct io_request *req, uint64_t t0,
		    uint64_t t1)
{
	struct counters *c = &q->counters;

	counters_add(&c->bytes[req->dir], req->done);
	counters_set(&c->last_done_ns, t1);
	if (n == 0)
		atomic_store_explicit(&q->target->first_op_ns, t1 - t0, memory_order_relaxed);
	if (__builtin_expect(req->error != 0, 0)) {
		counters_add(&c->errors, 1);
		io_error(q, n, req);
		return;
	}
	counters_add(&c->busy_ns[req->dir], t1 - t0);
	counters_add(&c->ops[req->dir], 1);
}

/*
 * One pass with an engine that completes inside submit. `now` is the clock at the start; no operation
 * is issued at or after `end`. Limits are looked at before a number is taken, so that the operations
 * issued are exactly 0 to n-1 whatever ends the pass.
 */
static void issue_sync(struct qthread *q, uint64_t now, uint64_t end)
{
	struct target *t = q->target;
	const struct stop *stop = &t->run->stop;
	const uint64_t ops = t->plan->pass_ops, delay = t->run->plan->operation_delay_ns;
	const struct engine *engine = t->engine;
	struct counters *c = &q->counters;
	struct io_request req = { .fd = t->file.fd, .buf = q->buffer.data };
	bool first = true;

	while (now < end && !stop_requested(stop) &&
	       !atomic_load_explicit(&t->pass_over, memory_order_relaxed)) {
		uint64_t n = atomic_fetch_add_explicit(&t->next_op, 1, memory_order_relaxed), t0;
		struct access_op op;

		if (n >= ops)
			break;
		access_op(&t->access, n, &op);
		req.dir = op.dir;
		req.offset = op.offset;
		req.size = op.size;
		counters_add(&c->issued, 1);
		t0 = clock_now_ns();
		if (first) {
			counters_set(&c->first_issue_ns, t0);
			first = false;
		}
		engine->submit(q->ctx, &req);
		now = clock_now_ns();
		account(q, n, &req, t0, now);
		if (delay) {
			if (stop_sleep_until(&t->run->stop, now + delay < end ? now + delay : end))
				break;
			now = clock_now_ns();
		}
	}
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* -runtime counts from the start of the first pass, which is the same for all behind one barrier. */
static uint64_t run_end(struct run *run, uint64_t release)
{
	uint64_t none = UINT64_MAX;

	if (run->plan->run_time_ns)
		atomic_compare_exchange_strong(&run->end_ns, &none,
					       release + run->plan->run_time_ns);
	return atomic_load(&run->end_ns);
}

static void run_pass(struct qthread *q, uint64_t release, const struct cpu_time *before)
{
	struct target *t = q->target;
	uint64_t start = release + t->plan->delay_ns, end = run_end(t->run, release);

	if (t->plan->time_limit_ns)
		end = earlier(end, start + t->plan->time_limit_ns);
	if (!t->plan->delay_ns || stop_sleep_until(&t->run->stop, earlier(start, end)) == 0)
		issue_sync(q, start, end);
	clock_thread_cpu(&q->cpu);
	q->cpu.user_ns -= before->user_ns;
	q->cpu.sys_ns -= before->sys_ns;
	/* The last to leave sees what all the others have stored. */
	if (atomic_fetch_sub_explicit(&t->active, 1, memory_order_acq_rel) == 1)
		target_end_pass(t);
}

static void run_passes(struct qthread *q)
{
	struct target *t = q->target;
	struct run *run = t->run;
	bool alone = run->plan->no_barrier;
	struct barrier *start = &run->start;
	struct cpu_time before;
	uint64_t release;

	/* The first time all meet in any case: to see that everything could be set up. */
	for (;;) {
		clock_thread_cpu(&before);
		if (barrier_wait(start, &release) < 0)
			return;
		if (start == &run->start ? !run->more : !t->more)
			return;
		if (alone)
			start = &t->start;
		run_pass(q, release, &before);
	}
}

/* What a QThread needs for itself. The first that fails says so, once. */
static int prepare(struct qthread *q)
{
	struct target *t = q->target;
	struct engine_params params = { .depth = 1 };
	int err = 0;

	if (t->plan->kind != TARGET_NULL && t->plan->op != OP_NOOP)
		err = io_buffer_alloc(&q->buffer, t->plan->req_bytes);
	if (!err && t->engine->init)
		err = t->engine->init(&q->ctx, &params);
	if (err && run_stop(t->run, STOP_START, -err))
		log_error("target %u, %s: buffer of QThread %u, %" PRIu64 " bytes: %s",
			  t->plan->number, t->plan->path, q->number, t->plan->req_bytes,
			  strerror(-err));
	return err;
}

static int start_others(struct target *t)
{
	for (uint64_t i = 1; i < t->plan->queue_depth; i++) {
		struct qthread *q = &t->qthreads[i];
		int err = thread_start(&q->thread, qthread_main, q);

		if (err) {
			if (run_stop(t->run, STOP_START, -err))
				log_error("target %u, %s: QThread %" PRIu64 " of %" PRIu64
					  " cannot be started: %s",
					  t->plan->number, t->plan->path, i, t->plan->queue_depth,
					  strerror(-err));
			for (; i < t->plan->queue_depth; i++)
				results_qthread_gone(&t->run->results);
			return err;
		}
		q->started = true;
	}
	return 0;
}

void *qthread_main(void *arg)
{
	struct qthread *q = arg;
	struct target *t = q->target;
	struct results_queue *results = &t->run->results;
	int err = 0;

	if (q->number == 0) {
		err = target_open(t);
		if (err) {
			for (uint64_t i = 1; i < t->plan->queue_depth; i++)
				results_qthread_gone(results);
		} else {
			target_begin_pass(t, 1);
			err = start_others(t);
		}
	}
	if (!err)
		err = prepare(q);
	if (!err)
		run_passes(q);
	if (t->engine && t->engine->fini)
		t->engine->fini(q->ctx);
	io_buffer_free(&q->buffer);
	results_qthread_gone(results);
	return NULL;
}
