/*
 * A target during a run: the way from one pass to the next, and what a pass amounts to. The last
 * QThread to leave a pass, whichever it is, ends it and sets up the next while all others of the target
 * wait at the barrier.
 */
#include "run/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/throttle.h"
#include "run/issue/data.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/qthread.h"
#include "run/results/look.h"
#include "run/results/qthread_latency.h"
#include "run/results/results.h"
#include "run/run_state.h"
#include "xdd/base/log.h"
#include "xdd/io/access.h"
#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/extremes.h"
#include "xdd/sync/stop.h"
#include "xdd/sys/clock.h"

int target_open_trace(struct target *t)
{
	int err = trace_open(&t->trace, t->plan, t->run->wall_ns);

	if (err && run_stop(t->run, STOP_START, -err))
		log_error("target %u, %s: -ts: a table of %.1f MiB for time stamps: %s; -ts size "
			  "<#operations> makes it smaller",
			  t->plan->number, t->plan->path,
			  (double)t->plan->trace.chunks * t->plan->trace.chunk_ops *
				  PLAN_TRACE_ENTRY_BYTES / (1u << 20),
			  strerror(-err));
	for (uint32_t i = 0; !err && t->trace.writers && i < t->plan->qthreads; i++)
		t->qthreads[i].trace = &t->trace.writers[i];
	return err;
}

/* Delays that the user requested up to pass `pass`. */
static uint64_t requested_delay_ns(const struct target *t, uint64_t pass)
{
	const struct plan *plan = t->run->plan;

	if (!plan->no_barrier)
		return t->plan->delay_ns;
	return pass * t->plan->delay_ns + (pass - 1) * plan->pass_delay_ns;
}

/* Empty what the QThreads counted in the pass before. */
static void reset_qthreads(struct target *t)
{
	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		counters_reset(&t->qthreads[i].counters);
		qthread_latency_reset(&t->qthreads[i]);
		extremes_reset(&t->qthreads[i].extremes);
	}
}

void target_begin_pass(struct target *t, uint64_t pass)
{
	atomic_fetch_add(&t->pass_seq, 1);
	atomic_store(&t->pass, pass);
	t->state = (struct pass_state){
		.open_ns = atomic_exchange(&t->next_open_ns, 0),
		.shift_ns = requested_delay_ns(t, pass),
	};
	access_init(&t->state.access, t->plan, pass);
	/* With -dropcache system the last target to get here does this for all targets: nothing is in flight then. */
	if (!t->run->plan->drop_system_cache)
		look_before_pass(t);
	reset_qthreads(t);
	order_begin_pass(&t->order);
	target_data_begin_pass(t);
	atomic_store(&t->result_pending, true);
	atomic_store(&t->active, t->plan->qthreads);
	atomic_fetch_add(&t->pass_seq, 1);
	gate_begin_pass(t);
	intervals_open(&t->run->intervals, t);
}

/* With -nobarrier nobody else sees to the delay between passes. */
static void rest_alone(struct target *t)
{
	struct run *run = t->run;
	uint64_t end = atomic_load(&run->end_ns), now = clock_now_ns(), until;

	t->more = t->pass < run->plan->passes && now < end;
	if (!t->more || !run->plan->pass_delay_ns)
		return;
	until = now + run->plan->pass_delay_ns;
	if (stop_sleep_until(&run->stop, until < end ? until : end) || until >= end)
		t->more = false;
}

/* The last target to be set up for the next pass does it for all: no other has anything under way. */
static void drop_system_cache(struct run *run)
{
	if (atomic_fetch_add(&run->ready_targets, 1) + 1 < run->plan->n_targets)
		return;
	atomic_store(&run->ready_targets, 0);
	if (run->targets[0].pass <= run->plan->passes)
		look_drop_system(run);
}

/* Get the target ready for its next pass, which is no part of any. */
static void begin_next(struct target *t)
{
	struct run *run = t->run;

	target_begin_pass(t, t->pass + 1);
	if (run->plan->drop_system_cache)
		drop_system_cache(run);
}

static void report_released(const struct target *t)
{
	uint64_t n = atomic_load(&t->state.released);

	if (n)
		log_warning("target %u, %s: pass %" PRIu64 " ended when operations had become "
			    "slow: %" PRIu64 " of them before the last one were not issued",
			    t->plan->number, t->plan->path, t->pass, n);
}

void target_end_pass(struct target *t)
{
	struct pass_result *r;

	gate_end_pass(t);
	intervals_close(&t->run->intervals, t);
	r = target_snapshot(t);
	if (!atomic_exchange(&t->result_pending, false)) {
		pass_result_free(r); /* it came so late that the run ended without */
	} else if (r) {
		report_released(t);
		heartbeat_pass_done(&t->run->heartbeat, t, &r->figures.tally, &r->figures.latency);
		if (t->run->plan->no_barrier)
			heartbeat_pass_closed(&t->run->heartbeat, true);
		results_put(&t->run->results, r);
	} else if (run_stop(t->run, STOP_START, ENOMEM)) {
		log_error("target %u, %s: the results of a pass are lost: %s", t->plan->number,
			  t->plan->path, strerror(ENOMEM));
	}
	if (t->run->plan->no_barrier)
		rest_alone(t);
	/*
	 * Once the run stops there is no next pass, and the results manager may be looking: an answer
	 * that comes late must change nothing any more.
	 */
	if (stop_requested(&t->run->stop))
		return;
	begin_next(t);
}
