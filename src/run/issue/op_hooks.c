/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work of some runs for each operation: extended statistics, -debug io, repeats, reports of slow
 * ones, flushes, and the warm-up of a pass. Called by the issue loops, before the first clock
 * reading of an operation and after the second.
 */
#include "run/issue/op_hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "run/issue/order.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

void op_hooks_init(struct target *t)
{
	t->hooks_issue = debug_on(DEBUG_IO | DEBUG_THROTTLE | DEBUG_TOT);
	t->hooks_done = (t->run->needs & FIGURES_EXTREMES) || debug_on(DEBUG_IO);
}

void op_hook_issue(const struct qthread *q, const struct io_request *req)
{
	const struct target *t = q->target;
	const char *how = order_text(&t->order);

	if (how)
		debug_line(DEBUG_TOT,
			   "target %u QThread %u: operation %" PRIu64 " of pass %" PRIu64
			   " has its turn, %s %s",
			   t->plan->number, q->number, req->op, t->pass,
			   plan_ordering_name(t->order.mode), how);
	if (req->due_ns)
		debug_line(DEBUG_THROTTLE,
			   "target %u QThread %u: operation %" PRIu64 " of pass %" PRIu64
			   " goes %" PRId64 " ns after it was due",
			   t->plan->number, q->number, req->op, t->pass,
			   (int64_t)(clock_now_ns() - req->due_ns));
	debug_line(DEBUG_IO,
		   "target %u QThread %u: issue operation %" PRIu64 " of pass %" PRIu64
		   ", %s of %" PRIu64 " bytes at byte %" PRIu64,
		   t->plan->number, q->number, req->op, t->pass, op_dir_name(req->dir), req->size,
		   req->offset);
}

static void debug_done(const struct qthread *q, const struct io_request *req, uint64_t took_ns)
{
	const struct target *t = q->target;

	debug_print(DEBUG_IO,
		    "target %u QThread %u: done operation %" PRIu64 " of pass %" PRIu64
		    ", %s of %" PRIu64 " bytes at byte %" PRIu64 ", %" PRIu64 " bytes in %" PRIu64
		    " ns: %s",
		    t->plan->number, q->number, req->op, t->pass, op_dir_name(req->dir), req->size,
		    req->offset, req->done, took_ns,
		    !req->error		   ? "ok" :
		    req->error == -ENODATA ? "end of the target" :
					     strerror(-req->error));
}

void op_hook_done(struct qthread *q, const struct io_request *req, uint64_t took_ns)
{
	if (debug_on(DEBUG_IO))
		debug_done(q, req, took_ns);
	if ((q->target->run->needs & FIGURES_EXTREMES) && !req->error &&
	    extremes_are_met(&q->extremes, took_ns)) {
		const struct extreme o = {
			.took_ns = took_ns,
			.op = req->op,
			.offset = req->offset,
			.bytes = req->done,
			.dir = req->dir,
		};

		extremes_note(&q->extremes, &o);
	}
}

/*
 * Repeat operations that failed (-retry), report slow ones (-reportthreshold), flush
 * (-flushwrite). Called for targets with t->retry_flush, outside the two clock readings of an
 * operation except to repeat it.
 */

bool retry_flush_applies(const struct target_plan *plan)
{
	return plan->retries || plan->report_threshold_ns ||
	       (plan->flush_writes && plan_changes(plan));
}

/* The error may not occur again; the help of -retry has the list. */
static bool may_pass(int err)
{
	switch (-err) {
	case ENODATA: /* the end of the target */
	case EINVAL:
	case EFBIG:
	case EBADF:
	case EFAULT:
	case EPERM:
	case EACCES:
	case EROFS:
	case ESPIPE:
	case EOPNOTSUPP:
		return false;
	default:
		return true;
	}
}

bool retry_flush_try_again(struct qthread *q, struct io_request *req)
{
	const struct target *t = q->target;

	if (!req->error || req->tries >= t->plan->retries || !may_pass(req->error) ||
	    stop_requested(&t->run->stop))
		return false;
	req->tries++;
	req->error = 0;
	if (q->data)
		data_prepare_again(q, req);
	counters_add(&q->counters.retries, 1);
	return true;
}

