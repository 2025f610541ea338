/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access patterns, the offset and size of each operation: src/io/access.c.
 */
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "access_plan.h"
#include "xdd/io/access.h"

#define MAX_SLOTS 5000

/*
 * The short cut of access_op() gives what the general case does, also for a shorter last operation
 * and past a range.
 */
static void check_short_cut(struct target_plan *t)
{
	struct access a;

	access_init(&a, t, 2);
	for (uint64_t n = 0; n < 40; n++) {
		struct access_op op = op_of(&a, n), any;

		access_any_op(&a, n, &any);
		assert_int_equal(op.offset, any.offset);
		assert_int_equal(op.size, any.size);
		assert_int_equal(op.dir, any.dir);
	}
}

TEST(test_short_cut)
{
	static const enum seek_pattern patterns[] = { SEEK_SEQUENTIAL, SEEK_RANDOM,  SEEK_STAGGER,
						      SEEK_INTERLEAVE, SEEK_STREAMS, SEEK_NONE };
	static const enum op_request ops[] = { OP_READ, OP_WRITE, OP_NOOP, OP_MIXED };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]) * 16; i++) {
		struct target_plan t = plan_of(patterns[i / 16], 40);

		t.op = ops[i / 4 % 4];
		t.read_ratio = PLAN_RATIO_ONE / 3;
		t.last_op_bytes = i & 1 ? BLOCK : REQ;
		t.range_bytes = i & 2 || patterns[i / 16] == SEEK_STAGGER ? 10 * REQ : 0;
		t.seek.interleave = 3;
		check_short_cut(&t);
	}
}

static uint64_t offset_of(const struct access *a, uint64_t n)
{
	return op_of(a, n).offset;
}

/* `slots` operations from `first` on visit every slot of the range once, and keep within it. */
static void check_visits_each_once(const struct access *a, uint64_t first, uint64_t slots)
{
	static unsigned char seen[MAX_SLOTS];

	assert_true(slots <= MAX_SLOTS);
	memset(seen, 0, sizeof(seen));
	for (uint64_t n = first; n < first + slots; n++) {
		uint64_t offset = offset_of(a, n) - START;

		assert_int_equal(offset % REQ, 0);
		assert_true(offset / REQ < slots);
		assert_int_equal(seen[offset / REQ], 0);
		seen[offset / REQ] = 1;
	}
}

TEST(test_sequential)
{
	struct target_plan t = plan_of(SEEK_SEQUENTIAL, 100);
	struct access a;

	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < 100; n++) {
		struct access_op op = op_of(&a, n);

		assert_int_equal(op.offset, START + n * REQ);
		assert_int_equal(op.size, REQ);
		assert_int_equal(op.dir, DIR_READ);
	}
	t.pass_ops = PLAN_UNLIMITED;
	access_init(&a, &t, 1);
	assert_int_equal(offset_of(&a, 1ull << 40), START + (1ull << 40) * REQ);
	assert_int_equal(op_of(&a, UINT64_MAX - 1).size, REQ);
}

TEST(test_sequential_starts_over)
{
	struct target_plan t = plan_of(SEEK_SEQUENTIAL, PLAN_UNLIMITED);
	struct access a;

	t.range_bytes = 7 * REQ + REQ - 1; /* room for seven and not quite another */
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < 50; n++)
		assert_int_equal(offset_of(&a, n), START + n % 7 * REQ);
	check_visits_each_once(&a, 12345, 7);
}

TEST(test_none)
{
	struct target_plan t = plan_of(SEEK_NONE, 100);
	struct access a;

	for (int ranged = 0; ranged < 2; ranged++) {
		t.range_bytes = ranged ? 10 * REQ : 0;
		access_init(&a, &t, 1);
		for (uint64_t n = 0; n < 100; n++)
			assert_int_equal(offset_of(&a, n), START);
	}
}

TEST(test_last_is_shorter)
{
	static const enum seek_pattern patterns[] = { SEEK_SEQUENTIAL, SEEK_RANDOM,  SEEK_STAGGER,
						      SEEK_INTERLEAVE, SEEK_STREAMS, SEEK_NONE };
	struct access a;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct target_plan t = plan_of(patterns[i], 10);

		t.last_op_bytes = 100;
		t.range_bytes = 20 * REQ;
		t.seek.interleave = 3;
		access_init(&a, &t, 1);
		for (uint64_t n = 0; n < 10; n++)
			assert_int_equal(op_of(&a, n).size, n == 9 ? 100 : REQ);
	}
}

TEST(test_pass_offset)
{
	struct target_plan t = plan_of(SEEK_SEQUENTIAL, 10);
	struct access a;

	t.pass_offset_bytes = 77 * BLOCK;
	for (uint64_t pass = 1; pass < 5; pass++) {
		access_init(&a, &t, pass);
		assert_int_equal(offset_of(&a, 2), START + 2 * REQ + (pass - 1) * 77 * BLOCK);
	}
}

