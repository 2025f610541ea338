/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random numbers, permutations, distributions and arrivals. Each value is a pure function of a key
 * and a number, so any thread can compute any of them without its predecessors.
 */
#ifndef XDD_BASE_RANDOM_H
#define XDD_BASE_RANDOM_H

#include <stdint.h>

#include "xdd/base/arith.h"

/*
 * A counter-based random generator: draw n of a sequence is a pure function of (key, n). Any
 * thread can compute any draw without its predecessors, and the sequence is the same on every
 * machine, at every queue depth, in every run.
 *
 * Draw n is mix(mix(n * RANDOM_GOLDEN + a) ^ b), where the words a and b come from the key. mix is
 * the finalizer of SplitMix64. The inner half is output n of a SplitMix64 generator whose state
 * starts at a; the outer half makes the sequences of two keys different functions instead of
 * shifts of one sequence.
 *
 * Sources: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014; the constants of mix are variant 13 of D. Stafford, "Better bit mixing", 2011, as
 * in S. Vigna's splitmix64 (public domain, prng.di.unimi.it). doc/performance.md has the results
 * of statistical tests. Pure functions; any thread.
 */

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
 * The finalizer of SplitMix64: its output n, counted from 1, is the finalizer of seed + n *
 * RANDOM_GOLDEN.
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

/*
 * A pseudo-random permutation of the numbers 0 to n-1 that needs no memory: each value is computed
 * from its index.
 *
 * A generalized Feistel network: the index is a pair of a left part below `columns` and a right
 * part of `bits` bits, both near the square root of n. Rounds in turns add a function of the right
 * part to the left one, and of the left part to the right one. The grid has at most 2^bits pairs
 * beyond n; those are mapped again until the value is below n (cycle walking).
 *
 * Source: J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, method 3.
 * The function of a round is a hash, no cipher. Pure functions; any thread.
 */

#define PERMUTATION_MAX (1ull << 63)
#define PERMUTATION_ROUNDS_MAX 24

/* Const after permutation_init(), so threads may share it. */
struct permutation {
	uint64_t n;
	uint64_t columns;
	uint32_t bits;
	uint32_t rounds; /* even */
	uint64_t key[PERMUTATION_ROUNDS_MAX];
};

/*
 * The permutation of `n` numbers, 1 to PERMUTATION_MAX, that `sequence` and `lap` name. Other
 * sequences and other laps give other permutations.
 */
void permutation_init(struct permutation *p, const struct random_sequence *sequence, uint64_t n,
		      uint64_t lap);

/* The value at `index`, which is below n. */
uint64_t permutation_at(const struct permutation *p, uint64_t index);

/*
 * Zipf's distribution: rank k of n, from 1, has a probability proportional to 1 / k^theta, for any
 * theta above 0. A draw is a pure function of the sequence and its number.
 *
 * The ranks are cut into buckets: the first ones have a rank each, later ones an eighth of their
 * first rank. A draw chooses a bucket by its exact probability, and then a rank by rejection
 * sampling, which takes 1.1^theta attempts at most. So only the rounding of 53-bit numbers differs
 * from the distribution, and memory is 7 KiB for any n.
 *
 * Source of the sums: L. Euler and C. Maclaurin's formula. Pure functions; any thread.
 */

#define ZIPF_BUCKETS_MAX 448
#define ZIPF_THETA_MAX 10

/* Const after zipf_init(), so threads may share it. */
struct zipf {
	double theta;
	uint32_t n_buckets;
	uint64_t first[ZIPF_BUCKETS_MAX + 1]; /* rank of each bucket; then the one after the last */
	uint64_t below[ZIPF_BUCKETS_MAX];     /* probability of the buckets before, times 2^64 */
};

/* Prepare draws of ranks 1 to `n`, up to 2^63. `theta` is above 0 and at most ZIPF_THETA_MAX. */
void zipf_init(struct zipf *z, uint64_t n, double theta);

/* Draw `n` of the sequence: a rank. */
uint64_t zipf_draw(const struct zipf *z, const struct random_sequence *sequence, uint64_t n);

/*
 * A Poisson process of rate 1 by number: the time of arrival n is a pure function of (key, n). It
 * is the sum of n independent exponential gaps of mean 1, and arrival 0 is at time 0.
 *
 * The sum of 2a gaps has a gamma distribution, and the share of the first a of them in it has the
 * distribution Beta(a, a) and does not depend on the sum (L. Devroye, "Non-Uniform Random Variate
 * Generation", 1986, chapter IX). So arrivals 1, 2, 4, 8 ... are sums of gamma variates, and what
 * lies between two of them is halved until arrival n is reached, each time at a beta variate that
 * belongs to the arrival in the middle. That takes log2(n) steps and no predecessors; a struct
 * poisson keeps the last way, so that the next numbers take two steps on average.
 *
 * Gamma variates: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM
 * TOMS 26, 2000. Symmetric beta variates: G. Ulrich, "Computer generation of distributions on the
 * m-sphere", Applied Statistics 33, 1984. Both are exact; what is left is rounding: times are
 * whole numbers of 2^-16 gaps, and never descend.
 */

/* Arrivals from this one on are at UINT64_MAX. */
#define POISSON_LEVELS 47
#define POISSON_END (1ull << POISSON_LEVELS)

/* Of the mean gap: the unit of times. */
#define POISSON_UNIT (1u << 16)

/* Gaps of which the sum is known: those before arrival `from`. All in units. */
struct poisson_node {
	uint64_t from; /* time of the first arrival */
	uint64_t sum;  /* of the gaps from there */
};

/* A process and the last way through it. Owned by one thread; no memory to free. */
struct poisson {
	struct random_sequence draws;
	uint64_t power[POISSON_LEVELS + 1]; /* times of arrivals 1, 2, 4, 8 ... */
	uint64_t last;			    /* the way that is kept is that to this arrival */
	unsigned level;			    /* and has the nodes of 2^level gaps and more */
	struct poisson_node way[POISSON_LEVELS];
};

/* Set up the process that `key` names. Takes a few microseconds. */
void poisson_init(struct poisson *p, const struct random_key *key);

/* The time of arrival `n`, in units; the same in whatever order arrivals are asked for. */
uint64_t poisson_arrival(struct poisson *p, uint64_t n);

/*
 * Philox4x32-10, the counter-based random generator that seeds random data: draw n of a sequence
 * is a pure function of (key, n).
 *
 * Data on disks depend on these numbers, and later versions have to verify them: neither the
 * generator nor its layout (random.c) may change. Offsets and intervals come from the cheaper
 * random.h.
 *
 * Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11. Pure functions; any thread.
 */

/* Independent sequences under one seed. The values are part of the layout. */
enum philox_stream {
	PHILOX_STREAM_DATA = 2,	     /* seeds of the chunks of -datapattern random */
	PHILOX_STREAM_DUPLICATE = 3, /* the units that -datapattern dedupe repeats */
};

/* Names a sequence; two that differ in any field are independent. */
struct philox_key {
	uint64_t seed;
	uint16_t target;
	enum philox_stream stream;
};

/* The block function itself: `ctr` and `key` in, 128 random bits out. */
void philox_4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4]);

/* 64 random bits: draw `n` of the sequence. */
uint64_t philox_u64(const struct philox_key *key, uint64_t n);

/*
 * A whole number uniform over 0 .. bound-1, without bias: draw `n` of the sequence. `bound` is at
 * least 1. (Multiply-and-reject: D. Lemire, "Fast random integer generation in an interval", 2019.)
 */
uint64_t philox_below(const struct philox_key *key, uint64_t n, uint64_t bound);

#endif
