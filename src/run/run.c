/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run as a whole: the client of -timeserver before it, the cost of clock and time stamps, its
 * state, set-up, threads, tear-down, and how it ended. Called by main; run_stop() by any thread.
 */
#include "xdd/run/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/pace.h"
#include "run/endtoend/endtoend.h"
#include "run/issue/op_hooks.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/meter/meter.h"
#include "run/meter/sample.h"
#include "run/placement.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/progress/ranks.h"
#include "run/qthread.h"
#include "run/results/manager.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/io/guard.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define RETRY_NS (NS_PER_SEC / 5)

_Static_assert(TIMESERVER_PORT == GLOBALTIME_PORT, "the default of -timeserver port");
_Static_assert(TIMESERVER_MAX_BOUNCE == GLOBALTIME_MAX_BOUNCE, "the limit of -timeserver bounce");

/* False, with the reason in `why`: the clock is not known well enough. */
static bool is_exact(const struct timeserver_options *s, struct globaltime_client *client,
		     struct err *why)
{
	struct globaltime now;

	globaltime_get(client, clock_now_ns(), &now);
	if (!s->max_error_ns || now.bound_ns <= s->max_error_ns)
		return true;
	err_set(why, -ETIME,
		"the global clock is known within %.6f ms only, and maxerror allows %.6f ms; use "
		"more -timeserver bounce, a quieter network, or -timeserver wait",
		(double)now.bound_ns / 1e6, (double)s->max_error_ns / 1e6);
	return false;
}

/* One attempt. Returns 0, or -errno with the reason in `why`. */
static int reach(const struct timeserver_options *s, uint64_t timeout_ns, struct stop *stop,
		 struct globaltime_client **client, struct err *why)
{
	const struct globaltime_settings settings = {
		.host = s->host,
		.port = (uint16_t)s->port,
		.bounce = (unsigned)s->bounce,
		.timeout_ns = timeout_ns,
	};
	int err = globaltime_begin(client, &settings, stop, why);

	if (err || is_exact(s, *client, why))
		return err;
	globaltime_end(*client);
	*client = NULL;
	return -ETIME;
}

/* As reach(), until the time of -timeserver wait is over. */
static int reach_in_time(const struct timeserver_options *s, struct stop *stop,
			 struct globaltime_client **client, struct err *why)
{
	uint64_t now = clock_now_ns();
	const uint64_t end = now + s->wait_ns;

	for (;;) {
		int err = reach(s, end - now, stop, client, why);

		now = clock_now_ns() + RETRY_NS;
		if (!err || err == -ECANCELED || now >= end)
			return err;
		if (stop_sleep_until(stop, now))
			return -ECANCELED;
	}
}

/* -starttime and -ts triggertime, by the clock of the server. */
static enum xdd_status check_times(const struct plan *plan, struct globaltime_client *client)
{
	uint64_t now = clock_now_ns();
	struct globaltime global;
	enum xdd_status status;

	globaltime_get(client, now, &global);
	now += (uint64_t)global.offset_ns;
	status = plan_check_start_time(plan, now, globaltime_server(client));
	if (!status)
		plan_warn_trigger_times(plan, now);
	return status;
}

enum xdd_status timebase_open(const struct plan *plan, struct stop *stop,
			      struct globaltime_client **client)
{
	const struct timeserver_options *s = &plan->timeserver;
	struct err why = { 0 };
	enum xdd_status status;
	int err;

	*client = NULL;
	if (!s->host)
		return XDD_OK;
	/* The clock that the client compares with is the run's. */
	clock_calibrate();
	err = reach_in_time(s, stop, client, &why);
	if (err == -ECANCELED)
		return XDD_CANCELED;
	if (err)
		return log_fail(XDD_INIT_FAILED, "-timeserver %s: %s", s->host, why.text);
	status = check_times(plan, *client);
	if (status) {
		globaltime_end(*client);
		*client = NULL;
	}
	return status;
}

#define ROUNDS 5
#define READINGS 20000u
#define STAMPS 32768u /* 2 MiB: more than stays in the caches next to the processor */

static void measure_readings(struct timer_info *info)
{
	uint64_t best = UINT64_MAX;

	info->resolution_ns = UINT64_MAX;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = clock_now_ns(), last = begin, now = begin;

		for (unsigned i = 0; i < READINGS; i++) {
			now = clock_now_ns();
			if (now > last)
				info->resolution_ns = ns_earlier(info->resolution_ns, now - last);
			last = now;
		}
		best = ns_earlier(best, now - begin);
	}
	info->reading_ns = (double)best / READINGS;
}

