/*
 * The warm-up of a pass (-warmup): its first operations are issued, verified and accounted for as
 * progress of the target, and are in no figure. Called by the issue loops with EXTRA_WARM, and by
 * the QThread around its pass.
 *
 * Whether an operation belongs to the warm-up is decided when it is issued: by its number, or by
 * the clock. The numbers of a QThread ascend, so from its first measured operation on it measures.
 */
#ifndef XDD_RUN_ISSUE_WARMUP_H
#define XDD_RUN_ISSUE_WARMUP_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/io/engine.h"

struct qthread;

/* A pass of the QThread starts at clock `start_ns`. QThread. */
void warmup_begin_pass(struct qthread *q, uint64_t start_ns);

/*
 * The clock at which the pass ends, if it must end at `end_ns` for other reasons: a warm-up that is
 * a number of operations puts off the time limit until it is over. QThread.
 */
uint64_t warmup_end_ns(const struct qthread *q, uint64_t end_ns);

/*
 * `req` is about to be issued. True: it belongs to the warm-up, and has its time of issue. False:
 * it is measured; what the QThread has measured before is forgotten. QThread.
 */
bool warmup_issue(struct qthread *q, struct io_request *req);

/* `req`, which belongs to the warm-up, took `took_ns`. QThread. */
void warmup_done(struct qthread *q, const struct io_request *req, uint64_t took_ns);

/*
 * The QThread has no more operations in this pass: if it has measured none, it forgets the times of
 * its warm-up. QThread.
 */
void warmup_end_pass(struct qthread *q);

#endif
