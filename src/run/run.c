/*
 * A run as a whole: makes the threads, waits for them, and says how it ended. Called by main.
 */
#include "xdd/run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/failures.h"
#include "run/issue/data.h"
#include "run/issue/op_hooks.h"
#include "run/issue/order.h"
#include "run/issue/retry_flush.h"
#include "run/issue/trace.h"
#include "run/placement.h"
#include "run/private_fd.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/qthread.h"
#include "run/results/look.h"
#include "run/results/qthread_latency.h"
#include "run/results/results.h"
#include "run/run_state.h"
#include "run/short_file.h"
#include "run/target.h"
#include "run/target_file_ops.h"
#include "run/timerinfo.h"
#include "xdd/base/log.h"
#include "xdd/io/engine.h"
#include "xdd/io/guard.h"
#include "xdd/io/tag.h"
#include "xdd/io/target_file.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/run/signals.h"
#include "xdd/run/thread.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/barrier.h"
#include "xdd/sync/event.h"
#include "xdd/sync/stop.h"
#include "xdd/sys/clock.h"

/* Of any run, beside its QThreads and the main thread: that of signals and the results manager. */
#define OWN_THREADS 2

static enum xdd_status check_engine(const struct target_plan *t)
{
	const char *why = NULL;
	int err = engine_check(t, &why);

	if (!err)
		return XDD_OK;
	log_error("target %u, %s: -ioengine %s: %s", t->number, t->path, engine_of(t)->name,
		  why ? why : strerror(-err));
	return XDD_BAD_ARGUMENT;
}

/* Limits that several targets share: each may fit, and all of them not. */
static enum xdd_status check_engines(const struct plan *plan)
{
	const struct engine *engine;
	char why[256] = "";
	int err = engine_check_all(plan, &engine, why, sizeof(why));

	if (!err)
		return XDD_OK;
	log_error("-ioengine %s: %s", engine->name, why);
	return XDD_BAD_ARGUMENT;
}

/* Said of a device that must not be written to. */
static enum xdd_status refused(const struct guard_refusal *r)
{
	log_error("target %u, %s: %s", r->target->number, r->target->path, r->why);
	return XDD_TARGET_FAILED;
}

/* Threads that the machine does not have: said before thousands of others were started. */
static enum xdd_status check_threads(const struct plan *plan)
{
	uint64_t threads = OWN_THREADS;
	char why[THREAD_TEXT_SIZE];

	for (size_t i = 0; i < plan->n_targets; i++)
		threads += plan->targets[i].qthreads;
	if (!thread_limit_exceeded(threads, why, sizeof(why)))
		return XDD_OK;
	log_error(
		"-targets, -queuedepth: the run needs %" PRIu64
		" threads: %s; fewer targets, a smaller queue depth or -ioengine libaio need less",
		threads, why);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status run_check(const struct plan *plan)
{
	struct guard_refusal refusal;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		const char *why = NULL;
		int err = target_file_check(t, &why);

		if (err) {
			log_error("target %u, %s: %s", t->number, t->path,
				  why ? why : strerror(-err));
			return XDD_TARGET_FAILED;
		}
		if (check_engine(t))
			return XDD_BAD_ARGUMENT;
		if (t->pattern.kind == PATTERN_TAGGED && !tag_available(&why)) {
			log_error("target %u, %s: -datapattern tagged: %s", t->number, t->path,
				  why);
			return XDD_BAD_ARGUMENT;
		}
	}
	if (check_engines(plan) || check_threads(plan))
		return XDD_BAD_ARGUMENT;
	if (guard_check(plan, &refusal))
		return refused(&refusal);
	return short_file_found(plan) ? XDD_BAD_ARGUMENT : plan_check_room(plan);
}

bool run_stop(struct run *run, enum stop_reason reason, int detail)
{
	bool first = stop_request(&run->stop, reason, detail);

	results_wake(&run->results);
	return first;
}

