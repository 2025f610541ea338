/*
 * A counter-based random generator: draw n of a sequence is a pure function of (key, n). Any thread
 * can compute any draw without its predecessors, and the sequence is the same on every machine, at
 * every queue depth, in every run.
 *
 * Draw n is mix(mix(n * RANDOM_GOLDEN + a) ^ b), where the words a and b come from the key. mix is
 * the finalizer of SplitMix64. The inner half is output n of a SplitMix64 generator whose state
 * starts at a; the outer half makes the sequences of two keys different functions instead of shifts
 * of one sequence.
 *
 * Sources: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014; the constants of mix are variant 13 of D. Stafford, "Better bit mixing", 2011, as in
 * S. Vigna's splitmix64 (public domain, prng.di.unimi.it). doc/performance.md has the results of
 * statistical tests. Pure functions; any thread.
 */
#ifndef XDD_BASE_RANDOM_H
#define XDD_BASE_RANDOM_H

#include <stdint.h>

#include "xdd/base/uint128.h"

/* Independent sequences under one seed. The values are part of the promise that random.c makes. */
enum random_stream {
	RANDOM_STREAM_LOCATION = 0,
	RANDOM_STREAM_DIRECTION = 1,
	RANDOM_STREAM_PACE = 2,
	RANDOM_STREAM_REORDER = 3,
	RANDOM_STREAM_HOT_SPOTS = 4,
	RANDOM_STREAM_MIX_ORDERS = 5,
	RANDOM_STREAM_MIX = 6,
	RANDOM_STREAM_ARRIVAL = 8,
};

/* Names a sequence; two that differ in any field are independent. */
struct random_key {
	uint64_t seed;
	uint32_t pass;
	uint16_t target;
	uint64_t rank; /* 0: all ranks have one sequence */
	enum random_stream stream;
};

/* A sequence ready to draw from. Const after random_sequence(), so threads may share it. */
struct random_sequence {
	uint64_t a;
	uint64_t b;
};

/*
 * Distance of the states of successive outputs of SplitMix64: 2^64 divided by the golden ratio,
 * odd.
 */
#define RANDOM_GOLDEN 0x9e3779b97f4a7c15ull

/*
 * The finalizer of SplitMix64: its output n, counted from 1, is that of seed + n * RANDOM_GOLDEN.
 */
static inline uint64_t random_splitmix64(uint64_t state)
{
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
	state = (state ^ state >> 27) * 0x94d049bb133111ebull;
	return state ^ state >> 31;
}

/* The sequence that `key` names. */
struct random_sequence random_sequence(const struct random_key *key);

/* 64 random bits: draw `n` of the sequence. */
static inline uint64_t random_u64(const struct random_sequence *s, uint64_t n)
{
	return random_splitmix64(random_splitmix64(n * RANDOM_GOLDEN + s->a) ^ s->b);
}

/* Draw `n` of random_below() where the first attempt, `word`, may have to be rejected. */
uint64_t random_below_retry(uint64_t word, uint64_t bound);

/*
 * A whole number uniform over 0 .. bound-1, without bias: draw `n` of the sequence. `bound` is at
 * least 1. (Multiply-and-reject: D. Lemire, "Fast random integer generation in an interval", 2019.)
 */
static inline uint64_t random_below(const struct random_sequence *s, uint64_t n, uint64_t bound)
{
	uint64_t word = random_u64(s, n);
	uint128 product = (uint128)word * bound;

	/* Only 2^64 modulo bound of the low halves are rejected; those are below `bound`. */
	if (__builtin_expect((uint64_t)product < bound, 0))
		return random_below_retry(word, bound);
	return (uint64_t)(product >> 64);
}

#endif
