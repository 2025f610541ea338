/*
 * What the modules of a run share. Private to src/run.
 */
#ifndef XDD_RUN_INTERNAL_H
#define XDD_RUN_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/gate.h"
#include "run/coord/syncio.h"
#include "run/issue/data.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/results/checks.h"
#include "run/results/cputime.h"
#include "run/results/look.h"
#include "run/timerinfo.h"
#include "xdd/io/access.h"
#include "xdd/io/buffer.h"
#include "xdd/io/engine.h"
#include "xdd/io/target_file.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/extremes.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/flow.h"
#include "xdd/stat/latency.h"
#include "xdd/sync/barrier.h"
#include "xdd/sync/event.h"
#include "xdd/sync/stop.h"
#include "xdd/sys/clock.h"

struct run;
struct target;

/* The requests a QThread may have outstanding, and their buffers: one, or its share of the queue depth. */
struct request_ring {
	unsigned depth;
	struct io_request *requests; /* one a slot */
	struct io_request **done;    /* room for as many */
	struct iovec *buffers;	     /* one a slot */

	/* ring of the free slots, oldest first */
	unsigned *free;
	unsigned head;
	unsigned n_free;
};

/* A thread that issues operations. Number 0 is the target thread: it opens the target as well. */
struct qthread {
	/* owned by this QThread, read by anyone */
	struct counters counters;
	struct extremes_live extremes; /* with plan->keep_extremes */

	/* likewise; emptied by the last QThread to leave a pass. Without memory unless keeps_latency */
	struct histogram latency[LATENCY_TIMES][DIR_COUNT];

	/* const after creation */
	struct target *target;
	uint32_t number;
	bool keeps_latency; /* somebody asked */

	/* owned by the thread that created it */
	pthread_t thread;
	bool started;

	/* owned by this QThread: pace_hold() */
	uint64_t held_ns; /* since when other targets have held its next operation; 0: they do not */
	uint64_t held_start_ns; /* target->start_ns at that time */

	/* owned by this QThread */
	void *ctx;	/* of the engine */
	int private_fd; /* while there is a context: private_fd.h; -1: that of the target */
	bool broken;	/* the engine lost its context */
	struct request_ring ring;
	uint64_t apart_ns; /* of the pass: waits, and the engine where no counter has it; no overhead */

	/* owned by this QThread; const, for the last to be ready to read, while the run goes on */
	struct io_buffer buffer;
	struct qthread_data *data; /* NULL: no operation needs its buffer looked after */
	/* owned by this QThread, read by the last to leave a pass, freed with the run; NULL: not wanted */
	struct flow *flow;

	/* const during a run; NULL: no time stamps */
	struct trace_writer *trace;

	/* written by this QThread before it leaves the pass, read by the last to leave */
	struct cpu_meter cpu;
	uint64_t wait_ns; /* ready to run, and without a processor; with -verbose */
};

/* What a target runs out of: where one operation fails of that, so do others, and one line says it. */
enum run_out {
	RUN_OUT_OF_FILE,
	RUN_OUT_OF_SPACE,
	RUN_OUT_KINDS
};

struct target {
	/* atomic: QThreads take operation numbers from here; alone on its cache line */
	_Atomic uint64_t next_op __attribute__((aligned(128)));

	/* atomic: operations that failed in this run as all that follow will, by enum run_out: errors.c */
	_Atomic uint64_t ran_out[RUN_OUT_KINDS];

	/* atomic: errors in this pass: operations that failed, and miscompares */
	_Atomic uint64_t errors __attribute__((aligned(128)));

	/* atomic: QThreads that got an open file of their own for the first pass, QThread 0 apart */
	_Atomic uint32_t private_fds;

	/* atomic: it has been opened for the first pass; run->opened is signalled then */
	_Atomic bool is_open;

	/* atomic: QThreads that have not left the pass */
	_Atomic uint32_t active;

	/* atomic: this pass of this target is to end early: -maxerrors, or a number is not going to be issued */
	_Atomic bool pass_over;

	/* atomic: numbers that were taken and not issued in this pass, though later ones were: issue_sync.c */
	_Atomic uint64_t released;

	/* atomic: completion time of operation 0 of the pass */
	_Atomic uint64_t first_op_ns;

	/* atomic: number of the pass; changes with `turn` */
	_Atomic uint64_t pass;

	/* atomic: odd while the target goes from one pass to the next; for those who look in between */
	_Atomic uint32_t turn;

	/*
	 * atomic: clock from which -throttle counts, 0 before the pass has begun; guarded by gate.pace_lock
	 * where other targets hold operations, which move it on
	 */
	_Atomic uint64_t start_ns;

	/* atomic: where the schedule began, once operation 0 is let through, and to where the pass lasted; 0: not so */
	_Atomic uint64_t paced_from_ns;
	_Atomic uint64_t paced_until_ns;

	/* each of its fields says who may touch it */
	struct order order;