static int init_target(struct run *run, struct target *t, const struct target_plan *plan)
{
	size_t size = plan->qthreads * sizeof(*t->qthreads);
	int err;

	t->run = run;
	t->plan = plan;
	t->file.fd = t->file.buffered_fd = -1;
	t->file.guard = &run->guard;
	t->qthreads = aligned_alloc(_Alignof(struct qthread), size);
	if (!t->qthreads)
		return -ENOMEM;
	memset(t->qthreads, 0, size);
	for (uint32_t i = 0; i < plan->qthreads; i++) {
		t->qthreads[i].target = t;
		t->qthreads[i].private_fd = -1;
		t->qthreads[i].number = (uint32_t)i;
		/* Until its first pass begins: the heartbeat reads them before. */
		counters_reset(&t->qthreads[i].counters);
	}
	t->gated = plan->throttle.interval_ns > 0;
	t->retry_flush = retry_flush_applies(plan);
	op_hooks_init(t);
	barrier_init(&t->start, plan->qthreads);
	barrier_init(&t->file_barrier, plan->qthreads);
	err = order_init(&t->order, plan, data_is_dear(t),
			 run->plan->audit_order && plan_knows_order(plan), &run->stop);
	if (!err)
		err = stop_register(&run->stop, &t->file_barrier);
	return err ? err : stop_register(&run->stop, &t->start);
}

/* Have no target wait for another once the run stops. */
static void wake_openers(void *arg)
{
	struct run *run = arg;

	event_wake(&run->opened);
}

static int init_run(struct run *run, const struct plan *plan, struct report *report,
		    struct signals *signals)
{
	size_t size = plan->n_targets * sizeof(*run->targets);
	int err = 0;

	run->plan = plan;
	run->report = report;
	run->signals = signals;
	run->id = clock_wall_ns();
	run->keep_latency = report_wants_latency(report);
	run->keep_overhead = report_wants_overhead(report);
	atomic_store(&run->end_ns, UINT64_MAX);
	stop_init(&run->stop);
	for (size_t i = 0; i < plan->n_targets; i++)
		run->n_qthreads += (uint32_t)plan->targets[i].qthreads;
	atomic_store(&run->unready, run->n_qthreads);
	for (size_t i = 0; i < plan->n_targets; i++)
		run->reshapes |= plan_reshapes(&plan->targets[i]) ||
				 plan_recreates(&plan->targets[i]) || plan->drop_system_cache;
	barrier_init(&run->start, run->n_qthreads + 1);
	event_init(&run->opened);
	run->targets = aligned_alloc(_Alignof(struct target), size);
	if (!run->targets)
		return -ENOMEM;
	memset(run->targets, 0, size);
	for (size_t i = 0; i < plan->n_targets && !err; i++)
		err = init_target(run, &run->targets[i], &plan->targets[i]);
	if (!err)
		err = gate_init(run);
	if (!err)
		err = stop_register(&run->stop, &run->start);
	if (!err)
		err = stop_on_request(&run->stop, wake_openers, run);
	return err ? err : results_init(&run->results, run->n_qthreads);
}

static void free_run(struct run *run)
{
	for (size_t i = 0; run->targets && i < run->plan->n_targets; i++) {
		struct target *t = &run->targets[i];

		look_free(&t->look);
		order_destroy(&t->order);
		target_data_close(t);
		trace_close(&t->trace);
		for (uint32_t k = 0; t->qthreads && k < t->plan->qthreads; k++) {
			qthread_latency_free(&t->qthreads[k]);
			free(t->qthreads[k].flow);
		}
		free(t->qthreads);
	}
	gate_destroy(run);
	free(run->targets);
	heartbeat_destroy(&run->heartbeat);
	intervals_destroy(&run->intervals);
	stop_destroy(&run->stop);
	results_destroy(&run->results);
	guard_release(&run->guard);
	free(run);
}

static void start_targets(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		struct qthread *q = &run->targets[i].qthreads[0];
		int err = thread_start(&q->thread, qthread_main, q);
		char text[THREAD_TEXT_SIZE];
		const char *why;

		if (!err) {
			q->started = true;
			continue;
		}
		why = thread_error(err, text, sizeof(text));
		if (run_stop(run, STOP_START, -err))
			log_error("target %zu, %s: its thread cannot be started: %s", i,
				  run->plan->targets[i].path, why);
		for (; i < run->plan->n_targets; i++) {
			for (uint32_t k = 0; k < run->plan->targets[i].qthreads; k++)
				results_qthread_gone(&run->results);
		}
	}
}

