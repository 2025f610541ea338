/*
 * A private open file description for each QThread of a synchronous engine. QThreads that share a
 * description share its reference count, which each system call increments and decrements: the
 * cache line travels between their processors, at 15 % of a small read from memory.
 *
 * Only for files and block devices that are read and not written: there another open and close has
 * no effect. Closing a descriptor that was open for writing may flush, and is an event for programs
 * that watch a device. Private to src/run.
 */
#ifndef XDD_RUN_TARGET_PRIVATE_FD_H
#define XDD_RUN_TARGET_PRIVATE_FD_H

#include <stdbool.h>
#include <stdint.h>

struct plan;
struct qthread;
struct run;
struct target;

/* Files that targets and engines keep open during a run of the plan, at least. Any thread. */
uint64_t private_fd_files(const struct plan *plan);

/*
 * Make room for these descriptors and for those that targets and engines need in any case: raise
 * the soft limit up to the hard one. Where they do not fit, no QThread gets its own. Main thread,
 * once, before other threads exist.
 */
void private_fd_begin(struct run *run);

/*
 * Return a descriptor for the operations of a QThread: its own description of the file that the
 * target has open, or that of the target, which is only slower. Close with private_fd_close(),
 * which accepts a QThread without one. The QThread, while the target is open.
 */
int private_fd_open(struct qthread *q);
void private_fd_close(struct qthread *q);

/* True: the QThreads of the target get private descriptors. Any thread. */
bool private_fd_wanted(const struct target *t);

#endif
