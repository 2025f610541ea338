/*
 * The latency histograms of QThreads. Private to src/run.
 */
#ifndef XDD_RUN_METER_QTHREAD_LATENCY_H
#define XDD_RUN_METER_QTHREAD_LATENCY_H

struct figures;
struct latency;
struct qthread;
struct target;

/* Allocate the histograms that the run keeps, perhaps none. Returns 0 or -ENOMEM. QThread. */
int qthread_latency_init(struct qthread *q);

/*
 * Touch the memory for the first operations of the first pass, before it begins: histogram_touch().
 * QThread.
 */
void qthread_latency_touch(struct qthread *q);

/* Accepts histograms that were not allocated. After the QThread has ended. */
void qthread_latency_free(struct qthread *q);

/* Empty them for the next pass. The last QThread to leave a pass. */
void qthread_latency_reset(struct qthread *q);

/* Add those of `q` to `l`. Returns 0 or -ENOMEM. Any thread. */
int qthread_latency_add(struct latency *l, const struct qthread *q);

/*
 * Initialize `l` with the sum over all QThreads of `t` at present; free `l` in any case. Returns 0
 * or -ENOMEM. Any thread.
 */
int target_latency_copy(struct latency *l, const struct target *t);

/*
 * Initialize `f` with the tally and the latencies of all QThreads of `t` at present; free `f` in
 * any case. Operations and bytes of a QThread are of the same moment, to within one operation if it
 * is interrupted while it counts that. So are its latencies, unless it completes operations faster
 * than they can be copied: they may then count a few more or less.
 *
 * Returns 0 or -ENOMEM. Any thread.
 */
int target_progress_copy(struct figures *f, const struct target *t);

#endif
