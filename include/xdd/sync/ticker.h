/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ticker: one thread that calls functions at set times.
 *
 * A function never waits for an output where others are called too: their times would slip.
 */
#ifndef XDD_SYNC_TICKER_H
#define XDD_SYNC_TICKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns when the next call is due, of the kernel's clock. Thread of the ticker. */
typedef uint64_t ticker_call(void *arg);

struct ticker_row {
	ticker_call *call;
	void *arg;
	uint64_t due_ns;
};

#define TICKER_ROWS 3

/* All zero before its first use. */
struct ticker {
	/* const after ticker_start(), except for `due_ns`, which its thread owns */
	struct ticker_row rows[TICKER_ROWS];
	size_t n;
	const char *name;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock */
	bool quit;
};

/* From ticker_start() on, call `call` with `arg`, first at `due_ns`. Before ticker_start(). */
void ticker_add(struct ticker *t, ticker_call *call, void *arg, uint64_t due_ns);

/*
 * Start the thread, if there is something to call; `name` is for -debug task. Returns 0, or -errno
 * without anything to call. Once, and by the thread that calls ticker_end().
 */
int ticker_start(struct ticker *t, const char *name);

/* End the thread; accepts one that was not started, or has ended. */
void ticker_end(struct ticker *t);

#endif
