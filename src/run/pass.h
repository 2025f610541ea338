/*
 * The boundaries of a pass of a target. Private to src/run.
 */
#ifndef XDD_RUN_PASS_H
#define XDD_RUN_PASS_H

#include <stdint.h>

struct qthread;
struct target;

/*
 * Set up pass `number`, before any of its QThreads is in it. The target thread before the first
 * pass, then pass.c.
 */
void pass_begin(struct target *t, uint64_t number);

/*
 * `q` has nothing more to issue in this pass. The last QThread of the target to leave ends the pass
 * and sets up the next; where the file is reopened, the others wait for that. Errors are reported
 * here. QThread.
 */
void pass_leave(struct qthread *q);

#endif
