/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random numbers by number. Called by the access patterns, the schedule of -throttle, and the
 * random data patterns.
 */
#include "xdd/base/random.h"

#include <math.h>

#include "xdd/base/arith.h"

/*
 * The counter-based random generator of offsets, directions and intervals: the parts that are not
 * needed for each operation.
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

/*
 * Pseudo-random permutations.
 *
 * Like the numbers of random.c, these are part of what the program promises: the same seed gives
 * the same offsets in every later version. So nothing here may change.
 */

/*
 * A network of few rounds reaches few of the permutations of a few numbers. From SMALL numbers on
 * six rounds pass the tests of tests/unit/test_permutation.c, and for fewer numbers 22 do.
 */
#define SMALL 4096
#define ROUNDS 6
#define ROUNDS_SMALL PERMUTATION_ROUNDS_MAX

/* The high bits of the product depend on all bits of `x` and `key`. */
static inline uint64_t permutation_hash(uint64_t x, uint64_t key)
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
		left += (uint64_t)((uint128)permutation_hash(right, p->key[i]) * p->columns >> 64);
		if (left >= p->columns)
			left -= p->columns;
		right ^= permutation_hash(left, p->key[i + 1]) >> (64 - p->bits);
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

/*
 * Zipf's distribution.
 *
 * These numbers are part of what the program promises: the same seed gives the same offsets in
 * every later version. So nothing here may change. The functions of the C library that it calls
 * differ between machines by a part in 2^52 at most, which moves one draw in some 10^15.
 */

/* Ranks with a bucket each, and the share of its first rank that a later bucket has. */
#define SINGLE_RANKS 64
#define BUCKET_SHARE 8

static double density(double rank, double theta)
{
	return exp(-theta * log(rank));
}

/* The integral of the density from `from` to `to`. */
static double integral(double from, double to, double theta)
{
	double power = 1 - theta, ratio = log(to / from);

	/* from^power * (exp(power * ratio) - 1) / power, which has a limit at power 0. */
	if (fabs(power * ratio) < 1e-12)
		return exp(power * log(from)) * ratio;
	return exp(power * log(from)) * expm1(power * ratio) / power;
}

/* The sum of the density over the ranks `from` to `to` - 1. */
static double zipf_sum(uint64_t from, uint64_t to, double theta)
{
	double a = (double)from, b = (double)to, fa = density(a, theta), fb = density(b, theta);
	double third = theta * (theta + 1) * (theta + 2);

	if (to - from == 1)
		return fa;
	return integral(a, b, theta) + (fa - fb) / 2 + theta * (fa / a - fb / b) / 12 -
	       third * (fa / (a * a * a) - fb / (b * b * b)) / 720;
}

/* The rank after the last one of the bucket that begins with `first`. */
static uint64_t bucket_end(uint64_t first, uint64_t n)
{
	uint64_t end = first + (first < SINGLE_RANKS ? 1 : first / BUCKET_SHARE);

	return end <= n ? end : n + 1;
}

void zipf_init(struct zipf *z, uint64_t n, double theta)
{
	double weight[ZIPF_BUCKETS_MAX], total = 0, before = 0;
	uint32_t i = 0;

	z->theta = theta;
	for (uint64_t first = 1; first <= n; i++) {
		z->first[i] = first;
		first = bucket_end(first, n);
		weight[i] = zipf_sum(z->first[i], first, theta);
		total += weight[i];
		z->first[i + 1] = first;
	}
	z->n_buckets = i;
	for (i = 0; i < z->n_buckets; i++) {
		double share = before / total;

		z->below[i] = share < 1 ? (uint64_t)(share * 0x1p64) : UINT64_MAX;
		before += weight[i];
	}
}

