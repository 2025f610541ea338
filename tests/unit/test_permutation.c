/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pseudo-random permutations: src/base/random.c, and their use by -seek random once.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "access_plan.h"
#include "xdd/base/random.h"
#include "xdd/io/access.h"

/* Deviations beyond this many standard deviations have a probability of less than 10^-6. */
#define TOO_FAR 5.0

static struct random_sequence sequence_of(uint64_t seed)
{
	const struct random_key key = { .seed = seed, .pass = 1 };

	return random_sequence(&key);
}

static struct permutation permutation_of(uint64_t seed, uint64_t n)
{
	const struct random_sequence s = sequence_of(seed);
	struct permutation p;

	permutation_init(&p, &s, n, 0);
	return p;
}

/* Each number of 0 to n-1 is a value once. */
static void check_complete(uint64_t n, uint64_t seed)
{
	const struct permutation p = permutation_of(seed, n);
	uint8_t *seen = calloc(1, n / 8 + 1);

	assert_non_null(seen);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t value = permutation_at(&p, i);

		if (value >= n || seen[value / 8] & 1u << value % 8)
			fail_msg(
				"%llu numbers, seed %llu: index %llu gives %llu, twice or too large",
				(unsigned long long)n, (unsigned long long)seed,
				(unsigned long long)i, (unsigned long long)value);
		seen[value / 8] |= (uint8_t)(1u << value % 8);
	}
	free(seen);
}

TEST(test_complete)
{
	static const uint64_t sizes[] = { 4095,	 4096,	4097,	16384,	16385,
					  65535, 65537, 100003, 1000000 };

	for (uint64_t n = 1; n <= 700; n++)
		check_complete(n, n);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_complete(sizes[i], i);
	if (getenv("XDD_TEST_LONG"))
		check_complete(100000000, 72058);
}

/* Values of large permutations are in range, and the inverse image is unique among neighbours. */
TEST(test_large)
{
	static const uint64_t sizes[] = { 1000000000000, (1ull << 40) + 1, (1ull << 41) - 1,
					  (1ull << 62) + 12345, PERMUTATION_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct permutation p = permutation_of(i, sizes[i]);

		for (uint64_t n = 0; n < 20000; n++) {
			assert_true(permutation_at(&p, n) < sizes[i]);
			assert_true(permutation_at(&p, sizes[i] - 1 - n) < sizes[i]);
			assert_int_not_equal(permutation_at(&p, n), permutation_at(&p, n + 1));
		}
	}
}

/* Chi-square of counts that all are expected to be `expected`, in standard deviations. */
static double deviation(const uint32_t *counts, size_t n, double expected)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (counts[i] - expected) * (counts[i] - expected) / expected;
	return (sum - (double)(n - 1)) / sqrt(2.0 * (double)(n - 1));
}

/* The number of a permutation of `n` values among all. */
static unsigned number_of(const struct permutation *p, unsigned n)
{
	unsigned value[8], number = 0;

	for (unsigned i = 0; i < n; i++)
		value[i] = (unsigned)permutation_at(p, i);
	for (unsigned i = 0; i < n; i++) {
		unsigned less = 0;

		for (unsigned j = i + 1; j < n; j++)
			less += value[j] < value[i];
		number = number * (n - i) + less;
	}
	return number;
}

/* All permutations of a few numbers are equally likely. */
TEST(test_all_permutations)
{
	enum {
		EACH = 400
	};
	static uint32_t counts[720];
	unsigned all = 1;

	for (unsigned n = 2; n <= 6; n++) {
		all *= n;
		memset(counts, 0, sizeof(counts));
		for (uint64_t seed = 0; seed < (uint64_t)all * EACH; seed++) {
			const struct permutation p = permutation_of(seed, n);

			counts[number_of(&p, n)]++;
		}
		assert_true(deviation(counts, all, EACH) < TOO_FAR);
	}
}

/* Pairs of values whose indices are `step` apart fall evenly into a grid of 64 x 64 cells. */
static void check_pairs(uint64_t n, uint64_t seed, uint64_t step)
{
	enum {
		COUNT = 200000
	};
	static uint32_t cells[4096], distances[4096];
	const struct permutation p = permutation_of(seed, n);

	memset(cells, 0, sizeof(cells));
	memset(distances, 0, sizeof(distances));
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t a = permutation_at(&p, 2 * i * step % n);
		uint64_t b = permutation_at(&p, (2 * i + 1) * step % n);
		uint64_t apart = (b + n - a) % n;

		cells[(unsigned __int128)a * 64 / n * 64 +
		      (uint64_t)((unsigned __int128)b * 64 / n)]++;
		distances[(unsigned __int128)apart * 4096 / n]++;
	}
	assert_true(deviation(cells, 4096, COUNT / 4096.0) < TOO_FAR);
	assert_true(deviation(distances, 4096, COUNT / 4096.0) < TOO_FAR);
}

