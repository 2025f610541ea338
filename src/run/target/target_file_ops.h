/*
 * The file of a target between opening and closing. Private to src/run.
 *
 * Errors are reported here. target_open() and target_reshape() return -errno as well, or -ECANCELED
 * when the run stops.
 */
#ifndef XDD_RUN_TARGET_TARGET_FILE_OPS_H
#define XDD_RUN_TARGET_TARGET_FILE_OPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct qthread;
struct target;

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
