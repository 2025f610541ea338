/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How buffers lie in memory, and on which processors QThreads run: src/plan/feature_machine.c.
 */
#include "unit.h"

#include <unistd.h>

#include "plan/feature.h"
#include "xdd/base/log.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

struct layout_case {
	uint64_t asked, req_bytes;
	uint64_t align, shift, stride;
};

TEST(test_layout)
{
	const struct layout_case cases[] = {
		{ 0, 1, 4096, 0, 4096 },
		{ 0, 4096, 4096, 0, 4096 },
		{ 0, 4097, 4096, 0, 8192 },
		{ 0, MIB, 4096, 0, MIB },
		{ 0, 2 * MIB, 2 * MIB, 0, 2 * MIB },
		{ 0, 3 * MIB, 2 * MIB, 0, 4 * MIB },
		{ 1, 4096, 4096, 1, 8192 },
		{ 512, 3584, 4096, 512, 4096 },
		{ 512, 3585, 4096, 512, 8192 },
		{ 4095, 1, 4096, 4095, 4096 },
		{ 4096, 4 * MIB, 4096, 0, 4 * MIB },
		{ 6000, 4096, 4096, 1904, 8192 },
		{ 12288, 4096, 4096, 0, 4096 },
		{ 1000000, 4 * MIB, 4096, 576, 4 * MIB + 4096 },
		{ 64 * KIB, 4096, 64 * KIB, 0, 64 * KIB },
		{ 64 * KIB, 65 * KIB, 64 * KIB, 0, 128 * KIB },
		{ 4 * MIB, MIB, 4 * MIB, 0, 4 * MIB },
		{ 1024 * MIB, MIB + 1, 1024 * MIB, 0, 1024 * MIB },
	};

	if (sysconf(_SC_PAGESIZE) != 4096)
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct layout_case *c = &cases[i];
		struct target_plan t = {
			.kind = TARGET_FILE,
			.op = OP_READ,
			.req_bytes = c->req_bytes,
			.memory.align_asked = c->asked,
		};
		const struct memory_plan *m = &t.memory;

		plan_resolve_memory(NULL, &t);
		if (m->align_bytes != c->align || m->shift_bytes != c->shift ||
		    m->stride_bytes != c->stride || m->page_bytes != 4096)
			fail_msg("%zu: %zu, %zu, %zu", i, (size_t)m->align_bytes,
				 (size_t)m->shift_bytes, (size_t)m->stride_bytes);
		/* No padding follows the last one, which only a larger alignment would need. */
		assert_int_equal(plan_region_bytes(m, 3),
				 c->align <= 2 * MIB ?
					 3 * c->stride :
					 2 * c->stride + (c->req_bytes + 4095) / 4096 * 4096);
	}
}

TEST(test_no_buffers)
{
	struct target_plan null = { .kind = TARGET_NULL, .op = OP_READ, .req_bytes = 4096 };
	struct target_plan noop = { .kind = TARGET_FILE, .op = OP_NOOP, .req_bytes = 4096 };
	struct target_plan discard = { .kind = TARGET_FILE, .op = OP_DISCARD, .req_bytes = 4096 };

	plan_resolve_memory(NULL, &null);
	plan_resolve_memory(NULL, &noop);
	plan_resolve_memory(NULL, &discard);
	assert_int_equal(plan_region_bytes(&discard.memory, 8), 0);
	assert_int_equal(plan_region_bytes(&null.memory, 8), 0);
	assert_int_equal(plan_region_bytes(&noop.memory, 8), 0);
}

TEST(test_regions)
{
	const struct memory_plan m = {
		.page_bytes = 2 * MIB,
		.stride_bytes = 64 * KIB,
		.last_bytes = 64 * KIB,
	};

	assert_int_equal(plan_region_bytes(&m, 0), 0);
	assert_int_equal(plan_region_bytes(&m, 1), 2 * MIB);
	assert_int_equal(plan_region_bytes(&m, 32), 2 * MIB);
	assert_int_equal(plan_region_bytes(&m, 33), 4 * MIB);
}

TEST(test_share)
{
	const struct target_plan t = { .queue_depth = 10, .qthreads = 4 };
	const uint32_t shares[] = { 3, 3, 2, 2 };

	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(plan_depth_of(&t, i), shares[i]);
}

static enum xdd_status memalign(uint64_t asked, bool dio, uint32_t device)
{
	struct target_plan t = {
		.kind = TARGET_BLOCK,
		.op = OP_READ,
		.path = "t",
		.req_bytes = 4096,
		.direct_io = dio,
		.memory_align_bytes = device,
		.memory.align_asked = asked,
	};

	plan_resolve_memory(NULL, &t);
	return plan_check_memalign(NULL, &t);
}

TEST(test_memalign)
{
	assert_int_equal(memalign(0, true, 512), XDD_OK);
	assert_int_equal(memalign(512, true, 512), XDD_OK);
	assert_int_equal(memalign(1024, true, 512), XDD_OK);
	assert_int_equal(memalign(8192, true, 512), XDD_OK);
	assert_int_equal(memalign(4, true, 4), XDD_OK);
	assert_int_equal(memalign(2, true, 4), XDD_BAD_ARGUMENT);
	assert_int_equal(memalign(256, true, 512), XDD_BAD_ARGUMENT);
	assert_int_equal(memalign(513, true, 512), XDD_BAD_ARGUMENT);
	/* Without -dio, or when nothing is known, there is nothing to refuse. */
	assert_int_equal(memalign(1, false, 512), XDD_OK);
	assert_int_equal(memalign(1, true, 0), XDD_OK);
}

/* The guide, 4.11: five threads on eight processors, and on two. */
TEST(test_round_robin)
{
	const uint32_t eight[] = { 0, 1, 2, 3, 4 }, two[] = { 0, 1, 0, 1, 0 };
	const struct target_plan a = { .qthreads = 2 }, b = { .qthreads = 3, .first_qthread = 2 };
	struct idset set = { 0 };
	struct plan plan = { .round_robin = true, .processors = &set };
	int one;

	idset_parse(&set, "0-7");
	for (uint32_t i = 0; i < 5; i++) {
		plan_processors_of(&plan, i < 2 ? &a : &b, i < 2 ? i : i - 2, &one);
		assert_int_equal(one, eight[i]);
	}
	set = (struct idset){ 0 };
	idset_parse(&set, "0-1");
	for (uint32_t i = 0; i < 5; i++) {
		plan_processors_of(&plan, i < 2 ? &a : &b, i < 2 ? i : i - 2, &one);
		assert_int_equal(one, two[i]);
	}
}

TEST(test_processors)
{
	struct idset all = { 0 }, own = { 0 };
	struct target_plan t = { .qthreads = 2 };
	struct plan plan = { 0 };
	int one = 7;

	assert_null(plan_processors_of(&plan, &t, 1, &one));
	assert_int_equal(one, -1);
	plan.processors = &all;
	assert_ptr_equal(plan_processors_of(&plan, &t, 1, &one), &all);
	assert_int_equal(one, -1);
	t.processors = &own;
	plan.round_robin = true;
	assert_ptr_equal(plan_processors_of(&plan, &t, 1, &one), &own);
	assert_int_equal(one, -1);
}

RUN_TESTS(NULL, NULL)
