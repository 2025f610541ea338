/*
 * The histograms that a QThread keeps while it issues. Taken by the QThread itself, read and
 * emptied by the last to leave a pass; they last as long as the run, for readers of a QThread that
 * is stuck.
 */
#include "run/meter/qthread_latency.h"

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/throttle_schedule.h"
#include "xdd/stat/histogram.h"
#include "xdd/stat/latency.h"

int qthread_latency_init(struct qthread *q)
{
	int err;

	if (!(q->target->run->needs & FIGURES_LATENCY))
		return 0;
	err = histogram_init(q->latency[LATENCY_SERVICE], DIR_COUNT);
	if (!err && throttle_is_on(q->target->plan))
		err = histogram_init(q->latency[LATENCY_RESPONSE], DIR_COUNT);
	if (!err)
		q->keeps_latency = true;
	return err;
}

void qthread_latency_free(struct qthread *q)
{
	for (int time = 0; time < LATENCY_TIMES; time++)
		histogram_free(q->latency[time], DIR_COUNT);
}

void qthread_latency_reset(struct qthread *q)
{
	for (int time = 0; time < LATENCY_TIMES; time++)
		for (int dir = 0; dir < DIR_COUNT; dir++)
			histogram_reset(&q->latency[time][dir]);
}

int qthread_latency_add(struct latency *l, const struct qthread *q)
{
	int err = 0;

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
