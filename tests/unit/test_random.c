/*
 * The counter-based random generator: src/base/random.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "xdd/base/random.h"

static const struct random_key some_key = { .seed = 72058, .pass = 1, .target = 0 };

/* Known answers of the authors' own implementation, Random123. */
static void test_known_answers(void **state)
{
	static const struct {
		uint32_t ctr[4];
		uint32_t key[2];
		uint32_t out[4];
	} known[] = {
		{ { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
		  { 0xffffffff, 0xffffffff },
		  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
		  { 0xa4093822, 0x299f31d0 },
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint32_t out[4];

		random_philox4x32(known[i].ctr, known[i].key, out);
		assert_memory_equal(out, known[i].out, sizeof(out));
	}
}

/* The layout that random.c promises, written down a second time. */
static void words_of(const struct random_key *k, uint64_t n, uint32_t attempt, uint64_t word[2])
{
	const uint32_t ctr[4] = { (uint32_t)n, (uint32_t)(n >> 32), k->pass,
				  (uint32_t)k->target * 65536 + (uint32_t)k->stream * 256 +
					  attempt };
	const uint32_t key[2] = { (uint32_t)k->seed, (uint32_t)(k->seed >> 32) };
	uint32_t out[4];

	random_philox4x32(ctr, key, out);
	word[0] = out[0] + ((uint64_t)out[1] << 32);
	word[1] = out[2] + ((uint64_t)out[3] << 32);
}

/* Without the shortcut of the real one: reject by the remainder of 2^64 alone. */
static uint64_t slow_below(const struct random_key *k, uint64_t n, uint64_t bound,
			   unsigned *rejected)
{
	uint64_t reject = (uint64_t)(((unsigned __int128)1 << 64) % bound);

	for (uint32_t i = 0;; i++) {
		unsigned __int128 product;
		uint64_t word[2];

		words_of(k, n, i / 2, word);
		product = (unsigned __int128)word[i % 2] * bound;
		if ((uint64_t)product >= reject)
			return (uint64_t)(product >> 64);
		++*rejected;
	}
}

static void test_layout(void **state)
{
	static const struct random_key keys[] = {
		{ .seed = 72058, .pass = 1, .target = 0 },
		{ .seed = 0x123456789abcdef0, .pass = 0xfffffffe, .target = 8191 },
		{ .seed = UINT64_MAX,
		  .pass = 3,
		  .target = 65535,
		  .stream = RANDOM_STREAM_DIRECTION },
	};
	static const uint64_t draws[] = { 0, 1, 0xffffffff, 0x100000000, UINT64_MAX };

	(void)state;
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		for (size_t i = 0; i < sizeof(draws) / sizeof(draws[0]); i++) {
			uint64_t word[2];

			words_of(&keys[k], draws[i], 0, word);
			assert_int_equal(random_u64(&keys[k], draws[i]), word[0]);
		}
	}
}

static void test_below_against_slow(void **state)
{
	static const uint64_t bounds[] = {
		1,	    2,		3,	   10, 1000003, 1ull << 32, (1ull << 63) + 1,
		3ull << 62, UINT64_MAX, 1ull << 63
	};
	unsigned rejected = 0;

	(void)state;
	for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
		for (uint64_t n = 0; n < 2000; n++) {
			uint64_t value = random_below(&some_key, n, bounds[b]);

			assert_true(value < bounds[b]);
			assert_int_equal(value, slow_below(&some_key, n, bounds[b], &rejected));
		}
	}
	/* Else the second word and later attempts were not seen at all. */
	assert_true(rejected > 1500);
}

/*
 * Chi-square of `count` draws in `cells` cells, in standard deviations from its mean. The keys are
 * fixed, so the answer is the same every time.
 */
static double chi_square(const struct random_key *key, uint64_t bound, uint64_t cells,
			 uint64_t count)
{
	static uint32_t hits[4096];
	double expected = (double)count / (double)cells;
	double sum = 0;

	assert_true(cells <= sizeof(hits) / sizeof(hits[0]));
	memset(hits, 0, sizeof(hits));
	for (uint64_t n = 0; n < count; n++) {
		unsigned __int128 value = random_below(key, n, bound);

		hits[(uint64_t)(value * cells / bound)]++;
	}
	for (uint64_t i = 0; i < cells; i++)
		sum += (hits[i] - expected) * (hits[i] - expected) / expected;
	return (sum - (double)(cells - 1)) / sqrt(2.0 * (double)(cells - 1));
}

static void test_uniform(void **state)
{
	static const uint64_t seeds[] = { 0, 1, 72058, 0xdeadbeefcafe };

	(void)state;
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

static void test_any_order(void **state)
{
	enum {
		COUNT = 1009
	};
	static uint64_t in_order[COUNT];

	(void)state;
	for (uint64_t n = 0; n < COUNT; n++)
		in_order[n] = random_below(&some_key, n, 1000000);
	/* 17 has no factor in common with the count, so this comes by each once. */
	for (uint64_t i = 0, n = 5; i < COUNT; i++, n = (n + 17) % COUNT)
		assert_int_equal(random_below(&some_key, n, 1000000), in_order[n]);
}

static unsigned count_equal(const struct random_key *a, const struct random_key *b)
{
	unsigned equal = 0;

	for (uint64_t n = 0; n < 10000; n++)
		equal += random_below(a, n, 100) == random_below(b, n, 100);
	return equal;
}

static void test_fields_matter(void **state)
{
	struct random_key keys[5] = { some_key, some_key, some_key, some_key, some_key };

	(void)state;
	keys[0].seed++;
	keys[1].seed ^= 1ull << 40;
	keys[2].pass++;
	keys[3].target++;
	keys[4].stream = RANDOM_STREAM_DIRECTION;
	/* Of independent draws one in a hundred is equal: 100, give or take five times 10. */
	for (size_t i = 0; i < 5; i++) {
		unsigned equal = count_equal(&some_key, &keys[i]);

		assert_in_range(equal, 50, 150);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),	   cmocka_unit_test(test_layout),
		cmocka_unit_test(test_below_against_slow), cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_any_order),	   cmocka_unit_test(test_fields_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
