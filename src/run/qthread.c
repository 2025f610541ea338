/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QThreads take operation numbers from their target and issue the operations. QThread 0 is the
 * target thread: it opens the target and starts the other QThreads. Called by run.c.
 */
#include "run/qthread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/coord/gate.h"
#include "run/coord/pace.h"
#include "run/endtoend/endtoend.h"
#include "run/issue/issue.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/meter/meter.h"
#include "run/meter/sample.h"
#include "run/placement.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/results/global_clock.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/io/target_file.h"
#include "xdd/plan/plan.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/*
 * The boundaries of a pass of a target. The last QThread to leave a pass, whichever it is, ends it
 * and sets up the next, while the other QThreads of the target wait at a barrier.
 */

/* Delays that the user requested up to pass `number`. */
static uint64_t requested_delay_ns(const struct target *t, uint64_t number)
{
	const struct plan *plan = t->run->plan;

	if (!plan->no_barrier)
		return t->plan->delay_ns;
	return number * t->plan->delay_ns + (number - 1) * plan->pass_delay_ns;
}

/* Empty what the QThreads counted in the pass before. */
static void reset_qthreads(struct target *t)
{
	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		counters_reset(&t->qthreads[i].counters);
		qthread_latency_reset(&t->qthreads[i]);
		extremes_reset(&t->qthreads[i].extremes);
	}
	histogram_reset(&t->syncs);
}

/*
 * Set up pass `number`, before any of its QThreads is in it. The target thread before the first
 * pass, then qthread.c.
 */
static void pass_begin(struct target *t, uint64_t number)
{
	uint64_t end;

	stonewall_lock(t->run);
	pthread_mutex_lock(&t->sample_lock);
	atomic_store(&t->pass, number);
	reset_qthreads(t);
	pthread_mutex_unlock(&t->sample_lock);
	t->state = (struct pass_state){
		.open_ns = atomic_exchange(&t->next_open_ns, 0),
		.shift_ns = requested_delay_ns(t, number),
	};
	access_init(&t->state.access, t->plan, number);
	plan_pass_range(t->plan, number, &t->state.extent_from, &end);
	/*
	 * With -dropcache system this follows for all targets at once, when none of them has
	 * anything in flight.
	 */
	if (!t->run->plan->drop_system_cache)
		cache_sample_take(t);
	order_begin_pass(&t->order);
	if (t->orders_sends)
		tot_reset(&t->sends);
	target_data_begin_pass(t);
	atomic_store(&t->result_pending, true);
	atomic_store(&t->active, t->plan->qthreads);
	gate_begin_pass(t);
	stonewall_target_begins(t);
	stonewall_unlock(t->run);
	intervals_open(t);
}

static void report_released(const struct target *t)
{
	uint64_t n = atomic_load(&t->state.released);

	if (n)
		report_finding(t->run->report, finding_of_target(t->plan), SAYS(GAP), t->pass, n);
}

/* Pass the result on to the results manager. */
static void deliver_result(struct target *t, const struct dirty_sample *dirty)
{
	struct run *run = t->run;
	struct pass_result *r = target_snapshot(t);

	if (!atomic_exchange(&t->result_pending, false)) {
		/*
		 * The run stopped, and the results manager has reported the pass without this
		 * QThread.
		 */
		pass_result_free(r);
	} else if (r) {
		r->dirty = *dirty;
		endtoend_add_result(t, r);
		report_released(t);
		heartbeat_pass_done(&run->heartbeat, t, &r->figures.tally, &r->figures.latency);
		if (run->plan->no_barrier)
			heartbeat_pass_closed(&run->heartbeat, true);
		results_put(&run->results, r);
	} else {
		run_fail(t, STOP_START, -ENOMEM, "the results of a pass are lost: %s",
			 strerror(ENOMEM));
	}
}

/*
 * With -nobarrier each target sleeps for -passdelay itself, and decides whether another pass
 * follows.
 */
static void rest_alone(struct target *t)
{
	struct run *run = t->run;
	/* The source of an end-to-end copy decides, and its announcement says so. */
	const bool follows = t->endtoend && !t->endtoend->sends;
	uint64_t end = follows ? UINT64_MAX : atomic_load(&run->end_ns);
	uint64_t now = clock_now_ns(), until;

	t->more = t->pass < run->plan->passes && now < end;
	if (!t->more || !run->plan->pass_delay_ns)
		return;
	until = now + run->plan->pass_delay_ns;
	if (stop_sleep_until(&run->stop, until < end ? until : end) || until >= end)
		t->more = false;
}

/* As rest_alone(), but the other side of an end-to-end copy may end the run. */
static void decide_alone(struct target *t)
{
	rest_alone(t);
	if (t->more)
		t->more = endtoend_begin_target(t, t->pass + 1);
}

