/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of numbers as ranges, against a table with a byte for each number: src/base/sets.c.
 *
 * reallocarray is this file's own: it can be told that there is no memory.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/random.h"
#include "xdd/base/sets.h"

#define NUMBERS 600
#define STEPS 20000

static bool no_memory;

void *reallocarray(void *p, size_t n, size_t size)
{
	return no_memory ? NULL : realloc(p, n * size);
}

static void check_ranges(const struct extents *x, const struct extent *expected, size_t n)
{
	uint64_t total = 0;

	assert_int_equal(x->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(x->items[i].begin, expected[i].begin);
		assert_int_equal(x->items[i].end, expected[i].end);
		total += expected[i].end - expected[i].begin;
	}
	assert_int_equal(x->total, total);
}

TEST(test_empty)
{
	struct extents x = { .n = 0 };
	struct extent gap;

	assert_int_equal(x.total, 0);
	assert_false(extents_contains(&x, 0, 1));
	assert_true(extents_contains(&x, 5, 5));
	assert_false(extents_overlaps(&x, 0, UINT64_MAX));
	assert_int_equal(extents_first_missing(&x, 7), 7);
	assert_false(extents_next_missing(&x, 3, 3, &gap));
	assert_true(extents_next_missing(&x, 3, 9, &gap));
	assert_int_equal(gap.begin, 3);
	assert_int_equal(gap.end, 9);
	assert_int_equal(extents_add(&x, 4, 4), 0);
	assert_int_equal(x.n, 0);
	assert_int_equal(extents_add(&x, 5, 4), -EINVAL);
	no_memory = true;
	assert_int_equal(extents_add(&x, 4, 5), -ENOMEM);
	no_memory = false;
	assert_int_equal(x.n, 0);
	extents_clear(&x);
}

TEST(test_merge)
{
	struct extents x = { .n = 0 };

	assert_int_equal(extents_add(&x, 10, 20), 0);
	assert_int_equal(extents_add(&x, 30, 40), 0);
	assert_int_equal(extents_add(&x, 50, 60), 0);
	check_ranges(&x, (struct extent[]){ { 10, 20 }, { 30, 40 }, { 50, 60 } }, 3);
	/* Touching on both sides. */
	assert_int_equal(extents_add(&x, 20, 30), 0);
	check_ranges(&x, (struct extent[]){ { 10, 40 }, { 50, 60 } }, 2);
	/* Within one. */
	assert_int_equal(extents_add(&x, 12, 15), 0);
	check_ranges(&x, (struct extent[]){ { 10, 40 }, { 50, 60 } }, 2);
	/* One number before, and one after. */
	assert_int_equal(extents_add(&x, 9, 10), 0);
	assert_int_equal(extents_add(&x, 60, 61), 0);
	check_ranges(&x, (struct extent[]){ { 9, 40 }, { 50, 61 } }, 2);
	/* One number apart stays apart. */
	assert_int_equal(extents_add(&x, 7, 8), 0);
	check_ranges(&x, (struct extent[]){ { 7, 8 }, { 9, 40 }, { 50, 61 } }, 3);
	/* Over all of them. */
	assert_int_equal(extents_add(&x, 0, 100), 0);
	check_ranges(&x, (struct extent[]){ { 0, 100 } }, 1);
	extents_clear(&x);
	assert_int_equal(x.n, 0);
}

TEST(test_ends_of_numbers)
{
	struct extents x = { .n = 0 };
	struct extent gap;

	assert_int_equal(extents_add(&x, UINT64_MAX - 1, UINT64_MAX), 0);
	assert_int_equal(extents_add(&x, 0, 1), 0);
	assert_true(extents_next_missing(&x, 0, UINT64_MAX, &gap));
	assert_int_equal(gap.begin, 1);
	assert_int_equal(gap.end, UINT64_MAX - 1);
	assert_int_equal(extents_add(&x, 0, UINT64_MAX), 0);
	check_ranges(&x, (struct extent[]){ { 0, UINT64_MAX } }, 1);
	assert_false(extents_next_missing(&x, 0, UINT64_MAX, &gap));
	extents_clear(&x);
}

