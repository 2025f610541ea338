/*
 * The way of finished passes from the QThreads to the results manager. Called by both.
 */
#include "run/meter/results.h"

#include <errno.h>
#include <stdlib.h>

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
	q->settling = 0;
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
	pthread_mutex_lock(&q->lock);
	q->settling++;
	pthread_mutex_unlock(&q->lock);
}

void results_settled(struct results_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->settling--;
	pthread_mutex_unlock(&q->lock);
}

void results_wake(struct results_queue *q)
{
	pthread_mutex_lock(&q->lock);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}
