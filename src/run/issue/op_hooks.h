/*
 * What some runs look at in each operation: -extendedstats, -debug io, throttle and tot. Private to src/run.
 */
#ifndef XDD_RUN_ISSUE_OP_HOOKS_H
#define XDD_RUN_ISSUE_OP_HOOKS_H

#include <stdint.h>

struct io_request;
struct qthread;
struct target;

/* Set hooks_issue and hooks_done of a target, before its threads start. */
void op_hooks_init(struct target *t);

/* In the QThread, where these say so: `req` is about to be issued, or has come back after `took_ns`. */
void op_hook_issue(const struct qthread *q, const struct io_request *req);
void op_hook_done(struct qthread *q, const struct io_request *req, uint64_t took_ns);

#endif
