/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of a QThread while it runs: operations, bytes and times, and its longest and shortest
 * operation.
 */
#ifndef XDD_STAT_COUNTERS_H
#define XDD_STAT_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The counters of one QThread in a pass. One thread writes, any thread reads: every field is a
 * relaxed atomic that only its owner stores, so counting costs plain moves and readers see whole
 * values.
 */

/* Directions of an operation; also indices into the arrays below. */
enum op_dir {
	DIR_READ,
	DIR_WRITE,
	DIR_NOOP,
	DIR_DISCARD, /* in files: numbers of the others stay */
	DIR_COUNT,
};

/* "read", "write", "noop" or "discard". */
const char *op_dir_name(enum op_dir dir);

/* A snapshot, or a sum of snapshots: plain values. Each has a row of figure_rows[]. */
struct tally {
	uint64_t ops[DIR_COUNT];	  /* operations that succeeded */
	uint64_t bytes[DIR_COUNT];	  /* bytes moved, also by failed operations */
	uint64_t failed_bytes[DIR_COUNT]; /* of these, the bytes of failed operations */
	uint64_t failed_ops[DIR_COUNT];	  /* operations that failed: errors by direction */
	uint64_t busy_ns[DIR_COUNT];	  /* sum of completion times of the operations in ops[] */
	uint64_t errors;		  /* operations that failed */
	uint64_t miscompares;		  /* extents of wrong data found by reads */
	uint64_t fill_ns;		  /* time spent filling buffers */
	uint64_t overhead_ns;	 /* time between operations without waits, fills and flushes */
	uint64_t issued;	 /* operations submitted to the engine, also by warm-ups */
	uint64_t warmup_ops;	 /* operations of warm-ups that succeeded; not in ops[] */
	uint64_t outstanding;	 /* issued and not completed */
	uint64_t order_breaks;	 /* operations not issued directly after their predecessor */
	uint64_t retries;	 /* further attempts of operations that failed */
	uint64_t flushes;	 /* flushes, also those that failed */
	uint64_t flush_ns;	 /* sum of their times */
	uint64_t sync_ns;	 /* of these, at the ends of passes; in the elapsed time of these */
	uint64_t open_ns;	 /* sum of the times of opening the target */
	uint64_t close_ns;	 /* sum of the times of closing it */
	uint64_t net_ns;	 /* end-to-end: time in sends, or in receives of data */
	uint64_t net_wait_ns;	 /* end-to-end: time waiting for a message, a turn or the gate */
	uint64_t check_ns;	 /* end-to-end: time computing checksums */
	uint64_t first_issue_ns; /* UINT64_MAX when nothing was issued */
	uint64_t last_done_ns;	 /* 0 when nothing was completed; of a target, plus its sync_ns */
};

struct counters {
	_Atomic uint64_t ops[DIR_COUNT];
	_Atomic uint64_t bytes[DIR_COUNT];
	_Atomic uint64_t busy_ns[DIR_COUNT];
	_Atomic uint64_t errors;
	_Atomic uint64_t miscompares;
	_Atomic uint64_t fill_ns;
	_Atomic uint64_t overhead_ns;
	_Atomic uint64_t issued;
	_Atomic uint64_t warmup_ops;
	_Atomic uint64_t order_breaks;
	_Atomic uint64_t retries;
	_Atomic uint64_t flush_ns;
	_Atomic uint64_t flushes;
	_Atomic uint64_t first_issue_ns;
	_Atomic uint64_t last_done_ns;
	_Atomic uint64_t
		failed_bytes[DIR_COUNT]; /* seldom written, as the counters of end-to-end targets */
	_Atomic uint64_t failed_ops[DIR_COUNT];
	_Atomic uint64_t net_ns;
	_Atomic uint64_t net_wait_ns;
	_Atomic uint64_t check_ns; /* the last one: test_figures knows where they end by it */
} __attribute__((aligned(128)));

