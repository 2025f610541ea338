/*
 * -throttle during a pass. Called by QThreads at both ends of a pass, by the gate, and by the
 * results manager.
 */
#include "run/coord/throttle.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "run/coord/gate.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/throttle_schedule.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define LOOK_NS 200000000
#define MISSED_SHARE 0.95  /* a rate below this share of the requested rate is reported, */
#define MISSED_NS 20000000 /* if that is more than a stall of the machine */
#define TIMER_SLACK_NS 1   /* the kernel's default of 50 us saves energy */

int throttle_open(struct qthread *q)
{
	const struct target_plan *t = q->target->plan;

	if (!throttle_is_on(t) || !t->throttle.poisson)
		return 0;
	q->throttle.arrivals = malloc(sizeof(*q->throttle.arrivals));
	return q->throttle.arrivals ? 0 : -ENOMEM;
}

void throttle_close(struct qthread *q)
{
	free(q->throttle.arrivals);
	q->throttle.arrivals = NULL;
}

void throttle_begin_pass(struct qthread *q, uint64_t start_ns)
{
	uint64_t none = 0;

	q->throttle.held_ns = 0;
	if (!throttle_is_on(q->target->plan))
		return;
	if (q->throttle.arrivals)
		throttle_arrivals(q->throttle.arrivals, q->target->plan, q->target->pass);
	/* A late QThread must not undo a move of the schedule. */
	atomic_compare_exchange_strong(&q->target->state.start_ns, &none, start_ns);
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
}

void throttle_hold(struct qthread *q, uint64_t now_ns)
{
	struct throttle_op *op = &q->throttle;

	if (op->held_ns)
		return;
	op->held_ns = now_ns;
	op->held_start_ns = atomic_load(&q->target->state.start_ns);
}

void throttle_release(struct qthread *q, uint64_t now_ns)
{
	struct throttle_op *op = &q->throttle;
	_Atomic uint64_t *start_ns = &q->target->state.start_ns;
	uint64_t due, from, start;

	if (!op->held_ns)
		return;
	due = op->held_start_ns + op->due_ns;
	from = due > op->held_ns ? due : op->held_ns;
	start = op->held_start_ns + (now_ns > from ? now_ns - from : 0);
	op->held_ns = 0;
	/* Time that several QThreads waited for together counts once. */
	if (start > atomic_load(start_ns))
		atomic_store(start_ns, start);
}

uint64_t throttle_due_at(const struct qthread *q)
{
	const struct target *t = q->target;

	if (!throttle_is_on(t->plan))
		return 0;
	return q->throttle.due_ns + atomic_load_explicit(&t->state.start_ns, memory_order_relaxed);
}

void throttle_end_pass(struct qthread *q, uint64_t end_ns)
{
	struct target *t = q->target;
	_Atomic uint64_t *paced_until_ns = &t->state.paced_until_ns;
	uint64_t until, now, known, admitted = gate_admitted(&t->gate);

	if (!throttle_is_on(t->plan))
		return;
	until = atomic_load(&t->state.start_ns) +
		throttle_span_ns(t->plan, q->throttle.arrivals, admitted);
	if (until > end_ns)
		until = end_ns;
	if (admitted >= t->plan->pass_ops)
		throttle_sleep_until(t, until);
	/* A pass that was stopped has lasted until now. */
	now = clock_now_ns();
	if (until > now)
		until = now;
	known = atomic_load(paced_until_ns);
	while (known < until && !atomic_compare_exchange_weak(paced_until_ns, &known, until))
		;
}

void throttle_extend(const struct target *t, struct tally *tally)
{
	uint64_t from = atomic_load(&t->state.paced_from_ns);
	uint64_t until = atomic_load(&t->state.paced_until_ns);

	if (!tally->last_done_ns)
		return;
	/* After a warm-up the elapsed time begins with the first operation that is measured. */
	if (plan_warms_up(t->plan))
		from = 0;
	if (from && from < tally->first_issue_ns)
		tally->first_issue_ns = from;
	if (until > tally->last_done_ns)
		tally->last_done_ns = until;
}

struct throttle_times throttle_measure(const struct target *t, const struct tally *tally)
{
	uint64_t from = atomic_load(&t->state.paced_from_ns), took = tally_elapsed_ns(tally), held;
	struct poisson arrivals;

	if (plan_warms_up(t->plan))
		from = atomic_load(&t->state.paced_measured_ns);
	if (!from)
		return (struct throttle_times){ 0 };
	held = atomic_load(&t->state.start_ns) - from;
	throttle_arrivals(&arrivals, t->plan, t->pass);
	return (struct throttle_times){
		.due_ns = throttle_span_ns(t->plan, &arrivals, tally->issued) -
			  throttle_span_ns(t->plan, &arrivals, tally->warmup_ops),
		.took_ns = took > held ? took - held : 0,
	};
}

void throttle_report(const struct run *run, const struct target_plan *t,
		     const struct throttle_times *times)
{
	const bool ops = t->throttle.by == THROTTLE_OPS;
	const char *unit = ops ? "operations per second" : "MB/s";
	double share, reached;

	if (!throttle_is_on(t) || !times->took_ns)
		return;
	share = (double)times->due_ns / (double)times->took_ns;
	reached = t->throttle.rate * share;
	report_detail(run->report, "Target %u, rate: %.2f of %.10g %s", t->number, reached,
		      t->throttle.rate, unit);
	if (share < MISSED_SHARE && times->took_ns - times->due_ns > MISSED_NS)
		report_finding(
			run->report, FINDING_RATE, t->number,
			"target %u, %s: -throttle %s %.10g: the rate was not reached, only %.2f "
			"%s; use a lower rate or a greater -queuedepth",
			t->number, t->path, ops ? "ops" : "bw", t->throttle.rate, reached, unit);
}

/* Sleep for part of a wait. False: the stop trigger is pulled. */
static bool sleep_on(struct target *t, uint64_t until_ns)
{
	if (t->gate.stop_by)
		return gate_rest(t, until_ns) == 0 || stop_requested(&t->run->stop);
	stop_sleep_until(&t->run->stop, until_ns);
	return true;
}

void throttle_sleep_until(struct target *t, uint64_t deadline_ns)
{
	uint64_t now = clock_now_ns();

	while (now < deadline_ns) {
		uint64_t left = deadline_ns - now;

		/* The end of a pass wakes no thread: poll it. */
		if (stop_requested(&t->run->stop) ||
		    atomic_load_explicit(&t->state.over, memory_order_relaxed))
			return;
		if (left > THROTTLE_SPIN_NS &&
		    !sleep_on(t, left > LOOK_NS ? now + LOOK_NS : deadline_ns - THROTTLE_SPIN_NS))
			return;
		now = clock_now_ns();
	}
}
