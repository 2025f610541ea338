/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets and outputs that are the same file: src/plan/files.c. The plans here have what its
 * checks read, and no more.
 */
#include "parse_fixture.h"

#include <sys/stat.h>

#include "plan/files.h"
#include "xdd/base/memory.h"
#include "xdd/plan/engine_info.h"

#define MOST 4

/* The last one, and those after the targets of a plan, are no targets: their pointers are wild. */
static struct target_plan targets[MOST + 1];
static struct plan plan;

/* Targets of these files, of which those that are there are regular; "null" is the null device. */
static void plan_of(size_t n, const char *const *paths)
{
	arena_free(plan.arena);
	plan = (struct plan){ .passes = 2, .n_targets = n, .targets = targets };
	plan.arena = arena_new();
	assert_non_null(plan.arena);
	memset(targets, 0xff, sizeof(targets));
	for (size_t i = 0; i < n; i++) {
		targets[i] = (struct target_plan){ .end_bytes = 4096 };
		targets[i].number = (uint32_t)i;
		targets[i].path = targets[i].name = paths[i];
		targets[i].kind = strcmp(paths[i], "null") == 0 ? TARGET_NULL :
				  access(paths[i], F_OK) == 0	? TARGET_FILE :
								  TARGET_MISSING;
	}
}

#define PLAN_OF(...)                                                           \
	plan_of(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), \
		(const char *const[]){ __VA_ARGS__ })

typedef enum xdd_status check(const struct plan *plan);

static void accepted(check *fn)
{
	enum xdd_status status = fn(&plan);

	assert_string_equal(messages(), "");
	assert_int_equal(status, XDD_OK);
}

/* Refused with a message that has all of these words in it. */
static void refused(check *fn, const char *target, const char *words)
{
	const char *text;

	assert_int_equal(fn(&plan), XDD_BAD_ARGUMENT);
	text = messages();
	if (!strstr(text, target) || !strstr(text, words))
		fail_msg("\"%s\" and \"%s\" are not in \"%s\"", target, words, text);
	/* One line. */
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static int set_up_files(void **state)
{
	if (set_up(state) || mkdir("sub", 0777) || symlink("data", "soft") ||
	    link("data", "hard") || symlink("sub/missing", "dangling") || symlink("sub", "subsoft"))
		return -1;
	write_file("data.00000001", "", 0);
	write_file("data.00000002", "", 0);
	write_file("data.00000003", "", 0);
	return 0;
}

static int tear_down_files(void **state)
{
	arena_free(plan.arena);
	return remove_directory(state);
}

/* ---- identities ---- */

static bool same(const char *a, const char *b)
{
	struct file_id p = plan_file_id(plan.arena, a), q = plan_file_id(plan.arena, b);
	int order = file_id_compare(&p, &q);

	/* An order, for sorting. */
	assert_true(order < 0 ? file_id_compare(&q, &p) > 0 :
		    order > 0 ? file_id_compare(&q, &p) < 0 :
				file_id_compare(&q, &p) == 0);
	return order == 0;
}

TEST(test_identities)
{
	PLAN_OF("data");
	assert_true(same("data", "data"));
	assert_true(same("data", "soft"));
	assert_true(same("data", "hard"));
	assert_true(same("data", "sub/../data"));
	assert_false(same("data", "empty"));
	assert_false(same("data", "null"));
	/* A file that is missing is a name in a directory. */
	assert_true(same("sub/missing", "subsoft/missing"));
	assert_true(same("dangling", "sub/missing"));
	assert_false(same("sub/missing", "sub/other"));
	assert_false(same("sub/missing", "missing"));
	assert_false(same("sub", "sub/missing"));
	assert_false(same("none/a", "none/b"));
}

TEST(test_order)
{
	static const struct file_id ids[] = {
		{ .dev = 1, .ino = 9, .name = "b" }, { .dev = 2, .ino = 3, .name = "b" },
		{ .dev = 2, .ino = 4, .name = "a" }, { .dev = 2, .ino = 4, .name = "b" },
		{ .dev = 3, .ino = 1, .name = "" },
	};

	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 5; k++) {
			int order = file_id_compare(&ids[i], &ids[k]);

			assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
		}
}

