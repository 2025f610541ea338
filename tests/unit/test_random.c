/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counter-based random generator: src/base/random.c and the inline half in its header.
 */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "xdd/base/random.h"

static const struct random_key some_key = { .seed = 72058, .pass = 1 };

/* The published outputs of splitmix64 for the seed 1234567. */
TEST(test_splitmix64)
{
	static const uint64_t known[] = { 6457827717110365317u, 3203168211198807973u,
					  9817491932198370423u };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(random_splitmix64(1234567 + (i + 1) * RANDOM_GOLDEN), known[i]);
}

/* Computed by a separate implementation in Python, the one of tests/func/patterns.py. */
TEST(test_known_answers)
{
	static const struct {
		struct random_key key;
		uint64_t n;
		uint64_t draw;
	} known[] = {
		{ { 72058, 1, 0, 0, 0 }, 0, 0x4ef4913c8d7d910c },
		{ { 72058, 1, 0, 0, 0 }, 1, 0x51ef14737860b4fa },
		{ { 72058, 1, 0, 0, 1 }, 0, 0x31ff7a15bac243bd },
		{ { 72058, 2, 0, 0, 0 }, 0, 0x8b10339031a9ef2d },
		{ { 72058, 1, 1, 0, 0 }, 0, 0x6d0f697adfd9baa5 },
		{ { 0, 1, 0, 0, 0 }, 0, 0x859ca5be19a1915a },
		{ { 0, 0, 0, 0, 0 }, 0, 0x3b698d723c716a1d },
		{ { 0x123456789abcdef0, 0xfffffffe, 8191, 0, 2 }, 0x100000000, 0x8cc8d3924bf9740b },
		{ { 72058, 1, 0, 3, 8 }, 5, 0x6ac118ab3c743298 },
		{ { UINT64_MAX, UINT32_MAX, 65535, 0, 2 }, UINT64_MAX, 0x4d3e51218e716089 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct random_sequence s = random_sequence(&known[i].key);

		assert_int_equal(random_u64(&s, known[i].n), known[i].draw);
	}
}

/* From the same implementation. Seven of the first ten draws below 2^63 + 1 reject a word. */
TEST(test_known_bounded)
{
	static const struct {
		uint64_t n;
		uint64_t bound;
		uint64_t draw;
	} known[] = {
		{ 0, 1000003, 0x4b4c4 },
		{ 1, 1000003, 0x4e237 },
		{ 2, 0x8000000000000001, 0x3104b1938e454a01 },
		{ 3, 0x8000000000000001, 0x0b29d05875424f87 },
		{ 4, 0x8000000000000001, 0x29699ba31d77aaff },
		{ 5, 0xffffffffffffffff, 0x6f632e29efde3c98 },
		{ 6, 0xc000000000000000, 0x29647928470498fc },
		{ 7, 0xc000000000000000, 0x129a3a1186905f35 },
		{ 8, 0x8000000000000000, 0x34646b251687992d },
		{ 9, 1, 0 },
	};
	const struct random_sequence s = random_sequence(&some_key);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(random_below(&s, known[i].n, known[i].bound), known[i].draw);
}

/* Without the shortcut of the real one: reject by the remainder of 2^64 alone. */
static uint64_t slow_below(const struct random_sequence *s, uint64_t n, uint64_t bound,
			   unsigned *rejected)
{
	uint64_t reject = (uint64_t)(((unsigned __int128)1 << 64) % bound);
	uint64_t first = random_u64(s, n), word = first;

	for (uint64_t attempt = 1;; attempt++) {
		unsigned __int128 product = (unsigned __int128)word * bound;

		if ((uint64_t)product >= reject)
			return (uint64_t)(product >> 64);
		word = random_splitmix64(first + attempt * RANDOM_GOLDEN);
		++*rejected;
	}
}

TEST(test_below_against_slow)
{
	static const uint64_t bounds[] = {
		1,	    2,		3,	   10, 1000003, 1ull << 32, (1ull << 63) + 1,
		3ull << 62, UINT64_MAX, 1ull << 63
	};
	const struct random_sequence s = random_sequence(&some_key);
	unsigned rejected = 0;

	for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
		for (uint64_t n = 0; n < 2000; n++) {
			uint64_t value = random_below(&s, n, bounds[b]);

			assert_true(value < bounds[b]);
			assert_int_equal(value, slow_below(&s, n, bounds[b], &rejected));
		}
	}
	/* Otherwise the later attempts were never used. */
	assert_true(rejected > 1500);
}

/* Numbers in cells, and how far their counts are from an even distribution. */
#define CELLS_MAX 4096
static uint32_t hits[CELLS_MAX];

