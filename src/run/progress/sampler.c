/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread of the sampler; see the header. Started and ended by run_execute().
 */
#include "run/progress/sampler.h"

#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* Take the samples that are due. Returns when the next one is. */
static uint64_t sampler_turn(struct sampler *s)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < s->n; i++) {
		struct sampler_subscriber *one = &s->subscribers[i];

		if (one->due_ns <= clock_kernel_ns())
			one->due_ns = one->take(one->arg);
		next_ns = ns_earlier(next_ns, one->due_ns);
	}
	return next_ns;
}

/* It uses the kernel's clock: between passes the other clock is set, and must not be read. */
static void *sampler_main(void *arg)
{
	struct sampler *s = arg;

	debug_line(DEBUG_TASK, "sampler: thread %d starts", gettid());
	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		uint64_t next_ns;

		pthread_mutex_unlock(&s->lock);
		next_ns = sampler_turn(s);
		pthread_mutex_lock(&s->lock);
		if (!s->quit)
			cond_wait(&s->changed, &s->lock, next_ns);
	}
	pthread_mutex_unlock(&s->lock);
	debug_line(DEBUG_TASK, "sampler: thread %d ends", gettid());
	return NULL;
}

void sampler_subscribe(struct sampler *s, sampler_take *take, void *arg, uint64_t due_ns)
{
	s->subscribers[s->n++] = (struct sampler_subscriber){ take, arg, due_ns };
}

int sampler_start(struct sampler *s)
{
	int err;

	if (!s->n)
		return 0;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	err = thread_start(&s->thread, sampler_main, s);
	s->started = !err;
	return err;
}

void sampler_end(struct sampler *s)
{
	if (!s->started)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->started = false;
}
