/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record time stamps: a table per target, in chunks, of which each QThread has one to itself.
 * Private to src/run.
 *
 * A QThread writes to its chunk without a lock. It takes the lock of the table when the chunk is
 * full, to get a free chunk or, when the table wraps, the chunk that was filled first. So each
 * entry has one writer, the table is as large as requested however the operations fall on the
 * QThreads, and the oldest entries are overwritten.
 */
#ifndef XDD_RUN_ISSUE_TRACE_H
#define XDD_RUN_ISSUE_TRACE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/io/engine.h"
#include "xdd/plan/plan.h"
#include "xdd/trace/trace.h"

/* Neighbours belong to several QThreads: each has its cache lines. */
struct trace_chunk {
	/* const after trace_open() */
	struct trace_entry *entries;
	struct trace_net *nets; /* of each entry; NULL: the target is not end-to-end */

	/*
	 * atomic: entries that are complete; written by the QThread that has the chunk, read by any
	 * thread
	 */
	_Atomic uint32_t used;

	/* guarded by the table's lock: the chunk that was filled next */
	struct trace_chunk *next;
} __attribute__((aligned(128)));

struct trace_table;

/* The recorder of a QThread. */
struct trace_writer {
	/* const after trace_open() */
	struct trace_table *table;
	uint32_t qthread;
	bool triggered; /* only operations after the trigger are recorded */

	uint64_t trigger_ns; /* of clock_now_ns(); const while operations are issued */

	/* owned by the QThread: its chunk; NULL: the table is full, or nothing is recorded yet */
	struct trace_chunk *chunk;
	struct trace_entry *next; /* the entry to write; `end`: none is left */
	struct trace_entry *end;

	/* atomic: written by the QThread, read by any thread */
	_Atomic uint64_t unrecorded;
	_Atomic uint64_t before;
	_Atomic int32_t tid; /* 0: it has recorded nothing */
} __attribute__((aligned(128)));

struct trace_table {
	/* const after trace_open() */
	const struct target_plan *plan;
	struct trace_writer *writers; /* one per QThread; NULL: nothing is recorded */
	struct trace_chunk *chunks;
	void *memory;
	size_t memory_bytes; /* entries, then their network parts */
	int64_t wall_ns;     /* wall clock minus clock_now_ns() */

	pthread_mutex_t lock;

	/* guarded by lock */
	size_t n_taken;		     /* chunks that were ever given to a QThread */
	struct trace_chunk *oldest;  /* of the full chunks */
	struct trace_chunk **newest; /* the link to the next */
	uint64_t overwritten;
	bool closed; /* QThreads get no chunk any more */
};

/*
 * Allocate the table of a target with -timestamps, and touch it. `wall_ns`: wall clock minus
 * clock_now_ns(). Returns 0 or -ENOMEM; call trace_close() in both cases. Target thread.
 */
int trace_open(struct trace_table *table, const struct target_plan *plan, int64_t wall_ns);

/*
 * Move the trigger of -ts triggertime to `at_ns` of clock_now_ns(), where a global clock is known
 * better than `wall_ns`. QThread of the writer, before the first pass.
 */
void trace_trigger(struct trace_writer *w, uint64_t at_ns);

/* Accepts a table of zeroes. While no QThread records. */
void trace_close(struct trace_table *table);

/* Store the processor of the issue in `req`. QThread, before it reads the clock. */
static inline void trace_issue(struct io_request *req)
{
	req->issue_cpu = (uint16_t)sched_getcpu();
}

/*
 * Record an operation that is complete; `net` may be NULL: nothing was sent or received. QThread
 * of the writer.
 */
void trace_done(struct trace_writer *w, const struct io_request *req, const struct trace_net *net,
		uint64_t pass, uint64_t done_ns);

/*
 * Stop recording, and return the entries and the counts of missing ones in `trace`. The entries lie
 * in the table; the caller frees trace->entries and trace->net. A QThread that is stuck may go on
 * at any time, and disturbs nothing. Returns 0 or -ENOMEM.
 */
int trace_collect(struct trace_table *table, struct trace *trace);

#endif