TEST(test_sorted)
{
	struct file_id *ids;
	size_t with_data = MOST;

	PLAN_OF("data", "sub/missing", "soft", "null");
	ids = plan_file_ids(&plan);
	assert_non_null(ids);
	for (size_t i = 0; i < MOST; i++) {
		if (ids[i].target == &targets[3])
			assert_true(ids[i].dev == 0 && ids[i].ino == 0 && !*ids[i].name);
		if (ids[i].target == &targets[0] || ids[i].target == &targets[2])
			with_data = i;
	}
	assert_true(with_data > 0 && with_data < MOST);
	assert_int_equal(file_id_compare(&ids[with_data - 1], &ids[with_data]), 0);
	free(ids);
}

/* ---- -recreatefiles and -createnewfiles ---- */

TEST(test_option)
{
	PLAN_OF("data", "null");
	assert_null(plan_recreating_option(&targets[0]));
	targets[0].recreate_files = targets[1].recreate_files = true;
	assert_string_equal(plan_recreating_option(&targets[0]), "recreatefiles");
	targets[0].create_new_files = true;
	assert_string_equal(plan_recreating_option(&targets[0]), "createnewfiles");
	assert_null(plan_recreating_option(&targets[1]));
}

TEST(test_recreated_alone)
{
	PLAN_OF("data", "empty", "null", "null");
	targets[0].recreate_files = targets[2].recreate_files = true;
	accepted(plan_check_same_files);
	for (size_t i = 0; i < MOST; i++) {
		assert_null(targets[i].shared_with);
		assert_int_equal(targets[i].sharers, 0);
	}
}

TEST(test_recreated_together)
{
	const struct target_plan *first;

	PLAN_OF("data", "empty", "soft", "sub/../data");
	targets[0].recreate_files = targets[2].recreate_files = targets[3].recreate_files = true;
	accepted(plan_check_same_files);
	first = targets[0].shared_with;
	assert_true(first == &targets[0] || first == &targets[2] || first == &targets[3]);
	for (size_t i = 0; i < MOST; i++) {
		assert_ptr_equal(targets[i].shared_with, i == 1 ? NULL : first);
		assert_int_equal(targets[i].sharers, i == 1 ? 0 : 3);
	}
}

TEST(test_recreated_missing)
{
	PLAN_OF("sub/missing", "subsoft/missing", "/xdd-none", "/xdd-none");
	for (size_t i = 0; i < MOST; i++)
		targets[i].recreate_files = true;
	accepted(plan_check_same_files);
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(targets[i].sharers, 2);
	/* No directory, so the names may be of one file or of two. */
	PLAN_OF("none/a", "none/../none/a");
	targets[0].recreate_files = targets[1].recreate_files = true;
	refused(plan_check_same_files, "-recreatefiles: target ", " by another name");
}

TEST(test_recreated_by_one)
{
	static const char *const others[] = { "data", "soft", "hard" };

	for (size_t i = 0; i < 3; i++) {
		for (size_t which = 0; which < 2; which++) {
			PLAN_OF("empty", "data", others[i], "null");
			targets[1 + which].recreate_files = true;
			refused(plan_check_same_files, "-recreatefiles: target ",
				"is the same file; recreate it by both of them or by none");
		}
	}
	/* The last targets of the order are looked at too, whatever it is. */
	for (size_t at = 0; at < 3; at++) {
		const char *paths[] = { "data", "empty", "sub/missing", "null" };
		const char *pair[] = { paths[at], paths[at], paths[(at + 1) % 3],
				       paths[(at + 2) % 3] };

		plan_of(MOST, pair);
		targets[0].recreate_files = true;
		refused(plan_check_same_files, "-recreatefiles", "is the same file");
	}
	PLAN_OF("data", "data", "empty");
	targets[2].recreate_files = true;
	accepted(plan_check_same_files);
}

