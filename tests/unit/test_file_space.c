/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Space for writes: src/plan/feature_files.c. The function of the C library that asks a file system
 * is replaced: the file system here has as many free blocks as a test says.
 */
#include "plan_fixture.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define BLOCK 4096

/* Operations of one block, to a file that is not there. */
#define WRITES "-op write -blocksize 4096 -reqsize 1 -targets 1 new "

#define MIXED "-blocksize 4096 -reqsize 1 -targets 1 big "

/* Ten such operations by each of two targets of one file. */
#define PAIR "-op write -blocksize 4096 -reqsize 1 -targets 2 new new -numreqs 10 "

static struct statfs file_system;

int statfs(const char *path, struct statfs *fs)
{
	(void)path;
	*fs = file_system;
	return 0;
}

static void set_free(uint64_t blocks)
{
	/* Reserved blocks are for root. */
	file_system.f_bfree = geteuid() ? 1000000 : blocks;
	file_system.f_bavail = geteuid() ? blocks : 0;
}

static void usual_file_system(void)
{
	file_system = (struct statfs){
		.f_type = EXT4_SUPER_MAGIC, .f_blocks = 2000000, .f_bsize = BLOCK, .f_frsize = BLOCK
	};
}

/* The plan of the line needs that many free blocks: as many will do, and one less is refused. */
static void needs(uint64_t blocks, const char *line)
{
	enum xdd_status status;
	char text[64];

	good(line);
	set_free(blocks);
	status = plan_check_room(plan);
	if (status || *messages())
		fail_msg("%s: %ju blocks are not enough", line, (uintmax_t)blocks);
	if (!blocks)
		return;
	set_free(blocks - 1);
	status = plan_check_room(plan);
	snprintf(text, sizeof(text), "need at least %ju KiB of free space", (uintmax_t)blocks * 4);
	if (status != XDD_BAD_ARGUMENT)
		fail_msg("%s: less than %ju blocks are enough", line, (uintmax_t)blocks);
	if (!strstr(messages(), text))
		fail_msg("%s: not said: %s", line, text);
}

/* Blocks that `data` has. */
static uint64_t allocated(void)
{
	struct stat st;

	assert_int_equal(stat("data", &st), 0);
	assert_int_equal(st.st_blocks % 8, 0);
	return (uint64_t)st.st_blocks / 8;
}

static int begin(void **state)
{
	usual_file_system();
	return forget_plan(state);
}

TEST_SETUP_TEARDOWN(test_new_file, begin, forget_plan)
{
	needs(10, WRITES "-numreqs 10");
	needs(10, WRITES "-numreqs 10 -startoffset 5");
	needs(10, WRITES "-numreqs 10 -passes 3");
	needs(0, "-op read -targets 1 data -numreqs 10 -reqsize 1");
	needs(0, WRITES "-numreqs 10 -timelimit 1");
	needs(0, WRITES "-numreqs 10 -runtime 1");
	/* The last block is a part of one; a file of less may be in the inode. */
	needs(2, "-op write -blocksize 1 -targets 1 new -bytes 4097 -reqsize 4096");
	needs(1, "-op write -blocksize 1 -targets 1 new -bytes 4096 -reqsize 4096");
	needs(0, "-op write -blocksize 1 -targets 1 new -bytes 4095 -reqsize 4096");
	needs(3, "-op write -blocksize 1 -targets 1 new -bytes 8193 -reqsize 4096");
}

TEST_SETUP_TEARDOWN(test_passes, begin, forget_plan)
{
	needs(18, WRITES "-numreqs 10 -passes 3 -passoffset 4");
	needs(30, WRITES "-numreqs 10 -passes 3 -passoffset 10");
	needs(30, WRITES "-numreqs 10 -passes 3 -passoffset 11");
	needs(28, WRITES "-numreqs 10 -passes 3 -passoffset 9");
	needs(10, WRITES "-numreqs 10 -passes 1 -passoffset 4");
	needs(30, WRITES "-numreqs 10 -passes 3 -createnewfiles");
	needs(10, WRITES "-numreqs 10 -passes 3 -passoffset 4 -recreatefiles");
}

