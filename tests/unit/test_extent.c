/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a target that a run touches: src/plan/extent.c.
 */
#include "plan_fixture.h"

#include "plan/files.h"

/* Requests of 4 KiB at multiples of 1 KiB, to the null device. */
#define NULLS "-op write -reqsize 4 -targets 1 null "
#define KIB 1024u

/* Target 0 of the plan of a line touches the bytes up to that KiB, and no later ones. */
static void extent(const char *line, uint64_t kib)
{
	uint64_t bytes;

	good(line);
	bytes = plan_extent(plan, t0);
	if (bytes != kib * KIB)
		fail_msg("%s: %ju bytes, not %ju KiB", line, (uintmax_t)bytes, (uintmax_t)kib);
	assert_int_equal(t0->end_bytes, bytes);
}

TEST_TEARDOWN(test_sequential, forget_plan)
{
	extent(NULLS "-numreqs 1", 4);
	extent(NULLS "-numreqs 10", 40);
	extent(NULLS "-numreqs 10 -startoffset 3", 43);
	extent(NULLS "-numreqs 10 -startoffset 3 -targetoffset 100", 43);
	extent(NULLS "-numreqs 10 -passes 3 -passoffset 2", 44);
	extent(NULLS "-bytes 41984", 41);
	extent(NULLS "-bytes 1024", 1);
	/* A range, which is shorter, as long and longer. */
	extent(NULLS "-numreqs 10 -seek range 20", 20);
	extent(NULLS "-numreqs 10 -seek range 21", 20);
	extent(NULLS "-numreqs 10 -seek range 40", 40);
	extent(NULLS "-numreqs 10 -seek range 41", 40);
	extent(NULLS "-numreqs 10 -seek range 100", 40);
	extent(NULLS "-bytes 41984 -seek range 100", 41);
}

TEST_TEARDOWN(test_orders, forget_plan)
{
	extent(NULLS "-numreqs 10 -seek none", 4);
	extent(NULLS "-numreqs 10 -seek random -seek range 102", 100);
	extent(NULLS "-numreqs 100 -seek random -seek range 102", 100);
	extent(NULLS "-numreqs 1 -seek random -seek range 102", 100);
	extent(NULLS "-numreqs 1 -seek random -seek range 7", 4);
	extent(NULLS "-numreqs 1 -seek random -seek range 8", 8);
	extent(NULLS "-numreqs 10 -seek stagger -seek range 100", 94);
	extent(NULLS "-numreqs 3 -seek stagger -seek range 100", 70);
	extent(NULLS "-bytes 41984 -seek random once -seek range 41", 41);
	extent(NULLS "-numreqs 10 -seek random once -seek range 40", 40);
	/* The longer stream: of 5 and 5, 3 and 7, 6 and 5; the last read is short. */
	extent(NULLS "-rwratio 50 -numreqs 10 -seek streams", 20);
	extent(NULLS "-rwratio 30 -numreqs 10 -seek streams", 28);
	extent(NULLS "-rwratio 30 -numreqs 10 -seek streams range 14", 12);
	extent(NULLS "-rwratio 50 -bytes 41984 -seek streams", 21);
	extent(NULLS "-op read -bytes 41984 -seek streams", 41);
	extent(NULLS "-op write -bytes 41984 -seek streams", 41);
	extent(NULLS "-rwratio 30 -timelimit 1 -seek streams range 14", 12);
	/* Request n is at n times the factor. */
	extent(NULLS "-numreqs 10 -seek interleave 3", 9 * 12 + 4);
	extent(NULLS "-bytes 41984 -seek interleave 3", 10 * 12 + 1);
	extent(NULLS "-numreqs 1 -seek interleave 3", 4);
	extent(NULLS "-numreqs 10 -seek interleave 3 -seek range 50", 48);
}

/* Lists have the end of their last row by offset; a pass may have only some of the rows. */
TEST_TEARDOWN(test_lists, forget_plan)
{
	static const char rows[] = "0 10 2 w\n1 50 3 w\n2 0 7 w\n3 60 1 w\n";

	write_file("rows", rows, sizeof(rows) - 1);
	extent("-targets 1 null -seek load rows", 61);
	extent("-targets 1 null -seek load rows -numreqs 3", 53);
	extent("-targets 1 null -seek load rows -numreqs 1", 12);
	/* The last operation is shorter than its row. */
	extent("-targets 1 null -seek load rows -bytes 4096", 52);
	extent("-targets 1 null -seek load rows -passes 3 -passoffset 5", 71);
	extent("-targets 1 null -blocksize 2048 -seek load rows", 122);
	unlink("rows");
}

