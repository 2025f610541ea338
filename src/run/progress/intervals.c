/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -intervals and -latency intervals, and the way of each interval to the results manager. The
 * sampler ends them.
 */
#include "run/progress/intervals.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

static bool is_empty(const struct latency *l)
{
	struct histogram_view v = latency_view(l, LATENCY_SERVICE, LATENCY_ALL_DIRS);

	return histogram_count(&v) == 0 && l->flushes.n == 0;
}

/*
 * Pass `r` on to the results manager; -latency drops an interval in which nothing was completed.
 * Accepts NULL.
 */
static void interval_take_put(struct intervals *i, struct pass_result *r)
{
	if (!r)
		return;
	if (i->kind == INTERVALS_LATENCY && is_empty(&r->figures.latency)) {
		pass_result_free(r);
		return;
	}
	r->partial = (r->first || r->last) && r->to_ns - r->from_ns < i->length_ns;
	results_put(&i->run->results, r);
}

/* Hold interval `r`, which has ended: the pass may end soon after it. Pass on the one before. */
static void interval_hold(struct intervals *i, struct pass_result **held, struct pass_result *r)
{
	interval_take_put(i, *held);
	*held = r;
}

/*
 * A pass has ended with `r`, which is part of the interval that is held, if there is one. Returns 0
 * or -ENOMEM.
 */
static int interval_finish(struct intervals *i, struct pass_result **held, struct pass_result *r)
{
	struct pass_result *whole = *held ? *held : r;
	int err = 0;

	if (whole != r) {
		err = latency_add(&whole->figures.latency, &r->figures.latency);
		tally_add(&whole->figures.tally, &r->figures.tally);
		whole->to_ns = r->to_ns;
		pass_result_free(r);
	}
	whole->last = true;
	*held = NULL;
	interval_take_put(i, whole);
	return err;
}

static struct pass_result *new_interval(struct intervals *i, uint32_t target, uint64_t pass,
					uint64_t from_ns, uint64_t to_ns)
{
	struct pass_result *r = calloc(1, sizeof(*r));
	uint64_t begin = atomic_load(&i->begin_ns);

	if (!r)
		return NULL;
	r->interval = i->kind == INTERVALS_SERIES ? RESULT_INTERVAL : RESULT_LATENCY_INTERVAL;
	r->target = target;
	r->pass = pass;
	r->from_ns = from_ns > begin ? from_ns - begin : 0;
	r->to_ns = to_ns > begin ? to_ns - begin : 0;
	if (r->to_ns < r->from_ns)
		r->to_ns = r->from_ns;
	figures_init(&r->figures);
	return r;
}

/* End the run: -errno `err`. Any thread. */
static void intervals_fail(struct intervals *i, int err)
{
	if (run_stop(i->run, STOP_START, -err))
		log_error("%s: %s",
			  i->kind == INTERVALS_SERIES ? "-intervals" : "-latency intervals",
			  strerror(-err));
}

/* The first interval of a pass begins with its first measured operation, at clock `first_ns`. */
static void begin_measured(const struct intervals *i, struct pass_result *r, uint64_t first_ns)
{
	uint64_t begin = atomic_load(&i->begin_ns);

	if (first_ns == UINT64_MAX || first_ns < begin || first_ns - begin > r->to_ns)
		return;
	if (first_ns - begin > r->from_ns)
		r->from_ns = first_ns - begin;
}

/* Add the progress of a target to the progress of all. Returns 0 or -ENOMEM. */
static int add_to_sum(struct intervals *i, const struct figures *progress)
{
	int err;

	if (!i->several)
		return 0;
	pthread_mutex_lock(&i->sum.lock);
	tally_add(&i->sum.figures.tally, &progress->tally);
	err = latency_add(&i->sum.figures.latency, &progress->latency);
	pthread_mutex_unlock(&i->sum.lock);
	return err;
}

/*
 * Progress of `t` since the last call, for its series and for the sum. `now` is its progress in the
 * pass, which the series owns from now on. NULL: out of memory.
 */
