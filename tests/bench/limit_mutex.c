/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limit of operations that are taken in order: a number from a counter under one mutex, and two
 * clock reads with that held, for each operation that does nothing.
 */
#include "limit.h"

#include <pthread.h>

static struct {
	pthread_mutex_t lock;
	uint64_t next_op; /* guarded by lock */
} shared __attribute__((aligned(128))) = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int run(struct limit_thread *t)
{
	uint64_t busy_ns = 0, done = 0;

	while (!limit_over(t, done)) {
		uint64_t t0;

		pthread_mutex_lock(&shared.lock);
		shared.next_op++;
		t0 = limit_now_ns();
		busy_ns += limit_now_ns() - t0;
		pthread_mutex_unlock(&shared.lock);
		done++;
	}
	t->done = done;
	/* The clock reads are of use. */
	__asm__ volatile("" : : "r"(busy_ns));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct limit_loop loop = { .run = run };

	return limit_main(argc, argv, &loop);
}
