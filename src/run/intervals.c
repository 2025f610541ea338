/*
 * -latency intervals. Its thread is started and ended by run_execute().
 */
#include "xdd/run/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/run/internal.h"
#include "xdd/run/thread.h"

#define BEGIN_POLL_NS 1000000 /* how often to look whether the run has begun */

static bool is_empty(const struct latency *l)
{
	struct histogram_view v = latency_view(l, LATENCY_SERVICE, LATENCY_ALL_DIRS);

	return histogram_count(&v) == 0;
}

/* What has come since the last time, for the results manager, as seconds of the run. */
static int hand_over(struct intervals *i, struct target *t, const struct latency *now,
		     uint64_t to_ns)
{
	struct interval_series *s = &i->series[t->plan->number];
	struct pass_result *r = calloc(1, sizeof(*r));
	uint64_t begin = atomic_load(&i->begin_ns);
	int err = r ? 0 : -ENOMEM;

	if (err)
		return err;
	r->interval = true;
	r->target = t->plan->number;
	r->pass = atomic_load(&t->pass);
	r->from_ns = s->from_ns > begin ? s->from_ns - begin : 0;
	r->to_ns = to_ns - begin;
	latency_init(&r->latency);
	err = latency_add(&r->latency, now);
	if (!err)
		latency_subtract(&r->latency, &s->last);
	if (err || is_empty(&r->latency))
		pass_result_free(r);
	else
		results_put(&i->run->results, r);
	return err;
}

/* End an interval of `t` now. With the lock of its series. */
static void take(struct intervals *i, struct target *t, uint64_t now_ns)
{
	struct interval_series *s = &i->series[t->plan->number];
	struct latency now;
	int err = target_latency_copy(&now, t);

	if (!err)
		err = hand_over(i, t, &now, now_ns);
	if (err) {
		latency_free(&now);
		if (run_stop(i->run, STOP_START, -err))
			log_error("-latency intervals: %s", strerror(-err));
		return;
	}
	latency_free(&s->last);
	s->last = now;
	s->from_ns = now_ns;
}

/* Sleep until `deadline_ns` of the kernel's clock. False: it is time to end. */
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

/* The clock of the kernel: between passes the other one is set, while nobody may read it. */
static void *intervals_main(void *arg)
{
	struct intervals *i = arg;
	const struct plan *plan = i->run->plan;
	uint64_t length = plan->latency.interval_ns, next, now;

	while (!atomic_load(&i->begin_ns)) {
		if (!sleep_until(i, clock_kernel_ns() + BEGIN_POLL_NS))
			return NULL;
	}
	next = atomic_load(&i->begin_ns) + length;
	while (sleep_until(i, next)) {
		for (size_t k = 0; k < plan->n_targets; k++) {
			struct interval_series *s = &i->series[k];

			pthread_mutex_lock(&s->lock);
			if (s->open)
				take(i, &i->run->targets[k], clock_kernel_ns());
			pthread_mutex_unlock(&s->lock);
		}
		/* What was slept through is one long interval. */
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

void intervals_close(struct intervals *i, struct target *t)
{
	struct interval_series *s;

	if (!i->series)
		return;
	s = &i->series[t->plan->number];
	pthread_mutex_lock(&s->lock);
	take(i, t, clock_kernel_ns());
	latency_free(&s->last);
	s->open = false;
	pthread_mutex_unlock(&s->lock);
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
	pthread_mutex_init(&i->lock, NULL);
	pthread_cond_init(&i->changed, NULL);
	err = thread_start(&i->thread, intervals_main, i);
	if (err) {
		free(i->series);
		i->series = NULL;
	}
	return err;
}

void intervals_end(struct intervals *i)
{
	if (!i->series)
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
		pthread_mutex_destroy(&i->series[k].lock);
	}
	pthread_cond_destroy(&i->changed);
	pthread_mutex_destroy(&i->lock);
	free(i->series);
	i->series = NULL;
}
