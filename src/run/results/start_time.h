/*
 * -starttime: all QThreads begin the first pass at a moment of the global clock. Private to
 * src/run.
 *
 * The results manager lets them pass the barrier a little earlier, so that they are awake; each
 * then waits for the moment itself, the last part of it without sleeping.
 */
#ifndef XDD_RUN_RESULTS_START_TIME_H
#define XDD_RUN_RESULTS_START_TIME_H

#include <stdint.h>

struct run;

/*
 * Sleep until the barrier is to be passed, if there is a start time. Returns 0, or -ECANCELED when
 * the run stops. Results manager.
 */
int start_time_wait(struct run *run);

/*
 * Wait for the moment after the barrier was passed at `release_ns`. Returns when the pass begins,
 * of clock_now_ns(): the moment, or `release_ns` without one and when it has passed. QThreads.
 */
uint64_t start_time_hold(struct run *run, uint64_t release_ns);

/* The same without waiting; reports that the barrier was passed too late. Results manager. */
uint64_t start_time_check(const struct run *run, uint64_t release_ns);

#endif