TEST(test_random_uniform)
{
	enum {
		SLOTS = 500,
		COUNT = 200000
	};
	struct target_plan t = plan_of(SEEK_RANDOM, COUNT);
	static uint32_t hits[SLOTS];
	double chi = 0, expected = (double)COUNT / SLOTS;
	struct access a;

	t.range_bytes = SLOTS * REQ + REQ / 2;
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < COUNT; n++) {
		uint64_t offset = offset_of(&a, n) - START;

		assert_int_equal(offset % REQ, 0);
		assert_true(offset / REQ < SLOTS);
		hits[offset / REQ]++;
	}
	for (int i = 0; i < SLOTS; i++)
		chi += (hits[i] - expected) * (hits[i] - expected) / expected;
	assert_true(fabs(chi - (SLOTS - 1)) < 4.5 * sqrt(2.0 * (SLOTS - 1)));
}

/* The number of 1000 operations that have the same offset in both. */
static unsigned count_same(const struct target_plan *t, uint64_t pass, const struct target_plan *u,
			   uint64_t other_pass)
{
	struct access a, b;
	unsigned same = 0;

	access_init(&a, t, pass);
	access_init(&b, u, other_pass);
	for (uint64_t n = 0; n < 1000; n++)
		same += offset_of(&a, n) == offset_of(&b, n);
	return same;
}

TEST(test_random_keys)
{
	struct target_plan t = plan_of(SEEK_RANDOM, 1000);
	struct target_plan u;

	t.range_bytes = 1000 * REQ;
	assert_int_equal(count_same(&t, 1, &t, 1), 1000);
	assert_int_equal(count_same(&t, 1, &t, 9), 1000); /* no -randomize */
	u = t;
	u.seek.seed++;
	assert_in_range(count_same(&t, 1, &u, 1), 0, 20);
	u = t;
	u.number = 5;
	assert_in_range(count_same(&t, 1, &u, 1), 0, 20);
	u = t;
	u.randomize = true;
	assert_int_equal(count_same(&t, 1, &u, 1), 1000);
	assert_in_range(count_same(&u, 1, &u, 2), 0, 20);
	assert_int_equal(count_same(&u, 2, &u, 2), 1000);
}

/* The first places of the default seed: a change of these breaks what was promised. */
TEST(test_random_stays_the_same)
{
	struct target_plan t = plan_of(SEEK_RANDOM, 8);
	struct access a;

	t.range_bytes = 1000 * REQ;
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < 8; n++) {
		static const uint64_t slots[8] = { 308, 320, 902, 855, 323, 435, 215, 96 };

		assert_int_equal((offset_of(&a, n) - START) / REQ, slots[n]);
	}
}

static void check_stagger(uint64_t ops, uint64_t range_blocks)
{
	struct target_plan t = plan_of(SEEK_STAGGER, ops);
	uint64_t end = START, smallest = UINT64_MAX, largest = 0;
	struct access a;

	t.range_bytes = range_blocks * BLOCK;
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < ops; n++) {
		uint64_t offset = offset_of(&a, n);
		uint64_t gap = offset - end;

		assert_int_equal((offset - START) % BLOCK, 0);
		assert_true(offset >= end); /* no overlap */
		end = offset + REQ;
		assert_true(end <= START + t.range_bytes);
		if (n) {
			smallest = gap < smallest ? gap : smallest;
			largest = gap > largest ? gap : largest;
		}
	}
	/* even: gaps differ by a block at most, and the last is as near the end */
	if (ops > 1)
		assert_true(largest - smallest <= BLOCK);
	assert_int_equal(offset_of(&a, 0), START);
	assert_true(START + t.range_bytes - end <= largest + BLOCK || ops == 1);
}

TEST(test_stagger)
{
	struct target_plan t = plan_of(SEEK_STAGGER, 1ull << 40);
	struct access a;

	check_stagger(1, 4);
	check_stagger(1, 1000);
	check_stagger(10, 40);
	check_stagger(10, 41);
	check_stagger(10, 99999);
	check_stagger(7, 1003);
	check_stagger(1000, 4001);

	/* where the product does not fit 64 bits */
	t.range_bytes = (1ull << 50) * BLOCK;
	access_init(&a, &t, 1);
	assert_int_equal(offset_of(&a, (1ull << 40) - 1),
			 START + ((1ull << 50) - (1ull << 10)) * BLOCK);
}

/* The order written down as loops. */
static void check_interleave(uint64_t slots, uint64_t factor)
{
	struct target_plan t = plan_of(SEEK_INTERLEAVE, PLAN_UNLIMITED);
	struct access a;
	uint64_t n = 0;

	t.range_bytes = slots * REQ + 1;
	t.seek.interleave = factor;
	access_init(&a, &t, 1);
	for (int again = 0; again < 2; again++)
		for (uint64_t round = 0; round < factor; round++)
			for (uint64_t slot = round; slot < slots; slot += factor, n++)
				assert_int_equal(offset_of(&a, n), START + slot * REQ);
	check_visits_each_once(&a, n, slots);
}

