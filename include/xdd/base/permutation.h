/*
 * A pseudo-random permutation of the numbers 0 to n-1 that needs no memory: each value is computed
 * from its index.
 *
 * A generalized Feistel network: the index is a pair of a left part below `columns` and a right
 * part of `bits` bits, both near the square root of n. Rounds in turns add a function of the right
 * part to the left one, and of the left part to the right one. The grid has at most 2^bits pairs
 * beyond n; those are mapped again until the value is below n (cycle walking).
 *
 * Source: J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, method 3. The
 * function of a round is a hash, no cipher. Pure functions; any thread.
 */
#ifndef XDD_BASE_PERMUTATION_H
#define XDD_BASE_PERMUTATION_H

#include <stdint.h>

#include "xdd/base/random.h"

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

#endif