/* Record as a QThread does, into a table that each round overwrites. */
static int measure_stamps(struct timer_info *info)
{
	const struct target_plan plan = {
		.qthreads = 1,
		.trace = { .on = true,
			   .wrap = true,
			   .size_ops = STAMPS,
			   .chunk_ops = 1024,
			   .chunks = STAMPS / 1024 },
	};
	struct trace_table table = { 0 };
	struct io_request req = { .size = 4096, .done = 4096 };
	uint64_t best = UINT64_MAX, begin;
	int err = trace_open(&table, &plan, 0);

	for (int round = 0; !err && round < ROUNDS; round++) {
		begin = clock_now_ns();
		for (unsigned i = 0; i < STAMPS; i++) {
			req.op = i;
			trace_issue(&req);
			trace_done(table.writers, &req, NULL, 1, begin);
		}
		best = ns_earlier(best, clock_now_ns() - begin);
	}
	trace_close(&table);
	info->stamp_ns = (double)best / STAMPS;
	return err;
}

/* Measure; takes a few milliseconds. Returns 0 or -ENOMEM. Main thread, before others are busy. */
static int timerinfo_measure(struct timer_info *info)
{
	measure_readings(info);
	return measure_stamps(info);
}

/*
 * Creation and destruction of the state of a run. Called by run_execute(); run_stop() by any
 * thread.
 */

bool run_stop(struct run *run, enum stop_reason reason, int detail)
{
	bool first = stop_request(&run->stop, reason, detail);

	results_wake(&run->results);
	return first;
}

void run_explain(struct target *t, const char *fmt, ...)
{
	struct run *run = t->run;
	char text[SESSION_WHY_SIZE];
	va_list ap;

	if (!endtoend_any(run))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < run->plan->n_targets; i++)
		if (run->targets[i].endtoend)
			session_explain(run->targets[i].endtoend->session, text);
}

int run_fail(struct target *t, enum stop_reason reason, int err, const char *fmt, ...)
{
	struct err why;
	va_list ap;

	va_start(ap, fmt);
	err_vset(&why, err, fmt, ap);
	va_end(ap);
	/* -ECANCELED: the run stops already, and has its reason. */
	if (err != -ECANCELED)
		run_explain(t, "%s: %s", t->plan->path, why.text);
	if (run_stop(t->run, reason, -err))
		target_error(t->plan, "%s", why.text);
	return err;
}

static int init_qthreads(struct target *t)
{
	size_t n = t->plan->qthreads, size = n * sizeof(*t->qthreads);

	t->qthreads = aligned_alloc(_Alignof(struct qthread), size);
	if (!t->qthreads)
		return -ENOMEM;
	memset(t->qthreads, 0, size);
	for (uint32_t i = 0; i < n; i++) {
		t->qthreads[i].target = t;
		t->qthreads[i].private_fd = -1;
		t->qthreads[i].number = i;
		/* The heartbeat reads them before the first pass begins. */
		counters_reset(&t->qthreads[i].counters);
	}
	return 0;
}

/* Operations have their numbers before their turn. */
static bool takes_early(const struct target *t)
{
	return t->plan->endtoend.role == E2E_DESTINATION || data_prepare_early(t);
}

static void cancel_sends(void *arg)
{
	tot_cancel(arg);
}

/* -ordering network. */
static int init_sends(struct target *t)
{
	const struct target_plan *plan = t->plan;
	int err;

	t->orders_sends = plan->endtoend.role == E2E_SOURCE && plan->qthreads > 1 &&
			  plan->network_ordering != ORDERING_NONE;
	if (!t->orders_sends)
		return 0;
	err = tot_init(&t->sends, plan->queue_depth);
	return err ? err : stop_on_request(&t->run->stop, cancel_sends, &t->sends);
}

static int init_target(struct run *run, struct target *t, const struct target_plan *plan)
{
	int err;

	t->run = run;
	t->plan = plan;
	t->file.fd = t->file.buffered_fd = -1;
	t->file.guard = &run->guard;
	t->retry_flush = retry_flush_applies(plan);
	op_hooks_init(t);
	barrier_init(&t->start, plan->qthreads);
	barrier_init(&t->file_barrier, plan->qthreads);
	pthread_mutex_init(&t->sample_lock, NULL);
	err = init_qthreads(t);
	if (err)
		return err;
	err = init_sends(t);
	if (err)
		return err;
	err = order_init(&t->order, plan, takes_early(t),
			 (run->needs & FIGURES_ORDER) && plan_knows_order(plan), &run->stop);
	if (err)
		return err;
	err = stop_register(&run->stop, &t->file_barrier);
	return err ? err : stop_register(&run->stop, &t->start);
}

