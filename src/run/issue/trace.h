/*
 * Recording time stamps: a table for each target, in chunks of which each QThread has one to itself.
 *
 * A QThread writes to its chunk without a lock; it takes the lock of the table when the chunk is full, to
 * get a free one or, when the table wraps, the one that was filled first. So there is one writer for each
 * entry, the table is as large as was asked for however the operations fall on the QThreads, and what is
 * overwritten is the oldest. Private to src/run.
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

/* Chunks side by side belong to several QThreads: each has its cache lines. */
struct trace_chunk {
	/* const after trace_open() */
	struct trace_entry *entries;

	/* atomic: entries that are complete; the QThread that has the chunk writes it, anyone reads */
	_Atomic uint32_t used;

	/* guarded by the table's lock: the one that was filled next */
	struct trace_chunk *next;
} __attribute__((aligned(128)));

struct trace_table;

/* What one QThread records with. */
struct trace_writer {
	/* const after trace_open() */
	struct trace_table *table;
	uint32_t qthread;
	bool triggered; /* not all operations are to be recorded */

	/* owned by the QThread: its chunk, NULL when the table is full or nothing was recorded yet */
	struct trace_chunk *chunk;
	struct trace_entry *next; /* to be written; `end` when there is none */
	struct trace_entry *end;

	/* atomic: written by the QThread, read by anyone */
	_Atomic uint64_t unrecorded;
	_Atomic uint64_t before;
	_Atomic int32_t tid; /* 0: it has recorded nothing */
} __attribute__((aligned(128)));

struct trace_table {
	/* const after trace_open() */
	const struct target_plan *plan;
	struct trace_writer *writers; /* one a QThread; NULL: nothing is recorded */
	struct trace_chunk *chunks;
	void *memory;
	size_t memory_bytes;
	uint64_t trigger_ns; /* of clock_now_ns() */
	int64_t wall_ns;     /* wall clock minus clock_now_ns() */

	pthread_mutex_t lock;

	/* guarded by lock */
	size_t n_taken;		     /* chunks that were ever taken */
	struct trace_chunk *oldest;  /* of those that are full */
	struct trace_chunk **newest; /* where the next goes */
	uint64_t overwritten;
	bool closed; /* no chunk is given out any more */
};

/*
 * Take the memory for a target with -timestamps, and touch it. `wall_ns`: wall clock minus clock_now_ns().
 * Returns 0 or -ENOMEM; to be closed by trace_close() in either case. Target thread.
 */
int trace_open(struct trace_table *table, const struct target_plan *plan, int64_t wall_ns);

/* Accepts a table of zeroes. While no QThread records. */
void trace_close(struct trace_table *table);

/* The CPU that an operation is issued on, into `req`. QThread, before the clock is read. */
static inline void trace_issue(struct io_request *req)
{
	req->issue_cpu = (uint16_t)sched_getcpu();
}

/* Record an operation that has come back. QThread of the writer. */
void trace_done(struct trace_writer *w, const struct io_request *req, uint64_t pass,
		uint64_t done_ns);

/*
 * Stop recording and put what was recorded together into `trace`: entries and what is missing. They lie in
 * the table. `trace->entries` is to be freed. A QThread that is stuck may come back any time, and
 * disturbs nothing. Returns 0 or -ENOMEM.
 */
int trace_collect(struct trace_table *table, struct trace *trace);

#endif
