/*
 * Zipf's distribution: see the header. Called by the access patterns.
 *
 * These numbers are part of what the program promises: the same seed gives the same offsets in
 * every later version. So nothing here may change. The functions of the C library that it calls
 * differ between machines by a part in 2^52 at most, which moves one draw in some 10^15.
 */
#include "xdd/base/zipf.h"

#include <math.h>

#include "xdd/base/uint128.h"

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
static double sum(uint64_t from, uint64_t to, double theta)
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
		weight[i] = sum(z->first[i], first, theta);
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