static int init_targets(struct run *run)
{
	size_t n = run->plan->n_targets, size = n * sizeof(*run->targets);
	int err = 0;

	run->targets = aligned_alloc(_Alignof(struct target), size);
	if (!run->targets)
		return -ENOMEM;
	memset(run->targets, 0, size);
	for (size_t i = 0; i < n && !err; i++)
		err = init_target(run, &run->targets[i], &run->plan->targets[i]);
	return err;
}

/* The run stops: no target waits any longer for another to open. */
static void wake_openers(void *arg)
{
	struct run *run = arg;

	event_wake(&run->opened);
}

/* All targets must be open before the first pass: a file or a cache that others use changes. */
static bool opens_together(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		if (plan_reshapes(&plan->targets[i]) || plan_recreates(&plan->targets[i]))
			return true;
	}
	return plan->drop_system_cache;
}

/*
 * Initialize a zeroed run. Returns 0 or -errno; to be freed with run_free() in both cases. Main
 * thread.
 */
static int run_init(struct run *run, const struct plan *plan, struct report *report,
		    struct signals *signals)
{
	int err;

	run->plan = plan;
	run->report = report;
	run->takes_failures = report && report_takes_failures(report);
	run->signals = signals;
	run->id = clock_wall_ns();
	run->needs = report_needs(report);
	/* The verdict of a copy counts processors, whatever the outputs show. */
	if (endtoend_any(run))
		run->needs |= FIGURES_WAIT;
	if (!clock_has_thread_wait())
		run->needs &= ~(unsigned)FIGURES_WAIT;
	run->opens_together = opens_together(plan);
	for (size_t i = 0; i < plan->n_targets; i++)
		run->n_qthreads += (uint32_t)plan->targets[i].qthreads;
	atomic_store(&run->end_ns, UINT64_MAX);
	atomic_store(&run->unready, run->n_qthreads);
	run->cpu.together = plan->no_barrier ? 0 : run->n_qthreads;
	stop_init(&run->stop);
	barrier_init(&run->start, run->n_qthreads + 1);
	event_init(&run->opened);
	stonewall_init(&run->stonewall);
	err = results_init(&run->results, run->n_qthreads);
	if (err)
		return err;
	err = init_targets(run);
	if (err)
		return err;
	err = gate_init(run);
	if (err)
		return err;
	err = stop_register(&run->stop, &run->start);
	return err ? err : stop_on_request(&run->stop, wake_openers, run);
}

static void free_target(struct target *t)
{
	cache_sample_free(&t->cache_sample);
	order_destroy(&t->order);
	tot_destroy(&t->sends);
	target_data_close(t);
	trace_close(&t->trace);
	for (uint32_t k = 0; t->qthreads && k < t->plan->qthreads; k++) {
		qthread_latency_free(&t->qthreads[k]);
		throttle_close(&t->qthreads[k]);
		free(t->qthreads[k].flow);
		free(t->qthreads[k].transfer);
	}
	free(t->qthreads);
}

/* Free a run, whose threads have ended. Main thread. */
static void run_free(struct run *run)
{
	for (size_t i = 0; run->targets && i < run->plan->n_targets; i++)
		free_target(&run->targets[i]);
	gate_destroy(run);
	free(run->targets);
	thread_stacks_close(&run->stacks);
	heartbeat_destroy(&run->heartbeat);
	intervals_destroy(run);
	stonewall_destroy(&run->stonewall);
	stop_destroy(&run->stop);
	results_destroy(&run->results);
	guard_release(&run->guard);
	free(run);
}

enum xdd_status run_not_set_up(int err)
{
	struct err why;

	log_error("the run cannot be set up: %s", thread_error(err, &why));
	return err == -ECANCELED ? XDD_CANCELED : XDD_INIT_FAILED;
}

/* Prepare the process and start the threads that run beside the QThreads. Returns 0 or -errno. */
static int start_helpers(struct run *run)
{
	int err;

	private_fd_begin(run);
	err = ranks_attach(run);
	if (err)
		return err;
	err = placement_begin(&run->placement, run->plan, run->signals->thread.thread);
	if (err)
		return err;
	run->wall_ns = run->group ? ranks_wall_ns(run) : clock_wall_offset_ns();
	err = run->clock ? globaltime_follow(run->clock) : 0;
	if (err)
		return err;
	err = run->plan->timer_info ? timerinfo_measure(&run->timer) : 0;
	if (err)
		return err;
	err = heartbeat_start(&run->heartbeat, run);
	if (err)
		return err;
	err = intervals_start(run);
	return err ? err : ticker_start(&run->sampler, "sampler");
}

