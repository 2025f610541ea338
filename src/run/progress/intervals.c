/*
 * -latency intervals. run_execute() starts and ends the thread.
 */
#include "run/progress/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/meter/qthread_latency.h"
#include "run/meter/results.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/nstime.h"
#include "xdd/stat/histogram.h"
#include "xdd/stat/latency.h"
#include "xdd/sync/stop.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

#define BEGIN_POLL_NS 1000000 /* how often to check whether the run has begun */
#define HELD_SHARE 10	      /* an interval is held for this part of its length */

static bool is_empty(const struct latency *l)
{
	struct histogram_view v = latency_view(l, LATENCY_SERVICE, LATENCY_ALL_DIRS);

	return histogram_count(&v) == 0;
}

/*
 * Pass `r` on to the results manager; drop an interval in which nothing was completed. Accepts
 * NULL.
 */
static void put(struct intervals *i, struct pass_result *r)
{
	if (r && is_empty(&r->figures.latency))
		pass_result_free(r);
	else if (r)
		results_put(&i->run->results, r);
}

/* Hold an interval that has ended: the pass may end soon after it. */
static void hold(struct intervals *i, struct pass_result **held, struct pass_result *r)
{
	put(i, *held);
	*held = r;
}

/*
 * A pass has ended with `r`, which is part of the interval that is held, if there is one. Returns 0
 * or -ENOMEM.
 */
static int finish(struct intervals *i, struct pass_result **held, struct pass_result *r)
{
	struct pass_result *whole = *held ? *held : r;
	int err = 0;

	if (whole != r) {
		err = latency_add(&whole->figures.latency, &r->figures.latency);
		whole->to_ns = r->to_ns;
		pass_result_free(r);
	}
	*held = NULL;
	put(i, whole);
	return err;
}

static struct pass_result *new_interval(struct intervals *i, uint32_t target, uint64_t pass,
					uint64_t from_ns, uint64_t to_ns)
{
	struct pass_result *r = calloc(1, sizeof(*r));
	uint64_t begin = atomic_load(&i->begin_ns);

	if (!r)
		return NULL;
	r->interval = true;
	r->target = target;
	r->pass = pass;
	r->from_ns = from_ns > begin ? from_ns - begin : 0;
	r->to_ns = to_ns - begin;
	figures_init(&r->figures);
	return r;
}

static void fail(struct intervals *i, int err)
{
	if (run_stop(i->run, STOP_START, -err))
		log_error("-latency intervals: %s", strerror(-err));
}

/*
 * Progress of `t` since the last call, for its series and for the sum; NULL: out of memory. With
 * the lock of its series.
 */
static struct pass_result *take(struct intervals *i, struct target *t, uint64_t now_ns)
{
	struct interval_series *s = &i->series[t->plan->number];
	struct pass_result *r =
		new_interval(i, t->plan->number, atomic_load(&t->pass), s->from_ns, now_ns);
	struct latency now;
	int err = target_latency_copy(&now, t);

	if (!r && !err)
		err = -ENOMEM;
	if (!err)
		err = latency_add(&r->figures.latency, &now);
	if (err) {
		latency_free(&now);
		pass_result_free(r);
		fail(i, err);
		return NULL;
	}
	latency_subtract(&r->figures.latency, &s->last);
	latency_free(&s->last);
	s->last = now;
	s->from_ns = now_ns;
	if (i->several) {
		pthread_mutex_lock(&i->sum.lock);
		err = latency_add(&i->sum.latency, &r->figures.latency);
		pthread_mutex_unlock(&i->sum.lock);
	}
	if (err)
		fail(i, err);
	return r;
}

/* Progress of all targets since the last call; NULL: out of memory. With i->sum.lock. */
static struct pass_result *take_sum(struct intervals *i, uint64_t now_ns, uint64_t pass)
{
	const struct plan *plan = i->run->plan;
	struct interval_sum *sum = &i->sum;
	struct pass_result *r = new_interval(i, (uint32_t)plan->n_targets,
					     plan->no_barrier ? 0 : pass, sum->from_ns, now_ns);

	if (!r) {
		fail(i, -ENOMEM);
		return NULL;
	}
	r->figures.latency = sum->latency;
	latency_init(&sum->latency);
	sum->from_ns = now_ns;
	return r;
}

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
	return now_ns - from_ns < i->run->plan->latency.interval_ns / HELD_SHARE;
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
			hold(i, &s->held, take(i, &i->run->targets[k], now));
		pthread_mutex_unlock(&s->lock);
	}
	if (!i->several)
		return;
	pthread_mutex_lock(&sum->lock);
	now = clock_kernel_ns();
	if (!is_short(i, sum->from_ns, now))
		hold(i, &sum->held, take_sum(i, now, sum->closed / n + 1));
	pthread_mutex_unlock(&sum->lock);
}

