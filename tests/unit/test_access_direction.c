/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The direction of each operation, and the share of reads: src/io/access.c.
 */
#include "unit.h"

#include <math.h>
#include <stdbool.h>

#include "access_plan.h"
#include "xdd/io/access.h"

TEST(test_fixed_directions)
{
	static const struct {
		enum op_request op;
		enum op_dir dir;
	} cases[] = { { OP_READ, DIR_READ },
		      { OP_WRITE, DIR_WRITE },
		      { OP_NOOP, DIR_NOOP },
		      { OP_DISCARD, DIR_DISCARD } };
	struct access a;

	for (size_t i = 0; i < 4; i++) {
		struct target_plan t = plan_of(SEEK_SEQUENTIAL, 100);

		t.op = cases[i].op;
		t.read_ratio = PLAN_RATIO_ONE / 2; /* of no interest */
		access_init(&a, &t, 1);
		for (uint64_t n = 0; n < 100; n++)
			assert_int_equal(op_of(&a, n).dir, cases[i].dir);
	}
}

static struct target_plan mixed_plan(double percent)
{
	struct target_plan t = plan_of(SEEK_SEQUENTIAL, PLAN_UNLIMITED);

	t.op = OP_MIXED;
	t.read_ratio = (uint32_t)llround(percent * PLAN_RATIO_ONE / 100);
	return t;
}

static void check_directions(double percent, const char *expected)
{
	struct target_plan t = mixed_plan(percent);
	struct access a;

	access_init(&a, &t, 1);
	for (uint64_t n = 0; expected[n]; n++)
		assert_int_equal(op_of(&a, n).dir, expected[n] == 'r' ? DIR_READ : DIR_WRITE);
}

TEST(test_mixed_known)
{
	check_directions(50, "rwrwrwrwrwrwrwrwrwrw");
	check_directions(30, "wrwwrwwwrwwrwwrwwwrwwrwwr");
	check_directions(75, "rrwrrrwrrrwrrrwrr");
	check_directions(30.2, "wrwwrwwwrw");
	check_directions(25, "wrwwwrww");
	check_directions(10, "wwwwrwwwww");
	check_directions(0, "wwwwwwwwww");
	check_directions(100, "rrrrrrrrrr");
	check_directions(0.000001, "wwwwwwwwww");
}

/* Reads among the first `n` operations. */
static uint64_t share_of(uint32_t ratio, uint64_t n)
{
	unsigned __int128 twice = (unsigned __int128)ratio * n * 2;

	return (uint64_t)((twice + PLAN_RATIO_ONE) / (2 * PLAN_RATIO_ONE));
}

/* Over any window the number of reads is that of the exact share, to one operation. */
static void check_window(uint32_t ratio, uint64_t first, uint64_t count)
{
	struct target_plan t = mixed_plan(0);
	struct access a;
	uint64_t reads = 0;

	t.read_ratio = ratio;
	access_init(&a, &t, 1);
	for (uint64_t n = first; n < first + count; n++) {
		bool is_read = op_of(&a, n).dir == DIR_READ;

		assert_int_equal(is_read, share_of(ratio, n + 1) > share_of(ratio, n));
		reads += is_read;
	}
	assert_int_equal(reads, share_of(ratio, first + count) - share_of(ratio, first));
}

TEST(test_mixed_exact)
{
	static const uint32_t ratios[] = { 0,	     1,	       3,	 30000000, 30200000,
					   33333333, 50000000, 66666667, 99999999, PLAN_RATIO_ONE };
	static const uint64_t firsts[] = { 0,
					   1,
					   2,
					   99999990,
					   100000000,
					   184467440737,
					   (1ull << 32) - 500,
					   (1ull << 63) - 500,
					   UINT64_MAX - 2000 };

	for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++)
		for (size_t k = 0; k < sizeof(firsts) / sizeof(firsts[0]); k++)
			check_window(ratios[i], firsts[k], 1000);
}

static uint64_t count_reads(const struct access *a, uint64_t count)
{
	uint64_t reads = 0;

	for (uint64_t n = 0; n < count; n++)
		reads += op_of(a, n).dir == DIR_READ;
	return reads;
}

TEST(test_mixed_drawn)
{
	enum {
		COUNT = 100000
	};
	struct target_plan t = mixed_plan(30);
	struct access a, b;
	unsigned same = 0, runs = 0;

	t.ratio_random = true;
	access_init(&a, &t, 1);
	/* 30000, give or take five times the square root of 100000 * 0.3 * 0.7 */
	assert_in_range(count_reads(&a, COUNT), 30000 - 725, 30000 + 725);

	/* 9 % of neighbours are both reads: with an even spread none would be */
	for (uint64_t n = 1; n < COUNT; n++)
		runs += op_of(&a, n).dir == DIR_READ && op_of(&a, n - 1).dir == DIR_READ;
	assert_in_range(runs, 8000, 10000);

	/* the same on every pass, unless -randomize */
	access_init(&b, &t, 2);
	for (uint64_t n = 0; n < 1000; n++)
		assert_int_equal(op_of(&a, n).dir, op_of(&b, n).dir);
	t.randomize = true;
	access_init(&b, &t, 2);
	for (uint64_t n = 0; n < COUNT; n++)
		same += op_of(&a, n).dir == op_of(&b, n).dir;
	assert_in_range(same, 56000, 60000); /* 0.3² + 0.7² */

	/* the direction says nothing of the place */
	t.seek.pattern = SEEK_RANDOM;
	t.range_bytes = 100 * REQ;
	access_init(&a, &t, 1);
	same = 0;
	for (uint64_t n = 0; n < COUNT; n++)
		same += op_of(&a, n).dir == DIR_READ && op_of(&a, n).offset < START + 50 * REQ;
	assert_in_range(same, 15000 - 565, 15000 + 565);

	t.read_ratio = 0;
	access_init(&a, &t, 1);
	assert_int_equal(count_reads(&a, 1000), 0);
	t.read_ratio = PLAN_RATIO_ONE;
	access_init(&a, &t, 1);
	assert_int_equal(count_reads(&a, 1000), 1000);
}

RUN_TESTS(NULL, NULL)