/*
 * The last target that is set up for its next pass does this for all targets: nothing is in flight.
 */
static void drop_system_cache(struct run *run)
{
	if (atomic_fetch_add(&run->ready_targets, 1) + 1 < run->plan->n_targets)
		return;
	atomic_store(&run->ready_targets, 0);
	if (run->targets[0].pass <= run->plan->passes)
		cache_drop_system(run);
}

static int qthread_open_engine(struct qthread *q, enum stop_reason reason);

/*
 * The file was reopened: create the context of the engine again, once that is done for all QThreads
 * of the target.
 */
static void reopen_engine(struct qthread *q)
{
	struct target *t = q->target;

	if (barrier_wait(&t->file_barrier, NULL) >= 0 && t->file.fd >= 0)
		qthread_open_engine(q, STOP_ERROR);
}

/*
 * The steps at the end of a pass, in order. `q` is the last QThread to leave, and sees what all
 * others have stored. The result is delivered last: it allows the next pass to begin.
 */
static void pass_finish(struct qthread *q, bool reopens)
{
	struct target *t = q->target;
	struct run *run = t->run;
	struct dirty_sample dirty;

	stonewall_target_ends(t);
	target_file_sync_pass(q);
	dirty = dirty_sample_take(t);
	intervals_close(t, NULL);
	endtoend_end_pass(t);
	target_file_end_pass(q);
	if (reopens)
		reopen_engine(q);
	gate_end_pass(t);
	deliver_result(t, &dirty);
	if (run->plan->no_barrier)
		decide_alone(t);
	/*
	 * The results manager may be reading the state of the pass: a QThread that is late must not
	 * change it.
	 */
	if (stop_requested(&run->stop))
		return;
	pass_begin(t, t->pass + 1);
	if (run->plan->drop_system_cache)
		drop_system_cache(run);
}

static void qthread_close_engine(struct qthread *q);

/*
 * `q` has nothing more to issue in this pass. The last QThread of the target to leave ends the pass
 * and sets up the next; where the file is reopened, the others wait for that. Errors are reported
 * here. QThread.
 */
static void pass_leave(struct qthread *q)
{
	struct target *t = q->target;
	const bool reopens = plan_reopens(t->plan) && t->pass < t->run->plan->passes;

	if (target_releases_file(t)) {
		results_settle(&t->run->results);
		qthread_close_engine(q);
		results_settled(&t->run->results);
	}
	if (atomic_fetch_sub_explicit(&t->active, 1, memory_order_acq_rel) == 1)
		pass_finish(q, reopens);
	else if (reopens)
		reopen_engine(q);
}

/* -runtime counts from the start of the first pass, which targets at one barrier share. */
static uint64_t run_end(struct run *run, uint64_t release)
{
	uint64_t none = UINT64_MAX;

	if (run->plan->run_time_ns)
		atomic_compare_exchange_strong(&run->end_ns, &none,
					       release + run->plan->run_time_ns);
	return atomic_load(&run->end_ns);
}

/*
 * Count as overhead the part of `ns`, the time in a pass, that is not in the engine, a wait, a fill
 * or a flush.
 */
static void keep_overhead(struct qthread *q, uint64_t ns)
{
	struct tally own;
	uint64_t other;

	tally_clear(&own);
	tally_add_counters(&own, &q->counters);
	other = q->apart_ns + own.fill_ns + own.flush_ns;
	if (!plan_queues(q->target->plan))
		other += tally_busy_ns(&own);
	counters_set(&q->counters.overhead_ns, ns > other ? ns - other : 0);
}

/*
 * All that is to be done before the first operation has been done, for nothing to delay that. What
 * it needs is used once while there is time: memory before the sleep, caches after it.
 */
static void await_moment(struct qthread *q)
{
	struct run *run = q->target->run;

	if (!start_time_is_ahead(run))
		return;
	qthread_latency_touch(q);
	if (!start_time_approach(run))
		return;
	cputime_first(q);
	start_time_hold(run);
}

static void issue(struct qthread *q, uint64_t start, uint64_t end)
{
	snooze_begin_pass(&q->snooze);
	q->apart_ns = 0;
	transfer_begin_pass(q);
	await_moment(q);
	warmup_begin_pass(q, start);
	issue_pass(q, start, end);
	target_drain(q, true);
	transfer_end_pass(q);
	warmup_end_pass(q);
	if (q->target->run->needs & FIGURES_OVERHEAD)
		keep_overhead(q, clock_now_ns() - q->warmup.from_ns);
}

static void issue_timed(struct qthread *q, uint64_t start, uint64_t end)
{
	cputime_begin(q);
	issue(q, start, end);
	throttle_end_pass(q, end);
	cputime_end(q);
}

