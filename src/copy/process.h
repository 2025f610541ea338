/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process of a copy: signals, and the processor time of its data threads. Private to src/copy.
 */
#ifndef XDD_COPY_PROCESS_H
#define XDD_COPY_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/base/units.h"
#include "xdd/sync/wait.h"

/*
 * SIGINT, SIGTERM and SIGHUP in a copy. The first one ends it in good order, within
 * COPY_SIGNAL_GRACE_NS as far as the other side is concerned; the second one ends the process.
 * Callers: copy.c, server.c, role.c.
 */

#define COPY_SIGNAL_GRACE_NS (5 * NS_PER_SEC)

struct copy_signals; /* private to signals.c */

/* Ends a wait for the other side: aborts its channel, or ends ssh. In the signal thread. */
typedef void copy_signals_cut(void *arg);

/*
 * Start the thread that takes the signals; all threads that are started later have them blocked.
 * That of a server leaves alone those that it was started to ignore. Returns 0 or -errno. Main
 * thread, once, while there is no other thread.
 */
int copy_signals_start(struct copy_signals **s, bool server);

/*
 * From now on the first signal stops `stop` with STOP_SIGNAL, and calls `cut` once it has been
 * attached for another COPY_SIGNAL_GRACE_NS. Without `stop` (NULL) it calls `cut` at once. A signal
 * that came before counts as one that comes now. Main thread.
 */
void copy_signals_attach(struct copy_signals *s, struct stop *stop, copy_signals_cut *cut,
			 void *arg);

/* Signals touch none of these any more. May be called again. `s` may be NULL. Main thread. */
void copy_signals_detach(struct copy_signals *s);

/*
 * The first signal that came, or 0. `s` may be NULL. copy_signals_await() waits for it, at most
 * `wait_ns`. Any thread.
 */
int copy_signals_taken(struct copy_signals *s);
int copy_signals_await(struct copy_signals *s, uint64_t wait_ns);

/* End the thread. Accepts NULL. Main thread. */
void copy_signals_end(struct copy_signals *s);

/*
 * The processor time of data threads, which they read while they work: once a thread has ended,
 * nothing tells it. Private to src/copy.
 */

/* Sums over threads; any reader. */
struct cpu_sums {
	_Atomic uint64_t cpu_ns;  /* running on a processor */
	_Atomic uint64_t wait_ns; /* ready to run, and without a processor */
};

/* The latest reading of a thread, which owns it. Zeros: it has not begun. */
struct cpu_use {
	uint64_t at_ns, cpu_ns, wait_ns;
};

/*
 * Add what the calling thread has used since its last reading to `sums`; nothing the first time. It
 * is read at most each 5 ms, as that costs a few system calls.
 */
void cpu_use_add(struct cpu_use *u, struct cpu_sums *sums);

#endif
