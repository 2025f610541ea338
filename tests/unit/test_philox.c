/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generator that seeds random data: src/base/random.c.
 */
#include "unit.h"

#include <string.h>

#include "xdd/base/random.h"

static const struct philox_key some_key = { .seed = 72058, .stream = PHILOX_STREAM_DATA };

/* Known answers of the authors' own implementation, Random123. */
TEST(test_known_answers)
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

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint32_t out[4];

		philox_4x32(known[i].ctr, known[i].key, out);
		assert_memory_equal(out, known[i].out, sizeof(out));
	}
}

/* The layout that random.c promises, written down a second time. */
static void words_of(const struct philox_key *k, uint64_t n, uint32_t attempt, uint64_t word[2])
{
	const uint32_t ctr[4] = { (uint32_t)n, (uint32_t)(n >> 32), 0,
				  (uint32_t)k->target * 65536 + (uint32_t)k->stream * 256 +
					  attempt };
	const uint32_t key[2] = { (uint32_t)k->seed, (uint32_t)(k->seed >> 32) };
	uint32_t out[4];

	philox_4x32(ctr, key, out);
	word[0] = out[0] + ((uint64_t)out[1] << 32);
	word[1] = out[2] + ((uint64_t)out[3] << 32);
}

/* Without the shortcut of the real one: reject by the remainder of 2^64 alone. */
static uint64_t slow_below(const struct philox_key *k, uint64_t n, uint64_t bound,
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

TEST(test_layout)
{
	static const struct philox_key keys[] = {
		{ .seed = 72058, .stream = PHILOX_STREAM_DATA },
		{ .seed = 0x123456789abcdef0, .target = 8191, .stream = PHILOX_STREAM_DATA },
		{ .seed = UINT64_MAX, .target = 65535, .stream = PHILOX_STREAM_DUPLICATE },
	};
	static const uint64_t draws[] = { 0, 1, 0xffffffff, 0x100000000, UINT64_MAX };

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		for (size_t i = 0; i < sizeof(draws) / sizeof(draws[0]); i++) {
			uint64_t word[2];

			words_of(&keys[k], draws[i], 0, word);
			assert_int_equal(philox_u64(&keys[k], draws[i]), word[0]);
		}
	}
}

TEST(test_below_against_slow)
{
	static const uint64_t bounds[] = {
		1,	    2,		3,	   10, 1000003, 1ull << 32, (1ull << 63) + 1,
		3ull << 62, UINT64_MAX, 1ull << 63
	};
	unsigned rejected = 0;

	for (size_t b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
		for (uint64_t n = 0; n < 2000; n++) {
			uint64_t value = philox_below(&some_key, n, bounds[b]);

			assert_true(value < bounds[b]);
			assert_int_equal(value, slow_below(&some_key, n, bounds[b], &rejected));
		}
	}
	/* Else the second word and later attempts were not seen at all. */
	assert_true(rejected > 1500);
}

RUN_TESTS(NULL, NULL)
