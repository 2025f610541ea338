/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target during a run. Private to src/run.
 */
#ifndef XDD_RUN_TARGET_H
#define XDD_RUN_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/gate.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/meter/sample.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/io/target_file.h"
#include "xdd/net/session.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/wait.h"

struct qthread;
struct endtoend;
struct run;
struct target_data;

/* Lack of a resource fails all further operations of a target: they share one message. */
enum run_out {
	RUN_OUT_OF_FILE,
	RUN_OUT_OF_SPACE,
	RUN_OUT_KINDS
};

/*
 * State of one pass. The last QThread to leave a pass resets it as a whole, while the other
 * QThreads of the target wait: so a new field begins each pass at zero.
 */
struct pass_state {
	/* atomic: QThreads take operation numbers from here; alone on its cache line */
	_Atomic uint64_t next_op __attribute__((aligned(128)));

	/* atomic: errors in this pass: operations that failed, and miscompares */
	_Atomic uint64_t errors __attribute__((aligned(128)));

	/* atomic: the pass ends early: -maxerrors, or a number will not be issued */
	_Atomic bool over;

	/* atomic: numbers that were taken and not issued, though later ones were: issue_fast.c */
	_Atomic uint64_t released;

	/* atomic: completion time of operation 0 */
	_Atomic uint64_t first_op_ns;

	/*
	 * atomic: clock from which -throttle counts, 0 before the pass has begun; guarded by
	 * gate.throttle_lock where other targets hold operations and so move it forward
	 */
	_Atomic uint64_t start_ns;

	/*
	 * atomic: clock at which the schedule began, once operation 0 is admitted, and until which
	 * it lasted; else 0
	 */
	_Atomic uint64_t paced_from_ns;
	_Atomic uint64_t paced_until_ns;

	/*
	 * atomic: clock of the first issue that is measured, with -warmup, and start_ns at that
	 * moment; else 0
	 */
	_Atomic uint64_t measured_ns;
	_Atomic uint64_t paced_measured_ns;

	/* atomic: writes issued, counted for -flushwrite only */
	_Atomic uint64_t writes;

	/*
	 * atomic, set by the last QThread to leave: time of opening, of -syncwrite and of closing;
	 * flushes of -syncwrite
	 */
	_Atomic uint64_t open_ns;
	_Atomic uint64_t sync_ns;
	_Atomic uint64_t syncs;
	_Atomic uint64_t close_ns;

	/* atomic, the same: clock at which a destination had all that this source sent */
	_Atomic uint64_t confirmed_ns;

	/* const during the pass */
	uint64_t shift_ns;    /* delays so far that the user requested */
	uint64_t extent_from; /* first byte that its operations may touch */
	struct access access;
};

struct target {
	/* const after target_open() */
	struct run *run;
	const struct target_plan *plan;
	const struct engine *engine;
	struct qthread *qthreads;
	struct target_data *data;  /* NULL: the buffers keep their zeros */
	struct endtoend *endtoend; /* its fields state their owners; NULL: not end-to-end */
	struct trace_table trace;  /* its fields state their owners */
	char engine_text[ENGINE_TEXT_BYTES]; /* from QThread 0, for -verbose: queue, fallbacks */

	/* const during a run */
	bool gated;	  /* operations ask the gate before they are issued */
	bool followed;	  /* the gate counts operations that are complete */
	bool hooks_issue; /* op_hooks.h */
	bool hooks_done;
	bool retry_flush;  /* op_hooks.h */
	bool orders_sends; /* -ordering network, among several QThreads */

	/* const during a pass; set between passes by the last QThread to leave */
	struct target_file file;
	bool direct_ignored; /* with -dio: the file system uses the page cache all the same */
	bool unused;	     /* the file was opened for a pass that has not ended */
	bool writes_back;    /* writes go to the page cache, and from there to storage */
	struct cache_sample cache_sample;

	/* atomic: it has been opened for the first pass; run->opened is signalled then */
	_Atomic bool is_open;

	/*
	 * In the first of several targets that recreate one file: how often they have closed it,
	 * together; how often one of them has begun to recreate it; and has. Atomic;
	 * run->opened is signalled.
	 */
	_Atomic uint64_t closed;
	_Atomic uint64_t recreating;
	_Atomic uint64_t recreated;

	/* set by the last QThread to leave: how often this target has closed that file */
	uint64_t closed_itself;

	/* atomic, set by the last QThread to leave: time of opening for the next pass */
	_Atomic uint64_t next_open_ns;

	/* atomic: QThreads with an open file of their own in the first pass, except QThread 0 */
	_Atomic uint32_t private_fds;

	/*
	 * written and reset by the last QThread to leave, read by any thread; the flushes of
	 * -syncwrite, without memory unless the target has them and latencies are kept
	 */
	struct histogram syncs;

	/* its fields state their owners */
	struct pass_state state;

	/* atomic: number of the pass; changes with sample_lock held */
	_Atomic uint64_t pass;

	/*
	 * held to copy the counters and histograms of its QThreads while they run, and to reset
	 * them for the next pass
	 */
	pthread_mutex_t sample_lock;

	/* atomic: QThreads that have not left the pass */
	_Atomic uint32_t active;

	/* atomic: the result of the pass is not processed yet; the thread that clears it does */
	_Atomic bool result_pending;

	/* atomic: operations that failed in this run for lack of a resource */
	_Atomic uint64_t ran_out[RUN_OUT_KINDS];

	/* the QThreads of the target meet here while its file changes */
	struct barrier file_barrier;

	/* with -nobarrier the QThreads of the target meet here, instead of all at run->start */
	struct barrier start;

	/* written by the last QThread to leave a pass, with -nobarrier: there is another pass */
	bool more;

	/* their fields state their owners */
	struct order order;
	struct tot sends; /* with orders_sends */
	struct gate gate;
};

#endif
