/*
 * -starttime: the first pass begins at a time of the wall clock. Private to src/run.
 */
#ifndef XDD_RUN_STARTTIME_H
#define XDD_RUN_STARTTIME_H

struct run;

/* Sleep until the time of -starttime, if there is one. Returns 0, or -ECANCELED when the run stops. Results manager. */
int starttime_wait(struct run *run);

/* All threads are ready: warn if that was too late. Results manager. */
void starttime_check(const struct run *run);

#endif
