/*
 * Pacing. Called by QThreads: at both ends of a pass, and before operations that are not due yet; and by the results
 * manager.
 */
#include "run/coord/throttle.h"

#include <errno.h>
#include <sys/prctl.h>

#include "run/coord/gate.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"

#define LOOK_NS 200000000
#define MISSED_SHARE 0.95  /* a rate below this share of what was asked for is reported, */
#define MISSED_NS 20000000 /* if that is more than a stall of the machine */
#define TIMER_SLACK_NS 1   /* the kernel's default of 50 us is to save energy */

void throttle_begin_pass(struct qthread *q, uint64_t start_ns)
{
	uint64_t none = 0;

	q->held_ns = 0;
	if (!throttle_is_on(q->target->plan))
		return;
	/* A QThread that comes late must not undo what others have moved. */
	atomic_compare_exchange_strong(&q->target->state.start_ns, &none, start_ns);
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
}

void throttle_hold(struct qthread *q, uint64_t now_ns)
{
	if (q->held_ns)
		return;
	q->held_ns = now_ns;
	q->held_start_ns = atomic_load(&q->target->state.start_ns);
}

void throttle_release(struct qthread *q, uint64_t n, uint64_t now_ns)
{
	struct target *t = q->target;
	uint64_t due, from, start;

	if (!q->held_ns)
		return;
	due = q->held_start_ns + throttle_due_ns(t->plan, n);
	from = due > q->held_ns ? due : q->held_ns;
	start = q->held_start_ns + (now_ns > from ? now_ns - from : 0);
	q->held_ns = 0;
	/* What several QThreads waited for at a time counts once. */
	if (start > atomic_load(&t->state.start_ns))
		atomic_store(&t->state.start_ns, start);
}

void throttle_end_pass(struct qthread *q, uint64_t end_ns)
{
	struct target *t = q->target;
	uint64_t until, now, known, granted = atomic_load(&t->gate.granted);

	if (!throttle_is_on(t->plan))
		return;
	until = atomic_load(&t->state.start_ns) + throttle_span_ns(t->plan, granted);
	if (until > end_ns)
		until = end_ns;
	if (granted >= t->plan->pass_ops)
		throttle_sleep_until(t, until);
	/* A pass that was stopped has lasted until now. */
	now = clock_now_ns();
	if (until > now)
		until = now;
	known = atomic_load(&t->state.paced_until_ns);
	while (known < until &&
	       !atomic_compare_exchange_weak(&t->state.paced_until_ns, &known, until))
		;
}

void throttle_extend(const struct target *t, struct tally *tally)
{
	uint64_t from = atomic_load(&t->state.paced_from_ns),
		 until = atomic_load(&t->state.paced_until_ns);

	if (!tally->last_done_ns)
		return;
	if (from && from < tally->first_issue_ns)
		tally->first_issue_ns = from;
	if (until > tally->last_done_ns)
		tally->last_done_ns = until;
}

struct throttle_times throttle_measure(const struct target *t, const struct tally *tally)
{
	uint64_t from = atomic_load(&t->state.paced_from_ns), took = tally_elapsed_ns(tally), held;

	if (!from)
		return (struct throttle_times){ 0 };
	held = atomic_load(&t->state.start_ns) - from;
	return (struct throttle_times){
		.due_ns = throttle_span_ns(t->plan, tally->issued),
		.took_ns = took > held ? took - held : 0,
	};
}

void throttle_report(const struct run *run, const struct target_plan *t,
		     const struct throttle_times *paced)
{
	const bool ops = t->throttle.by == THROTTLE_OPS;
	const char *unit = ops ? "operations per second" : "MB/s";
	double share, reached;

	if (!throttle_is_on(t) || !paced->took_ns)
		return;
	share = (double)paced->due_ns / (double)paced->took_ns;
	reached = t->throttle.rate * share;
	report_detail(run->report, "Target %u, rate: %.2f of %.10g %s", t->number, reached,
		      t->throttle.rate, unit);
	if (share < MISSED_SHARE && paced->took_ns - paced->due_ns > MISSED_NS)
		log_warning(
			"target %u, %s: -throttle %s %.10g: the rate was not reached, only %.2f "
			"%s; use a lower rate or a greater -queuedepth",
			t->number, t->path, ops ? "ops" : "bw", t->throttle.rate, reached, unit);
}

/* Sleep for part of a wait. False: the stop trigger was pulled, which the gate answers for from now on. */
static bool sleep_on(struct target *t, uint64_t until_ns)
{
	if (t->gate.stop_by)
		return gate_rest(t, until_ns) == 0 || stop_requested(&t->run->stop);
	stop_sleep_until(&t->run->stop, until_ns);
	return true;
}

int throttle_sleep_until(struct target *t, uint64_t deadline_ns)
{
	struct stop *stop = &t->run->stop;
	uint64_t now = clock_now_ns();

	while (now < deadline_ns) {
		uint64_t left = deadline_ns - now;

		/* Nobody is woken when a pass is over: that is looked at now and then. */
		if (stop_requested(stop) ||
		    atomic_load_explicit(&t->state.over, memory_order_relaxed))
			return -ECANCELED;
		if (left > THROTTLE_SPIN_NS &&
		    !sleep_on(t, left > LOOK_NS ? now + LOOK_NS : deadline_ns - THROTTLE_SPIN_NS))
			return 0;
		now = clock_now_ns();
	}
	return 0;
}