TEST_SETUP_TEARDOWN(test_targets, begin, forget_plan)
{
	needs(20, "-op write -blocksize 4096 -reqsize 1 -targets 2 new other -numreqs 10");
	needs(10, "-op write -blocksize 4096 -reqsize 1 -targets 2 new new -numreqs 10");
	needs(15, "-op write -blocksize 4096 -reqsize 1 -targets 2 new new -numreqs 10 "
		  "-targetoffset 5");
	needs(20, "-op write -blocksize 4096 -reqsize 1 -targets 2 new new -numreqs 10 "
		  "-targetoffset 10");
	needs(40, "-op write -blocksize 4096 -reqsize 1 -targets 2 new new -numreqs 10 "
		  "-targetoffset 1000 -passes 2 -passoffset 10");
	needs(10, "-blocksize 4096 -reqsize 1 -targets 2 new data -numreqs 10 -op target 0 write "
		  "-op target 1 read");
	/* In any order, and not at the start of the file. */
	needs(20, PAIR "-startoffset target 0 30 -startoffset target 1 3");
	needs(12, PAIR "-startoffset target 0 7 -startoffset target 1 5");
	needs(12, PAIR "-startoffset target 0 5 -startoffset target 1 7");
	needs(30, "-op write -blocksize 4096 -reqsize 1 -targets 4 new other new other -numreqs 10 "
		  "-startoffset target 0 20 -startoffset target 2 2 -startoffset target 1 7 "
		  "-startoffset target 3 7");
	needs(39, PAIR "-numreqs target 0 1000 -seek target 0 random -seek target 0 range 100");
	needs(39, PAIR "-numreqs target 1 1000 -seek target 1 random -seek target 1 range 100");
	/* Random operations of two targets may use the same blocks. */
	needs(39, "-op write -blocksize 4096 -reqsize 1 -targets 2 new new -numreqs 1000 -seek "
		  "random -seek range 100");
	needs(25, "-op write -blocksize 4096 -reqsize 1 -targets 3 new new new -numreqs 10 "
		  "-targetoffset 5 -targetoffset target 2 15");
}

/* Blocks that a file has need no free space. */
TEST_SETUP_TEARDOWN(test_existing_file, begin, forget_plan)
{
	const uint64_t has = allocated();
	char line[200];

	/* 100000 bytes are 25 blocks. */
	if (has != 25)
		skip();
	needs(0, "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 25");
	needs(1, "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 26");
	needs(5,
	      "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 20 -startoffset 10");
	needs(20,
	      "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 20 -startoffset 25");
	needs(20,
	      "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 20 -startoffset 30");
	/* It is emptied first. */
	needs(5, "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 30 -recreatefiles");
	needs(0, "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 25 -recreatefiles");
	needs(20,
	      "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 20 -startoffset 30 "
	      "-pretruncate 200000");
	snprintf(line, sizeof(line),
		 "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 50 "
		 "-startoffset 30 -pretruncate 4096");
	needs(25, line);
	/* Files of passes that are there are removed. */
	write_file("data.00000002", "x", 1);
	needs(29, "-op write -blocksize 4096 -reqsize 1 -targets 1 data -numreqs 10 -passes 3 "
		  "-createnewfiles");
	unlink("data.00000002");
}

/* The least that operations in other orders write. */
TEST_SETUP_TEARDOWN(test_orders, begin, forget_plan)
{
	needs(1, WRITES "-numreqs 10 -seek none");
	needs(1, WRITES "-numreqs 10 -seek zipf 1 -seek range 100");
	needs(39, WRITES "-numreqs 1000 -seek random -seek range 100");
	needs(10, WRITES "-numreqs 10 -seek range 20");
	needs(20, WRITES "-numreqs 100 -seek range 20");
	needs(20, WRITES "-numreqs 20 -seek random once -seek range 20");
	/* Writes among reads, of a file that has no blocks yet. */
	write_file("big", "", 0);
	assert_int_equal(truncate("big", 1000 * BLOCK), 0);
	needs(49, MIXED "-numreqs 100 -rwratio 50");
	needs(24, MIXED "-numreqs 100 -rwratio 75");
	needs(16, MIXED "-numreqs 100 -rwratio 50 -seek range 40");
	needs(24, MIXED "-numreqs 100 -rwratio 50 -seek range 50");
	unlink("big");
}

