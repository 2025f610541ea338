/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zipf's distribution: src/base/random.c, and its use by -seek zipf.
 */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "access_plan.h"
#include "xdd/base/random.h"
#include "xdd/io/access.h"

#define RANKS_MAX 20000

static struct random_sequence sequence_of(uint64_t seed)
{
	const struct random_key key = { .seed = seed, .pass = 1 };

	return random_sequence(&key);
}

/* The sum of the probabilities of the ranks up to `n`, not normalized, rank by rank. */
static double slow_sum(uint64_t from, uint64_t to, double theta)
{
	long double sum = 0;

	for (uint64_t k = to; k >= from; k--)
		sum += powl((long double)k, -(long double)theta);
	return (double)sum;
}

/*
 * Chi-square of draws against the exact probabilities, in standard deviations. Ranks that few draws
 * are expected for count together.
 */
static double deviation(uint64_t n, double theta, uint64_t count)
{
	static uint32_t hits[RANKS_MAX + 1];
	const struct random_sequence s = sequence_of(n);
	double total = slow_sum(1, n, theta), chi = 0, expected = 0;
	uint64_t found = 0, cells = 0;
	struct zipf z;

	zipf_init(&z, n, theta);
	memset(hits, 0, sizeof(hits));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t rank = zipf_draw(&z, &s, i);

		assert_in_range(rank, 1, n);
		hits[rank]++;
	}
	for (uint64_t k = 1; k <= n; k++) {
		expected += (double)count * pow((double)k, -theta) / total;
		found += hits[k];
		if (expected < 10 && k < n)
			continue;
		chi += ((double)found - expected) * ((double)found - expected) / expected;
		expected = 0;
		found = 0;
		cells++;
	}
	return cells > 1 ? (chi - (double)(cells - 1)) / sqrt(2.0 * (double)(cells - 1)) : chi;
}

TEST(test_distribution)
{
	static const double thetas[] = { 0.01, 0.5, 0.9, 1, 1.1, 1.5, 3, 10 };
	static const uint64_t sizes[] = { 1, 2, 63, 64, 65, 66, 1000, RANKS_MAX };

	for (size_t i = 0; i < sizeof(thetas) / sizeof(thetas[0]); i++) {
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			assert_true(deviation(sizes[j], thetas[i], 100000) < 5);
	}
}

/* The buckets have the probabilities of their ranks; sums of doubles have errors of some 10^-15. */
TEST(test_buckets)
{
	static const double thetas[] = { 0.01, 0.5, 0.999999, 1, 1.1, 2, 10 };
	static struct zipf z;

	for (size_t i = 0; i < sizeof(thetas) / sizeof(thetas[0]); i++) {
		double total = slow_sum(1, RANKS_MAX, thetas[i]);

		zipf_init(&z, RANKS_MAX, thetas[i]);
		assert_int_equal(z.first[z.n_buckets], RANKS_MAX + 1);
		for (uint32_t b = 1; b < z.n_buckets; b++) {
			double below = slow_sum(1, z.first[b] - 1, thetas[i]) / total;

			assert_true(fabs((double)z.below[b] * 0x1p-64 - below) < 3e-14);
		}
	}
}

/* Sizes that no table could have: below the middle of the logarithms lies half, with theta 1. */
TEST(test_large)
{
	static const uint64_t sizes[] = { 1000000000000, 1ull << 62, 1ull << 63 };
	const struct random_sequence s = sequence_of(7);
	static struct zipf z;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double n = (double)sizes[i], share;
		uint64_t low = 0;

		zipf_init(&z, sizes[i], 1);
		assert_true(z.n_buckets <= ZIPF_BUCKETS_MAX);
		for (uint64_t draw = 0; draw < 100000; draw++) {
			uint64_t rank = zipf_draw(&z, &s, draw);

			assert_in_range(rank, 1, sizes[i]);
			low += rank <= 1000000;
		}
		/* Harmonic numbers: ln k + Euler's constant. */
		share = (log(1e6) + 0.5772156649) / (log(n) + 0.5772156649);
		assert_true(fabs((double)low / 100000 - share) < 0.01);
	}
}

TEST(test_stays_the_same)
{
	static const uint64_t known[] = { 17, 20, 88804699, 6522548, 21, 103, 5, 1 };
	const struct random_sequence s = sequence_of(72058);
	static struct zipf z;

	zipf_init(&z, 1000000000000, 1.1);
	for (uint64_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(zipf_draw(&z, &s, i), known[i]);
}

/* Offsets have the distribution, the hot ones are no neighbours, and stay the same. */
TEST(test_hot_spots)
{
	enum {
		SLOTS = 10000,
		COUNT = 200000
	};
	struct target_plan t = plan_of(SEEK_ZIPF, COUNT);
	static uint32_t hits[2][SLOTS];
	uint64_t hottest[2] = { 0, 0 };
	static struct zipf z;
	struct access a;
	double top;

	t.range_bytes = SLOTS * REQ;
	t.randomize = true;
	zipf_init(&z, SLOTS, 1.1);
	t.seek.zipf = &z;
	for (unsigned i = 0; i < 2; i++) {
		t.number = i;
		access_init(&a, &t, i + 1);
		for (uint64_t n = 0; n < COUNT; n++)
			hits[i][(op_of(&a, n).offset - START) / REQ]++;
		for (uint64_t slot = 0; slot < SLOTS; slot++)
			hottest[i] = hits[i][slot] > hits[i][hottest[i]] ? slot : hottest[i];
	}
	assert_int_equal(hottest[0], hottest[1]);
	assert_int_not_equal(hottest[0], 0);
	assert_int_not_equal(memcmp(hits[0], hits[1], sizeof(hits[0])), 0);
	top = COUNT / slow_sum(1, SLOTS, 1.1);
	assert_true(fabs(hits[0][hottest[0]] - top) < 5 * sqrt(top));
	assert_true(hits[0][(hottest[0] + 1) % SLOTS] < top / 10);
}

RUN_TESTS(NULL, NULL)
