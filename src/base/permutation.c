/*
 * Pseudo-random permutations: see the header. Called by the access patterns.
 *
 * Like those of random.c, these numbers are part of what the program promises: the same seed gives
 * the same offsets in every later version. So nothing here may change.
 */
#include "xdd/base/permutation.h"
#include "xdd/base/uint128.h"

/*
 * A network of few rounds reaches few of the permutations of a few numbers. From SMALL numbers on
 * six rounds pass the tests of tests/unit/test_permutation.c, and for fewer numbers 22 do.
 */
#define SMALL 4096
#define ROUNDS 6
#define ROUNDS_SMALL PERMUTATION_ROUNDS_MAX

/* The high bits of the product depend on all bits of `x` and `key`. */
static inline uint64_t hash(uint64_t x, uint64_t key)
{
	x = (x + key) * 0xbf58476d1ce4e5b9ull;
	return (x ^ x >> 32) * 0x94d049bb133111ebull;
}

void permutation_init(struct permutation *p, const struct random_sequence *sequence, uint64_t n,
		      uint64_t lap)
{
	uint32_t bits = 1;

	while (bits < 32 && 1ull << (2 * bits + 1) < n)
		bits++;
	p->n = n;
	p->bits = bits;
	p->columns = (n >> bits) + (n % (1ull << bits) != 0);
	p->rounds = n < SMALL ? ROUNDS_SMALL : ROUNDS;
	for (uint32_t i = 0; i < p->rounds; i++)
		p->key[i] = random_u64(sequence, lap * PERMUTATION_ROUNDS_MAX + i);
}

/* The value of the pair at `index` of the grid, which may be n or more. */
static inline uint64_t network(const struct permutation *p, uint64_t index)
{
	uint64_t left = index >> p->bits, right = index & ((1ull << p->bits) - 1);

	for (uint32_t i = 0; i < p->rounds; i += 2) {
		left += (uint64_t)((uint128)hash(right, p->key[i]) * p->columns >> 64);
		if (left >= p->columns)
			left -= p->columns;
		right ^= hash(left, p->key[i + 1]) >> (64 - p->bits);
	}
	return left << p->bits | right;
}

uint64_t permutation_at(const struct permutation *p, uint64_t index)
{
	/* Ends: the network is a permutation of the grid, and leads back to `index`. */
	do {
		index = network(p, index);
	} while (index >= p->n);
	return index;
}
