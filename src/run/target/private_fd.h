/*
 * An open file description for each QThread of a synchronous engine. Those that share one share its reference
 * count, which each system call counts up and down: it travels between their processors, at 15 % of a small
 * read from memory.
 *
 * Only for files and block devices that are read and not written: there a further opening and closing goes
 * unnoticed, while closing what was open for writing may flush, and is an event to those who watch a device.
 * Private to src/run.
 */
#ifndef XDD_RUN_TARGET_PRIVATE_FD_H
#define XDD_RUN_TARGET_PRIVATE_FD_H

#include <stdbool.h>

struct qthread;
struct run;
struct target;

/*
 * See to it that the process may have that many descriptors, and those that targets and contexts of engines
 * need in any case: raises the soft limit up to the hard one. Where they do not fit, no QThread gets one of its
 * own. Called once, before there are other threads.
 */
void private_fd_begin(struct run *run);

/*
 * The descriptor for the operations of a QThread: a description of its own of the file that the target has
 * open, whatever its path leads to now; or the target's, which is as good but for speed. In the QThread, while
 * the target is open; given back by private_fd_close(), which is safe without.
 */
int private_fd_open(struct qthread *q);
void private_fd_close(struct qthread *q);

/* Whether QThreads of the target are to have one. */
bool private_fd_wanted(const struct target *t);

#endif