static struct pass_result *interval_take(struct intervals *i, struct target *t, struct figures *now,
					 uint64_t now_ns)
{
	struct interval_series *s = &i->series[t->plan->number];
	struct pass_result *r =
		new_interval(i, t->plan->number, atomic_load(&t->pass), s->from_ns, now_ns);
	int err = r ? latency_add(&r->figures.latency, &now->latency) : -ENOMEM;

	if (err) {
		figures_free(now);
		pass_result_free(r);
		intervals_fail(i, err);
		return NULL;
	}
	r->first = s->first;
	s->first = false;
	if (r->first && plan_warms_up(t->plan))
		begin_measured(i, r, now->tally.first_issue_ns);
	tally_add(&r->figures.tally, &now->tally);
	tally_subtract(&r->figures.tally, &s->last.tally);
	latency_subtract(&r->figures.latency, &s->last.latency);
	figures_free(&s->last);
	s->last = *now;
	s->from_ns = now_ns;
	err = add_to_sum(i, &r->figures);
	if (err)
		intervals_fail(i, err);
	return r;
}

/* As interval_take(), with the progress that its QThreads have made up to now. */
static struct pass_result *interval_take_now(struct intervals *i, struct target *t, uint64_t now_ns)
{
	struct figures now;
	int err = target_progress_copy(&now, t);

	/* Intervals of the warm-up have no rows. */
	if (!err && plan_warms_up(t->plan) && now.tally.first_issue_ns == UINT64_MAX) {
		figures_free(&now);
		i->series[t->plan->number].from_ns = now_ns;
		return NULL;
	}
	if (!err)
		return interval_take(i, t, &now, now_ns);
	figures_free(&now);
	intervals_fail(i, err);
	return NULL;
}

static bool any_warms_up(const struct plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		any |= plan_warms_up(&plan->targets[i]);
	return any;
}

/* Progress of all targets since the last call, in `pass`. NULL: out of memory. */
static struct pass_result *interval_take_sum(struct intervals *i, uint64_t now_ns, uint64_t pass)
{
	const struct plan *plan = i->run->plan;
	struct interval_sum *sum = &i->sum;
	struct pass_result *r;

	/* No target measures yet, or all were still warming up when the pass ended. */
	if (sum->first && any_warms_up(plan) && !tally_bytes(&sum->figures.tally) &&
	    !tally_ops(&sum->figures.tally)) {
		sum->from_ns = now_ns;
		return NULL;
	}
	r = new_interval(i, (uint32_t)plan->n_targets, plan->no_barrier ? 0 : pass, sum->from_ns,
			 now_ns);
	if (!r) {
		intervals_fail(i, -ENOMEM);
		return NULL;
	}
	r->first = sum->first;
	sum->first = false;
	if (r->first && any_warms_up(plan))
		begin_measured(i, r, sum->figures.tally.first_issue_ns);
	r->figures = sum->figures;
	figures_init(&sum->figures);
	sum->from_ns = now_ns;
	return r;
}

#define BEGIN_POLL_NS 1000000 /* how often to check whether the run has begun */
#define HELD_SHARE 10	      /* an interval is held for this part of its length */

/*
 * While this many intervals wait for the results manager, and some more for each target, none is
 * added: those that follow get longer.
 */
#define WAITING_MAX 1024
#define WAITING_PER_TARGET 4

/* ---- the sampler ---- */

/*
 * A pass has just begun, or the sampler is late: the progress since then belongs to the next
 * interval.
 */
static bool is_short(const struct intervals *i, uint64_t from_ns, uint64_t now_ns)
{
	return now_ns < from_ns + i->length_ns / HELD_SHARE;
}

/* End an interval of all targets. */
static void end_interval(struct intervals *i)
{
	struct interval_sum *sum = &i->sum;
	size_t n = i->run->plan->n_targets;
	uint64_t now;

	for (size_t k = 0; k < n; k++) {
		struct target *t = &i->run->targets[k];
		struct interval_series *s = &i->series[k];

		pthread_mutex_lock(&t->sample_lock);
		now = clock_kernel_ns();
		if (s->open && !is_short(i, s->from_ns, now))
			interval_hold(i, &s->held, interval_take_now(i, t, now));
		pthread_mutex_unlock(&t->sample_lock);
	}
	if (!i->several)
		return;
	pthread_mutex_lock(&sum->lock);
	now = clock_kernel_ns();
	if (sum->open && !is_short(i, sum->from_ns, now))
		interval_hold(i, &sum->held, interval_take_sum(i, now, sum->closed / n + 1));
	pthread_mutex_unlock(&sum->lock);
}

