/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result of a pass of a target, from what its QThreads counted, and its way to the results
 * manager. Called by the last QThread to leave a pass, and by the results manager, also for a pass
 * that was not finished.
 */
#include <errno.h>
#include <stdlib.h>

#include "run/coord/pace.h"
#include "run/meter/meter.h"
#include "run/meter/results.h"
#include "run/meter/sample.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"

void pass_result_free(struct pass_result *r)
{
	if (!r)
		return;
	free(r->flow);
	free(r->endtoend);
	figures_free(&r->figures);
	for (uint32_t i = 0; i < r->n_queues; i++)
		figures_free(&r->queues[i]);
	free(r);
}

/* The transfers of all QThreads of a quiescent target over time; NULL when these were not kept. */
static struct flow *merged_flow(const struct target *t)
{
	struct flow *flow = t->qthreads[0].flow ? malloc(sizeof(*flow)) : NULL;

	if (!flow)
		return NULL;
	flow_begin(flow, t->qthreads[0].flow->origin_ns);
	for (uint32_t i = 0; i < t->plan->qthreads; i++)
		flow_merge(flow, t->qthreads[i].flow);
	return flow;
}

/*
 * The flush at the end of the pass, which follows its last operation as soon as engines allow it.
 */
static void add_sync(struct tally *tally, const struct target *t)
{
	const uint64_t sync_ns = atomic_load(&t->state.sync_ns);

	tally->flushes += atomic_load(&t->state.syncs);
	tally->flush_ns += sync_ns;
	if (!tally->last_done_ns)
		return;
	tally->sync_ns = sync_ns;
	tally->last_done_ns += sync_ns;
}

/*
 * The source of a copy ends with the confirmation: until then some of the data is in buffers of the
 * network.
 */
static void add_confirmation(struct tally *tally, const struct target *t)
{
	const uint64_t confirmed_ns = atomic_load(&t->state.confirmed_ns);

	if (tally->last_done_ns && confirmed_ns > tally->last_done_ns)
		tally->last_done_ns = confirmed_ns;
}

static unsigned known_of(const struct target *t)
{
	unsigned order = plan_knows_order(t->plan) ? 0 : FIGURES_ORDER;
	unsigned of_others = FIGURES_DESKEW;

	if (t->plan->endtoend.role == E2E_NONE)
		of_others |= FIGURES_NETWORK | FIGURES_LAG;
	else if (t->plan->endtoend.role == E2E_SOURCE)
		of_others |= FIGURES_LAG;

	return (t->run->needs | (t->run->needs & FIGURES_LATENCY ? FIGURES_PERCENTILES : 0) |
		FIGURES_CPU | FIGURES_NETWORK | FIGURES_LAG) &
	       ~(order | of_others);
}

static struct cpu_time cpu_of(const struct qthread *q, const struct tally *tally)
{
	return cputime_within(&q->cpu, tally->first_issue_ns, tally->last_done_ns);
}

static uint64_t wait_of(const struct qthread *q, const struct tally *tally, struct cpu_time cpu)
{
	return cputime_waited(q, tally->first_issue_ns, tally->last_done_ns, cpu);
}

/*
 * Add the figures of QThread `q` to the pass, and to the figures of the QThreads where they are
 * kept. Returns 0 or -ENOMEM.
 */
static int add_queue(struct pass_result *r, const struct target *t, const struct qthread *q)
{
	struct figures *own = r->n_queues ? &r->queues[q->number] : &(struct figures){ 0 };
	int err;

	figures_init(own);
	own->known = known_of(t);
	tally_add_counters(&own->tally, &q->counters);
	own->extremes = extremes_read(&q->extremes, r->target, r->pass);
	err = qthread_latency_add(&own->latency, q);
	if (!err)
		err = figures_add(&r->figures, own);
	own->lag_ns = own->tally.net_wait_ns;
	throttle_extend(t, &own->tally);
	figures_set_elapsed(own);
	if (!r->n_queues)
		figures_free(own);
	return err;
}

