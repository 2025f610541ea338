/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads, and the one that takes signals.
 */
#ifndef XDD_SYNC_THREAD_H
#define XDD_SYNC_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/units.h"

struct err;

/*
 * Threads: a run has many of them, so each has a small stack.
 */

/*
 * Start `fn(arg)` in a joinable thread that receives no signal from outside. Returns 0 or -errno.
 * Any thread.
 */
int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

/*
 * The stacks of many threads in one mapping, each above a page that cannot be accessed: to map and
 * to unmap one for each thread takes longer than to start it. Threads take them in turn, and none
 * is used again.
 */
struct thread_stacks {
	/* const after thread_stacks_open() */
	char *map; /* NULL: threads have stacks of their own */
	size_t n;
	size_t each; /* bytes, with the page below it */
	size_t guard;

	_Atomic size_t used; /* atomic */
};

/* Reserve `n` stacks. Where there is no room, threads have stacks of their own. Any thread. */
void thread_stacks_open(struct thread_stacks *s, size_t n);

/* Accepts one that is all zero. After its threads were joined. */
void thread_stacks_close(struct thread_stacks *s);

/* As thread_start(), on the next of `stacks`. Any thread. */
int thread_start_on(struct thread_stacks *stacks, pthread_t *thread, void *(*fn)(void *),
		    void *arg);

/*
 * True: a known limit keeps this process from starting `more` threads; `why` names the limit and
 * the room it leaves. Counts of other processes may change at any time. Any thread.
 */
bool thread_limit_exceeded(uint64_t more, struct err *why);

/*
 * Explain -errno of thread_start(), with the limit that caused it where that is known. Returns a
 * text, perhaps in `why`. Any thread.
 */
const char *thread_error(int err, struct err *why);

/*
 * The thread that takes the signals that end a program, SIGINT, SIGTERM and SIGHUP, and SIGUSR1.
 *
 * The first signal that ends calls a function. The second one, 0.1 s later or more, ends the
 * process at once, whatever that function waits for. The parent may repeat the first one at any
 * time, as xddcp and sudo(8) do with what the terminal has sent to both.
 */

/*
 * A signal this soon after the first is part of it: timeout(1) sends to the program and to its
 * group, and sudo(8) repeats what the terminal has sent to both.
 */
#define SAME_SIGNAL_NS (NS_PER_SEC / 10)

struct signal_thread {
	/* The caller sets these; `arg` is passed to the functions, which run in the thread. */
	void (*first)(void *arg, int sig);
	void (*progress)(void *arg); /* SIGUSR1; NULL: it is left as it is */
	void (*late)(void *arg);     /* NULL; or `late_ns` after the first signal */
	uint64_t late_ns;
	bool keep_ignored; /* leave alone all signals that the process was started to ignore; else
			      only SIGHUP, for nohup */
	void *arg;

	pthread_t thread; /* private */
};

/*
 * Start it; threads that are started later have the signals blocked. Messages of the thread wait
 * only briefly for room in their output. Returns 0 or -errno. Main thread, once in a process.
 */
int signal_thread_start(struct signal_thread *s);

/* End it; the signals stay blocked. Main thread, after it was started. */
void signal_thread_end(struct signal_thread *s);

#endif
