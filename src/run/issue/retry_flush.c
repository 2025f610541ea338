/*
 * Repeat operations that failed (-retry), report slow ones (-reportthreshold), flush (-flushwrite).
 * Called by the issue loop for targets with t->retry_flush, outside the two clock readings of an
 * operation except to repeat it.
 */
#include "run/issue/retry_flush.h"

#include <errno.h>
#include <inttypes.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

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

	req->tries = 0;
	/* A thread that is late, after a run was stopped, may find the report closed. */
	if (!threshold_ns || took_ns <= threshold_ns || stop_requested(&q->target->run->stop))
		return;
	report_line(
		q->target->run->report,
		"xdd: Target number %u Worker Thread %u: INFO: Threshold, %.3f, exceeded by, %.3f, "
		"microseconds, IO time was, %.3f, usec on block, %" PRIu64
		", byte offset, %" PRIu64,
		plan->number, q->number, (double)threshold_ns / NS_PER_US,
		(double)(took_ns - threshold_ns) / NS_PER_US, (double)took_ns / NS_PER_US,
		req->offset / plan->block_size, req->offset);
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
	/* That of the last writes is part of the elapsed time: their data was not safe before. */
	counters_set(&c->last_done_ns, clock_now_ns());
}
