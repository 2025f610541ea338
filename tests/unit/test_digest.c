/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checksums of end-to-end copies: src/net/wire.c.
 */
#include "unit.h"

#include <stdio.h>

#include "xdd/net/wire.h"

#define SAMPLE_BYTES 4096
#define BLOCKS 200

static uint8_t sample[SAMPLE_BYTES];

/* The bytes that the tests of xxHash itself use. */
static void fill_sample(void)
{
	uint64_t value = 2654435761u;

	for (size_t i = 0; i < SAMPLE_BYTES; i++) {
		sample[i] = (uint8_t)(value >> 56);
		value *= 11400714785074694797ull;
	}
}

/* From the tests of xxHash. */
TEST(test_known_answers)
{
	static const struct {
		size_t size;
		uint64_t low, high;
	} answers[] = {
		{ 1, 0xc44bdff4074eecdb, 0xa6cd5e9392000f6a },
		{ 6, 0x3e7039bdda43cfc6, 0x082afe0b8162d12a },
		{ 403, 0xcdeb804d65c6dea4, 0x1b6de21e332dd73d },
		{ 2240, 0x6e73a90539cf2948, 0xccb134fbfa7ce49d },
		{ 2367, 0xcb37aeb9e5d361ed, 0xe89c0f6ff369b427 },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct digest d = digest_data(sample, answers[i].size);

		assert_int_equal(d.low, answers[i].low);
		assert_int_equal(d.high, answers[i].high);
	}
	assert_int_equal(digest_short(sample, 1), 0xc44bdff4074eecdb);
}

TEST(test_nothing)
{
	struct digest d = digest_data(sample, 0);

	assert_int_equal(d.low, 0);
	assert_int_equal(d.high, 0);
}

/* In pieces of any size, and again with the same stream. */
TEST(test_streams)
{
	static const size_t pieces[] = { 1, 7, 64, 255, 256, 257, 1024, SAMPLE_BYTES };
	struct digest_stream *s = digest_stream_new();

	assert_non_null(s);
	for (size_t size = 0; size <= SAMPLE_BYTES; size += 97) {
		for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
			digest_stream_start(s);
			for (size_t at = 0; at < size; at += pieces[i])
				digest_stream_add(s, sample + at,
						  size - at < pieces[i] ? size - at : pieces[i]);
			assert_true(digest_equal(digest_stream_end(s), digest_data(sample, size)));
		}
	}
	digest_stream_free(s);
	digest_stream_free(NULL);
}

TEST(test_each_bit_counts)
{
	struct digest before = digest_data(sample, 333);

	for (size_t bit = 0; bit < 333 * 8; bit++) {
		sample[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(digest_equal(before, digest_data(sample, 333)));
		sample[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_true(digest_equal(before, digest_data(sample, 333)));
}

/* A block of the test's copy. */
static void add_block(struct digest *sum, uint64_t n)
{
	digest_add(sum, n * 1024, 1024, digest_data(sample + n, 1024));
}

TEST(test_any_order)
{
	struct digest up = { 0 }, down = { 0 }, scattered = { 0 };

	for (uint64_t n = 0; n < BLOCKS; n++) {
		add_block(&up, n);
		add_block(&down, BLOCKS - 1 - n);
		add_block(&scattered, n * 77 % BLOCKS);
	}
	assert_true(digest_equal(up, down));
	assert_true(digest_equal(up, scattered));
}

TEST(test_parts)
{
	struct digest all = { 0 };

	for (uint64_t n = 0; n < BLOCKS; n++)
		add_block(&all, n);
	for (uint64_t cut = 0; cut <= BLOCKS; cut += 13) {
		struct digest first = { 0 }, second = { 0 };

		for (uint64_t n = 0; n < BLOCKS; n++)
			add_block(n < cut ? &first : &second, n);
		digest_join(&first, second);
		assert_true(digest_equal(all, first));
	}
}

TEST(test_sum_carries)
{
	struct digest sum = { .low = UINT64_MAX, .high = 5 };

	digest_join(&sum, (struct digest){ .low = 1, .high = 0 });
	assert_int_equal(sum.low, 0);
	assert_int_equal(sum.high, 6);
	sum = (struct digest){ .low = UINT64_MAX, .high = UINT64_MAX };
	digest_join(&sum, (struct digest){ .low = 2, .high = 0 });
	assert_int_equal(sum.low, 1);
	assert_int_equal(sum.high, 0);
}

/* A block at another offset, twice, missing, or exchanged with another changes the sum. */
TEST(test_blocks_count)
{
	struct digest a = digest_data(sample, 100), b = digest_data(sample + 1, 100);
	struct digest right = { 0 }, moved = { 0 }, twice, exchanged = { 0 }, shorter = { 0 };

	digest_add(&right, 0, 100, a);
	digest_add(&right, 100, 100, b);
	digest_add(&moved, 0, 100, a);
	digest_add(&moved, 101, 100, b);
	assert_false(digest_equal(right, moved));
	twice = right;
	digest_add(&twice, 100, 100, b);
	assert_false(digest_equal(right, twice));
	digest_add(&exchanged, 0, 100, b);
	digest_add(&exchanged, 100, 100, a);
	assert_false(digest_equal(right, exchanged));
	digest_add(&shorter, 0, 100, a);
	digest_add(&shorter, 100, 99, b);
	assert_false(digest_equal(right, shorter));
}

/* Each bit of an offset, of a length and of the data counts in a sum. */
TEST(test_each_bit_of_a_block)
{
	struct digest base = { 0 };

	digest_add(&base, 0, 0, (struct digest){ 0 });
	for (unsigned bit = 0; bit < 64; bit++) {
		const uint64_t one = 1ull << bit;
		const struct digest data[] = { { .low = one }, { .high = one } };
		struct digest sums[4] = { { 0 } };

		digest_add(&sums[0], one, 0, (struct digest){ 0 });
		digest_add(&sums[1], 0, one, (struct digest){ 0 });
		digest_add(&sums[2], 0, 0, data[0]);
		digest_add(&sums[3], 0, 0, data[1]);
		for (size_t i = 0; i < 4; i++) {
			assert_false(digest_equal(sums[i], base));
			for (size_t k = 0; k < i; k++)
				assert_false(digest_equal(sums[i], sums[k]));
		}
	}
	/* Both halves are added. */
	base = (struct digest){ .low = 1, .high = 2 };
	digest_join(&base, (struct digest){ .low = UINT64_MAX, .high = 3 });
	assert_int_equal(base.low, 0);
	assert_int_equal(base.high, 6);
}

TEST(test_text)
{
	char buf[DIGEST_TEXT_SIZE];
	struct digest d = { .low = 0x0123456789abcdef, .high = 0xfe };

	assert_string_equal(digest_text(d, buf), "00000000000000fe0123456789abcdef");
}

int main(void)
{
	const char *why;

	if (!digest_available(&why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	fill_sample();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