void retry_flush_report(struct qthread *q, struct io_request *req, uint64_t done_ns)
{
	const struct target_plan *plan = q->target->plan;
	uint64_t took_ns = done_ns > req->issue_ns ? done_ns - req->issue_ns : 0;
	uint64_t threshold_ns = plan->report_threshold_ns;
	char took[SCALED_SIZE], more[SCALED_SIZE], threshold[SCALED_SIZE];

	req->tries = 0;
	/* A thread that is late, after a run was stopped, may find the report closed. */
	if (!threshold_ns || took_ns <= threshold_ns || stop_requested(&q->target->run->stop))
		return;
	report_line(q->target->run->report,
		    "xdd: target %u, QThread %u: slow %s of block %" PRIu64 ", at byte %" PRIu64
		    ": took %s, %s more than -reportthreshold %s",
		    plan->number, q->number, op_dir_name(req->dir), req->offset / plan->block_size,
		    req->offset, scaled_time((double)took_ns, took),
		    scaled_time((double)(took_ns - threshold_ns), more),
		    scaled_time((double)threshold_ns, threshold));
}

bool retry_flush_is_due(struct target *t, const struct io_request *req)
{
	const uint64_t every = t->plan->flush_writes;
	uint64_t n;

	if (!every || (req->dir != DIR_WRITE && req->dir != DIR_DISCARD))
		return false;
	n = atomic_fetch_add_explicit(&t->state.writes, 1, memory_order_relaxed) + 1;
	return n % every == 0 && !(t->plan->flush_between && n == t->plan->pass_ops);
}

void retry_flush_run(struct qthread *q)
{
	struct counters *c = &q->counters;
	uint64_t took_ns;

	if (stop_requested(&q->target->run->stop))
		return;
	target_drain(q, false);
	took_ns = target_flush(q->target, "-flushwrite");
	if (!plan_warms_up(q->target->plan) || q->warmup.over) {
		counters_add(&c->flush_ns, took_ns);
		counters_add(&c->flushes, 1);
		if (q->flushes.counts)
			histogram_add(&q->flushes, took_ns);
	}
	/* The final flush counts as elapsed time: until then the data is volatile. */
	counters_set(&c->last_done_ns, clock_now_ns());
}

void warmup_begin_pass(struct qthread *q, uint64_t start_ns)
{
	q->warmup = (struct warmup_state){
		.until_ns = start_ns + q->target->plan->warmup_ns,
		.from_ns = clock_now_ns(),
		.from_wait_ns = q->from_wait_ns,
	};
}

uint64_t warmup_end_ns(const struct qthread *q, uint64_t end_ns)
{
	const struct target *t = q->target;
	uint64_t from = atomic_load_explicit(&t->state.measured_ns, memory_order_relaxed);

	if (!from || !t->plan->warmup_ops || !t->plan->time_limit_ns)
		return end_ns;
	return ns_earlier(end_ns, from + t->plan->time_limit_ns);
}

/* Times that the QThread has summed up so far belong to the warm-up. */
static void forget_times(struct qthread *q)
{
	counters_set(&q->counters.fill_ns, 0);
	counters_set(&q->counters.last_done_ns, 0);
	q->apart_ns = 0;
	q->warmup.from_ns = clock_now_ns();
	if (q->target->run->needs & FIGURES_WAIT)
		q->warmup.from_wait_ns = clock_thread_wait_ns();
}

bool warmup_issue(struct qthread *q, struct io_request *req)
{
	struct target *t = q->target;
	uint64_t none = 0;

	req->warm = false;
	if (q->warmup.over)
		return false;
	req->issue_ns = clock_now_ns();
	req->warm = req->op < t->plan->warmup_ops || req->issue_ns < q->warmup.until_ns;
	if (req->warm)
		return true;
	q->warmup.over = true;
	forget_times(q);
	atomic_compare_exchange_strong(&t->state.paced_measured_ns, &none,
				       atomic_load(&t->state.start_ns));
	none = 0;
	atomic_compare_exchange_strong(&t->state.measured_ns, &none, req->issue_ns);
	return false;
}

void warmup_done(struct qthread *q, const struct io_request *req, uint64_t took_ns)
{
	if (!req->error) {
		counters_publish(&q->counters.warmup_ops, 1);
		return;
	}
	counters_add(&q->counters.errors, 1);
	if (!plan_queues(q->target->plan))
		q->apart_ns += took_ns;
	io_error(q, req);
}

void warmup_end_pass(struct qthread *q)
{
	if (plan_warms_up(q->target->plan) && !q->warmup.over)
		forget_times(q);
}