/* Requests of several sizes: a pass, a lap of its range, or the last whole request of a size. */
TEST_TEARDOWN(test_mixes, forget_plan)
{
	extent("-op write -targets 1 null -reqsize mix 4k:1,8k:1 -numreqs 10", 60);
	extent("-op write -targets 1 null -reqsize mix 4k:1,8k:1 -numreqs 10 -seek range 200", 60);
	extent("-op write -targets 1 null -reqsize mix 4k:1,8k:1 -numreqs 100 -seek range 60", 60);
	extent("-op write -targets 1 null -reqsize mix 4k:1,8k:1 -numreqs 100 -seek range 71", 60);
	extent("-op write -targets 1 null -reqsize mix 4k:1,8k:1 -numreqs 9 -seek random "
	       "-seek range 71",
	       68);
	extent("-op write -targets 1 null -reqsize mix 4k:1,9k:1 -numreqs 9 -seek random "
	       "-seek range 63",
	       63);
}

/* Extents that no file has are refused, and do not wrap. */
TEST(test_overflow)
{
	struct target_plan t = { .req_bytes = 4096,
				 .block_size = 1024,
				 .pass_ops = 3,
				 .last_op_bytes = 4096,
				 .pass_bytes = 3 * 4096 };
	const struct plan one = { .passes = 1 };

	t.start_bytes = UINT64_MAX - 3 * 4096;
	assert_true(plan_extent(&one, &t) == UINT64_MAX);
	t.start_bytes--;
	assert_true(plan_extent(&one, &t) == UINT64_MAX - 1);
	t.start_bytes += 2;
	assert_true(plan_extent(&one, &t) == UINT64_MAX);
	t.start_bytes = 0;
	t.seek.pattern = SEEK_INTERLEAVE;
	t.seek.interleave = UINT64_MAX / 8192;
	assert_true(plan_extent(&one, &t) == UINT64_MAX / 8192 * 8192 + 4096);
	t.seek.interleave++;
	assert_true(plan_extent(&one, &t) == UINT64_MAX);
	t.pass_ops = 0;
	assert_int_equal(plan_extent(&one, &t), 0);
}

/* Bytes of a target that are left from the start of its last pass. */
TEST(test_bytes_left)
{
	struct target_plan t = { .kind = TARGET_FILE, .size_bytes = 1000, .written_bytes = 500 };
	struct plan p = { .passes = 1 };

	assert_int_equal(plan_bytes_left(&p, &t), 1000);
	t.start_bytes = 400;
	assert_int_equal(plan_bytes_left(&p, &t), 600);
	p.passes = 3;
	t.pass_offset_bytes = 100;
	assert_int_equal(plan_last_start(&p, &t), 600);
	assert_int_equal(plan_bytes_left(&p, &t), 400);
	t.pass_offset_bytes = 300;
	assert_int_equal(plan_bytes_left(&p, &t), 0);
	/* Without a size, what others write there. */
	t.kind = TARGET_MISSING;
	p.passes = 1;
	assert_int_equal(plan_bytes_left(&p, &t), 100);
	t.kind = TARGET_FILE;
	t.size_bytes = 0;
	assert_int_equal(plan_bytes_left(&p, &t), 100);
	t.written_bytes = PLAN_UNLIMITED;
	assert_int_equal(plan_bytes_left(&p, &t), 0);
}

TEST(test_sizes)
{
	struct target_plan other = { 0 }, t = { .size_bytes = 10, .written_bytes = 5 };
	static const struct {
		enum target_kind kind;
		bool has;
	} kinds[] = { { TARGET_FILE, true },
		      { TARGET_BLOCK, true },
		      { TARGET_CHAR, true },
		      { TARGET_MISSING, false },
		      { TARGET_NULL, false } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		t.kind = kinds[i].kind;
		t.writer = NULL;
		assert_int_equal(plan_has_size(&t), kinds[i].has);
		assert_true(plan_size_in_run(&t) == (kinds[i].has ? 10 : UINT64_MAX));
		t.writer = &other;
		assert_int_equal(plan_size_in_run(&t), 10);
	}
	t.written_bytes = 11;
	assert_int_equal(plan_size_in_run(&t), 11);
	t.size_bytes = 0;
	t.kind = TARGET_CHAR;
	assert_false(plan_has_size(&t));
}

