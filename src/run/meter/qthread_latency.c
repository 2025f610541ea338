/*
 * The histograms that a QThread keeps while it issues. Taken by the QThread itself, read and
 * emptied by the last to leave a pass; they last as long as the run, for readers of a QThread that
 * is stuck.
 */
#include "run/meter/qthread_latency.h"

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/access.h"
#include "xdd/io/throttle_schedule.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"

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

int qthread_latency_add(struct latency *l, const struct qthread *q)
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
