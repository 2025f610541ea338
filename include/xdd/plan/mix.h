/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -reqsize mix: requests of several sizes in one pass.
 *
 * The operations of a pass are cut into cycles, each of which has every size as often as its
 * weight says. Their order in a cycle is a function of seed and cycle: one of several random
 * orders, entered anywhere. It is the same in all passes, so that an amount has the same operations
 * in each, and for all targets, so that one can read in step what another writes. All cycles have
 * the same number of bytes, so the size of operation n and the bytes of all operations before it
 * are computed from n alone, in a time that does not depend on it.
 *
 * Built while the plan is resolved, const afterwards. Pure functions; any thread.
 */
#ifndef XDD_PLAN_MIX_H
#define XDD_PLAN_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/random.h"

struct arena;
struct setting;
struct target_plan;

#define MIX_MAX_SIZES 32
#define MIX_MAX_WEIGHT 1000000u
#define MIX_MAX_CYCLE 10000u /* operations */

/* A size as it was given. */
struct mix_item {
	const char *text; /* "4k" */
	uint64_t value;
	bool in_blocks; /* the value counts blocks, and otherwise bytes */
	uint32_t ops;	/* of a cycle */
};

/* The words of the option. */
struct mix_words {
	const struct setting *from;
	size_t n;
	struct mix_item items[MIX_MAX_SIZES];
};

struct mix_size {
	uint64_t bytes;
	uint32_t ops; /* of a cycle */
};

struct request_mix {
	size_t n;
	struct mix_size sizes[MIX_MAX_SIZES]; /* ascending */
	uint64_t unit_bytes;		      /* greatest common divisor of the sizes */
	uint64_t cycle_ops;
	uint64_t cycle_bytes;
	uint64_t seed;
	uint32_t orders;	      /* random orders of a cycle to choose from */
	const uint64_t *before;	      /* for each order the bytes before each operation, and all */
	struct random_sequence order; /* of cycles: which one, and where it is entered */
};

/* An operation: its size, and the bytes of all operations before it. */
struct mix_op {
	uint64_t size;
	uint64_t before;
};

/*
 * Read "4k:60,64k:40" into `words`. Returns NULL, or what is wrong with it, in `arena`; `words`
 * need not be complete then.
 */
const char *mix_read(struct arena *arena, const char *text, struct mix_words *words);

/*
 * Complete `mix`, of which the sizes are set, for a target. `same`: a mix of another target, whose
 * orders are taken if they are the same; or NULL.
 */
void mix_init(struct request_mix *mix, struct arena *arena, uint64_t seed,
	      const struct request_mix *same);

/* Operation `n`, from 0. */
struct mix_op mix_op(const struct request_mix *mix, uint64_t n);

/* The bytes of the first `n` operations. */
static inline uint64_t mix_bytes(const struct request_mix *mix, uint64_t n)
{
	return mix_op(mix, n).before;
}

/*
 * The number of operations that transfer `bytes`, more than 0; `*last` becomes the size of the last
 * one, which is cut to what is left for it.
 */
uint64_t mix_ops(const struct request_mix *mix, uint64_t bytes, uint64_t *last);

/*
 * The bytes after which a sequential pass of target `t`, which has a mix, starts over: whole
 * cycles, as many as the range holds. UINT64_MAX: never, because the pass fits into the range.
 */
uint64_t mix_lap_bytes(const struct target_plan *t);

static inline uint64_t mix_smallest(const struct request_mix *mix)
{
	return mix->sizes[0].bytes;
}

static inline uint64_t mix_largest(const struct request_mix *mix)
{
	return mix->sizes[mix->n - 1].bytes;
}

/* Write "4 KiB:3, 64 KiB:2" to `buf`; returns `buf`. */
#define MIX_TEXT_SIZE 1024
char *mix_text(const struct request_mix *mix, char *buf, size_t size);

#endif