/* Destroy the context; accepts a QThread without one. The QThread, with nothing outstanding. */
static void qthread_close_engine(struct qthread *q)
{
	const struct engine *engine = q->target->engine;

	if (engine && engine->fini)
		engine->fini(q->ctx);
	q->ctx = NULL;
	private_fd_close(q);
}

/*
 * Create the context of the engine. Returns 0 or -errno, reported; the run is stopped then for
 * `reason`. The QThread, while the target has its file open.
 */
static int qthread_open_engine(struct qthread *q, enum stop_reason reason)
{
	struct target *t = q->target;
	struct err why = { 0 };
	struct engine_params params = {
		.target = t->plan,
		.fd = private_fd_open(q),
		.buffered_fd = t->file.buffered_fd,
		.depth = q->ring.depth,
		.buffers = q->ring.buffers,
		.why = &why,
	};
	int err = t->engine->init ? t->engine->init(&q->ctx, &params) : 0;

	if (err)
		run_explain(t, "%s: engine %s: %s", target_file_path(&t->file, t->plan),
			    t->engine->info.name, err_text(&why, err));
	if (!err || !run_stop(t->run, reason, -err))
		return err;
	if (reason == STOP_ERROR)
		atomic_fetch_add(&t->run->failures.errors, 1);
	log_error("target %u, %s: engine %s: %s", t->plan->number,
		  target_file_path(&t->file, t->plan), t->engine->info.name, err_text(&why, err));
	return err;
}

/* -debug timelimit: the pass ended with operations left. */
static void debug_limit(const struct qthread *q, uint64_t end)
{
	const struct target *t = q->target;
	uint64_t now = clock_now_ns(), issued = atomic_load(&t->state.next_op);

	if (now < end || issued >= t->plan->pass_ops || stop_requested(&t->run->stop))
		return;
	debug_print(DEBUG_TIMELIMIT,
		    "target %u QThread %u: %s ends pass %" PRIu64 " after %" PRIu64
		    " operations, %" PRIu64 " ns past the limit",
		    t->plan->number, q->number,
		    end == atomic_load(&t->run->end_ns) ? "-runtime" : "-timelimit", t->pass,
		    issued, now - end);
}

static void run_pass(struct qthread *q, uint64_t release)
{
	struct target *t = q->target;
	uint64_t start = release + t->plan->delay_ns, end = run_end(t->run, release);
	uint64_t waited = q->from_wait_ns;

	gate_start(t, start);
	if (q->flow)
		flow_begin(q->flow, start);
	throttle_begin_pass(q, start);
	intervals_begin(q, release);
	/* After a number of operations the limit counts from the first that is measured. */
	if (t->plan->time_limit_ns && !t->plan->warmup_ops)
		end = ns_earlier(end, start + t->plan->warmup_ns + t->plan->time_limit_ns);
	if (!t->plan->delay_ns || stop_sleep_until(&t->run->stop, ns_earlier(start, end)) == 0)
		issue_timed(q, start, end);
	else
		q->cpu = (struct cpu_meter){ 0 };
	if (debug_on(DEBUG_TIMELIMIT))
		debug_limit(q, end);
	if (plan_warms_up(t->plan))
		waited = q->warmup.from_wait_ns;
	q->wait_ns = t->run->needs & FIGURES_WAIT ? clock_thread_wait_ns() - waited : 0;
	pass_leave(q);
	cputime_left(q);
}

/* The time server is known best when the first pass begins. */
static void set_trigger(struct qthread *q)
{
	const struct run *run = q->target->run;
	const struct trace_options *ts = &q->target->plan->trace;

	if (q->trace && run->clock && ts->triggered_by_time && q->target->pass == 1)
		trace_trigger(q->trace, global_clock_local_ns(run, ts->trigger_time_ns));
}

static void run_passes(struct qthread *q)
{
	struct target *t = q->target;
	struct run *run = t->run;
	bool alone = run->plan->no_barrier;
	struct barrier *start = &run->start;
	uint64_t release;

	/* All QThreads meet before the first pass, also with -nobarrier: each must be ready. */
	for (;;) {
		/* Not after the release: the file of it takes longer than many operations. */
		if (run->needs & FIGURES_WAIT)
			q->from_wait_ns = clock_thread_wait_ns();
		if (barrier_wait(start, &release) < 0)
			return;
		set_trigger(q);
		release = start_time_moment(run, release);
		/* The barrier may release its last round before it is cancelled. */
		if (stop_requested(&run->stop))
			return;
		if (start == &run->start ? !run->manager.more : !t->more)
			return;
		if (alone)
			start = &t->start;
		run_pass(q, release);
	}
}

