/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a target between opening and closing, and descriptors of its QThreads. Private to
 * src/run.
 */
#ifndef XDD_RUN_TARGET_TARGET_FILE_OPS_H
#define XDD_RUN_TARGET_TARGET_FILE_OPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct plan;
struct qthread;
struct run;
struct target;

/*
 * A private open file description for each QThread of a synchronous engine. QThreads that share a
 * description share its reference count, which each system call increments and decrements: the
 * cache line travels between their processors, at 15 % of a small read from memory.
 *
 * Only for files and block devices that are read and not written: there another open and close has
 * no effect. Closing a descriptor that was open for writing may flush, and is an event for
 * programs that watch a device. Private to src/run.
 */

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
 * target has open, or the target's, which is only slower. Close with private_fd_close(),
 * which accepts a QThread without one. The QThread, while the target is open.
 */
int private_fd_open(struct qthread *q);
void private_fd_close(struct qthread *q);

/* True: the QThreads of the target get private descriptors. Any thread. */
bool private_fd_wanted(const struct target *t);

/*
 * The file of a target between opening and closing. Private to src/run.
 *
 * Errors are reported here. target_open() and target_reshape() return -errno as well, or
 * -ECANCELED when the run stops.
 */

/* Open the file and set up the data of the target. Target thread. */
int target_open(struct target *t);

/* Recreate or reshape the file once all targets are open. Each QThread, before its first pass. */
int target_reshape(struct qthread *q);

/*
 * Close the file after the run, and delete it with -deletefile unless `discard`. Main thread, after
 * all QThreads have ended.
 */
void target_close(struct target *t, bool discard);

/* The file is closed after this pass, so engines release it. QThreads that leave a pass. */
bool target_releases_file(const struct target *t);

/* Flush the file after a pass, as the plan says. The last QThread to leave the pass. */
void target_file_sync_pass(struct qthread *q);

/* Then close and reopen it, as the plan says. The last QThread to leave the pass. */
void target_file_end_pass(struct qthread *q);

/*
 * Write what the engine of `q` holds of complete operations, before the data is flushed, and with
 * `ends_pass` forget what it has read ahead. An error is reported and counted. QThread, with
 * nothing outstanding.
 */
void target_drain(struct qthread *q, bool ends_pass);

/* Flush what was written, as `option` asks. Returns the time it took, in ns. QThreads. */
uint64_t target_flush(struct target *t, const char *option);

/* The flush of -syncwrite, counted in the pass. The last QThread to leave the pass. */
void target_flush_pass(struct target *t);

#endif