/* Processor time in the elapsed time of the pass, and of each QThread in its own. */
static void add_cpu(struct pass_result *r, const struct target *t)
{
	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		const struct qthread *q = &t->qthreads[i];
		struct cpu_time cpu = cpu_of(q, &r->figures.tally);

		r->figures.cpu.user_ns += cpu.user_ns;
		r->figures.cpu.sys_ns += cpu.sys_ns;
		r->figures.wait_ns += wait_of(q, &r->figures.tally, cpu);
		if (!r->n_queues)
			continue;
		r->queues[i].cpu = cpu_of(q, &r->queues[i].tally);
		r->queues[i].wait_ns = wait_of(q, &r->queues[i].tally, r->queues[i].cpu);
	}
}

static void forget_cpu(struct pass_result *r)
{
	const unsigned unknown = FIGURES_CPU | FIGURES_WAIT;

	r->figures.known &= ~unknown;
	for (uint32_t i = 0; i < r->n_queues; i++)
		r->queues[i].known &= ~unknown;
}

/* The part of the figures that belongs to the target as a whole. Returns 0 or -ENOMEM. */
static int add_target(struct pass_result *r, const struct target *t)
{
	struct figures *f = &r->figures;

	f->first_op_ns = atomic_load(&t->state.first_op_ns);
	cache_sample_state(t, f->tally.issued, &f->cache);
	r->first_issue_ns = f->tally.first_issue_ns;
	throttle_extend(t, &f->tally);
	r->paced = throttle_measure(t, &f->tally);
	add_sync(&f->tally, t);
	add_confirmation(&f->tally, t);
	f->tally.open_ns = atomic_load(&t->state.open_ns);
	f->tally.close_ns = atomic_load(&t->state.close_ns);
	figures_set_elapsed(f);
	r->partial = stop_requested(&t->run->stop) &&
		     tally_ops(&f->tally) + f->tally.errors + f->tally.warmup_ops <
			     t->plan->pass_ops;
	return histogram_sum_add_live(&f->latency.flushes, &t->syncs);
}

struct pass_result *target_snapshot(const struct target *t)
{
	uint32_t n = t->run->needs & FIGURES_QTHREADS ? t->plan->qthreads : 0;
	struct pass_result *r = calloc(1, sizeof(*r) + n * sizeof(r->queues[0]));
	bool quiescent = atomic_load(&t->active) == 0;

	if (!r)
		return NULL;
	r->target = t->plan->number;
	r->pass = t->pass;
	r->shift_ns = t->state.shift_ns;
	r->flow = quiescent ? merged_flow(t) : NULL;
	r->n_queues = n;
	figures_init(&r->figures);
	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		if (add_queue(r, t, &t->qthreads[i])) {
			pass_result_free(r);
			return NULL;
		}
	}
	if (add_target(r, t)) {
		pass_result_free(r);
		return NULL;
	}
	/* A QThread that is stuck has not stored what it used, and may store it at any moment. */
	if (quiescent)
		add_cpu(r, t);
	else
		forget_cpu(r);
	return r;
}

int results_init(struct results_queue *q, uint32_t alive)
{
	int err = pthread_mutex_init(&q->lock, NULL);

	if (err)
		return -err;
	err = pthread_cond_init(&q->changed, NULL);
	if (err) {
		pthread_mutex_destroy(&q->lock);
		return -err;
	}
	q->first = NULL;
	q->tail = &q->first;
	q->alive = alive;
	atomic_init(&q->settling, 0);
	return 0;
}

void results_destroy(struct results_queue *q)
{
	if (!q->tail)
		return;
	while (q->first) {
		struct pass_result *r = q->first;

		q->first = r->next;
		pass_result_free(r);
	}
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
}

void results_put(struct results_queue *q, struct pass_result *r)
{
	pthread_mutex_lock(&q->lock);
	*q->tail = r;
	q->tail = &r->next;
	q->intervals += r->interval != RESULT_NO_INTERVAL;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

size_t results_waiting_intervals(struct results_queue *q)
{
	size_t n;

	pthread_mutex_lock(&q->lock);
	n = q->intervals;
	pthread_mutex_unlock(&q->lock);
	return n;
}

void results_gone(struct results_queue *q, uint32_t n)
{
	pthread_mutex_lock(&q->lock);
	q->alive -= n;
	if (q->alive == 0)
		pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void results_settle(struct results_queue *q)
{
	atomic_fetch_add(&q->settling, 1);
}

void results_settled(struct results_queue *q)
{
	atomic_fetch_sub(&q->settling, 1);
}

void results_wake(struct results_queue *q)
{
	pthread_mutex_lock(&q->lock);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}
