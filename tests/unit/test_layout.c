/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that the targets of all ranks share: the blocks of src/io/access.c, and the order of
 * src/plan/feature_layout.c.
 */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "access_plan.h"
#include "plan/feature.h"
#include "xdd/io/access.h"

#define MAX_OWNERS 7
#define MAX_SEGMENTS 4
#define MAX_BLOCK_SLOTS 5
#define MAX_SLOTS (MAX_OWNERS * MAX_SEGMENTS * MAX_BLOCK_SLOTS)
#define MAX_CYCLE 300

struct shape {
	uint64_t owners, segments, block_slots;
};

/* The plan of the target whose blocks are those of `owner`. */
static struct target_plan plan_of_owner(const struct shape *s, uint64_t owner,
					enum seek_pattern pattern)
{
	struct target_plan t = plan_of(pattern, s->segments * s->block_slots);

	t.layout = (struct layout_options){
		.block_bytes = s->block_slots * REQ,
		.n_segments = s->segments,
		.n_owners = s->owners,
		.index = owner,
		.owner = owner,
	};
	t.range_bytes = s->segments * t.layout.block_bytes;
	t.start_bytes = START + owner * t.layout.block_bytes;
	return t;
}

/* All operations of all owners together access each request of the file once. */
static void check_bijection(const struct shape *s)
{
	const uint64_t slots = s->owners * s->segments * s->block_slots;
	bool seen[MAX_SLOTS] = { false };

	for (uint64_t owner = 0; owner < s->owners; owner++) {
		struct target_plan t = plan_of_owner(s, owner, SEEK_SEQUENTIAL);
		struct access a;

		access_init(&a, &t, 1);
		for (uint64_t n = 0; n < t.pass_ops; n++) {
			uint64_t k = n / s->block_slots, within = n % s->block_slots;
			struct access_op op = op_of(&a, n);
			uint64_t slot = (op.offset - START) / REQ;

			assert_int_equal(
				op.offset,
				START + ((k * s->owners + owner) * s->block_slots + within) * REQ);
			assert_int_equal(op.size, REQ);
			assert_true(slot < slots);
			assert_false(seen[slot]);
			seen[slot] = true;
		}
		/* A pass with more operations starts over. */
		assert_int_equal(op_of(&a, t.pass_ops).offset, op_of(&a, 0).offset);
	}
}

TEST(test_bijection)
{
	for (uint64_t owners = 1; owners <= MAX_OWNERS; owners++)
		for (uint64_t segments = 1; segments <= MAX_SEGMENTS; segments++)
			for (uint64_t slots = 1; slots <= MAX_BLOCK_SLOTS; slots++)
				check_bijection(&(struct shape){ owners, segments, slots });
}

/* Random requests stay in the owner's blocks, use all of them, and differ between owners. */
TEST(test_random)
{
	const struct shape s = { 3, 4, 5 };
	uint64_t first[3][20];

	for (uint64_t owner = 0; owner < s.owners; owner++) {
		struct target_plan t = plan_of_owner(&s, owner, SEEK_RANDOM);
		bool seen[MAX_SLOTS] = { false };
		uint64_t used = 0;
		struct access a;

		access_init(&a, &t, 1);
		for (uint64_t n = 0; n < 1000; n++) {
			uint64_t slot = (op_of(&a, n).offset - START) / REQ;

			assert_true(slot < s.owners * s.segments * s.block_slots);
			assert_int_equal(slot / s.block_slots % s.owners, owner);
			used += !seen[slot];
			seen[slot] = true;
			if (n < 20)
				first[owner][n] = slot - owner * s.block_slots;
		}
		assert_int_equal(used, s.segments * s.block_slots);
	}
	assert_memory_not_equal(first[0], first[1], sizeof(first[0]));
	assert_memory_not_equal(first[1], first[2], sizeof(first[0]));
}

TEST(test_largest_numbers)
{
	struct shape s = { 1ull << 20, 1ull << 20, 1 };
	struct target_plan t = plan_of_owner(&s, (1ull << 20) - 1, SEEK_SEQUENTIAL);
	struct access a;

	access_init(&a, &t, 1);
	assert_int_equal(op_of(&a, (1ull << 20) - 1).offset, START + ((1ull << 40) - 1) * REQ);
}

/* Every number has another successor, and all are in one cycle. */
TEST(test_cycle)
{
	for (uint64_t n = 1; n <= MAX_CYCLE; n++) {
		uint64_t i = 0, steps = 0;

		do {
			i = reorder_next(n * 17, n, i);
			assert_true(i < n);
			steps++;
		} while (i != 0 && steps <= n);
		assert_int_equal(steps, n);
	}
}

/* A run on another machine, or of a later version, reads the same blocks. */
TEST(test_stays_the_same)
{
	static const uint64_t order[] = { 7, 2, 4, 6, 5, 0, 1, 3 };
	bool differs = false;

	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(reorder_next(42, 8, i), order[i]);
		differs |= reorder_next(43, 8, i) != order[i];
	}
	assert_true(differs);
	assert_true(reorder_next(1, 1ull << 33, 12345) < 1ull << 33);
}

RUN_TESTS(NULL, NULL)