	/* const during a run: operations ask the gate before they are issued */
	bool gated;
	bool followed;	  /* likewise: it is to be told of each operation that is complete */
	bool hooks_issue; /* each operation is looked at when it is issued: op_hooks.h */
	bool hooks_done;  /* likewise when it has come back */

	/* const during a run: there is more to do around operations, see retry_flush.c */
	bool retry_flush;
	/* atomic: writes issued in this pass, counted for -flushwrite only */
	_Atomic uint64_t writes;

	/* atomic: nobody has seen to the result of the pass yet; who takes it back to false does */
	_Atomic bool result_pending;

	/* atomic, stored by the last QThread to leave a pass: what the file took in this pass, and before the next */
	_Atomic uint64_t sync_ns;
	_Atomic uint64_t close_ns;
	_Atomic uint64_t open_ns;
	_Atomic uint64_t next_open_ns;

	/* const after target_open() */
	struct run *run;
	const struct target_plan *plan;
	const struct engine *engine;
	struct qthread *qthreads;
	struct target_data *data; /* NULL: none is moved */
	struct trace_table trace; /* its fields say who may touch them */
	char engine_text[160];	  /* what the engine got, by QThread 0; for -verbose */

	/* const during a pass; set by the last QThread to leave the one before, at rest */
	struct target_file file;
	bool direct_ignored; /* with -dio: the file goes through the page cache all the same */
	bool unused;	     /* the file was opened for a pass that has not ended */
	struct access access;
	struct look look;
	uint64_t shift_ns; /* delays so far that were asked for */

	/* the QThreads of the target meet here while its file changes */
	struct barrier file_barrier;

	/* with -nobarrier the QThreads of the target meet here, instead of all at run->start */
	struct barrier start;

	/* written by the last QThread to leave a pass, with -nobarrier: there is another pass */
	bool more;

	/* each of its fields says who may touch it */
	struct gate gate;
};

/* The schedule of -throttle in a pass or several, against the clock. */
struct paced {
	uint64_t due_ns;  /* time of the operations that were issued, by the schedule */
	uint64_t took_ns; /* elapsed time, without what other targets held operations for */
};

/*
 * What a target did in a pass; goes from its last QThread to the results manager, which frees it.
 * An interval of -latency goes the same way, with pass, target and latency only; one of all
 * targets has their number.
 */
struct pass_result {
	struct pass_result *next;
	bool interval;
	uint64_t from_ns; /* since the first pass began, as is to_ns */
	uint64_t to_ns;
	uint32_t target;
	uint64_t pass;
	uint64_t shift_ns;
	uint64_t first_issue_ns; /* as in the tally, which in a paced pass begins when operation 0 was due */
	struct figures figures;
	struct paced paced;
	bool partial;
	struct flow *flow; /* owned; NULL without -deskew, and of a pass that was not finished */
	uint32_t n_queues; /* 0 unless -qthreadinfo or -jsonout wants them */
	struct figures queues[]; /* of each QThread */
};

/* The way from the QThreads to the results manager. */
struct results_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;

	/* guarded by lock */
	struct pass_result *first;
	struct pass_result **tail;
	uint32_t alive;	   /* QThreads that may still deliver */
	uint32_t settling; /* of these, those between results_settle() and results_settled() */
};

struct run {
	/* const during a run: the devices that it may write to */
	struct guard guard;

	/* const after creation */
	const struct plan *plan;
	struct report *report;
	struct signals *signals;
	struct target *targets;
	uint32_t n_qthreads;
	bool private_fds; /* QThreads may have open files of their own: private_fd.h */
	bool reshapes; /* some target's file is to be recreated or reshaped once all targets are open */
	uint64_t id;	    /* wall clock at the start, nanoseconds since 1970 */
	bool keep_overhead; /* somebody wants OVERHEADTIME */
	bool keep_latency;  /* a column, -latency or the like wants histograms */

	struct timer_info timer; /* -timerinfo */
	int64_t wall_ns;	 /* wall clock minus clock_now_ns() when the run began */

	struct stop stop;

	/* all QThreads and the results manager meet here: once ready, then before each pass */
	struct barrier start;

	struct results_queue results;

	/* each of its fields says who may touch it */
	struct heartbeat heartbeat;
	struct intervals intervals;

	/* targets that read files which others create wait for these to be opened */
	struct event opened;

	/* each of its fields says who may touch it; used with -syncio only */
	struct syncio syncio;

	/* atomic: targets that are set up for the next pass; with -dropcache system only */
	_Atomic uint32_t ready_targets;

	/* atomic: QThreads that are not ready for the first pass yet */
	_Atomic uint32_t unready;

	/* atomic: what setting up, taking down and getting ready for the next pass take is no part of it */
	struct run_cpu cpu;

	/* atomic: clock at which -runtime is over, UINT64_MAX without it; set when the first pass starts */
	_Atomic uint64_t end_ns;

	/* atomic: operations that failed, in all, and those that got a line of their own or that of their target */
	_Atomic uint64_t errors;
	_Atomic uint64_t errors_told;