/* Accepts a run whose start_helpers() failed or was not called, and a second call. */
static void end_helpers(struct run *run)
{
	signals_detach(run->signals);
	ticker_end(&run->sampler);
	heartbeat_end(&run->heartbeat);
}

/* Everything before the threads of targets. tear_down() undoes it, also where it failed. */
static enum xdd_status set_up(struct run *run, const struct plan *plan, struct report *report,
			      struct signals *signals, struct globaltime_client *client)
{
	struct guard_refusal refusal;
	enum xdd_status status;
	int err = run_init(run, plan, report, signals);

	run->clock = client;
	clock_calibrate();
	if (err)
		return run_not_set_up(err);
	if (guard_hold(plan, &run->guard, &refusal))
		return run_refuse(&refusal);
	status = endtoend_open(run);
	if (status)
		return status;
	err = start_helpers(run);
	return err ? run_not_set_up(err) : XDD_OK;
}

static void start_targets(struct run *run)
{
	size_t n = run->plan->n_targets, i = 0;

	thread_stacks_open(&run->stacks, run->n_qthreads);
	while (i < n && qthread_start(&run->targets[i].qthreads[0]) == 0)
		i++;
	for (; i < n; i++)
		results_gone(&run->results, (uint32_t)run->plan->targets[i].qthreads);
}

/* Run the threads of all targets until the results are written. */
static int run_threads(struct run *run)
{
	pthread_t manager;
	int err = thread_start(&manager, results_main, run);

	if (err)
		return err;
	start_targets(run);
	pthread_join(manager, NULL);
	return 0;
}

/* Some threads are stuck in the kernel: they end with the process. */
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

/* Target threads first: they may still be starting their QThreads. */
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
	/*
	 * Wrong data outranks errors: a caller that looks for it must not miss it because of them.
	 */
	if (atomic_load(&run->failures.miscompares))
		return XDD_MISCOMPARE;
	return atomic_load(&run->failures.errors) || run->manager.output_failed ||
			       run->manager.stuck ?
		       XDD_IO_ERROR :
		       XDD_OK;
}

/* How the run ended, with its files closed; a run that is stuck stays as it is. */
static enum xdd_status run_conclude(struct run *run)
{
	enum xdd_status status;
	bool discard;

	io_error_summary(run);
	miscompare_summary(run);
	status = how_it_ended(run);
	if (run->manager.stuck) {
		detach_all(run);
		return status;
	}
	join_all(run);
	endtoend_release(run);
	discard = !run->begun || !run->manager.released || stop_why(&run->stop) == STOP_START;
	for (size_t i = 0; i < run->plan->n_targets; i++)
		target_close(&run->targets[i], discard);
	endtoend_conclude(run);
	return status == XDD_OK && atomic_load(&run->failures.errors) ? XDD_IO_ERROR : status;
}

/* Run a plan that is set up, unless a signal came before. */
static enum xdd_status drive(struct run *run)
{
	int err = 0;

	signals_attach(run->signals, run);
	err = hog_begin(&run->hog, run);
	if (err && err != -ECANCELED) {
		end_helpers(run);
		return XDD_INIT_FAILED;
	}
	err = 0;
	run->begun = !stop_requested(&run->stop);
	if (run->begun)
		err = run_threads(run);
	else
		report_trailer(run->report, REPORT_END_CANCELED);
	end_helpers(run);
	return err ? run_not_set_up(err) : run_conclude(run);
}

/* Free all but what threads that are stuck still use: that ends with the process. */
static void tear_down(struct run *run)
{
	end_helpers(run);
	hog_end(&run->hog);
	if (run->manager.stuck)
		return;
	endtoend_close(run);
	placement_end(&run->placement, run->signals->thread.thread);
	run_free(run);
}

enum xdd_status run_execute(const struct plan *plan, struct report *report, struct signals *signals,
			    struct globaltime_client *client, struct group *group, bool *stuck)
{
	struct run *run = calloc(1, sizeof(*run));
	enum xdd_status status;

	*stuck = false;
	if (!run) {
		ranks_leave(group, NULL, XDD_INIT_FAILED);
		return run_not_set_up(-ENOMEM);
	}
	run->group = group;
	status = set_up(run, plan, report, signals, client);
	if (!status)
		status = drive(run);
	ranks_leave(group, run, status);
	*stuck = run->manager.stuck;
	tear_down(run);
	return status;
}