TEST(test_other_names)
{
	PLAN_OF("data", "hard");
	targets[0].recreate_files = targets[1].recreate_files = true;
	refused(plan_check_same_files, "-recreatefiles: target ",
		"is the same file by another name");
	for (size_t which = 0; which < 2; which++) {
		PLAN_OF("empty", "empty");
		targets[0].recreate_files = targets[1].recreate_files = true;
		targets[which].create_new_files = true;
		refused(plan_check_same_files, "target", " is the same file\n");
	}
	PLAN_OF("data", "data");
	targets[0].recreate_files = targets[1].recreate_files = true;
	targets[1].kind = TARGET_BLOCK;
	refused(plan_check_same_files, "-recreatefiles: target ", " is the same file\n");
}

/* ---- -seek save ---- */

TEST(test_saved_list)
{
	for (size_t which = 0; which < 2; which++) {
		PLAN_OF("data", "sub/list.T1.txt");
		targets[which].seek.save_file = "sub/list";
		if (which == 0)
			accepted(plan_check_same_files);
		else
			refused(plan_check_same_files, "target 1, sub/list.T1.txt",
				"-seek save sub/list would replace this target: the list goes to "
				"sub/list.T1.txt");
	}
	PLAN_OF("list.T1.txt", "data");
	targets[1].seek.save_file = "list";
	refused(plan_check_same_files, "target 0, list.T1.txt", "-seek save list would replace");
	PLAN_OF("data", "empty");
	targets[0].seek.save_file = "none/list";
	refused(plan_check_same_files, "-seek save none/list: none/list.T0.txt: ", "");
	targets[0].seek.save_file = NULL;
	targets[1].seek.save_file = "none/list";
	refused(plan_check_same_files, "-seek save none/list: none/list.T1.txt: ", "");
}

/* ---- files of -createnewfiles ---- */

static bool makes(const char *path)
{
	return plan_makes_file(&plan, &targets[0], path);
}

TEST(test_makes_file)
{
	PLAN_OF("data", "/xdd-none");
	assert_false(makes("data.00000001"));
	targets[0].create_new_files = targets[1].create_new_files = true;
	assert_true(makes("data.00000001"));
	assert_true(makes("data.00000002"));
	assert_true(makes("sub/../data.00000002"));
	assert_false(makes("data.00000003"));
	assert_false(makes("data.00000000"));
	assert_false(makes("data.1"));
	assert_false(makes("data.0000000x"));
	assert_false(makes("data.000000001"));
	assert_false(makes("data-00000001"));
	assert_false(makes("data.00000001x"));
	assert_false(makes("data"));
	assert_false(makes("Data.00000001"));
	assert_false(makes("sub/data.00000001"));
	assert_false(makes("none/data.00000001"));
	plan.passes = 1234567890;
	assert_true(makes("data.00000003"));
	assert_true(makes("data.1234567890"));
	assert_false(makes("data.1234567891"));
	assert_true(plan_makes_file(&plan, &targets[1], "/xdd-none.00000001"));
	/* The name is that of the link, not of the file that it leads to. */
	targets[0].path = "soft";
	assert_true(makes("soft.00000001"));
	assert_false(makes("data.00000001"));
	targets[0].kind = TARGET_NULL;
	assert_false(makes("soft.00000001"));
	targets[0].kind = TARGET_FILE;
	targets[0].path = "none/data";
	assert_false(makes("none/data.00000001"));
}

TEST(test_new_files)
{
	/* Whichever target comes first. */
	PLAN_OF("data", "data.00000002", "null");
	targets[0].create_new_files = targets[2].create_new_files = true;
	refused(plan_check_same_files, "target 0, data",
		"-createnewfiles would replace target 1, data.00000002");
	PLAN_OF("data", "data.00000002");
	targets[0].create_new_files = true;
	refused(plan_check_same_files, "target 0, data",
		"-createnewfiles would replace target 1, data.00000002");
	PLAN_OF("data.00000001", "null", "data");
	targets[2].create_new_files = true;
	refused(plan_check_same_files, "target 2, data",
		"-createnewfiles would replace target 0, data.00000001");
	PLAN_OF("data.00000003", "null", "data", "data-00000001");
	targets[2].create_new_files = true;
	accepted(plan_check_same_files);
	/* That target makes files with longer names. */
	PLAN_OF("data.00000001", "data");
	targets[0].create_new_files = targets[1].create_new_files = true;
	accepted(plan_check_same_files);
	PLAN_OF("soft", "data.00000001", "data.00000002");
	targets[0].create_new_files = true;
	accepted(plan_check_same_files);
	PLAN_OF("null", "null.00000001");
	targets[0].create_new_files = true;
	accepted(plan_check_same_files);
}

