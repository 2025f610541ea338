/*
 * What a run takes of the machine: priority, memory that stays, processors. Private to src/run.
 */
#ifndef XDD_RUN_PLACEMENT_H
#define XDD_RUN_PLACEMENT_H

#include <pthread.h>

struct plan;
struct qthread;
struct run;

/*
 * -maxpri and -singleproc, for the calling thread and all threads that it starts from now on, and for `signals`,
 * which there is already. Returns 0 or -errno; a priority that cannot be had is a warning only. Called once.
 */
int placement_begin(const struct plan *plan, pthread_t signals);

/*
 * -processlock: lock what the process has by now, and what it comes to have where no limit stands against it.
 * Warns when it cannot. Called once, when all QThreads have their buffers, and before anything is timed.
 */
void placement_lock(const struct run *run);

/* Have the calling QThread run where the plan wants it. Returns 0 or -errno. Before it allocates buffers. */
int placement_bind(const struct qthread *q);

#endif