TEST(test_limit)
{
	struct extents x, y = { .n = 0 };

	extents_init(&x, 2);
	assert_int_equal(extents_add(&x, 10, 11), 0);
	assert_int_equal(extents_add(&x, 20, 21), 0);
	assert_int_equal(extents_add(&x, 30, 31), -ENOSPC);
	assert_int_equal(extents_add(&x, 15, 16), -ENOSPC);
	check_ranges(&x, (struct extent[]){ { 10, 11 }, { 20, 21 } }, 2);
	/* Ranges that are there may grow, and join. */
	assert_int_equal(extents_add(&x, 21, 30), 0);
	assert_int_equal(extents_add(&x, 11, 20), 0);
	check_ranges(&x, (struct extent[]){ { 10, 30 } }, 1);
	assert_int_equal(extents_add(&x, 40, 41), 0);
	extents_add(&y, 50, 51);
	assert_int_equal(extents_join(&x, &y), -ENOSPC);
	extents_clear(&x);
	assert_int_equal(x.limit, 2);
	extents_clear(&y);
}

TEST(test_new_only)
{
	struct extents x = { .n = 0 };

	assert_int_equal(extents_add_new(&x, 10, 20), 0);
	assert_int_equal(extents_add_new(&x, 20, 21), 0);
	assert_int_equal(extents_add_new(&x, 9, 10), 0);
	assert_int_equal(extents_add_new(&x, 10, 11), -EEXIST);
	assert_int_equal(extents_add_new(&x, 0, 10), -EEXIST);
	assert_int_equal(extents_add_new(&x, 20, 30), -EEXIST);
	assert_int_equal(extents_add_new(&x, 0, 100), -EEXIST);
	check_ranges(&x, (struct extent[]){ { 9, 21 } }, 1);
	extents_clear(&x);
}

static void check_gaps(const struct extents *x, const uint8_t *model)
{
	struct extent gap = { 0, 0 };
	uint64_t at = 0;

	while (extents_next_missing(x, gap.end, NUMBERS, &gap)) {
		for (; at < gap.begin; at++)
			assert_true(model[at]);
		for (; at < gap.end; at++)
			assert_false(model[at]);
	}
	for (; at < NUMBERS; at++)
		assert_true(model[at]);
}

/* All that the header promises, for the set that `model` describes. */
static void check_model(const struct extents *x, const uint8_t *model, uint64_t begin, uint64_t end)
{
	uint64_t total = 0, inside = 0, ranges = 0, missing = begin;

	for (uint64_t i = 0; i < NUMBERS; i++) {
		total += model[i];
		ranges += model[i] && (i == 0 || !model[i - 1]);
		inside += i >= begin && i < end && model[i];
	}
	while (missing < NUMBERS && model[missing])
		missing++;
	assert_int_equal(x->total, total);
	assert_int_equal(x->n, ranges);
	assert_int_equal(extents_contains(x, begin, end), inside == end - begin);
	assert_int_equal(extents_overlaps(x, begin, end), inside > 0);
	assert_int_equal(extents_first_missing(x, begin), missing);
	check_gaps(x, model);
}

TEST(test_at_random)
{
	struct random_key key = { .seed = 1 };
	struct random_sequence r = random_sequence(&key);
	struct extents x = { .n = 0 }, copy = { .n = 0 };
	uint8_t model[NUMBERS] = { 0 };
	uint64_t draw = 0, begin, end, longest;

	for (unsigned step = 0; step < STEPS; step++) {
		if (random_below(&r, draw++, 400) == 0) {
			extents_clear(&x);
			memset(model, 0, sizeof(model));
		}
		longest = random_below(&r, draw++, 10) == 0 ? 60 : 3;
		begin = random_below(&r, draw++, NUMBERS);
		end = begin + random_below(&r, draw++, longest);
		end = end > NUMBERS ? NUMBERS : end;
		if (random_below(&r, draw++, 2)) {
			assert_int_equal(extents_add(&x, begin, end), 0);
			memset(&model[begin], 1, end - begin);
		}
		if (step % 8 == 0) {
			begin = random_below(&r, draw++, NUMBERS);
			end = begin + random_below(&r, draw++, 20);
			check_model(&x, model, begin, end > NUMBERS ? NUMBERS : end);
			assert_int_equal(extents_copy(&copy, &x), 0);
			check_ranges(&copy, x.items, x.n);
		}
	}
	extents_clear(&x);
	assert_int_equal(extents_join(&x, &copy), 0);
	check_ranges(&x, copy.items, copy.n);
	extents_clear(&x);
	extents_clear(&copy);
}

RUN_TESTS(NULL, NULL)