/* ---- -restart file ---- */

static void restarts(size_t i, const char *file)
{
	targets[i].endtoend.role = E2E_DESTINATION;
	targets[i].restart.file = file;
}

TEST(test_restart_files)
{
	PLAN_OF("data", "empty", "sub/a");
	restarts(0, "sub/0");
	restarts(2, "sub/2");
	accepted(plan_check_restart_files);
	restarts(1, "sub/../sub/0");
	refused(plan_check_restart_files, "target 1, empty",
		"-restart file sub/../sub/0: is the file of target 0 too");
	restarts(1, "subsoft/a");
	refused(plan_check_restart_files, "target 1, empty",
		"-restart file subsoft/a: is target 2");
	restarts(1, NULL);
	restarts(2, "subsoft/0");
	refused(plan_check_restart_files, "target 2, sub/a",
		"-restart file subsoft/0: is the file of target 0 too");
	restarts(2, "soft");
	refused(plan_check_restart_files, "target 2, sub/a", "-restart file soft: is target 0");
	restarts(2, "none/file");
	refused(plan_check_restart_files, "target 2, sub/a", "-restart file none/file: ");
	/* The first target as well. */
	restarts(2, NULL);
	restarts(0, "none/file");
	refused(plan_check_restart_files, "target 0, data", "-restart file none/file: ");
	/* A source has no such file. */
	targets[0].endtoend.role = E2E_SOURCE;
	accepted(plan_check_restart_files);
}

/* ---- engines with a buffer ---- */

static const struct engine_info buffering = { .name = "buffering", .caps = ENGINE_BUFFERS };
static const struct engine_info plain = { .name = "plain" };

struct role {
	enum op_request op;
	const struct engine_info *engine;
	unsigned verify;
};

static void roles(struct role a, struct role b)
{
	const struct role both[] = { a, b };

	PLAN_OF("data", "soft");
	for (size_t i = 0; i < 2; i++) {
		targets[i].op = both[i].op;
		targets[i].engine = both[i].engine;
		targets[i].verify = both[i].verify;
	}
}

TEST(test_buffered)
{
	const struct role reads = { OP_READ, &plain, VERIFY_CONTENTS };
	const struct role writes = { OP_WRITE, &plain, VERIFY_NONE };
	const struct role reads_buffer = { OP_READ, &buffering, VERIFY_CONTENTS };
	const struct role writes_buffer = { OP_WRITE, &buffering, VERIFY_NONE };
	const struct role only_reads = { OP_READ, &buffering, VERIFY_NONE };
	static const char kept[] =
		"the buffer keeps target 1 from reading what target 0 has written";

	roles(writes_buffer, reads);
	refused(plan_check_buffered, "target 0, data", kept);
	roles(writes, reads_buffer);
	refused(plan_check_buffered, "target 1, soft", kept);
	roles(reads_buffer, writes);
	refused(plan_check_buffered, "target 0, data",
		"the buffer keeps target 0 from reading what target 1 has written");
	roles(writes_buffer, reads_buffer);
	refused(plan_check_buffered, "target 0, data", "-ioengine buffering: the buffer keeps");
	roles(writes, reads);
	accepted(plan_check_buffered);
	roles(reads_buffer, reads_buffer);
	accepted(plan_check_buffered);
	roles(writes_buffer, writes_buffer);
	accepted(plan_check_buffered);
	/* Without -verify only a reader of these writes depends on them. */
	roles(writes_buffer, only_reads);
	accepted(plan_check_buffered);
	targets[1].writer = &targets[0];
	refused(plan_check_buffered, "target 0, data", kept);
	/* Another file. */
	roles(writes_buffer, reads);
	targets[1].path = "empty";
	accepted(plan_check_buffered);
}

