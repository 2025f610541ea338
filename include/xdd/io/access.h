/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations of a pass: where each goes, when it is due, and lists of them. Pure functions of
 * the plan.
 */
#ifndef XDD_IO_ACCESS_H
#define XDD_IO_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "xdd/base/random.h"
#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"

/*
 * Where operation n of a pass goes: a pure function of (plan, pass, n). Nothing is stored for each
 * operation, so any thread can compute any of them; only -seek load brings a list.
 */

struct access_op {
	uint64_t offset; /* bytes from the start of the target */
	/*
	 * Apart from the size: compilers copy two neighbours with one load, which waits for both
	 * stores to end.
	 */
	enum op_dir dir;
	uint64_t size; /* bytes */
};

/* The way to compute the offset of an operation, by pattern and range. access.c only. */
enum access_place {
	ACCESS_LINEAR,	    /* a constant step, no range: sequential, interleaved, none */
	ACCESS_WRAPPED,	    /* sequential in a range */
	ACCESS_INTERLEAVED, /* interleaved in a range */
	ACCESS_STREAMS,	    /* reads and writes in a sequence each */
	ACCESS_RANDOM,
	ACCESS_STAGGERED,
	ACCESS_LOADED,
	ACCESS_BLOCKS,	      /* sequential in the blocks of a shared file */
	ACCESS_RANDOM_BLOCKS, /* random in them */
	ACCESS_ONCE,	      /* each slot of the range once, in random order */
	ACCESS_ONCE_BLOCKS,   /* the same in the blocks of a shared file */
	ACCESS_ZIPF,	      /* hot spots */
	ACCESS_ZIPF_BLOCKS,   /* the same in the blocks of a shared file */
	ACCESS_MIXED,	      /* requests of several sizes, end to end */
	ACCESS_MIXED_RANDOM,  /* requests of several sizes at random offsets */
};

/* The way to compute the direction of an operation. access.c only. */
enum access_turn {
	ACCESS_FIXED,
	ACCESS_EVEN,  /* the exact share of reads, evenly spread */
	ACCESS_DRAWN, /* drawn at random */
};

/*
 * The pattern of one target in one pass; const once access_init() returns, shared by its QThreads.
 */
struct access {
	const struct target_plan *target;
	enum access_place place;
	enum access_turn turn;
	enum op_dir dir; /* of all operations, where it is fixed */
	uint64_t base;	 /* bytes: start offset, target offset and pass offset together */
	uint64_t req_bytes;
	uint64_t last_op; /* number of the shorter operation, UINT64_MAX when there is none */
	uint64_t last_bytes;
	uint64_t slots; /* whole requests in the range; 0: unbounded */
	uint64_t step;	/* bytes between neighbouring slots, where the pattern has a constant one */
	uint64_t lap_bytes; /* of a mix, after which it starts over; UINT64_MAX: never */
	/*
	 * Operations below this number are full-sized, have the direction `dir`, and go to slot n
	 * or, where the pattern is random, to a drawn one.
	 */
	uint64_t plain_ops;
	uint64_t stride; /* slots between neighbours when interleaved in a range */
	uint64_t round;	 /* slots / stride: operations of a round, some have one more */
	uint64_t longer; /* slots % stride: rounds that have one more */
	struct random_sequence location;
	struct random_sequence direction;
	uint64_t block_slots;	  /* slots of a block of a shared file */
	uint64_t segment_bytes;	  /* from a block to the next one of the same owner */
	bool has_tail;		  /* the last operation is the end of the range, after all slots */
	struct permutation order; /* of the slots: of operations, or of ranks where some are hot */
};

/* `pass` counts from 1. */
void access_init(struct access *a, const struct target_plan *target, uint64_t pass);

/* The general case of access_op(). */
void access_any_op(const struct access *a, uint64_t n, struct access_op *op);

/*
 * Operation `n` (from 0, below the target's pass_ops). Works for any n at any time; QThreads call
 * it for each operation, outside the timed window.
 */
static inline void access_op(const struct access *a, uint64_t n, struct access_op *op)
{
	uint64_t slot = n;

	if (__builtin_expect(n >= a->plain_ops, 0)) {
		access_any_op(a, n, op);
		return;
	}
	if (a->place == ACCESS_RANDOM)
		slot = random_below(&a->location, n, a->slots);
	op->offset = a->base + slot * a->step;
	op->size = a->req_bytes;
	op->dir = a->dir;
}

/*
 * True when each operation is a read that begins where the one before it ended, or starts over:
 * access_laps().
 */
bool access_reads_in_sequence(const struct access *a);

/*
 * Of the first `ops` operations of such a sequence: the whole laps, the bytes of each, and the
 * bytes of the rest, from its start.
 */
struct access_laps {
	uint64_t whole;
	uint64_t lap_bytes;
	uint64_t rest_bytes;
};

struct access_laps access_laps(const struct access *a, uint64_t ops);

/*
 * The schedule of -throttle: when operations of a pass are due. A pure function of the plan and
 * the number of the operation; any thread.
 */

static inline bool throttle_is_on(const struct target_plan *t)
{
	return t->throttle.interval_ns > 0;
}

/*
 * The arrivals of -throttle poisson in `pass`, as the functions below take them. Every pass has its
 * own, so that passes are independent; every target, too. They are the same in each run of the same
 * seed. The requests of a list with a rate of bytes arrive at the rate of requests of mean size.
 */
void throttle_arrivals(struct poisson *arrivals, const struct target_plan *t, uint64_t pass);

/*
 * Nanoseconds from the start of a pass to the time at which operation `n` is due; at most
 * UINT64_MAX / 4, so that a clock reading can be added. Ascends with n; 0 for all without a
 * throttle. With a rate of operations that is n over the rate, with a rate of bytes the bytes
 * before operation n over the rate. -throttle var moves each operation by a random part of the
 * interval to its neighbour, the same in every pass and run of the same seed. With -throttle
 * poisson it is the time of arrival n in `arrivals`, which only then is used, by one thread at a
 * time.
 */
uint64_t throttle_due_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n);

/*
 * Nanoseconds that `n` operations take by the schedule, each its interval: from the start of a pass
 * to the time at which the next operation would be due, without -throttle var. 0 without a
 * throttle.
 */
uint64_t throttle_span_ns(const struct target_plan *t, struct poisson *arrivals, uint64_t n);

/*
 * Seek lists as files: -seek save, with the histograms of -seek seekhist and disthist. (Reading
 * one, -seek load, is part of building the plan: src/plan/feature.h.)
 *
 * Format: doc/seek-files.md.
 */

/*
 * Where the plan asks for it, write the list of pass 1 of `target` to "<save file>.T<number>.txt",
 * which takes that name once it is complete, and append the histograms asked for; without a save
 * file the histograms go to log_raw(). Locations are in blocks, with the start offset but without
 * the target's and the pass's own offset, so that a loaded list can be moved by those. Returns 0 or
 * -errno; `*path` (may be NULL) is then the file concerned, to be freed by the caller. Called by
 * main before the run.
 */
int seekfile_save(const struct target_plan *target, char **path);

/*
 * Write what such a file has to `f`, wherever the plan wants it. Returns 0 or -errno. Main thread.
 */
int seekfile_write(const struct target_plan *target, FILE *f);

#endif
