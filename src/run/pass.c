/*
 * The boundaries of a pass of a target. The last QThread to leave a pass, whichever it is, ends it
 * and sets up the next, while the other QThreads of the target wait at a barrier. Called by
 * qthread.c.
 */
#include "run/pass.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/stonewall.h"
#include "run/endtoend/endtoend.h"
#include "run/issue/order.h"
#include "run/meter/cache_sample.h"
#include "run/meter/qthread_latency.h"
#include "run/meter/results.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/log.h"
#include "xdd/io/access.h"
#include "xdd/plan/plan.h"
#include "xdd/report/finding.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

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

void pass_begin(struct target *t, uint64_t number)
{
	uint64_t end;

	stonewall_lock(t->run);
	atomic_fetch_add(&t->pass_seq, 1);
	atomic_store(&t->pass, number);
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
	reset_qthreads(t);
	order_begin_pass(&t->order);
	if (t->orders_sends)
		tot_reset(&t->sends);
	target_data_begin_pass(t);
	atomic_store(&t->result_pending, true);
	atomic_store(&t->active, t->plan->qthreads);
	atomic_fetch_add(&t->pass_seq, 1);
	gate_begin_pass(t);
	stonewall_target_begins(t);
	stonewall_unlock(t->run);
	intervals_open(t);
}

static void report_released(const struct target *t)
{
	uint64_t n = atomic_load(&t->state.released);

	if (n)
		report_finding(t->run->report, FINDING_GAP, t->plan->number,
			       "target %u, %s: pass %" PRIu64 " ended when operations had become "
			       "slow: %" PRIu64 " of them before the last one were not issued",
			       t->plan->number, t->plan->path, t->pass, n);
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
	} else if (run_stop(run, STOP_START, ENOMEM)) {
		log_error("target %u, %s: the results of a pass are lost: %s", t->plan->number,
			  t->plan->path, strerror(ENOMEM));
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
	intervals_close(t);
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

void pass_leave(struct qthread *q)
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