/* The passes have not ended: pass on the intervals that are held as they are. */
static void release_held(struct intervals *i)
{
	for (size_t k = 0; k < i->run->plan->n_targets; k++) {
		pthread_mutex_t *lock = &i->run->targets[k].sample_lock;

		pthread_mutex_lock(lock);
		interval_hold(i, &i->series[k].held, NULL);
		pthread_mutex_unlock(lock);
	}
	pthread_mutex_lock(&i->sum.lock);
	interval_hold(i, &i->sum.held, NULL);
	pthread_mutex_unlock(&i->sum.lock);
}

/* True if an output does not accept intervals as fast as they end. */
static bool is_congested(const struct intervals *i)
{
	size_t max = WAITING_MAX + WAITING_PER_TARGET * i->run->plan->n_targets;

	return results_waiting_intervals(&i->run->results) > max;
}

/*
 * End an interval, or pass on those that were held since the one before ended. An interval that the
 * sampler slept through is part of the next one.
 */
static uint64_t intervals_turn(void *arg)
{
	struct intervals *i = arg;
	const uint64_t length = i->length_ns, begin = atomic_load(&i->begin_ns);
	uint64_t now;

	if (!begin)
		return clock_kernel_ns() + BEGIN_POLL_NS;
	if (!i->next_ns)
		return i->next_ns = begin + length;
	i->holding = !i->holding;
	if (i->holding) {
		if (!is_congested(i))
			end_interval(i);
		return clock_kernel_ns() + length / HELD_SHARE;
	}
	release_held(i);
	now = clock_kernel_ns();
	i->next_ns += length;
	if (i->next_ns <= now)
		i->next_ns += (now - i->next_ns) / length * length + length;
	return i->next_ns;
}

/* ---- passes ---- */

/* A pass of the target of `q` begins, and perhaps the first of all targets. */
static void begin_series(struct intervals *i, const struct qthread *q, uint64_t release_ns)
{
	struct interval_series *s = &i->series[q->target->plan->number];
	struct interval_sum *sum = &i->sum;

	pthread_mutex_lock(&q->target->sample_lock);
	s->open = s->first = true;
	s->from_ns = release_ns;
	pthread_mutex_unlock(&q->target->sample_lock);
	pthread_mutex_lock(&sum->lock);
	if (!sum->open) {
		sum->open = sum->first = true;
		sum->from_ns = release_ns;
	}
	pthread_mutex_unlock(&sum->lock);
}

void intervals_begin(const struct qthread *q, uint64_t release_ns)
{
	struct run *run = q->target->run;

	for (int kind = 0; kind < INTERVALS_KINDS; kind++) {
		struct intervals *i = &run->intervals[kind];
		uint64_t none = 0;

		if (!i->series)
			continue;
		atomic_compare_exchange_strong(&i->begin_ns, &none, release_ns);
		/* One of them: the others do not wait for a lock while the pass begins. */
		if (kind == INTERVALS_SERIES && q->number == 0)
			begin_series(i, q, release_ns);
	}
}

/* Count the end of a pass of a target; the sum ends its pass with the last target. */
static void close_sum(struct intervals *i, uint64_t now_ns)
{
	struct interval_sum *sum = &i->sum;
	const struct plan *plan = i->run->plan;
	struct pass_result *r;

	if (!i->several)
		return;
	pthread_mutex_lock(&sum->lock);
	sum->closed_ns = now_ns;
	if (++sum->closed % plan->n_targets == 0 && !plan->no_barrier) {
		r = interval_take_sum(i, now_ns, sum->closed / plan->n_targets);
		if (r && interval_finish(i, &sum->held, r))
			intervals_fail(i, -ENOMEM);
		if (i->kind == INTERVALS_SERIES)
			sum->open = false;
	}
	pthread_mutex_unlock(&sum->lock);
}

