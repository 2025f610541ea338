/*
 * -starttime: all QThreads begin the first pass at a moment of the global clock. Private to
 * src/run.
 *
 * The results manager lets them pass the barrier a little earlier. Each then does what precedes the
 * first operation, and waits for the moment itself, the last part of it without sleeping.
 */
#ifndef XDD_RUN_RESULTS_START_TIME_H
#define XDD_RUN_RESULTS_START_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct run;

/*
 * Sleep until the barrier is to be passed, if there is a start time. Returns 0, or -ECANCELED when
 * the run stops. Results manager.
 */
int start_time_wait(struct run *run);

/*
 * When the first pass begins that passed its barrier at `release_ns`, of clock_now_ns(): the
 * moment, or `release_ns` without one and when it has passed. Any thread.
 */
uint64_t start_time_moment(const struct run *run, uint64_t release_ns);

/* The moment has not come yet. False without one. Any thread. */
bool start_time_is_ahead(const struct run *run);

/*
 * Right before the first operation: sleep until the moment is near. False: it has passed, or the
 * run stops; else start_time_hold() waits for it without sleeping. QThreads.
 */
bool start_time_approach(struct run *run);
void start_time_hold(const struct run *run);

/* start_time_moment(); reports that the barrier was passed too late. Results manager. */
uint64_t start_time_check(const struct run *run, uint64_t release_ns);

#endif
