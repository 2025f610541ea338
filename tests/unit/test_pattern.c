/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data patterns: any part of a request is the part of the whole, and shares are exact. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "xdd/io/pattern.h"

#define KINDS (PATTERN_TAGGED + 1)

static const uint8_t text[] = "a text of some length";

/* A target with one pattern or another; `o` has what is special about it. */
static void make(struct pattern *p, struct target_plan *t, enum pattern_kind kind,
		 struct pattern_options o)
{
	memset(t, 0, sizeof(*t));
	t->number = 3;
	t->seek.seed = PLAN_DEFAULT_SEED;
	t->pattern = o;
	t->pattern.kind = kind;
	t->pattern.bytes = text;
	t->pattern.n_bytes = sizeof(text) - 1;
	assert_int_equal(pattern_init(p, t), 0);
}

/* Pieces of all sizes, at all places, are what the whole has there. */
TEST(test_parts)
{
	enum {
		SIZE = 20000
	};
	uint8_t *whole = malloc(SIZE), *part = malloc(SIZE);
	static const uint64_t offsets[] = { 0, 4096, 12345, 1ull << 40, (1ull << 40) + 512 };

	for (int kind = 0; kind < KINDS; kind++) {
		for (int variant = 0; variant < 4; variant++) {
			struct target_plan t;
			struct pattern p;

			make(&p, &t, (enum pattern_kind)kind,
			     (struct pattern_options){ .replicate = variant & 1,
						       .inverse = variant & 2,
						       .compress = 30,
						       .dedupe = 40,
						       .prefix = "0123" });
			for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
				pattern_bytes(&p, offsets[i], 0, whole, SIZE);
				for (size_t at = 0, n = 1; at + n <= SIZE;
				     at += n, n = n * 3 % 4999) {
					pattern_bytes(&p, offsets[i], at, part, n);
					assert_memory_equal(part, whole + at, n);
				}
			}
			pattern_destroy(&p);
		}
	}
	free(whole);
	free(part);
}

/* The properties of each pattern hold: bytes depend on their offset alone, and requests differ. */
TEST(test_place)
{
	uint8_t a[8192], b[8192];

	for (int kind = 0; kind < PATTERN_TAGGED; kind++) {
		struct target_plan t;
		struct pattern p;

		make(&p, &t, (enum pattern_kind)kind,
		     (struct pattern_options){ .replicate = true });
		pattern_bytes(&p, 4096, 0, a, 4096);
		pattern_bytes(&p, 0, 4096, b, 4096);
		if (pattern_by_place(&p))
			assert_memory_equal(a, b, 4096);
		pattern_bytes(&p, 8192, 0, b, 4096);
		assert_int_equal(memcmp(a, b, 4096) != 0, pattern_moves(&p));
		pattern_destroy(&p);
	}
	pattern_destroy(&(struct pattern){ 0 });
}

TEST(test_8b10b)
{
	static const size_t sizes[] = { 256, 512, 248, 228, 2048 };
	uint8_t bytes[PATTERN_8B10B_MAX];

	for (int kind = PATTERN_LFPAT; kind <= PATTERN_CSPAT; kind++)
		assert_int_equal(pattern_8b10b((enum pattern_kind)kind, bytes),
				 sizes[kind - PATTERN_LFPAT]);
	assert_int_equal(pattern_8b10b(PATTERN_RANDOM, bytes), 0);
}

TEST(test_sequenced)
{
	struct target_plan t;
	struct pattern p;
	uint64_t words[4];

	make(&p, &t, PATTERN_SEQUENCED, (struct pattern_options){ .prefix = "abc" });
	pattern_bytes(&p, 0x1000, 0, words, sizeof(words));
	assert_true(words[0] == 0xabc0000000001000 && words[3] == 0xabc0000000001018);
	make(&p, &t, PATTERN_SEQUENCED, (struct pattern_options){ .inverse = true });
	pattern_bytes(&p, 8, 0, words, sizeof(words));
	assert_true(words[0] == ~8ull && words[1] == ~16ull);
	make(&p, &t, PATTERN_SEQUENCED, (struct pattern_options){ .prefix = "0123456789abcdef" });
	pattern_bytes(&p, 8, 0, words, sizeof(words));
	assert_true(words[0] == 0x0123456789abcdef && words[1] == words[0]);
}

static int by_value(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

/* Of every share, in any MiB, near the start and far away. */
TEST(test_dedupe)
{
	enum {
		UNITS = 1024,
		ID = 16
	};
	uint8_t *ids = malloc(UNITS * ID), unit[PATTERN_CHUNK_BYTES];
	static const uint64_t starts[] = { 0, 5ull << 20, (1ull << 50) + (3ull << 20) };

	for (unsigned percent = 0; percent <= 100; percent += percent < 90 ? 7 : 1) {
		for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			struct target_plan t;
			struct pattern p;
			unsigned unique = 1;

			make(&p, &t, PATTERN_REDUCIBLE,
			     (struct pattern_options){ .dedupe = percent });
			for (uint64_t i = 0; i < UNITS; i++) {
				pattern_bytes(&p, starts[s] + i * sizeof(unit), 0, unit,
					      sizeof(unit));
				memcpy(ids + i * ID, unit, ID);
			}
			qsort(ids, UNITS, ID, by_value);
			for (size_t i = 1; i < UNITS; i++)
				unique += memcmp(ids + (i - 1) * ID, ids + i * ID, ID) != 0;
			/* A unit more or less where the share does not divide. */
			assert_in_range(unique * 100 + percent * UNITS + 200, UNITS * 100,
					UNITS * 100 + 400);
			pattern_destroy(&p);
		}
	}
	free(ids);
}

TEST(test_compress)
{
	uint8_t unit[PATTERN_CHUNK_BYTES];

	for (unsigned percent = 0; percent <= 100; percent++) {
		struct target_plan t;
		struct pattern p;
		size_t zeros = 0;

		make(&p, &t, PATTERN_REDUCIBLE, (struct pattern_options){ .compress = percent });
		pattern_bytes(&p, 40960, 0, unit, sizeof(unit));
		while (zeros < sizeof(unit) && !unit[sizeof(unit) - 1 - zeros])
			zeros++;
		assert_in_range(zeros, sizeof(unit) * percent / 100,
				sizeof(unit) * percent / 100 + 3);
	}
}

RUN_TESTS(NULL, NULL)
