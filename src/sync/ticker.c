/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread of a ticker; see the header. Called by run_execute() for the sampler, by the restart
 * monitor, and for the progress of copies.
 */
#include "xdd/sync/ticker.h"

#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* Make the calls that are due. Returns when the next one is. */
static uint64_t ticker_turn(struct ticker *t)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < t->n; i++) {
		struct ticker_row *row = &t->rows[i];

		if (row->due_ns <= clock_kernel_ns())
			row->due_ns = row->call(row->arg);
		next_ns = ns_earlier(next_ns, row->due_ns);
	}
	return next_ns;
}

/* It uses the kernel's clock: between passes the other clock is set, and must not be read. */
static void *ticker_main(void *arg)
{
	struct ticker *t = arg;

	debug_line(DEBUG_TASK, "%s: thread %d starts", t->name, gettid());
	pthread_mutex_lock(&t->lock);
	while (!t->quit) {
		uint64_t next_ns;

		pthread_mutex_unlock(&t->lock);
		next_ns = ticker_turn(t);
		pthread_mutex_lock(&t->lock);
		if (!t->quit)
			cond_wait(&t->changed, &t->lock, next_ns);
	}
	pthread_mutex_unlock(&t->lock);
	debug_line(DEBUG_TASK, "%s: thread %d ends", t->name, gettid());
	return NULL;
}

void ticker_add(struct ticker *t, ticker_call *call, void *arg, uint64_t due_ns)
{
	t->rows[t->n++] = (struct ticker_row){ call, arg, due_ns };
}

int ticker_start(struct ticker *t, const char *name)
{
	int err;

	if (!t->n)
		return 0;
	t->name = name;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	err = thread_start(&t->thread, ticker_main, t);
	t->started = !err;
	/* Another attempt adds its calls again. */
	if (err)
		t->n = 0;
	return err;
}

void ticker_end(struct ticker *t)
{
	if (!t->started)
		return;
	pthread_mutex_lock(&t->lock);
	t->quit = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	t->started = false;
}
