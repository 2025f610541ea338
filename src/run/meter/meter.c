/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processor time in the elapsed time of passes, the histograms that a QThread keeps while it
 * issues, and the result of a pass; see the header. Called by QThreads and the results manager.
 *
 * The histograms are written by the QThread itself, read and emptied by the last to leave a pass;
 * they last as long as the run, for readers of a QThread that is stuck.
 */
#include "run/meter/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "run/coord/pace.h"
#include "run/meter/sample.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/units.h"
#include "xdd/io/access.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

static void read_thread(struct cpu_reading *r)
{
	struct timespec used;

	clock_thread_cpu(&r->divided);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	r->used_ns = (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
	r->at_ns = clock_now_ns();
}

static uint64_t cputime_since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Of a QThread that enters or leaves its pass for all others as well. */
static void read_process(struct run_cpu *c, bool enters)
{
	uint64_t now = clock_now_ns();
	struct cpu_time used;

	clock_process_cpu(&used);
	atomic_fetch_add(&c->wall_ns, enters ? -now : now);
	atomic_fetch_add(&c->user_ns, enters ? -used.user_ns : used.user_ns);
	atomic_fetch_add(&c->sys_ns, enters ? -used.sys_ns : used.sys_ns);
}

static void add_own(struct run_cpu *c, const struct cpu_time *from, const struct cpu_time *to)
{
	atomic_fetch_add(&c->own_user_ns, cputime_since(to->user_ns, from->user_ns));
	atomic_fetch_add(&c->own_sys_ns, cputime_since(to->sys_ns, from->sys_ns));
}

/*
 * True for the QThread that reads the time of the process as `q` enters its pass. The time of the
 * process costs a walk over all threads: where all QThreads of the run enter each pass together,
 * the first does it for all of them, and QThreads that leave a short pass before others have
 * entered do not read it again.
 */
static bool enters_first(struct run_cpu *c, const struct qthread *q)
{
	uint64_t pass, before;

	if (!c->together)
		return atomic_fetch_add(&c->active, 1) == 0;
	pass = atomic_load(&q->target->pass);
	before = pass - 1;
	if (!atomic_compare_exchange_strong(&c->pass, &before, pass))
		return false;
	/* Those that have left by now have counted themselves off below 0. */
	atomic_fetch_add(&c->active, c->together);
	return true;
}

/*
 * A QThread reads its own time around the time of the process, so that the difference belongs to
 * others.
 */
void cputime_begin(struct qthread *q)
{
	struct run_cpu *c = &q->target->run->cpu;

	q->cpu = (struct cpu_meter){ 0 };
	read_thread(&q->cpu.begin);
	if (enters_first(c, q))
		read_process(c, true);
}

void cputime_first(struct qthread *q)
{
	read_thread(&q->cpu.first);
	q->cpu.issued = true;
}

void cputime_last(struct qthread *q)
{
	read_thread(&q->cpu.last);
	q->cpu.finished = true;
}

void cputime_end(struct qthread *q)
{
	struct run_cpu *c = &q->target->run->cpu;
	struct cpu_meter *m = &q->cpu;

	if (!m->finished)
		read_thread(&m->last);
	m->early = atomic_fetch_sub(&c->active, 1) != 1;
	if (!m->early)
		read_process(c, false);
	clock_thread_cpu(&m->end);
	add_own(c, &m->begin.divided, &m->end);
}

void cputime_left(struct qthread *q)
{
	struct cpu_time now;

	if (!q->cpu.early)
		return;
	clock_thread_cpu(&now);
	add_own(&q->target->run->cpu, &q->cpu.end, &now);
}

/* Of what was used between two readings, as much as fits between `first_ns` and `last_ns`. */
static void add_part(struct cpu_time *sum, const struct cpu_reading *a, const struct cpu_reading *b,
		     uint64_t first_ns, uint64_t last_ns)
{
	uint64_t from = a->at_ns > first_ns ? a->at_ns : first_ns;
	uint64_t to = b->at_ns < last_ns ? b->at_ns : last_ns;
	uint64_t most = cputime_since(to, from), used = cputime_since(b->used_ns, a->used_ns), user;
	uint64_t user_part = cputime_since(b->divided.user_ns, a->divided.user_ns);
	uint64_t sys_part = cputime_since(b->divided.sys_ns, a->divided.sys_ns);

	if (used > most)
		used = most;
	user = used;
	if (sys_part)
		user = (uint64_t)((double)used * (double)user_part /
				  (double)(user_part + sys_part));
	sum->user_ns += user;
	sum->sys_ns += used - user;
}

struct cpu_time cputime_within(const struct cpu_meter *m, uint64_t first_ns, uint64_t last_ns)
{
	struct cpu_time sum = { 0 };

	if (m->issued) {
		add_part(&sum, &m->begin, &m->first, first_ns, last_ns);
		add_part(&sum, &m->first, &m->last, first_ns, last_ns);
	} else {
		add_part(&sum, &m->begin, &m->last, first_ns, last_ns);
	}
	return sum;
}

uint64_t cputime_waited(const struct qthread *q, uint64_t first_ns, uint64_t last_ns,
			struct cpu_time cpu)
{
	const uint64_t rest =
		cputime_since(cputime_since(last_ns, first_ns), cpu.user_ns + cpu.sys_ns);

	return q->wait_ns < rest ? q->wait_ns : rest;
}

struct cpu_time cputime_of_others(const struct run_cpu *c, uint64_t elapsed_ns, uint64_t most_ns)
{
	struct cpu_time used = { atomic_load(&c->user_ns), atomic_load(&c->sys_ns) };
	uint64_t wall = atomic_load(&c->wall_ns);
	double share, all;

	/* A QThread that never came out of its pass. */
	if (atomic_load(&c->active)) {
		struct cpu_time now;

		clock_process_cpu(&now);
		used.user_ns += now.user_ns;
		used.sys_ns += now.sys_ns;
		wall += clock_now_ns();
	}
	used.user_ns = cputime_since(used.user_ns, atomic_load(&c->own_user_ns));
	used.sys_ns = cputime_since(used.sys_ns, atomic_load(&c->own_sys_ns));
	/* Before the first operation counts for them no more than for QThreads. */
	share = elapsed_ns < wall ? (double)elapsed_ns / (double)wall : 1;
	all = share * (double)(used.user_ns + used.sys_ns);
	if (all > (double)most_ns)
		share *= (double)most_ns / all;
	return (struct cpu_time){
		.user_ns = (uint64_t)(share * (double)used.user_ns),
		.sys_ns = (uint64_t)(share * (double)used.sys_ns),
	};
}

#define COUNTER_TRIES 1000 /* an operation is counted within nanoseconds */
#define LATENCY_TRIES 4	   /* copying a histogram takes microseconds */

/* QThread 0 has those at the ends of passes made as well: they belong to the target. */
static int init_flushes(struct qthread *q)
{
	struct target *t = q->target;
	const struct target_plan *plan = t->plan;
	int err = 0;

	if (!plan_changes(plan))
		return 0;
	if (plan->flush_writes)
		err = histogram_init(&q->flushes, 1);
	if (!err && plan->sync_write && q->number == 0)
		err = histogram_init(&t->syncs, 1);
	return err;
}

int qthread_latency_init(struct qthread *q)
{
	const unsigned needs = q->target->run->needs;
	int err;

	if (!(needs & (FIGURES_LATENCY | FIGURES_PERCENTILES)))
		return 0;
	q->samples_latency = !(needs & FIGURES_LATENCY) && q->target->plan->kind == TARGET_NULL;
	err = histogram_init(q->latency[LATENCY_SERVICE], DIR_COUNT);
	if (!err && throttle_is_on(q->target->plan))
		err = histogram_init(q->latency[LATENCY_RESPONSE], DIR_COUNT);
	if (!err)
		err = init_flushes(q);
	if (!err)
		q->keeps_latency = true;
	return err;
}

void qthread_latency_touch(struct qthread *q)
{
	struct access_op first;

	access_op(&q->target->state.access, 0, &first);
	for (int time = 0; time < LATENCY_TIMES; time++)
		histogram_touch(&q->latency[time][first.dir]);
}

void qthread_latency_free(struct qthread *q)
{
	for (int time = 0; time < LATENCY_TIMES; time++)
		histogram_free(q->latency[time], DIR_COUNT);
	histogram_free(&q->flushes, 1);
	if (q->number == 0)
		histogram_free(&q->target->syncs, 1);
}

void qthread_latency_reset(struct qthread *q)
{
	for (int time = 0; time < LATENCY_TIMES; time++)
		for (int dir = 0; dir < DIR_COUNT; dir++)
			histogram_reset(&q->latency[time][dir]);
	histogram_reset(&q->flushes);
}

/* Add the latencies of `q` to `l`. Returns 0 or -ENOMEM. Any thread. */
static int qthread_latency_add(struct latency *l, const struct qthread *q)
{
	int err = histogram_sum_add_live(&l->flushes, &q->flushes);

	for (int time = 0; time < LATENCY_TIMES && !err; time++)
		for (int dir = 0; dir < DIR_COUNT && !err; dir++)
			err = histogram_sum_add_live(&l->of[time][dir], &q->latency[time][dir]);
	return err;
}

int target_latency_copy(struct latency *l, const struct target *t)
{
	int err = 0;

	latency_init(l);
	for (uint32_t i = 0; i < t->plan->qthreads && !err; i++)
		err = qthread_latency_add(l, &t->qthreads[i]);
	return err;
}

/*
 * Read operations and bytes of one moment: the owner adds to busy_ns before, and to the sum of the
 * histogram after the counters of an operation. A QThread that was interrupted in between has
 * counted a part of an operation. Without histograms of all operations there is one
 * attempt.
 */
static void read_direction(struct tally *own, const struct qthread *q, int dir)
{
	const struct counters *c = &q->counters;
	const struct histogram *h = &q->latency[LATENCY_SERVICE][dir];

	for (int tries = 0; tries < COUNTER_TRIES; tries++) {
		uint64_t counted = atomic_load_explicit(&h->sum_ns, memory_order_acquire);

		own->ops[dir] = atomic_load_explicit(&c->ops[dir], memory_order_acquire);
		own->bytes[dir] = atomic_load_explicit(&c->bytes[dir], memory_order_acquire);
		own->busy_ns[dir] = atomic_load_explicit(&c->busy_ns[dir], memory_order_relaxed);
		if (counted == own->busy_ns[dir] || !q->keeps_latency || q->samples_latency)
			return;
	}
}

static void read_counters(struct tally *own, const struct qthread *q)
{
	tally_clear(own);
	tally_add_counters(own, &q->counters);
	for (int dir = 0; dir < DIR_COUNT; dir++)
		read_direction(own, q, dir);
}

/* True if `l` has the operations of `own`. */
static bool is_same_work(const struct latency *l, const struct tally *own)
{
	bool same = true;

	for (int dir = 0; dir < DIR_COUNT; dir++)
		same &= l->of[LATENCY_SERVICE][dir].n == own->ops[dir];
	return same;
}

static int add_progress(struct figures *f, const struct qthread *q)
{
	struct tally tally;
	struct latency own;
	int err;

	for (int tries = 1;; tries++) {
		latency_init(&own);
		read_counters(&tally, q);
		err = qthread_latency_add(&own, q);
		if (err || is_same_work(&own, &tally) || tries == LATENCY_TRIES)
			break;
		latency_free(&own);
	}
	tally_add(&f->tally, &tally);
	if (!err)
		err = latency_add(&f->latency, &own);
	latency_free(&own);
	return err;
}

int target_progress_copy(struct figures *f, const struct target *t)
{
	int err;

	figures_init(f);
	err = histogram_sum_add_live(&f->latency.flushes, &t->syncs);
	for (uint32_t i = 0; i < t->plan->qthreads && !err; i++)
		err = add_progress(f, &t->qthreads[i]);
	return err;
}

/*
 * ---- the result of a pass ----
 *
 * Of a target, from what its QThreads counted, also for a pass that was not finished; and its way
 * to the results manager.
 */

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
