/*
 * The warm-up of a pass; see the header.
 */
#include "run/issue/warmup.h"

#include <stdatomic.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/failures.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"
#include "xdd/sys/clock.h"

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

/* Times that the QThread has summed up so far are those of the warm-up. */
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
