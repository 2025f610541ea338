/*
 * Priority, locked memory and processors of a run. Private to src/run.
 */
#ifndef XDD_RUN_PLACEMENT_H
#define XDD_RUN_PLACEMENT_H

#include <pthread.h>

struct plan;
struct qthread;
struct run;

/*
 * Apply -maxpri and -singleproc to the calling thread, to all threads that it starts later, and to
 * `signals`, which exists already. Returns 0 or -errno; a priority that cannot be set is a warning.
 * Main thread, once.
 */
int placement_begin(const struct plan *plan, pthread_t signals);

/*
 * Apply -processlock: lock the memory of the process, and without a limit also its later mappings.
 * Warns when that fails. The last QThread to be ready, once, before anything is timed.
 */
void placement_lock(const struct run *run);

/*
 * Bind the calling QThread to the processors that the plan gives it. Returns 0 or -errno. Before it
 * allocates buffers.
 */
int placement_bind(const struct qthread *q);

#endif
