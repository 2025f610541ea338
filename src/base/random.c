/*
 * The counter-based random generator of offsets, directions and intervals: the parts that are not
 * needed for each operation. Called by the access patterns and the throttle.
 *
 * The numbers are part of what the program promises: the same seed gives the same offsets in every
 * run, on every machine, in every later version. So the formulas here and in random.h must not
 * change. With G = RANDOM_GOLDEN, all modulo 2^64:
 *
 *	seed = mix(seed ^ mix(rank)) for a rank other than 0
 *	w = pass << 32 | target << 16 | stream
 *	a = mix(mix(seed + G) + w * G)
 *	b = mix(mix(seed + 2 * G) ^ mix(w + G))
 *	draw n = mix(mix(n * G + a) ^ b)
 *
 * A bounded draw tries draw n, then mix(draw n + G), mix(draw n + 2 * G) and so on, until one is
 * not rejected.
 */
#include "xdd/base/random.h"
#include "xdd/base/uint128.h"

struct random_sequence random_sequence(const struct random_key *key)
{
	uint64_t word = (uint64_t)key->pass << 32 | (uint64_t)key->target << 16 |
			(uint64_t)key->stream;

	uint64_t seed = key->rank ? random_splitmix64(key->seed ^ random_splitmix64(key->rank)) :
				    key->seed;

	return (struct random_sequence){
		.a = random_splitmix64(random_splitmix64(seed + RANDOM_GOLDEN) +
				       word * RANDOM_GOLDEN),
		.b = random_splitmix64(random_splitmix64(seed + 2 * RANDOM_GOLDEN) ^
				       random_splitmix64(word + RANDOM_GOLDEN)),
	};
}

uint64_t random_below_retry(uint64_t word, uint64_t bound)
{
	uint128 product = (uint128)word * bound;
	uint64_t state = word;

	/* Ends: mix is a permutation, so the states visit each of the accepted words. */
	while ((uint64_t)product < -bound % bound) {
		state += RANDOM_GOLDEN;
		product = (uint128)random_splitmix64(state) * bound;
	}
	return (uint64_t)(product >> 64);
}
