/*
 * Repeat operations that failed (-retry), report slow ones (-reportthreshold), flush (-flushwrite).
 * Private to src/run.
 *
 * The issuing paths call this for targets with t->retry_flush.
 */
#ifndef XDD_RUN_ISSUE_RETRY_FLUSH_H
#define XDD_RUN_ISSUE_RETRY_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

struct io_request;
struct qthread;
struct target;
struct target_plan;

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

#endif