/* Chi-square of `count` numbers in `cells` cells, in standard deviations from its mean. */
static double deviation(uint64_t cells, uint64_t count)
{
	double expected = (double)count / (double)cells, sum = 0;

	for (uint64_t i = 0; i < cells; i++)
		sum += (hits[i] - expected) * (hits[i] - expected) / expected;
	memset(hits, 0, sizeof(hits));
	return (sum - (double)(cells - 1)) / sqrt(2.0 * (double)(cells - 1));
}

/* The keys are fixed, so the answer is the same every time. */
static double chi_square(const struct random_key *key, uint64_t bound, uint64_t cells,
			 uint64_t count)
{
	const struct random_sequence s = random_sequence(key);

	assert_true(cells <= CELLS_MAX);
	for (uint64_t n = 0; n < count; n++) {
		unsigned __int128 value = random_below(&s, n, bound);

		hits[(uint64_t)(value * cells / bound)]++;
	}
	return deviation(cells, count);
}

TEST(test_uniform)
{
	static const uint64_t seeds[] = { 0, 1, 72058, 0xdeadbeefcafe };

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct random_key key = { .seed = seeds[i], .pass = 1, .target = (uint16_t)i };

		assert_true(fabs(chi_square(&key, 10, 10, 100000)) < 4.5);
		assert_true(fabs(chi_square(&key, 1000, 1000, 200000)) < 4.5);
		assert_true(fabs(chi_square(&key, 4096, 4096, 400000)) < 4.5);
		/* where plain multiplication or a remainder would be off by a half */
		assert_true(fabs(chi_square(&key, 3ull << 62, 3, 100000)) < 4.5);
		assert_true(fabs(chi_square(&key, (1ull << 63) + 1, 1000, 200000)) < 4.5);
	}
}

TEST(test_any_order)
{
	enum {
		COUNT = 1009
	};
	static uint64_t in_order[COUNT];
	const struct random_sequence s = random_sequence(&some_key);

	for (uint64_t n = 0; n < COUNT; n++)
		in_order[n] = random_below(&s, n, 1000000);
	/* 17 has no factor in common with the count, so this visits each once. */
	for (uint64_t i = 0, n = 5; i < COUNT; i++, n = (n + 17) % COUNT)
		assert_int_equal(random_below(&s, n, 1000000), in_order[n]);
}

#define N_RELATED 64

/*
 * Keys that differ in one field by one, or in one bit: the ones that a weak key schedule relates.
 */
static void related_keys(unsigned field, struct random_key keys[N_RELATED])
{
	for (unsigned i = 0; i < N_RELATED; i++) {
		keys[i] = some_key;
		if (field == 0)
			keys[i].seed ^= 1ull << i;
		else if (field == 1)
			keys[i].seed += i + 1;
		else if (field == 2)
			keys[i].pass += i + 1;
		else if (field == 3)
			keys[i].target = (uint16_t)(i + 1);
		else
			keys[i].stream = RANDOM_STREAM_DIRECTION + i % 2;
	}
}

/* The pairs of draws n of a sequence and of a related one fill 64 x 64 cells evenly. */
TEST(test_related_keys)
{
	const struct random_sequence s = random_sequence(&some_key);

	for (unsigned field = 0; field < 5; field++) {
		struct random_key keys[N_RELATED];

		related_keys(field, keys);
		for (unsigned i = 0; i < N_RELATED; i++) {
			const struct random_sequence other = random_sequence(&keys[i]);

			for (uint64_t n = 0; n < 40000; n++)
				hits[random_below(&s, n, 64) * 64 + random_below(&other, n, 64)]++;
			assert_true(fabs(deviation(CELLS_MAX, 40000)) < 5);
		}
	}
}

/* The first draws of successive passes, targets and seeds fill 4096 cells evenly. */
TEST(test_first_draws)
{
	enum {
		COUNT = 65536
	};

	for (unsigned field = 1; field < 4; field++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			struct random_key key = some_key;

			if (field == 1)
				key.seed = i;
			else if (field == 2)
				key.pass = i + 1;
			else
				key.target = (uint16_t)i;
			const struct random_sequence s = random_sequence(&key);

			hits[random_below(&s, 0, CELLS_MAX)]++;
		}
		assert_true(fabs(deviation(CELLS_MAX, COUNT)) < 4.5);
	}
}

/* Each bit of the number of a draw changes each bit of the draw half of the time. */
TEST(test_avalanche)
{
	const struct random_sequence s = random_sequence(&some_key);

	for (unsigned bit = 0; bit < 64; bit++) {
		unsigned changed[64] = { 0 };

		for (uint64_t n = 0; n < 10000; n++) {
			uint64_t diff = random_u64(&s, n) ^ random_u64(&s, n ^ 1ull << bit);

			for (unsigned i = 0; i < 64; i++)
				changed[i] += diff >> i & 1;
		}
		/* Six standard deviations of 50. */
		for (unsigned i = 0; i < 64; i++)
			assert_in_range(changed[i], 4700, 5300);
	}
}

RUN_TESTS(NULL, NULL)
