/*
 * Philox4x32-10, a counter-based random generator. Called by the random data patterns.
 *
 * The layout is part of the format of random data and must not change. The generator has a counter
 * of four 32-bit words and a key of two:
 *
 *	counter[0]	draw n, low half
 *	counter[1]	draw n, high half
 *	counter[2]	0
 *	counter[3]	target << 16 | stream << 8 | attempt
 *	key[0], key[1]	seed, low and high half
 *
 * The four words of output make two 64-bit words, low half first: out[1]:out[0] and out[3]:out[2].
 * philox_u64() is the first of them at attempt 0. philox_below() tries the first, then the second,
 * then the same of attempt 1, and so on, until one is not rejected.
 */
#include "xdd/base/philox.h"
#include "xdd/base/uint128.h"

#define PHILOX_ROUNDS 10
#define PHILOX_MULTIPLIER_0 0xd2511f53u
#define PHILOX_MULTIPLIER_1 0xcd9e8d57u
#define PHILOX_WEYL_0 0x9e3779b9u
#define PHILOX_WEYL_1 0xbb67ae85u

#define ATTEMPTS_MAX 255

static inline void rounds(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t c0 = ctr[0], c1 = ctr[1], c2 = ctr[2], c3 = ctr[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < PHILOX_ROUNDS; round++) {
		uint64_t p0 = (uint64_t)PHILOX_MULTIPLIER_0 * c0;
		uint64_t p1 = (uint64_t)PHILOX_MULTIPLIER_1 * c2;

		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)p1;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p0;
		k0 += PHILOX_WEYL_0;
		k1 += PHILOX_WEYL_1;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

void philox_4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4])
{
	rounds(ctr, key, out);
}

/* The two 64-bit words of one attempt at draw `n`. */
static inline void draw(const struct philox_key *key, uint64_t n, uint32_t attempt,
			uint64_t word[2])
{
	const uint32_t ctr[4] = {
		(uint32_t)n,
		(uint32_t)(n >> 32),
		0,
		(uint32_t)key->target << 16 | ((uint32_t)key->stream & 0xff) << 8 | attempt,
	};
	const uint32_t k[2] = { (uint32_t)key->seed, (uint32_t)(key->seed >> 32) };
	uint32_t out[4];

	rounds(ctr, k, out);
	word[0] = (uint64_t)out[1] << 32 | out[0];
	word[1] = (uint64_t)out[3] << 32 | out[2];
}

uint64_t philox_u64(const struct philox_key *key, uint64_t n)
{
	uint64_t word[2];

	draw(key, n, 0, word);
	return word[0];
}

uint64_t philox_below(const struct philox_key *key, uint64_t n, uint64_t bound)
{
	uint128 product = 0;

	for (uint32_t attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
		uint64_t word[2];

		draw(key, n, attempt, word);
		for (int i = 0; i < 2; i++) {
			product = (uint128)word[i] * bound;
			/*
			 * 2^64 modulo bound of the low halves are too many for an even share. The
			 * first test nearly always avoids the division.
			 */
			if ((uint64_t)product >= bound || (uint64_t)product >= -bound % bound)
				return (uint64_t)(product >> 64);
		}
	}
	/* Less likely than 2^-510: a value that is biased by less than one part in 2^63. */
	return (uint64_t)(product >> 64);
}
