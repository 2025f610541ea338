/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Priority, processors and memory of a run. Private to src/run.
 */
#ifndef XDD_RUN_PLACEMENT_H
#define XDD_RUN_PLACEMENT_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct plan;
struct qthread;
struct run;

/*
 * Priority, locked memory and processors of a run.
 */

/* The changes to the process that a later run must not find. All zero: none. */
struct placement {
	/* owned by the main thread: its properties before the run, as of the signal thread */
	bool bound;
	cpu_set_t processors;
	bool raised;
	int policy;
	struct sched_param priority;

	/* written by placement_lock(), read after joining the QThreads */
	bool locked;
};

/*
 * Apply -maxpri and -singleproc to the calling thread, to all threads that it starts later, and to
 * `signals`, which exists already. Returns 0 or -errno; a priority that cannot be set is a warning.
 * Main thread, once in a run.
 */
int placement_begin(struct placement *p, const struct plan *plan, pthread_t signals);

/*
 * Apply -processlock: lock the memory of the process, and without a limit also its later mappings.
 * Warns when that fails. The last QThread to be ready, once, before anything is timed.
 */
void placement_lock(struct run *run);

/* Undo both, as far as they were done. Main thread, once the QThreads have ended. */
void placement_end(const struct placement *p, pthread_t signals);

/*
 * Bind the calling QThread to the processors that the plan gives it. Returns 0 or -errno. Before it
 * allocates buffers.
 */
int placement_bind(const struct qthread *q);

/*
 * The memory of -hogmemory, which is occupied before the first pass and until the end of the run,
 * so that the page cache cannot have it. Private to src/run. Main thread.
 */

struct hog {
	void *memory; /* NULL: none */
	size_t bytes;
	int oom_before; /* the value to restore; -1: none */
};

/*
 * Occupy what the plan asks for; nothing without -hogmemory. Returns 0; -ECANCELED when the run was
 * stopped meanwhile; or another -errno, reported. hog_end() releases it in all cases.
 */
int hog_begin(struct hog *h, struct run *run);

/* Release it; accepts a hog that is all zeroes. */
void hog_end(struct hog *h);

#endif
