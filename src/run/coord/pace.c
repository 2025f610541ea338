/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pace of a pass: -throttle, for QThreads at both ends of a pass, the gate, and the results
 * manager, and rests of -snooze, for the issue loop when an operation is complete; and -stonewall.
 */
#include "run/coord/pace.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "run/coord/gate.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define LOOK_NS 200000000
#define MISSED_NS 20000000 /* a rate that was missed by less is a stall of the machine */
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
	if (100 * share < rule_table[RULE_RATE].limit && times->took_ns - times->due_ns > MISSED_NS)
		report_finding(run->report, finding_of_target(t), SAYS(RATE), ops ? "ops" : "bw",
			       t->throttle.rate, reached, unit);
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

/* A rest of three decades ends with the run, and the clock does not overflow. */
#define LONGEST_NS 1e18

uint64_t snooze_ns(struct snooze *s, const struct target_plan *plan, const struct io_request *req,
		   uint64_t done_ns)
{
	const uint64_t took_ns = done_ns > req->issue_ns ? done_ns - req->issue_ns : 0;
	double mean_ns = (double)took_ns, rest_ns;

	if (plan->snooze_percent <= 0)
		return 0;
	if (!req->error) {
		s->ops[req->dir]++;
		s->took_ns[req->dir] += took_ns;
	}
	if (s->ops[req->dir])
		mean_ns = (double)s->took_ns[req->dir] / (double)s->ops[req->dir];
	rest_ns = mean_ns * plan->snooze_percent / 100;
	return (uint64_t)(rest_ns < LONGEST_NS ? rest_ns : LONGEST_NS);
}

/*
 * -stonewall: called by QThreads at the end of a pass, by the results manager for the time, and by
 * the thread of the group for other ranks.
 *
 * An operation does not ask: the end of the pass is the same word that -maxerrors sets. The lock
 * keeps it from being set in the next pass of a target that was faster than this thread.
 */

void stonewall_init(struct stonewall *s)
{
	pthread_mutex_init(&s->lock, NULL);
}

void stonewall_destroy(struct stonewall *s)
{
	pthread_mutex_destroy(&s->lock);
}

void stonewall_lock(struct run *run)
{
	if (run->plan->stonewall.on)
		pthread_mutex_lock(&run->stonewall.lock);
}

void stonewall_unlock(struct run *run)
{
	if (run->plan->stonewall.on)
		pthread_mutex_unlock(&run->stonewall.lock);
}

static bool is_in(const struct target *t, uint64_t pass)
{
	return atomic_load(&t->pass) == pass;
}

/* Add up the work of all QThreads in the pass until now. With the lock. */
static void count_all(const struct run *run, uint64_t pass, struct tally *sum)
{
	tally_clear(sum);
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];

		for (uint32_t k = 0; is_in(t, pass) && k < t->plan->qthreads; k++)
			tally_add_counters(sum, &t->qthreads[k].counters);
	}
}

/* No operation after those that were issued, for good or until the limit is known. */
static uint64_t halt(struct target *t)
{
	if (t->run->plan->stonewall.wear_out)
		return gate_hold(t);
	atomic_store(&t->state.over, true);
	return 0;
}

/* Returns the greatest number of operations of a target. With the lock. */
static uint64_t halt_all(struct run *run, uint64_t pass)
{
	uint64_t most = 0;

	for (size_t i = 0; i < run->plan->n_targets; i++) {
		uint64_t ops = is_in(&run->targets[i], pass) ? halt(&run->targets[i]) : 0;

		most = ops > most ? ops : most;
	}
	return most;
}

void stonewall_close(struct run *run, uint64_t pass, uint32_t target)
{
	struct stonewall_moment *m = &run->stonewall.last;
	uint64_t most = 0;
	bool first;

	pthread_mutex_lock(&run->stonewall.lock);
	first = m->pass < pass;
	if (first) {
		most = halt_all(run, pass);
		m->pass = pass;
		m->target = target;
		m->limit = UINT64_MAX;
		m->at_ns = clock_now_ns();
		count_all(run, pass, &m->tally);
		for (size_t i = 0; i < run->plan->n_targets; i++)
			gate_wake(&run->targets[i]);
	}
	pthread_mutex_unlock(&run->stonewall.lock);
	if (first && run->group)
		group_wall_tell(run->group, pass, target, most);
	else if (first)
		stonewall_go_on(run, pass, most);
	if (first)
		hold(HOLD_PASS_CLOSED);
}

void stonewall_go_on(struct run *run, uint64_t pass, uint64_t ops)
{
	struct stonewall_moment *m = &run->stonewall.last;

	if (!run->plan->stonewall.wear_out)
		return;
	pthread_mutex_lock(&run->stonewall.lock);
	if (m->pass == pass) {
		m->limit = ops;
		for (size_t i = 0; i < run->plan->n_targets; i++)
			if (is_in(&run->targets[i], pass))
				gate_limit(&run->targets[i], ops);
	}
	pthread_mutex_unlock(&run->stonewall.lock);
}

void stonewall_target_begins(struct target *t)
{
	const struct stonewall_moment *m = &t->run->stonewall.last;

	if (!t->run->plan->stonewall.on || !is_in(t, m->pass))
		return;
	halt(t);
	if (t->run->plan->stonewall.wear_out && m->limit != UINT64_MAX)
		gate_limit(t, m->limit);
}

void stonewall_target_ends(struct target *t)
{
	if (t->run->plan->stonewall.on && !stop_requested(&t->run->stop))
		stonewall_close(t->run, atomic_load(&t->pass), t->plan->number);
}

bool stonewall_get(struct run *run, uint64_t pass, struct stonewall_moment *m, unsigned *rank)
{
	struct group_wall first;

	pthread_mutex_lock(&run->stonewall.lock);
	*m = run->stonewall.last;
	pthread_mutex_unlock(&run->stonewall.lock);
	*rank = group_rank(run->group);
	if (m->pass != pass)
		return false;
	if (run->group && !group_wall_wait(run->group, pass, &first)) {
		*rank = first.rank;
		m->target = first.target;
	}
	return true;
}
