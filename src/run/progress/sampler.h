/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler: one thread that copies the progress of running targets at set times, for subscribers
 * such as the heartbeat and -intervals. Private to src/run.
 *
 * A subscriber never waits for an output: the times of the others would slip.
 */
#ifndef XDD_RUN_PROGRESS_SAMPLER_H
#define XDD_RUN_PROGRESS_SAMPLER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Take a sample. Returns when the next one is due, of the kernel's clock. Thread of the sampler. */
typedef uint64_t sampler_take(void *arg);

struct sampler_subscriber {
	sampler_take *take;
	void *arg;
	uint64_t due_ns;
};

#define SAMPLER_SUBSCRIBERS 3

struct sampler {
	/* const after sampler_start(), except for `due_ns`, which its thread owns */
	struct sampler_subscriber subscribers[SAMPLER_SUBSCRIBERS];
	size_t n;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock */
	bool quit;
};

/* From sampler_start() on, call `take` with `arg`, first at `due_ns`. Main thread. */
void sampler_subscribe(struct sampler *s, sampler_take *take, void *arg, uint64_t due_ns);

/* Start the thread, if there is a subscriber. Returns 0 or -errno. Main thread. */
int sampler_start(struct sampler *s);

/* End the thread; accepts one that was not started, or has ended. Main thread. */
void sampler_end(struct sampler *s);

#endif
