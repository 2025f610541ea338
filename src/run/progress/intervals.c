/*
 * -intervals and -latency intervals. run_execute() starts and ends the threads.
 */
#include "run/progress/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "run/meter/results.h"
#include "run/progress/interval_take.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/units.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define BEGIN_POLL_NS 1000000 /* how often to check whether the run has begun */
#define HELD_SHARE 10	      /* an interval is held for this part of its length */

/*
 * While this many intervals wait for the results manager, and some more for each target, none is
 * added: those that follow get longer.
 */
#define WAITING_MAX 1024
#define WAITING_PER_TARGET 4

/* ---- the thread ---- */

/* Sleep until `deadline_ns` of the kernel's clock. False: the thread must end. */
static bool sleep_until(struct intervals *i, uint64_t deadline_ns)
{
	const struct timespec deadline = clock_timespec(deadline_ns);
	bool quit;

	pthread_mutex_lock(&i->lock);
	while (!i->quit && pthread_cond_clockwait(&i->changed, &i->lock, CLOCK_MONOTONIC,
						  &deadline) != ETIMEDOUT)
		;
	quit = i->quit;
	pthread_mutex_unlock(&i->lock);
	return !quit;
}

/*
 * A pass has just begun, or this thread is late: the progress since then belongs to the next
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
		struct interval_series *s = &i->series[k];

		pthread_mutex_lock(&s->lock);
		now = clock_kernel_ns();
		if (s->open && !is_short(i, s->from_ns, now))
			interval_hold(i, &s->held, interval_take_now(i, &i->run->targets[k], now));
		pthread_mutex_unlock(&s->lock);
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
		struct interval_series *s = &i->series[k];

		pthread_mutex_lock(&s->lock);
		interval_hold(i, &s->held, NULL);
		pthread_mutex_unlock(&s->lock);
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

/* Uses the kernel's clock: between passes the other clock is set, and must not be read. */
static void *intervals_main(void *arg)
{
	struct intervals *i = arg;
	uint64_t length = i->length_ns, next, now;

	while (!atomic_load(&i->begin_ns)) {
		if (!sleep_until(i, clock_kernel_ns() + BEGIN_POLL_NS))
			return NULL;
	}
	next = atomic_load(&i->begin_ns) + length;
	while (sleep_until(i, next)) {
		if (!is_congested(i))
			end_interval(i);
		if (!sleep_until(i, clock_kernel_ns() + length / HELD_SHARE))
			break;
		release_held(i);
		/* An interval that the thread slept through is part of the next one. */
		now = clock_kernel_ns();
		next += length;
		if (next <= now)
			next += (now - next) / length * length + length;
	}
	return NULL;
}

/* ---- passes ---- */

/* A pass of the target of `q` begins, and perhaps the first of those of all targets. */
static void begin_series(struct intervals *i, const struct qthread *q, uint64_t release_ns)
{
	struct interval_series *s = &i->series[q->target->plan->number];
	struct interval_sum *sum = &i->sum;

	pthread_mutex_lock(&s->lock);
	s->open = s->first = true;
	s->from_ns = release_ns;
	pthread_mutex_unlock(&s->lock);
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

	pthread_mutex_lock(&s->lock);
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
	pthread_mutex_unlock(&s->lock);
	if (was_open)
		close_sum(i, now_ns);
}

void intervals_close(struct target *t)
{
	for (int kind = 0; kind < INTERVALS_KINDS; kind++) {
		if (t->run->intervals[kind].series)
			close_series(&t->run->intervals[kind], t, NULL);
	}
}

void intervals_abandon(struct target *t, const struct figures *figures)
{
	for (int kind = 0; kind < INTERVALS_KINDS; kind++) {
		if (t->run->intervals[kind].series)
			close_series(&t->run->intervals[kind], t, figures);
	}
}

void intervals_open(struct target *t)
{
	struct intervals *i = &t->run->intervals[INTERVALS_LATENCY];
	struct interval_series *s;

	if (!i->series)
		return;
	s = &i->series[t->plan->number];
	pthread_mutex_lock(&s->lock);
	s->open = true;
	pthread_mutex_unlock(&s->lock);
}

/* ---- start and end ---- */

static int start(struct intervals *i, struct run *run, enum intervals_kind kind, uint64_t length_ns)
{
	size_t n = run->plan->n_targets;
	int err;

	if (!length_ns)
		return 0;
	i->run = run;
	i->kind = kind;
	i->length_ns = length_ns;
	i->series = calloc(n, sizeof(*i->series));
	if (!i->series)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		pthread_mutex_init(&i->series[k].lock, NULL);
		figures_init(&i->series[k].last);
	}
	i->several = n > 1;
	pthread_mutex_init(&i->sum.lock, NULL);
	figures_init(&i->sum.figures);
	i->sum.open = kind == INTERVALS_LATENCY;
	pthread_mutex_init(&i->lock, NULL);
	pthread_cond_init(&i->changed, NULL);
	err = thread_start(&i->thread, intervals_main, i);
	if (err) {
		free(i->series);
		i->series = NULL;
	}
	return err;
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
			pthread_mutex_lock(&i->series[k].lock);
			i->series[k].open = false;
			interval_hold(i, &i->series[k].held, NULL);
			pthread_mutex_unlock(&i->series[k].lock);
		}
		if (i->series)
			finish_sum(i);
	}
}

void intervals_end(struct run *run)
{
	for (int kind = 0; kind < INTERVALS_KINDS; kind++) {
		struct intervals *i = &run->intervals[kind];

		if (!i->series || i->quit)
			continue;
		pthread_mutex_lock(&i->lock);
		i->quit = true;
		pthread_cond_signal(&i->changed);
		pthread_mutex_unlock(&i->lock);
		pthread_join(i->thread, NULL);
	}
}

static void destroy(struct intervals *i)
{
	for (size_t k = 0; k < i->run->plan->n_targets; k++) {
		figures_free(&i->series[k].last);
		pass_result_free(i->series[k].held);
		pthread_mutex_destroy(&i->series[k].lock);
	}
	figures_free(&i->sum.figures);
	pass_result_free(i->sum.held);
	pthread_mutex_destroy(&i->sum.lock);
	pthread_cond_destroy(&i->changed);
	pthread_mutex_destroy(&i->lock);
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
