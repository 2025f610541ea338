/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A QThread: a thread that issues operations of a target. Private to src/run.
 */
#ifndef XDD_RUN_QTHREAD_H
#define XDD_RUN_QTHREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/coord/pace.h"
#include "run/issue/order.h"
#include "run/meter/meter.h"
#include "xdd/io/engine.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

struct qthread_data;
struct target;
struct trace_writer;
struct transfer;

/* The warm-up of a pass: op_hooks.h. */
struct warmup_state {
	uint64_t until_ns;     /* clock at which it ends, if it is a time */
	bool over;	       /* the QThread has issued an operation that is measured */
	uint64_t from_ns;      /* clock from which the QThread measures its own times */
	uint64_t from_wait_ns; /* clock_thread_wait_ns() then */
};

/* Number 0 is the target thread: it opens the target as well. */
struct qthread {
	/* owned by this QThread, read by any thread */
	struct counters counters;
	struct extremes_live extremes; /* with FIGURES_EXTREMES */

	/*
	 * owned by this QThread, read by any thread, reset by the last QThread to leave a pass;
	 * without memory unless keeps_latency
	 */
	struct histogram latency[LATENCY_TIMES][DIR_COUNT];
	struct histogram flushes; /* of -flushwrite; without memory for a target without it too */

	/* const after creation */
	struct target *target;
	uint32_t number;
	bool keeps_latency;   /* the histograms have their memory */
	bool samples_latency; /* percentiles are enough, and no operation is slow */

	/* owned by the thread that created it */
	pthread_t thread;
	bool started;

	/* owned by this QThread */
	struct throttle_op throttle; /* the operation that it brings to the gate */

	/* owned by this QThread */
	struct clock_reader clock;
	void *ctx;	/* of the engine */
	int private_fd; /* while there is a context: target_file_ops.h; -1: the target's */
	bool broken;	/* the engine lost its context */
	struct warmup_state warmup;
	struct snooze snooze;
	struct request_ring ring;
	/* of the pass: waits, and the time in the engine where no counter has it; no overhead */
	uint64_t apart_ns;

	/*
	 * owned by this QThread; const while the run goes on: the last QThread to be ready reads it
	 */
	struct io_buffer buffer;
	struct qthread_data *data; /* NULL: no operation needs its buffer filled or verified */
	/*
	 * owned by this QThread, read by the last to leave a pass, freed with the run; NULL without
	 * -deskew
	 */
	struct flow *flow;

	/* const during a run; NULL: no time stamps */
	struct trace_writer *trace;

	/* const after creation, its fields state their owners; NULL: not end-to-end */
	struct transfer *transfer;

	/* written by this QThread before it leaves the pass, read by the last to leave */
	struct cpu_meter cpu;
	uint64_t wait_ns; /* ready to run, and without a processor; with FIGURES_WAIT */

	/* owned by this QThread */
	uint64_t from_wait_ns; /* clock_thread_wait_ns() before the pass; with FIGURES_WAIT */
};

/*
 * Start the thread of `q`. Returns 0 or -errno, reported; the run stops then. Main thread for
 * QThread 0 of a target, QThread 0 for the others.
 */
int qthread_start(struct qthread *q);

#endif
