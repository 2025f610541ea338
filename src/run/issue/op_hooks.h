/*
 * Work of some runs for each operation: -extendedstats, -debug io, throttle and tot. Private to
 * src/run.
 */
#ifndef XDD_RUN_ISSUE_OP_HOOKS_H
#define XDD_RUN_ISSUE_OP_HOOKS_H

#include <stdint.h>

struct io_request;
struct qthread;
struct target;

/* Set hooks_issue and hooks_done of a target. Before its threads start. */
void op_hooks_init(struct target *t);

/*
 * With hooks_issue: `req` is about to be issued. With hooks_done: it is complete, after `took_ns`.
 * QThread.
 */
void op_hook_issue(const struct qthread *q, const struct io_request *req);
void op_hook_done(struct qthread *q, const struct io_request *req, uint64_t took_ns);

#endif
