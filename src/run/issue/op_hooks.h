/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work of some runs for each operation. Private to src/run.
 */
#ifndef XDD_RUN_ISSUE_OP_HOOKS_H
#define XDD_RUN_ISSUE_OP_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/io/engine.h"

struct io_request;
struct qthread;
struct target;
struct target_plan;

/*
 * Work of some runs for each operation: -extendedstats, -debug io, throttle and tot. Private to
 * src/run.
 */

/* Set hooks_issue and hooks_done of a target. Before its threads start. */
void op_hooks_init(struct target *t);

/*
 * With hooks_issue: `req` is about to be issued. With hooks_done: it is complete, after `took_ns`.
 * QThread.
 */
void op_hook_issue(const struct qthread *q, const struct io_request *req);
void op_hook_done(struct qthread *q, const struct io_request *req, uint64_t took_ns);

/*
 * Repeat operations that failed (-retry), report slow ones (-reportthreshold), flush
 * (-flushwrite). Private to src/run.
 *
 * The issuing paths call this for targets with t->retry_flush.
 */

/* The plan uses one of the three options. */
bool retry_flush_applies(const struct target_plan *plan);

/*
 * True: `req`, which is complete, failed and must be submitted once more; it is ready for that.
 * QThread.
 */
bool retry_flush_try_again(struct qthread *q, struct io_request *req);

/* `req` is complete and accounted for: report it if it was slow. QThread. */
void retry_flush_report(struct qthread *q, struct io_request *req, uint64_t done_ns);

/* Count `req` if it is a write. True: flush after it. Call once per operation. QThread. */
bool retry_flush_is_due(struct target *t, const struct io_request *req);

/* Flush, with nothing outstanding in the QThread. QThread. */
void retry_flush_run(struct qthread *q);

/*
 * The warm-up of a pass (-warmup): its first operations are issued, verified and accounted for as
 * progress of the target, and are in no figure.
 *
 * Whether an operation belongs to the warm-up is decided when it is issued: by its number, or by
 * the clock. The numbers of a QThread ascend, so from its first measured operation on it measures.
 */

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