TEST(test_early_end)
{
	struct target_plan t = { 0 };
	struct plan p = { 0 };

	assert_false(plan_may_end_early(&p, &t));
	t.time_limit_ns = 1;
	assert_true(plan_may_end_early(&p, &t));
	t.time_limit_ns = 0;
	p.run_time_ns = 1;
	assert_true(plan_may_end_early(&p, &t));
	p.run_time_ns = 0;
	t.stop_trigger.on = true;
	assert_true(plan_may_end_early(&p, &t));
	t.stop_trigger.on = false;
	t.lockstep.on = true;
	assert_false(plan_may_end_early(&p, &t));
	t.lockstep.stop = true;
	assert_true(plan_may_end_early(&p, &t));
	t.lockstep.on = false;
	assert_false(plan_may_end_early(&p, &t));
}

TEST(test_limit_ops)
{
	struct target_plan t = { .req_bytes = 4096,
				 .pass_ops = 10,
				 .last_op_bytes = 100,
				 .pass_bytes = 9 * 4096 + 100 };

	plan_limit_ops(&t, 11);
	plan_limit_ops(&t, 10);
	assert_int_equal(t.pass_ops, 10);
	assert_int_equal(t.last_op_bytes, 100);
	plan_limit_ops(&t, 9);
	assert_int_equal(t.pass_ops, 9);
	assert_int_equal(t.last_op_bytes, 4096);
	assert_int_equal(t.pass_bytes, 9 * 4096);
}

/* The part that is no multiple is named, with its size; the others are multiples. */
TEST_TEARDOWN(test_multiples, forget_plan)
{
	const struct target_plan whole = { .path = "x",
					   .req_bytes = 4096,
					   .start_bytes = 512,
					   .pass_offset_bytes = 1024,
					   .block_size = 100,
					   .last_op_bytes = 300 };
	struct target_plan t = whole;

	assert_int_equal(plan_check_multiples(&t, "-dio", 512, false), XDD_OK);
	assert_string_equal(messages(), "");
	assert_int_equal(plan_check_multiples(&t, "-dio", 512, true), XDD_BAD_ARGUMENT);
	assert_string_equal(messages(), "xdd: target 0, x: -dio: the size of the last operation "
					"(-bytes) must be a multiple of 512 bytes; it is 300\n");
	t.req_bytes = 4097;
	assert_int_equal(plan_check_multiples(&t, "-dio", 512, false), XDD_BAD_ARGUMENT);
	assert_non_null(strstr(messages(),
			       "-dio: the request size (-reqsize, -blocksize) must be a "
			       "multiple of 512 bytes; it is 4097\n"));
	t = whole;
	t.start_bytes = 511;
	assert_int_equal(plan_check_multiples(&t, "-dio", 512, false), XDD_BAD_ARGUMENT);
	assert_non_null(
		strstr(messages(), "the start offset (-startoffset, -targetoffset) must be"));
	t = whole;
	t.pass_offset_bytes = 1;
	assert_int_equal(plan_check_multiples(&t, "-dio", 512, false), XDD_BAD_ARGUMENT);
	assert_non_null(strstr(messages(), "the pass offset (-passoffset) must be"));
	t = whole;
	t.seek.pattern = SEEK_STAGGER;
	assert_int_equal(plan_check_multiples(&t, "-dio", 512, false), XDD_BAD_ARGUMENT);
	assert_non_null(strstr(messages(), "the block size (-blocksize) must be"));
	/* The first size of a mix that is none. */
	good("-op read -targets 1 data -blocksize 256 -reqsize mix 512B:1,768B:1,1280B:1 -numreqs 3");
	assert_int_equal(plan_check_multiples(t0, "-dio", 256, false), XDD_OK);
	assert_int_equal(plan_check_multiples(t0, "-dio", 512, false), XDD_BAD_ARGUMENT);
	assert_non_null(strstr(messages(),
			       "-dio: each request size (-reqsize mix) must be a multiple "
			       "of 512 bytes; it is 768\n"));
}

RUN_TESTS(set_up, remove_directory)