	/* atomic: stretches of wrong data, in all, and the bytes they are long */
	_Atomic uint64_t miscompares;
	_Atomic uint64_t miscompared_bytes;

	/* written by the results manager before it joins run->start, read by QThreads behind it */
	bool more;

	/* written by the results manager before it ends, read after joining it */
	bool stuck;
	bool output_failed; /* something that was to be written is not */
};

/*
 * target_file_ops.c: the file of a target. What goes wrong is reported here; target_open() and target_reshape()
 * return -errno as well, or -ECANCELED.
 */
int target_open(struct target *t);
int target_reshape(struct qthread *q);
void target_close(struct target *t, bool discard);

/* target_file_ops.c: engines let go of the file behind this pass: it is closed, and perhaps opened again. */
bool target_releases_file(const struct target *t);

/* target_file_ops.c: flush and change the file behind a pass. By the last QThread to leave it. */
void target_file_end_pass(struct qthread *q);

/*
 * retry_flush.c: for targets with t->retry_flush. retry_flush_try_again(): whether `req`, which has come back, is to be
 * submitted once more, and is ready for that. retry_flush_report(): it is done with, after account().
 * retry_flush_is_due(): whether `req`, issued now or just complete, is the write behind which to flush; it
 * counts, and so is asked once for each. retry_flush_run(): flush, with nothing outstanding in the QThread.
 */
bool retry_flush_applies(const struct target_plan *plan);
bool retry_flush_try_again(struct qthread *q, struct io_request *req);
void retry_flush_report(struct qthread *q, struct io_request *req, uint64_t done_ns);
bool retry_flush_is_due(struct target *t, const struct io_request *req);
void retry_flush_run(struct qthread *q);

/* target_file_ops.c: flush what was written, as `option` asks, and add the time to `*sum_ns`, which has one writer. */
void target_flush(struct target *t, _Atomic uint64_t *sum_ns, const char *option);

/* target.c */
/* Take the memory for the time stamps of a target, where there are any. Reported here. Target thread. */
int target_open_trace(struct target *t);
void target_begin_pass(struct target *t, uint64_t pass);
void target_end_pass(struct target *t);
struct pass_result *target_snapshot(const struct target *t);
void pass_result_free(struct pass_result *r);

/* latency.c: the histograms of a QThread, those that the run wants kept; none is no failure. */
int qthread_latency_init(struct qthread *q);
void qthread_latency_free(struct qthread *q);
void qthread_latency_reset(struct qthread *q);
int qthread_latency_add(struct latency *l, const struct qthread *q);

/* latency.c: those of all QThreads of a target as they are now. `l` is to be freed, whatever is returned. */
int target_latency_copy(struct latency *l, const struct target *t);

/* qthread.c: the thread function; `arg` is the struct qthread. */
void *qthread_main(void *arg);

/* issue_sync.c, issue_queued.c: issue operations of the pass from clock `now` until `end`, and wait for them. */
void issue_sync(struct qthread *q, uint64_t now, uint64_t end);
void issue_queued(struct qthread *q, uint64_t now, uint64_t end);

/* request_ring.c: the requests that `q` may have outstanding, and their buffers. A text (static) may be left in `*why`. */
int request_ring_init(struct qthread *q, const char **why);
void request_ring_free(struct qthread *q);

/* results.c: the results manager's thread function; `arg` is the struct run. results_queue.c: the rest. */
void *results_main(void *arg);
int results_init(struct results_queue *q, uint32_t alive);
void results_destroy(struct results_queue *q);
void results_put(struct results_queue *q, struct pass_result *r);
void results_qthread_gone(struct results_queue *q);

/*
 * The calling QThread has nothing outstanding, and flushes, closes or unmaps until results_settled(): when the run
 * stops meanwhile, it is waited for.
 */
void results_settle(struct results_queue *q);
void results_settled(struct results_queue *q);
void results_wake(struct results_queue *q);

/*
 * starttime.c: sleep until the time of -starttime, if there is one; 0, or -ECANCELED when the run stops.
 * Then, once all have begun: say so if that was too late.
 */
int starttime_wait(struct run *run);
void starttime_check(const struct run *run);

/* trace_report.c: write reports and dump of a target's time stamps, and say what is missing. Results manager. */
void trace_report(struct run *run, struct target *t, bool partial);

/* run.c: end the run; the first reason wins. Returns true for the first. Any thread. */
bool run_stop(struct run *run, enum stop_reason reason, int detail);

/* errors.c: report an operation that failed, count it, and end what is to end because of it. */
void io_error(struct qthread *q, const struct io_request *req);
void io_error_summary(const struct run *run);

/*
 * miscompare.c: the same for wrong data that was read. Returns whether the next one is going to be
 * shown.
 */
bool miscompare(struct qthread *q, const struct miscompare *m);
void miscompare_summary(const struct run *run);

/* errors.c: one more error in this pass of the target; ends what is to end because of it. */
void errors_count(struct target *t, int detail);

#endif