/* Reads and writes each go through the range in sequence, whatever their share. */
static void check_streams(uint32_t ratio, uint64_t slots)
{
	struct target_plan t = plan_of(SEEK_STREAMS, 1000);
	uint64_t next[2] = { 0 };
	struct access a;

	t.op = OP_MIXED;
	t.read_ratio = ratio;
	t.range_bytes = slots * REQ;
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < 1000; n++) {
		struct access_op op = op_of(&a, n);
		const bool reads = op.dir == DIR_READ;

		assert_true(reads || op.dir == DIR_WRITE);
		assert_int_equal(op.offset,
				 a.base + (slots ? next[reads] % slots : next[reads]) * REQ);
		assert_int_equal(op.size, REQ);
		next[reads]++;
		assert_int_equal(plan_reads_of(&t, n + 1), next[true]);
	}
	assert_true(next[true] && next[false]);
}

TEST(test_streams)
{
	struct target_plan t = plan_of(SEEK_STREAMS, 1000);

	for (uint32_t percent = 1; percent < 100; percent++) {
		check_streams(PLAN_RATIO_ONE / 100 * percent, 0);
		check_streams(PLAN_RATIO_ONE / 100 * percent, 7);
	}
	check_streams(PLAN_RATIO_ONE / 3, 10);
	/* Numbers that no run reaches. */
	t.read_ratio = PLAN_RATIO_ONE / 4;
	assert_int_equal(plan_reads_of(&t, UINT64_C(1) << 62), UINT64_C(1) << 60);
}

TEST(test_interleave)
{
	struct target_plan t = plan_of(SEEK_INTERLEAVE, PLAN_UNLIMITED);
	struct access a;

	t.seek.interleave = 3;
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < 100; n++)
		assert_int_equal(offset_of(&a, n), START + n * 3 * REQ);

	for (uint64_t slots = 1; slots < 40; slots++)
		for (uint64_t factor = 1; factor < 45; factor++)
			check_interleave(slots, factor);
	check_interleave(4999, 64);
	check_interleave(4096, 64);

	/* nothing sensible, and still no division by zero */
	t.range_bytes = 10 * REQ;
	t.seek.interleave = 0;
	access_init(&a, &t, 1);
	check_visits_each_once(&a, 0, 10);
}

TEST(test_range_too_small)
{
	static const enum seek_pattern patterns[] = { SEEK_SEQUENTIAL, SEEK_RANDOM,
						      SEEK_INTERLEAVE };
	struct access a;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct target_plan t = plan_of(patterns[i], 10);

		t.range_bytes = REQ - 1;
		t.seek.interleave = 2;
		access_init(&a, &t, 1);
		for (uint64_t n = 0; n < 10; n++)
			assert_int_equal(offset_of(&a, n), START);
	}
}

TEST(test_loaded)
{
	static const struct seek_row rows[] = {
		{ 10, 4, 'r' }, { 0, 1, 'w' }, { 1ull << 40, 4, 'n' }, { 20, 2, 'r' }
	};
	struct target_plan t = plan_of(SEEK_LOAD, 4);
	uint64_t own = 500 * BLOCK; /* of -targetoffset; the start offset is in the rows */
	struct access_op op;
	struct access a;

	t.op = OP_MIXED;
	t.rows = rows;
	t.n_rows = 4;
	t.start_bytes = START + own;
	t.pass_offset_bytes = 100 * BLOCK;
	access_init(&a, &t, 2);
	op = op_of(&a, 0);
	assert_int_equal(op.offset, own + (10 + 100) * BLOCK);
	assert_int_equal(op.size, 4 * BLOCK);
	assert_int_equal(op.dir, DIR_READ);
	op = op_of(&a, 1);
	assert_int_equal(op.offset, own + 100 * BLOCK);
	assert_int_equal(op.size, BLOCK);
	assert_int_equal(op.dir, DIR_WRITE);
	op = op_of(&a, 2);
	assert_int_equal(op.offset, own + ((1ull << 40) + 100) * BLOCK);
	assert_int_equal(op.dir, DIR_NOOP);
	assert_int_equal(op_of(&a, 3).size, 2 * BLOCK);
	assert_int_equal(offset_of(&a, 4), offset_of(&a, 0)); /* starts over */

	t.last_op_bytes = 700;
	access_init(&a, &t, 1);
	assert_int_equal(op_of(&a, 3).size, 700);
	assert_int_equal(op_of(&a, 1).size, BLOCK);
	t.last_op_bytes = 3 * BLOCK; /* shortens only */
	access_init(&a, &t, 1);
	assert_int_equal(op_of(&a, 3).size, 2 * BLOCK);
}

RUN_TESTS(NULL, NULL)