/* Owner only: start of a pass. */
void counters_reset(struct counters *c);

/* Owner only. */
static inline void counters_add(_Atomic uint64_t *field, uint64_t n)
{
	atomic_store_explicit(field, atomic_load_explicit(field, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Owner only: the same, and readers that see it see all earlier stores of the owner. */
static inline void counters_publish(_Atomic uint64_t *field, uint64_t n)
{
	atomic_store_explicit(field, atomic_load_explicit(field, memory_order_relaxed) + n,
			      memory_order_release);
}

/* Owner only: plain store. */
static inline void counters_set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

/* Set `t` to nothing done. */
void tally_clear(struct tally *t);

/*
 * Add what `c` holds now to `t`: sums, the earliest first issue, the latest completion. Any thread.
 */
void tally_add_counters(struct tally *t, const struct counters *c);

/* Add `from` to `t` in the same way. */
void tally_add(struct tally *t, const struct tally *from);

/* Subtract what QThreads count: the sums of `earlier`, which `t` contains. Others are unchanged. */
void tally_subtract(struct tally *t, const struct tally *earlier);

uint64_t tally_ops(const struct tally *t);
uint64_t tally_bytes(const struct tally *t);
uint64_t tally_busy_ns(const struct tally *t);

/* From the first issue to the last completion; 0 when nothing was completed. */
uint64_t tally_elapsed_ns(const struct tally *t);

/*
 * The longest and the shortest operation, with their numbers.
 *
 * struct extremes_live is written by one thread, at the cost of two comparisons per operation, and
 * may be read by any other at the same time. struct extremes is a copy, or the extremes of several
 * copies.
 */

enum extremes_which {
	EXTREMES_LONGEST,
	EXTREMES_SHORTEST,
	EXTREMES_COUNT,
};

/* An operation. */
struct extreme {
	uint64_t took_ns;
	uint64_t op; /* its number */
	uint64_t offset;
	uint64_t bytes;
	uint64_t pass;
	uint64_t target;
	enum op_dir dir;
};

struct extremes {
	bool any; /* there was an operation at all */
	struct extreme of[EXTREMES_COUNT];
};

/* Fields of an operation as they are written; pass and target are the same for all of a QThread. */
struct extreme_live {
	_Atomic uint64_t took_ns;
	_Atomic uint64_t op;
	_Atomic uint64_t offset;
	_Atomic uint64_t bytes;
	_Atomic uint32_t dir;
};

/* All zero is empty. */
struct extremes_live {
	/* atomic: written by the owner, read by anyone */
	_Atomic uint32_t turn; /* odd while the others change; 0: empty */
	struct extreme_live of[EXTREMES_COUNT];
};

/* Owner only, while no thread reads: start of a pass. */
void extremes_reset(struct extremes_live *e);

/* Owner only. For an `o` that is the first, or longer or shorter than all before it. */
void extremes_note(struct extremes_live *e, const struct extreme *o);

/* Owner only. True if extremes_note() must be called for an operation that took so long. */
static inline bool extremes_are_met(const struct extremes_live *e, uint64_t took_ns)
{
	const struct extreme_live *of = e->of;

	return took_ns >
		       atomic_load_explicit(&of[EXTREMES_LONGEST].took_ns, memory_order_relaxed) ||
	       took_ns <
		       atomic_load_explicit(&of[EXTREMES_SHORTEST].took_ns, memory_order_relaxed) ||
	       atomic_load_explicit(&e->turn, memory_order_relaxed) == 0;
}

/* A copy of `e` for `target` and `pass`. Any thread. */
struct extremes extremes_read(const struct extremes_live *e, uint64_t target, uint64_t pass);

/*
 * Add the extremes of `from` to the extremes of `e`; of two that took equally long, the earlier
 * stays.
 */
void extremes_add(struct extremes *e, const struct extremes *from);

#endif
