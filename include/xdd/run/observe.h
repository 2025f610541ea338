/*
 * What some runs look at in each operation: -extendedstats, -debug io and tot. Private to src/run.
 */
#ifndef XDD_RUN_OBSERVE_H
#define XDD_RUN_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

struct io_request;
struct plan;
struct qthread;
struct run;

/* Whether a run does; called before its threads start, and those below only where it says so. */
bool observe_wanted(const struct plan *plan);

/* In the QThread: `req` is about to be issued, or has come back after `took_ns`. */
void observe_issue(const struct qthread *q, const struct io_request *req);
void observe_done(struct qthread *q, const struct io_request *req, uint64_t took_ns);

/* -debug user1: how far each QThread is. Any thread, while the run has its targets. */
void observe_state(const struct run *run);

#endif