/* The passes have not ended: pass on the intervals that are held as they are. */
static void release_held(struct intervals *i)
{
	for (size_t k = 0; k < i->run->plan->n_targets; k++) {
		struct interval_series *s = &i->series[k];

		pthread_mutex_lock(&s->lock);
		hold(i, &s->held, NULL);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_lock(&i->sum.lock);
	hold(i, &i->sum.held, NULL);
	pthread_mutex_unlock(&i->sum.lock);
}

/* Uses the kernel's clock: between passes the other clock is set, and must not be read. */
static void *intervals_main(void *arg)
{
	struct intervals *i = arg;
	uint64_t length = i->run->plan->latency.interval_ns, next, now;

	while (!atomic_load(&i->begin_ns)) {
		if (!sleep_until(i, clock_kernel_ns() + BEGIN_POLL_NS))
			return NULL;
	}
	next = atomic_load(&i->begin_ns) + length;
	while (sleep_until(i, next)) {
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

void intervals_begin(struct intervals *i, uint64_t release_ns)
{
	uint64_t none = 0;

	if (i->series)
		atomic_compare_exchange_strong(&i->begin_ns, &none, release_ns);
}

/* Count the end of a pass of a target; the sum ends its pass with the last target. */
static void close_sum(struct intervals *i, uint64_t now_ns)
{
	struct interval_sum *sum = &i->sum;
	const struct plan *plan = i->run->plan;
	struct pass_result *r;

	pthread_mutex_lock(&sum->lock);
	if (++sum->closed % plan->n_targets == 0 && !plan->no_barrier) {
		r = take_sum(i, now_ns, sum->closed / plan->n_targets);
		if (r && finish(i, &sum->held, r))
			fail(i, -ENOMEM);
	}
	pthread_mutex_unlock(&sum->lock);
}

void intervals_close(struct intervals *i, struct target *t)
{
	uint64_t now = clock_kernel_ns();
	struct interval_series *s;
	struct pass_result *r;

	if (!i->series)
		return;
	s = &i->series[t->plan->number];
	pthread_mutex_lock(&s->lock);
	r = take(i, t, now);
	if (r && finish(i, &s->held, r))
		fail(i, -ENOMEM);
	latency_free(&s->last);
	s->open = false;
	pthread_mutex_unlock(&s->lock);
	if (i->several)
		close_sum(i, now);
}

void intervals_open(struct intervals *i, struct target *t)
{
	struct interval_series *s;

	if (!i->series)
		return;
	s = &i->series[t->plan->number];
	pthread_mutex_lock(&s->lock);
	s->open = true;
	pthread_mutex_unlock(&s->lock);
}

int intervals_start(struct intervals *i, struct run *run)
{
	size_t n = run->plan->n_targets;
	int err;

	if (!run->plan->latency.interval_ns)
		return 0;
	i->run = run;
	i->series = calloc(n, sizeof(*i->series));
	if (!i->series)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		pthread_mutex_init(&i->series[k].lock, NULL);
		latency_init(&i->series[k].last);
	}
	i->several = n > 1;
	pthread_mutex_init(&i->sum.lock, NULL);
	latency_init(&i->sum.latency);
	pthread_mutex_init(&i->lock, NULL);
	pthread_cond_init(&i->changed, NULL);
	err = thread_start(&i->thread, intervals_main, i);
	if (err) {
		free(i->series);
		i->series = NULL;
	}
	return err;
}

void intervals_finish(struct intervals *i)
{
	struct interval_sum *sum = &i->sum;
	struct pass_result *r;

	if (!i->series)
		return;
	for (size_t k = 0; k < i->run->plan->n_targets; k++) {
		pthread_mutex_lock(&i->series[k].lock);
		i->series[k].open = false;
		hold(i, &i->series[k].held, NULL);
		pthread_mutex_unlock(&i->series[k].lock);
	}
	pthread_mutex_lock(&sum->lock);
	r = take_sum(i, clock_kernel_ns(), sum->closed / i->run->plan->n_targets + 1);
	if (r)
		finish(i, &sum->held, r);
	pthread_mutex_unlock(&sum->lock);
}

void intervals_end(struct intervals *i)
{
	if (!i->series || i->quit)
		return;
	pthread_mutex_lock(&i->lock);
	i->quit = true;
	pthread_cond_signal(&i->changed);
	pthread_mutex_unlock(&i->lock);
	pthread_join(i->thread, NULL);
}

void intervals_destroy(struct intervals *i)
{
	if (!i->series)
		return;
	for (size_t k = 0; k < i->run->plan->n_targets; k++) {
		latency_free(&i->series[k].last);
		pass_result_free(i->series[k].held);
		pthread_mutex_destroy(&i->series[k].lock);
	}
	latency_free(&i->sum.latency);
	pass_result_free(i->sum.held);
	pthread_mutex_destroy(&i->sum.lock);
	pthread_cond_destroy(&i->changed);
	pthread_mutex_destroy(&i->lock);
	free(i->series);
	i->series = NULL;
}