/* Leave the threads to themselves: some are stuck in the kernel and go with the process. */
static void detach_all(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		struct target *t = &run->targets[i];

		for (uint32_t k = 0; k < t->plan->qthreads; k++) {
			if (t->qthreads[k].started)
				pthread_detach(t->qthreads[k].thread);
		}
	}
}

/* The target threads first: they may still be starting their QThreads. */
static void join_all(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		struct target *t = &run->targets[i];

		for (uint32_t k = 0; k < t->plan->qthreads; k++) {
			if (t->qthreads[k].started)
				pthread_join(t->qthreads[k].thread, NULL);
		}
	}
}

static enum xdd_status how_it_ended(const struct run *run)
{
	switch (stop_why(&run->stop)) {
	case STOP_START:
		return XDD_TARGET_FAILED;
	case STOP_SIGNAL:
		return XDD_CANCELED;
	case STOP_ERROR:
	case STOP_NONE:
		break;
	}
	/* Wrong data outranks errors: whoever looks for it must not miss it behind them. */
	if (atomic_load(&run->miscompares))
		return XDD_MISCOMPARE;
	return atomic_load(&run->errors) || run->output_failed ? XDD_IO_ERROR : XDD_OK;
}

/* All threads of a run that could be set up; returns when the results are written. */
static int drive(struct run *run)
{
	pthread_t manager;
	int err = thread_start(&manager, results_main, run);

	if (err)
		return err;
	start_targets(run);
	pthread_join(manager, NULL);
	return 0;
}

/* All that is there before the threads of targets. What was set up when it fails goes with the run. */
static int set_up(struct run *run)
{
	int err;

	private_fd_begin(run);
	err = placement_begin(run->plan, run->signals->thread);
	if (err)
		return err;
	run->wall_ns = clock_wall_offset_ns();
	if (run->plan->timer_info)
		err = timerinfo_measure(&run->timer);
	if (!err)
		err = heartbeat_start(&run->heartbeat, run);
	return err ? err : intervals_start(&run->intervals, run);
}

/* `*begun`: threads of targets were started, or tried to be. */
static int do_run(struct run *run, bool *begun)
{
	int err = set_up(run);

	if (!err)
		signals_attach(run->signals, run);
	if (!err && !stop_requested(&run->stop)) {
		*begun = true;
		err = drive(run);
	} else if (!err) {
		report_trailer(run->report, REPORT_END_CANCELED);
	}
	signals_detach(run->signals);
	/* Whatever could not be set up, these may have been started, and read the plan. */
	intervals_end(&run->intervals);
	heartbeat_end(&run->heartbeat);
	return err;
}

static enum xdd_status not_set_up(int err)
{
	char text[THREAD_TEXT_SIZE];

	log_error("the run cannot be set up: %s", thread_error(err, text, sizeof(text)));
	return err == -ECANCELED ? XDD_CANCELED : XDD_INIT_FAILED;
}

/* Of a run that could be set up: how it ended, its files closed. `run->stuck`: nothing of it is touched. */
static enum xdd_status conclude(struct run *run, bool begun)
{
	enum xdd_status status;
	bool discard;

	io_error_summary(run);
	miscompare_summary(run);
	status = how_it_ended(run);
	if (run->stuck) {
		detach_all(run);
		return status;
	}
	join_all(run);
	discard = !begun || stop_why(&run->stop) == STOP_START;
	for (size_t i = 0; i < run->plan->n_targets; i++)
		target_close(&run->targets[i], discard);
	return status == XDD_OK && atomic_load(&run->errors) ? XDD_IO_ERROR : status;
}

enum xdd_status run_execute(const struct plan *plan, struct report *report, struct signals *signals,
			    bool *stuck)
{
	struct run *run = calloc(1, sizeof(*run));
	struct guard_refusal refusal;
	enum xdd_status status;
	bool begun = false;
	int err = run ? init_run(run, plan, report, signals) : -ENOMEM;

	clock_calibrate();
	if (err)
		status = not_set_up(err);
	else if (guard_hold(plan, &run->guard, &refusal))
		status = refused(&refusal);
	else if ((err = do_run(run, &begun)) != 0)
		status = not_set_up(err);
	else
		status = conclude(run, begun);
	/* Threads that are stuck still use all of this; it goes with the process. */
	*stuck = run && run->stuck;
	if (run && !*stuck)
		free_run(run);
	return status;
}