TEST(test_pairs)
{
	static const uint64_t sizes[] = { 1000003, 16777259, 1000000000000, (1ull << 40) + 1,
					  1ull << 52 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		check_pairs(sizes[i], i, 1);
		check_pairs(sizes[i], i + 7, 2);
		check_pairs(sizes[i], i + 77, 1021);
	}
}

/* A part of the indices spreads evenly over the values: over 100 cells less than by chance. */
TEST(test_part_is_even)
{
	static const uint64_t sizes[] = { 4000, 5000, 60000, 1000003, 1000000000000 };
	static uint32_t cells[100];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double sum = 0;

		for (uint64_t seed = 0; seed < 50; seed++) {
			const struct permutation p = permutation_of(seed, sizes[i]);

			memset(cells, 0, sizeof(cells));
			for (uint64_t n = 0; n < 2000; n++)
				cells[(unsigned __int128)permutation_at(&p, n) * 100 / sizes[i]]++;
			sum += deviation(cells, 100, 20);
		}
		assert_true(sum / sqrt(50) < TOO_FAR);
	}
}

/* Part of the promise that one seed gives the same offsets in every version. */
TEST(test_stays_the_same)
{
	static const uint64_t small[] = { 1, 3, 8, 9, 7, 6, 4, 0, 2, 5 },
			      large[] = { 458235703057, 90306454570, 140927661567, 995950538005 };
	const struct permutation p = permutation_of(72058, 10);
	const struct permutation q = permutation_of(72058, 1000000000000);

	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(permutation_at(&p, i), small[i]);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(permutation_at(&q, i), large[i]);
}

/* ---- -seek random once ---- */

#define SLOTS 1000

static struct target_plan once_plan(uint64_t ops)
{
	struct target_plan t = plan_of(SEEK_ONCE, ops);

	t.range_bytes = SLOTS * REQ;
	return t;
}

static void collect(const struct target_plan *t, uint64_t pass, uint64_t first, uint32_t *slots)
{
	static uint32_t seen[SLOTS];
	struct access a;

	access_init(&a, t, pass);
	memset(seen, 0, sizeof(seen));
	for (uint64_t n = 0; n < SLOTS; n++) {
		struct access_op op = op_of(&a, first + n);
		uint64_t slot = (op.offset - START) / REQ;

		assert_int_equal(op.size, REQ);
		assert_int_equal((op.offset - START) % REQ, 0);
		assert_true(slot < SLOTS);
		assert_int_equal(seen[slot]++, 0);
		slots[n] = (uint32_t)slot;
	}
}

static unsigned count_same(const uint32_t *a, const uint32_t *b)
{
	unsigned same = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		same += a[i] == b[i];
	return same;
}

/* Passes, seeds and targets differ as they do with -seek random; so do the rounds of a pass. */
TEST(test_once_keys)
{
	struct target_plan t = once_plan(PLAN_UNLIMITED), u = t;
	uint32_t a[SLOTS], b[SLOTS];

	collect(&t, 1, 0, a);
	collect(&t, 2, 0, b);
	assert_int_equal(count_same(a, b), SLOTS);
	for (uint64_t round = 1; round < 5; round++) {
		collect(&t, 1, round * SLOTS, b);
		assert_in_range(count_same(a, b), 0, 10);
	}
	u.randomize = true;
	collect(&u, 2, 0, b);
	assert_in_range(count_same(a, b), 0, 10);
	u = t;
	u.seek.seed++;
	collect(&u, 1, 0, b);
	assert_in_range(count_same(a, b), 0, 10);
	u = t;
	u.number = 1;
	collect(&u, 1, 0, b);
	assert_in_range(count_same(a, b), 0, 10);
}

/* A range that ends inside of a request: all whole requests, and then its end. */
TEST(test_once_tail)
{
	struct target_plan t = once_plan(SLOTS + 1);
	uint32_t slots[SLOTS];
	struct access_op op;
	struct access a;

	t.range_bytes += 100;
	t.last_op_bytes = 100;
	collect(&t, 1, 0, slots);
	access_init(&a, &t, 1);
	op = op_of(&a, SLOTS);
	assert_int_equal(op.offset, START + SLOTS * REQ);
	assert_int_equal(op.size, 100);
	/* No room for the last operation: it is one of the next round. */
	t.last_op_bytes = 101;
	access_init(&a, &t, 1);
	op = op_of(&a, SLOTS);
	assert_true(op.offset < START + SLOTS * REQ);
	assert_int_equal(op.size, 101);
}

RUN_TESTS(NULL, NULL)