/* The bucket whose interval `word` falls into. */
static uint32_t bucket_of(const struct zipf *z, uint64_t word)
{
	uint32_t low = 0, high = z->n_buckets;

	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (z->below[middle] <= word)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t zipf_draw(const struct zipf *z, const struct random_sequence *sequence, uint64_t n)
{
	uint64_t word = random_u64(sequence, n), first, width;
	uint32_t bucket = bucket_of(z, word);

	first = z->first[bucket];
	width = z->first[bucket + 1] - first;
	if (width == 1)
		return first;
	for (;;) {
		uint64_t rank;
		double u;

		word = random_splitmix64(word + RANDOM_GOLDEN);
		rank = first + (uint64_t)((uint128)word * width >> 64);
		word = random_splitmix64(word + RANDOM_GOLDEN);
		u = (double)(word >> 11) * 0x1p-53;
		if (u < exp(-z->theta * log1p((double)(rank - first) / (double)first)))
			return rank;
	}
}

/*
 * A Poisson process by number.
 *
 * Draws 2m and 2m + 1 belong to arrival m: to its beta variate if m is in the middle of a node, or
 * to its gamma variate if m is a power of two. Each m is one of these, once.
 */

#define TWO_PI 6.283185307179586476925

/* Uniform over the open interval from 0 to 1. */
static double uniform(uint64_t word)
{
	return ((double)(word >> 11) + 0.5) / 9007199254740992.0;
}

/* Further numbers of a draw that a rejection needs. */
static double next_uniform(uint64_t *state)
{
	*state += RANDOM_GOLDEN;
	return uniform(random_splitmix64(*state));
}

/* By the method of Box and Muller. */
static double next_normal(uint64_t *state)
{
	double r = sqrt(-2 * log(next_uniform(state)));

	return r * cos(TWO_PI * next_uniform(state));
}

/* The sum of `gaps` exponential gaps, at least 1. */
static double gamma_variate(double gaps, uint64_t state)
{
	const double d = gaps - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = next_normal(&state), u = next_uniform(&state);
		/* v - 1 of the source: near to 0 where there are many gaps. */
		double w = c * x * (3 + c * x * (3 + c * x));

		if (w > -1 && log(u) < x * x / 2 + d * (log1p(w) - w))
			return d * (1 + w);
	}
}

/* The share of the first half of 2 * `half` gaps. */
static double half_share(const struct random_sequence *draws, uint64_t middle, uint64_t half)
{
	double u = uniform(random_u64(draws, 2 * middle));
	double angle = TWO_PI * uniform(random_u64(draws, 2 * middle + 1));
	double r = sqrt(-expm1(log(u) * 2 / (2 * (double)half - 1)));

	return (1 + r * cos(angle)) / 2;
}

void poisson_init(struct poisson *p, const struct random_key *key)
{
	double sum;

	*p = (struct poisson){ .draws = random_sequence(key) };
	/* Arrival 1 is one gap after arrival 0, and arrival 2m is m gaps after arrival m. */
	for (unsigned i = 0; i <= POISSON_LEVELS; i++) {
		double gaps = i ? (double)(1ull << (i - 1)) : 1;

		sum = gamma_variate(gaps, random_u64(&p->draws, 2ull << i)) * POISSON_UNIT;
		p->power[i] = (i ? p->power[i - 1] : 0) + (uint64_t)(sum + 0.5);
	}
}

static unsigned log2_floor(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

/* The lowest node of the way that is kept which arrival `n`, above 0, is in. Sets p->level. */
static struct poisson_node begin_way(struct poisson *p, uint64_t n)
{
	const unsigned top = log2_floor(n);
	unsigned common = n == p->last ? 0 : log2_floor(n ^ p->last) + 1;

	if (p->last && log2_floor(p->last) == top) {
		if (p->level < common)
			p->level = common;
	} else {
		p->level = top;
		p->way[top] =
			(struct poisson_node){ p->power[top], p->power[top + 1] - p->power[top] };
	}
	p->last = n;
	return p->way[p->level];
}

uint64_t poisson_arrival(struct poisson *p, uint64_t n)
{
	struct poisson_node node;

	if (!n || n >= POISSON_END)
		return n ? UINT64_MAX : 0;
	node = begin_way(p, n);
	/* Until the node begins with arrival n. */
	while (n & ((1ull << p->level) - 1)) {
		uint64_t half = 1ull << --p->level, middle = (n & ~(half - 1)) | half;
		double share = half_share(&p->draws, middle, half);
		uint64_t first = (uint64_t)((double)node.sum * share + 0.5);

		if (first > node.sum)
			first = node.sum;
		if (n & half) {
			node.from += first;
			node.sum -= first;
		} else {
			node.sum = first;
		}
		p->way[p->level] = node;
	}
	return node.from;
}

/*
 * Philox4x32-10, a counter-based random generator.
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
static inline void philox_draw(const struct philox_key *key, uint64_t n, uint32_t attempt,
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

	philox_draw(key, n, 0, word);
	return word[0];
}

uint64_t philox_below(const struct philox_key *key, uint64_t n, uint64_t bound)
{
	uint128 product = 0;

	for (uint32_t attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
		uint64_t word[2];

		philox_draw(key, n, attempt, word);
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