/* Allocate the resources of a QThread. The first QThread of the run that fails reports it. */
static int qthread_prepare(struct qthread *q)
{
	struct target *t = q->target;
	struct err why = { 0 };
	const bool flow = t->run->plan->deskew;
	int err = request_ring_init(q, &why);

	if (flow)
		q->flow = calloc(1, sizeof(*q->flow));
	if (!err && flow && !q->flow)
		err = -ENOMEM;
	if (!err)
		err = throttle_open(q);
	if (!err)
		err = qthread_latency_init(q);
	if (!err && q->keeps_latency)
		heartbeat_ready(&t->run->heartbeat);
	if (err)
		return run_fail(t, STOP_START, err,
				"buffers of QThread %u, %u of %" PRIu64 " bytes: %s", q->number,
				q->ring.depth, t->plan->req_bytes, err_text(&why, err));
	err = qthread_data_open(q);
	if (err)
		return run_fail(t, STOP_START, err, "data of QThread %u: %s", q->number,
				strerror(-err));
	err = transfer_open(q);
	if (!err)
		err = qthread_open_engine(q, STOP_START);
	if (q->private_fd >= 0)
		atomic_fetch_add(&t->private_fds, 1);
	if (!err && q->number == 0 && t->engine->describe)
		t->engine->describe(q->ctx, t->engine_text, sizeof(t->engine_text));
	return err;
}

/* Bind before any allocation, so that memory comes from the node of the processor. */
static int bind(const struct qthread *q)
{
	int err = placement_bind(q);

	return err ? run_fail(q->target, STOP_START, err,
			      "QThread %u: cannot be bound to its processors: %s", q->number,
			      strerror(-err)) :
		     0;
}

/* Allocate the table of time stamps with -timestamps. */
static int open_trace(struct target *t)
{
	int err = trace_open(&t->trace, t->plan, t->run->wall_ns);

	if (err)
		return run_fail(t, STOP_START, err,
				"-ts: a table of %.1f MiB for time stamps: %s; -ts size "
				"<#operations> makes it smaller",
				(double)t->plan->trace.chunks * t->plan->trace.chunk_ops *
					(double)plan_trace_bytes(t->plan) / (1u << 20),
				strerror(-err));
	for (uint32_t i = 0; t->trace.writers && i < t->plan->qthreads; i++)
		t->qthreads[i].trace = &t->trace.writers[i];
	return 0;
}

/*
 * Open the target here and, where it is end-to-end, at the other side. A source opens its file
 * first, to tell which it is; a destination changes nothing before both have agreed.
 */
static int open_both(struct target *t)
{
	const bool receives = t->endtoend && !t->endtoend->sends;
	int err = receives ? endtoend_meet(t) : target_open(t);

	if (!err)
		err = receives ? target_open(t) : endtoend_meet(t);
	return err ? err : endtoend_ready(t);
}

/* Open the target, unless there is an error `err` already, and start its other QThreads. */
static int start_target(struct target *t, int err)
{
	uint32_t started = 1;

	if (!err)
		err = open_both(t);
	if (!err)
		err = open_trace(t);
	if (!err)
		pass_begin(t, 1);
	while (!err && started < t->plan->qthreads) {
		err = qthread_start(&t->qthreads[started]);
		started += !err;
	}
	results_gone(&t->run->results, t->plan->qthreads - started);
	return err;
}

static void *qthread_main(void *arg)
{
	struct qthread *q = arg;
	struct target *t = q->target;
	struct run *run = t->run;
	int err = bind(q);

	debug_line(DEBUG_TASK, "target %u QThread %u: thread %d starts", t->plan->number, q->number,
		   gettid());
	if (q->number == 0)
		err = start_target(t, err);
	if (!err)
		err = target_reshape(q);
	if (!err && q->number == 0)
		err = endtoend_record(t);
	if (!err)
		err = qthread_prepare(q);
	if (!err && (endtoend_any(run) || run->group))
		err = barrier_wait(&run->start, NULL) < 0 ? -ECANCELED : 0;
	if (!err && atomic_fetch_sub(&run->unready, 1) == 1)
		placement_lock(run);
	if (!err)
		run_passes(q);
	results_settle(&run->results);
	qthread_close_engine(q);
	qthread_data_close(q);
	transfer_close(q);
	/*
	 * After an engine lost its context the kernel may still hold requests and write to their
	 * buffers.
	 */
	if (!q->broken)
		request_ring_free(q);
	debug_line(DEBUG_TASK, "target %u QThread %u: thread %d ends", t->plan->number, q->number,
		   gettid());
	results_settled(&run->results);
	results_gone(&run->results, 1);
	return NULL;
}

int qthread_start(struct qthread *q)
{
	struct target *t = q->target;
	struct err why;
	int err = thread_start_on(&t->run->stacks, &q->thread, qthread_main, q);

	q->started = !err;
	/* Determine the reason now, while the threads exist that leave no room for this one. */
	return err ? run_fail(t, STOP_START, err, "QThread %u of %u cannot be started: %s",
			      q->number, t->plan->qthreads, thread_error(err, &why)) :
		     0;
}