TEST_SETUP_TEARDOWN(test_lists, begin, forget_plan)
{
	static const struct {
		const char *rows;
		uint64_t blocks;
	} cases[] = {
		{ "0 0 2 w\n1 10 3 w\n2 1 2 w\n3 15 1 r\n", 5 },
		{ "0 0 2 w\n1 1 4 w\n", 5 },
		{ "0 0 2 w\n1 2 4 w\n", 6 },
		{ "0 3 2 w\n1 0 4 w\n2 4 2 w\n", 3 },
		{ "0 3 2 r\n1 0 4 w\n", 4 },
	};
	char line[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n = 0;

		for (const char *c = cases[i].rows; *c; c++)
			n += *c == '\n';
		write_file("rows", cases[i].rows, strlen(cases[i].rows));
		write_file("big", "", 0);
		assert_int_equal(truncate("big", 100 * BLOCK), 0);
		snprintf(line, sizeof(line),
			 "-blocksize 4096 -targets 1 big -seek load rows -numreqs %u", n);
		needs(cases[i].blocks, line);
	}
	unlink("rows");
	unlink("big");
}

TEST_SETUP_TEARDOWN(test_mixes, begin, forget_plan)
{
	needs(15, "-op write -targets 1 new -reqsize mix 4k:1,8k:1 -numreqs 10");
	needs(9, "-op write -targets 1 new -reqsize mix 4k:1,8k:1 -numreqs 10 -seek range 36");
}

/* File systems whose free blocks say nothing about what can be written. */
TEST_SETUP_TEARDOWN(test_file_systems, begin, forget_plan)
{
	static const struct {
		unsigned type;
		bool counts;
	} types[] = {
		{ EXT4_SUPER_MAGIC, true }, { XFS_SUPER_MAGIC, true },
		{ TMPFS_MAGIC, true },	    { 0x4d44, true },
		{ 0x2011bab0, true },	    { BTRFS_SUPER_MAGIC, false },
		{ NFS_SUPER_MAGIC, false }, { OVERLAYFS_SUPER_MAGIC, false },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		file_system.f_type = (__fsword_t)types[i].type;
		needs(types[i].counts ? 10 : 0, WRITES "-numreqs 10");
	}
	usual_file_system();
	file_system.f_blocks = 0;
	needs(0, WRITES "-numreqs 10");
	usual_file_system();
	file_system.f_bsize = 0;
	needs(0, WRITES "-numreqs 10");
	usual_file_system();
	file_system.f_frsize = 0;
	needs(10, WRITES "-numreqs 10");
	/* Free space counts in fragments. */
	usual_file_system();
	file_system.f_bsize = 1 << 20;
	needs(10, WRITES "-numreqs 10");
}

/* The message names the first target of that file system, and how many others there are. */
TEST_SETUP_TEARDOWN(test_message, begin, forget_plan)
{
	static const struct {
		const char *targets, *first;
	} cases[] = {
		{ "1 new", "target 0, new: the operations need at least 40 KiB" },
		{ "2 null new", "target 1, new: the operations need at least 40 KiB" },
		{ "2 new other", "target 0, new: the operations of this and 1 other target need" },
		{ "2 other new",
		  "target 0, other: the operations of this and 1 other target need" },
		{ "3 b a c", "target 0, b: the operations of this and 2 other targets need" },
	};
	char line[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *said;

		snprintf(line, sizeof(line),
			 "-op write -blocksize 4096 -reqsize 1 -numreqs 10 -targets %s",
			 cases[i].targets);
		good(line);
		set_free(1);
		assert_int_equal(plan_check_room(plan), XDD_BAD_ARGUMENT);
		said = messages();
		if (!strstr(said, cases[i].first) || !strstr(said, "the file system has 4 KiB;"))
			fail_msg("not \"%s\": %s", cases[i].first, said);
	}
}

RUN_TESTS(set_up, remove_directory)