/* End the pass of `t`: with `figures`, or, where that is NULL, with what its QThreads counted. */
static void close_series(struct intervals *i, struct target *t, const struct figures *figures)
{
	struct interval_series *s = &i->series[t->plan->number];
	uint64_t now_ns = clock_kernel_ns();
	struct pass_result *r = NULL;
	struct figures now;
	bool was_open;

	pthread_mutex_lock(&t->sample_lock);
	was_open = s->open;
	if (was_open && figures) {
		figures_init(&now);
		tally_add(&now.tally, &figures->tally);
		if (latency_add(&now.latency, &figures->latency))
			intervals_fail(i, -ENOMEM);
		r = interval_take(i, t, &now, now_ns);
	} else if (was_open) {
		r = interval_take_now(i, t, now_ns);
	}
	if (r && interval_finish(i, &s->held, r))
		intervals_fail(i, -ENOMEM);
	figures_free(&s->last);
	figures_init(&s->last);
	s->open = false;
	pthread_mutex_unlock(&t->sample_lock);
	if (was_open)
		close_sum(i, now_ns);
}

void intervals_close(struct target *t, const struct figures *figures)
{
	for (int kind = 0; kind < INTERVALS_KINDS; kind++) {
		if (t->run->intervals[kind].series)
			close_series(&t->run->intervals[kind], t, figures);
	}
}

void intervals_open(struct target *t)
{
	struct intervals *i = &t->run->intervals[INTERVALS_LATENCY];

	if (!i->series)
		return;
	pthread_mutex_lock(&t->sample_lock);
	i->series[t->plan->number].open = true;
	pthread_mutex_unlock(&t->sample_lock);
}

/* ---- start and end ---- */

static int start(struct intervals *i, struct run *run, enum intervals_kind kind, uint64_t length_ns)
{
	size_t n = run->plan->n_targets;

	if (!length_ns)
		return 0;
	i->run = run;
	i->kind = kind;
	i->length_ns = length_ns;
	i->series = calloc(n, sizeof(*i->series));
	if (!i->series)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		figures_init(&i->series[k].last);
	i->several = n > 1;
	pthread_mutex_init(&i->sum.lock, NULL);
	figures_init(&i->sum.figures);
	i->sum.open = kind == INTERVALS_LATENCY;
	ticker_add(&run->sampler, intervals_turn, i, 0);
	return 0;
}

int intervals_start(struct run *run)
{
	const struct plan *plan = run->plan;
	int err = start(&run->intervals[INTERVALS_LATENCY], run, INTERVALS_LATENCY,
			plan->latency.interval_ns);

	return err ? err :
		     start(&run->intervals[INTERVALS_SERIES], run, INTERVALS_SERIES,
			   plan->intervals.length_ns);
}

/* Pass on the last interval of all targets, and let none follow. */
static void finish_sum(struct intervals *i)
{
	struct interval_sum *sum = &i->sum;
	struct pass_result *r = NULL;
	uint64_t end_ns;

	pthread_mutex_lock(&sum->lock);
	end_ns = sum->closed_ns > sum->from_ns ? sum->closed_ns : sum->from_ns;
	if (sum->open && i->several)
		r = interval_take_sum(i, end_ns, sum->closed / i->run->plan->n_targets + 1);
	if (r && r->from_ns == r->to_ns && !tally_ops(&r->figures.tally)) {
		pass_result_free(r);
		r = NULL;
	}
	if (r)
		interval_finish(i, &sum->held, r);
	else
		interval_hold(i, &sum->held, NULL);
	sum->open = false;
	pthread_mutex_unlock(&sum->lock);
}

void intervals_finish(struct run *run)
{
	for (int kind = 0; kind < INTERVALS_KINDS; kind++) {
		struct intervals *i = &run->intervals[kind];

		for (size_t k = 0; i->series && k < run->plan->n_targets; k++) {
			pthread_mutex_lock(&run->targets[k].sample_lock);
			i->series[k].open = false;
			interval_hold(i, &i->series[k].held, NULL);
			pthread_mutex_unlock(&run->targets[k].sample_lock);
		}
		if (i->series)
			finish_sum(i);
	}
}

static void destroy(struct intervals *i)
{
	for (size_t k = 0; k < i->run->plan->n_targets; k++) {
		figures_free(&i->series[k].last);
		pass_result_free(i->series[k].held);
	}
	figures_free(&i->sum.figures);
	pass_result_free(i->sum.held);
	pthread_mutex_destroy(&i->sum.lock);
	free(i->series);
	i->series = NULL;
}

void intervals_destroy(struct run *run)
{
	for (int kind = 0; kind < INTERVALS_KINDS; kind++) {
		if (run->intervals[kind].series)
			destroy(&run->intervals[kind]);
	}
}
