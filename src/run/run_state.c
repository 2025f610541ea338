/*
 * Creation and destruction of the state of a run. Called by run_execute(); run_stop() by any
 * thread.
 */
#include "run/run_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/throttle.h"
#include "run/endtoend/endtoend.h"
#include "run/issue/op_hooks.h"
#include "run/issue/order.h"
#include "run/issue/retry_flush.h"
#include "run/issue/tot.h"
#include "run/issue/trace.h"
#include "run/meter/cache_sample.h"
#include "run/meter/qthread_latency.h"
#include "run/qthread.h"
#include "run/target.h"
#include "run/target/data.h"
#include "xdd/report/sink.h"
#include "xdd/sys/clock.h"

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

int run_init(struct run *run, const struct plan *plan, struct report *report,
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

void run_free(struct run *run)
{
	for (size_t i = 0; run->targets && i < run->plan->n_targets; i++)
		free_target(&run->targets[i]);
	gate_destroy(run);
	free(run->targets);
	heartbeat_destroy(&run->heartbeat);
	intervals_destroy(run);
	stonewall_destroy(&run->stonewall);
	stop_destroy(&run->stop);
	results_destroy(&run->results);
	guard_release(&run->guard);
	free(run);
}