/* ---- books of tags ---- */

/* Target i of `data` writes and verifies tags of this range. */
static void tags(size_t i, uint64_t start, uint64_t end)
{
	targets[i].op = OP_MIXED;
	targets[i].verify = VERIFY_CONTENTS;
	targets[i].pattern.kind = PATTERN_TAGGED;
	targets[i].start_bytes = start;
	targets[i].end_bytes = end;
}

static void two_tagged(uint64_t start, uint64_t end)
{
	PLAN_OF("data", "data");
	tags(0, 4096, 8192);
	tags(1, start, end);
}

TEST(test_tagged_ranges)
{
	static const uint64_t apart[][2] = { { 0, 4096 }, { 8192, 9000 } };
	static const uint64_t overlap[][2] = {
		{ 0, 4097 }, { 8191, 9000 }, { 5000, 6000 }, { 0, 9000 }
	};

	for (size_t i = 0; i < 2; i++) {
		two_tagged(apart[i][0], apart[i][1]);
		accepted(plan_check_tagged);
	}
	for (size_t i = 0; i < 4; i++) {
		two_tagged(overlap[i][0], overlap[i][1]);
		refused(plan_check_tagged, "-datapattern tagged, -verify: target ",
			" writes to the same bytes");
	}
	two_tagged(4096, 8192);
	targets[1].path = "empty";
	accepted(plan_check_tagged);
}

/* Targets that leave gaps may have offsets of their own in one range. */
TEST(test_tagged_gaps)
{
	static const enum seek_pattern whole[] = { SEEK_SEQUENTIAL, SEEK_RANDOM, SEEK_ONCE,
						   SEEK_ZIPF, SEEK_NONE };
	static const struct seek_row row = { .blocks = 1 };

	for (size_t i = 0; i < 5; i++) {
		two_tagged(4096, 8192);
		targets[i % 2].seek.pattern = whole[i];
		refused(plan_check_tagged, "-datapattern tagged", "writes to");
	}
	for (size_t which = 0; which < 2; which++) {
		two_tagged(4096, 8192);
		targets[which].seek.pattern = SEEK_INTERLEAVE;
		accepted(plan_check_tagged);
		two_tagged(4096, 8192);
		targets[which].rows = &row;
		accepted(plan_check_tagged);
		two_tagged(4096, 8192);
		targets[which].pass_offset_bytes = 1;
		accepted(plan_check_tagged);
		two_tagged(4096, 8192);
		targets[which].layout.block_bytes = 1;
		accepted(plan_check_tagged);
	}
}

TEST(test_tagged_roles)
{
	two_tagged(4096, 8192);
	targets[1].op = OP_DISCARD;
	refused(plan_check_tagged, "target 0, data", "target 1 discards the same bytes");
	targets[1].op = OP_READ;
	accepted(plan_check_tagged);
	two_tagged(4096, 8192);
	targets[0].op = OP_DISCARD;
	refused(plan_check_tagged, "target 1, data", "target 0 discards the same bytes");
	/* A target that writes for the run after it keeps a book, if that run reads. */
	two_tagged(4096, 8192);
	targets[0].op = targets[1].op = OP_WRITE;
	targets[0].verify = targets[1].verify = VERIFY_NONE;
	accepted(plan_check_tagged);
	plan.read_back = true;
	refused(plan_check_tagged, "-datapattern tagged", "writes to");
	targets[0].op = targets[1].op = OP_MIXED;
	accepted(plan_check_tagged);
	/* Other data has no book. */
	two_tagged(4096, 8192);
	targets[0].pattern.kind = targets[1].pattern.kind = PATTERN_SEQUENCED;
	accepted(plan_check_tagged);
	PLAN_OF("null", "null");
	tags(0, 0, 1);
	tags(1, 0, 1);
	accepted(plan_check_tagged);
}

RUN_TESTS(set_up_files, tear_down_files)
