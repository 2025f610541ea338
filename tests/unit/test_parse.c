/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a command line to a plan: src/plan, except the reading of setup files into words.
 */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan_fixture.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"

#define PARSE_TEST(name) TEST_TEARDOWN(name, forget_plan)

#define SEC NS_PER_SEC

/* ---- the plan ---- */

PARSE_TEST(defaults)
{
	good("-targets 1 null -numreqs 3");
	assert_int_equal(plan->n_targets, 1);
	assert_int_equal(plan->passes, 1);
	assert_int_equal(plan->pass_delay_ns, 0);
	assert_int_equal(plan->run_time_ns, 0);
	assert_int_equal(plan->max_errors, 0);
	assert_int_equal(plan->max_errors_to_print, 10);
	assert_int_equal(plan->percent_cpu, PERCENT_CPU_ABSOLUTE);
	assert_false(plan->stop_on_error || plan->no_barrier || plan->verbose ||
		     plan->really_verbose || plan->qthread_info || plan->dry_run);
	assert_null(plan->id);
	assert_null(plan->output_file);
	assert_null(plan->errout_file);
	assert_null(plan->csv_file);
	assert_null(plan->combined_file);
	assert_null(plan->output_format);
	assert_string_equal(plan->command_line, "xdd -targets 1 null -numreqs 3");
	assert_int_equal(t0->kind, TARGET_NULL);
	assert_int_equal(t0->op, OP_WRITE);
	assert_int_equal(t0->block_size, 1024);
	assert_int_equal(t0->req_blocks, 128);
	assert_int_equal(t0->req_bytes, 131072);
	assert_int_equal(t0->queue_depth, 1);
	assert_int_equal(t0->start_bytes, 0);
	assert_int_equal(t0->pass_offset_bytes, 0);
	assert_int_equal(t0->delay_ns, 0);
	assert_int_equal(t0->time_limit_ns, 0);
	assert_int_equal(t0->seek.pattern, SEEK_SEQUENTIAL);
	assert_int_equal(t0->seek.seed, PLAN_DEFAULT_SEED);
	assert_int_equal(t0->seek.disthist, 0);
	assert_null(t0->seek.save_file);
	assert_null(t0->rows);
	assert_false(t0->direct_io || t0->randomize);
}

static void assert_amount(const char *line, uint64_t ops, uint64_t bytes, uint64_t last)
{
	good(line);
	assert_int_equal(t0->pass_ops, ops);
	assert_int_equal(t0->pass_bytes, bytes);
	assert_int_equal(t0->last_op_bytes, last);
}

PARSE_TEST(amount_of_work)
{
	const uint64_t all = PLAN_UNLIMITED;

	assert_amount("-targets 1 null -reqsize 4 -numreqs 3", 3, 12288, 4096);
	assert_amount("-targets 1 null -reqsize 4 -bytes 8192", 2, 8192, 4096);
	assert_amount("-targets 1 null -reqsize 4 -bytes 8193", 3, 8193, 1);
	assert_amount("-targets 1 null -reqsize 4 -bytes 1", 1, 1, 1);
	assert_amount("-targets 1 null -reqsize 4 -kbytes 5", 2, 5120, 1024);
	assert_amount("-targets 1 null -reqsize 4 -mbytes 2", 512, 2 << 20, 4096);
	assert_amount("-targets 1 null -gbytes 1", 8192, 1 << 30, 131072);
	/* -numreqs overrides bytes at any position; among the others the last wins. */
	assert_amount("-targets 1 null -reqsize 4 -bytes 1 -numreqs 3", 3, 12288, 4096);
	assert_amount("-targets 1 null -reqsize 4 -numreqs 3 -bytes 1", 3, 12288, 4096);
	assert_amount("-targets 1 null -reqsize 4 -mbytes 1 -bytes 5", 1, 5, 5);
	assert_amount("-targets 1 null -reqsize 4 -bytes 5 -mbytes 1", 256, 1 << 20, 4096);
	/* An amount overrides limits; with a limit alone, time ends the pass. */
	assert_amount("-targets 1 null -reqsize 4 -timelimit 9 -numreqs 3", 3, 12288, 4096);
	assert_amount("-targets 1 null -reqsize 4 -runtime 9 -bytes 5", 1, 5, 5);
	assert_amount("-targets 1 null -reqsize 4 -timelimit 9", all, all, 4096);
	assert_amount("-targets 1 null -reqsize 4 -runtime 9", all, all, 4096);
	/* A target that is there is read once as a whole. */
	assert_amount("-targets 1 data -op read -reqsize 4", 25, DATA_BYTES,
		      DATA_BYTES - 24 * 4096);
	assert_amount("-targets 1 data -op read -reqsize 4 -startoffset 90", 2, DATA_BYTES - 92160,
		      DATA_BYTES - 92160 - 4096);
	assert_amount("-targets 1 data -op read -blocksize 1 -reqsize 100000", 1, DATA_BYTES,
		      DATA_BYTES);
	/* With passes that move on, each reads as much. */
	assert_amount("-targets 1 data -op read -reqsize 4 -passes 3 -passoffset 20", 15,
		      DATA_BYTES - 40960, DATA_BYTES - 40960 - 14 * 4096);
	assert_amount("-targets 1 null -reqsize 1 -bytes 2k", 2, 2048, 1024);
	assert_amount("-targets 1 null -reqsize 1 -numreqs 9007199254740990", 9007199254740990,
		      9007199254740990 << 10, 1024);
	assert_amount("-targets 1 null -reqsize 2097152 -numreqs 1", 1, 1ull << 31, 1ull << 31);
	/* The largest there is. */
	assert_amount("-targets 1 null -blocksize 1 -reqsize 1 -bytes 9223372036854775807",
		      INT64_MAX, INT64_MAX, 1);
}

/* -dio transfers whole units; what is left over of the last operation is a tail. */
PARSE_TEST(tail)
{
	uint64_t unit;

	good("-op read -targets 1 data -dio -blocksize 1 -reqsize 65536 -bytes 65536");
	unit = t0->io_align_bytes;
	assert_int_equal(t0->tail_bytes, 0);
	good("-op read -targets 1 data -dio -blocksize 1 -reqsize 65536 -bytes 73733");
	assert_int_equal(t0->tail_bytes, unit > 1 ? 8197 % (unit > 4096 ? unit : 4096) : 0);
	good("-op read -targets 1 data -blocksize 1 -reqsize 65536 -bytes 73733");
	assert_int_equal(t0->tail_bytes, 0);
}

PARSE_TEST(operations)
{
	good("-targets 1 null -numreqs 1 -op read");
	assert_int_equal(t0->op, OP_READ);
	assert_int_equal(t0->read_ratio, PLAN_RATIO_ONE);
	good("-targets 1 null -numreqs 1 -op noop");
	assert_int_equal(t0->op, OP_NOOP);
	good("-targets 1 null -numreqs 1 -op discard");
	assert_int_equal(t0->op, OP_DISCARD);
	good("-targets 1 null -numreqs 1 -op trim");
	assert_int_equal(t0->op, OP_DISCARD);
	good("-targets 1 null -numreqs 1 -rwratio 30.5");
	assert_int_equal(t0->op, OP_MIXED);
	assert_int_equal(t0->read_ratio, 30500000);
	assert_false(t0->ratio_random);
	good("-targets 1 null -numreqs 1 -op read -rwratio 0 random");
	assert_int_equal(t0->op, OP_WRITE);
	good("-targets 1 null -numreqs 1 -rwratio 50 random");
	assert_true(t0->ratio_random);
	good("-targets 1 null -numreqs 1 -rwratio 50 random -op write");
	assert_int_equal(t0->op, OP_WRITE);
	assert_int_equal(t0->read_ratio, 0);
	assert_false(t0->ratio_random);
	/* Without -op: write where there is nothing to lose. */
	good("-targets 1 new -numreqs 1");
	assert_int_equal(t0->op, OP_WRITE);
	assert_int_equal(t0->kind, TARGET_MISSING);
	good("-targets 1 empty -numreqs 1");
	assert_int_equal(t0->op, OP_WRITE);
	assert_int_equal(t0->kind, TARGET_FILE);
	good("-targets 1 data -numreqs 1 -op write");
	assert_int_equal(t0->size_bytes, DATA_BYTES);
}

PARSE_TEST(places)
{
	const struct target_plan *t2;

	good("-targets -3 null -numreqs 2 -blocksize 512 -startoffset 10 -targetoffset 100 "
	     "-passoffset 7 -passes 3 -startdelay 1 -targetstartdelay 250ms");
	t2 = &plan->targets[2];
	assert_int_equal(t0->start_bytes, 5120);
	assert_int_equal(t2->start_bytes, 210 * 512);
	assert_int_equal(t2->pass_offset_bytes, 7 * 512);
	assert_int_equal(t0->delay_ns, SEC);
	assert_int_equal(t2->delay_ns, SEC + SEC / 2);
	assert_int_equal(t2->number, 2);

	/* The range of random offsets: as given, or that of the data of a pass. */
	good("-targets 1 null -reqsize 4 -numreqs 10 -seek random");
	assert_int_equal(t0->range_bytes, 40960);
	good("-targets 1 null -reqsize 4 -bytes 5 -seek random");
	assert_int_equal(t0->range_bytes, 4096);
	good("-targets 1 null -reqsize 4 -numreqs 10 -seek random range 9 seed 5");
	assert_int_equal(t0->range_bytes, 9216);
	assert_int_equal(t0->seek.seed, 5);
	good("-targets 1 null -reqsize 4 -numreqs 10");
	assert_int_equal(t0->range_bytes, 0);
	good("-targets 1 null -reqsize 4 -bytes 40961 -seek stagger");
	assert_int_equal(t0->range_bytes, 45056);
	good("-targets 1 null -numreqs 2 -seek interleave 4");
	assert_int_equal(t0->seek.pattern, SEEK_INTERLEAVE);
	assert_int_equal(t0->seek.interleave, 4);
	/* A pass that only time ends stays in what is there. */
	good("-targets 1 data -op read -reqsize 4 -timelimit 1 -seek random");
	assert_int_equal(t0->range_bytes, DATA_BYTES);
	good("-targets 1 data -op read -reqsize 4 -timelimit 1 -startoffset 50");
	assert_int_equal(t0->range_bytes, DATA_BYTES - 51200);
}

PARSE_TEST(loaded_list)
{
	good("-targets 1 data -reqsize 2 -seek load list");
	assert_int_equal(t0->op, OP_READ);
	assert_int_equal(t0->seek.pattern, SEEK_LOAD);
	assert_int_equal(t0->n_rows, 3);
	assert_int_equal(t0->pass_ops, 3);
	assert_int_equal(t0->pass_bytes, 5120);
	assert_int_equal(t0->last_op_bytes, 2048);
	assert_int_equal(t0->rows[2].block, 9);
	good("-targets 1 data -reqsize 2 -seek load list -numreqs 2 -op read");
	assert_int_equal(t0->pass_ops, 2);
	assert_int_equal(t0->pass_bytes, 3072);
	assert_int_equal(t0->last_op_bytes, 1024);
	/* The last that is said about the pattern holds. */
	good("-targets 1 data -op read -numreqs 1 -reqsize 1 -seek load list -seek sequential");
	assert_null(t0->rows);
}

/* A value of each target `t`, with blanks between. */
#define EACH(wanted, line, format, value)                                                       \
	do {                                                                                    \
		char got_[128] = "";                                                            \
                                                                                                \
		good(line);                                                                     \
		for (const struct target_plan *t = t0; t < t0 + plan->n_targets; t++)           \
			snprintf(got_ + strlen(got_), sizeof(got_) - strlen(got_), "%s" format, \
				 t > t0 ? " " : "", value);                                     \
		if (strcmp(got_, wanted) != 0)                                                  \
			fail_msg("%s: %s, not %s", line, got_, wanted);                         \
	} while (0)
#define OPS(wanted, line) EACH(wanted, line, "%c", "?rwndm"[t->op])
#define DEPTHS(wanted, line) EACH(wanted, line, "%" PRIu64, t->queue_depth)
#define PATHS(wanted, line) EACH(wanted, line, "%s", t->path)
#define NULLS " -targets 3 null null null -reqsize 1 -numreqs 7 "
#define ONE "-targets 1 null -numreqs 1 "

PARSE_TEST(scopes)
{
	OPS("r w r", "-op read -op target 1 write" NULLS);
	OPS("r w r", NULLS "-op read -op target 1 write");
	OPS("r w r", "-op read" NULLS "-op target 1 write");
	OPS("w w w", "-op target 1 read -op write" NULLS);
	OPS("r w r", "-op target all read -op target 1 write" NULLS);
	OPS("r w r", "-op write -op target 0 read -op target 2 read" NULLS);
	OPS("r w r", "-op target 0-2 read -op target 1-1 write" NULLS);
	OPS("w w r", "-op target 2 write -op target 0-1 write -op target 2 read" NULLS);
	OPS("r w w", "--op read --op target 1-2 write" NULLS);
	OPS("r w r", "-op read -op target 01 write" NULLS);
	DEPTHS("1 8 2", "-qd 4 -qd target 0 1 -qd target 1-2 8 -queuedepth target 2 2" NULLS);
	DEPTHS("5 5", "-qd target 1 3 -qd target all 5 -targets -2 null -numreqs 1");
	EACH("0 1 0", "-seek target 1 random range 50" NULLS, "%d",
	     t->seek.pattern == SEEK_RANDOM && t->range_bytes == 51200);
	EACH("0 0 1", "-op noop -dio target 2" NULLS, "%d", t->direct_io);
	EACH("3072 5120", "-bytes 3k -bytes target 1 5k -targets -2 null", "%" PRIu64,
	     t->pass_bytes);
	PATHS("a ./b c", "-op write -targetdir target 1 ./ -targets 3 a b c -numreqs 1");
}

/* Of an option given more than once the last holds, wherever the targets stand. */
PARSE_TEST(last_one_wins)
{
	DEPTHS("8", ONE "-qd 2 -queuedepth 4 --qd 8");
	OPS("r", ONE "-op write -op read");
	OPS("r", ONE "-op write -rwratio 30 -op read");
	OPS("m", ONE "-op read -rwratio 30");
	OPS("r", ONE "-op write -rwratio 100");
	OPS("w", ONE "-op read -rwratio 0");
	OPS("r r", "-targets -2 null -numreqs 1 -op read -op r -rwratio 100 -op target all read");
	EACH("1", ONE "-seek interleave 4 -seek random", "%d", t->seek.pattern == SEEK_RANDOM);
	EACH("1", ONE "-seek random interleave 4", "%d", t->seek.pattern == SEEK_INTERLEAVE);
	EACH("9216", ONE "-startoffset 3 -sto 9", "%" PRIu64, t->start_bytes);
}

PARSE_TEST(names)
{
	PATHS("data", "-targets 01 data -op read -reqsize 1 -numreqs 1");
	PATHS("data empty data", "-targets 2 data empty -target data -op read -numreqs 1");
	PATHS("list data data null",
	      "-op read -numreqs 1 -target list -targets -2 data -target null");
	PATHS("./data null ./-x ./target ./7",
	      "-op write -numreqs 1 -targets 5 data null -x target 7 -targetdir .");
	PATHS("./null", "-op write -numreqs 1 -targets 1 ./null");
	good("-op read -numreqs 1 -targets -8192 null");
	assert_int_equal(plan->n_targets, 8192);
}

static void setup_file(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

PARSE_TEST(setup_files)
{
	setup_file("setup", "-qd 3\n-setup deeper\n-passes 3\n-bs 512");
	setup_file("deeper", "-qd 4 -passes 4 -bs 2048");
	DEPTHS("4", "-qd 2 -setup setup " ONE);
	assert_int_equal(plan->passes, 3);
	assert_int_equal(t0->block_size, 512);
	DEPTHS("2", "-setup setup " ONE "-qd 2");
	DEPTHS("4", ONE "-qd 1 -setup ./deeper -qd 2 -setup deeper");
	setup_file("setup", "-op target 1\nwrite\n");
	setup_file("deeper", "-targets 2 data null");
	OPS("r w", "-op read -setup setup -setup deeper -numreqs 1");
	OPS("r r", "-setup setup -setup deeper -op read -numreqs 1");
	setup_file("setup", "-targets 2 data null -op write");
	setup_file("deeper", "-op read");
	OPS("r r", "-setup setup -numreqs 1 -op read");
	OPS("r r", "-setup setup -numreqs 1 -setup deeper");
	setup_file("deeper", "# nothing");
	DEPTHS("1", "-setup deeper " ONE);
}

/* -passes until takes a number after the percentage only where there is one. */
PARSE_TEST(passes_until)
{
	good("-targets 1 null -numreqs 1 -passes until 2.5% 18");
	assert_int_equal(plan->passes, 18);
	assert_true(plan->until_percent == 2.5);
	good("-targets 1 null -numreqs 1 -passes until 2.5%");
	assert_int_equal(plan->passes, PLAN_UNTIL_DEFAULT_PASSES);
	assert_true(plan->until_percent == 2.5);
	good("-passes until 5 -targets 1 null -numreqs 1");
	assert_int_equal(plan->passes, PLAN_UNTIL_DEFAULT_PASSES);
	good("-passes until 5 10000 -targets 1 null -numreqs 1");
	assert_int_equal(plan->passes, 10000);
	bad("-targets 1 null -numreqs 1 -passes until 5 17", XDD_BAD_ARGUMENT,
	    "-passes 17: expected a whole number of passes, 18 to 10000");
	bad("-targets 1 null -numreqs 1 -passes until 5 10001", XDD_BAD_ARGUMENT,
	    "-passes 10001: expected a whole number of passes, 18 to 10000");
	good("-targets 1 null -numreqs 1 -passes 7");
	assert_true(plan->until_percent == 0);
}

PARSE_TEST(whole_run)
{
	good("-targets 1 null -numreqs 1 -passes 4 -passdelay .5 -runtime 1h -maxerrors 3 -mep 4 "
	     "-stoponerror -opdelay 2us -nobarrier -verbose -qthreadinfo -dryrun -pcpu relative "
	     "-id a -runid r-1 -output o -errout e -csvout c -combinedout d -outputformat new +OPS");
	assert_int_equal(plan->passes, 4);
	assert_int_equal(plan->pass_delay_ns, SEC / 2);
	assert_int_equal(plan->run_time_ns, 3600 * SEC);
	assert_int_equal(plan->max_errors, 3);
	assert_int_equal(plan->max_errors_to_print, 4);
	assert_int_equal(plan->operation_delay_ns, 2000);
	assert_int_equal(plan->percent_cpu, PERCENT_CPU_RELATIVE);
	assert_true(plan->stop_on_error && plan->no_barrier && plan->verbose &&
		    plan->qthread_info && plan->dry_run);
	assert_string_equal(plan->run_id, "r-1");
	assert_non_null(plan->output_file);
	assert_non_null(plan->errout_file);
	assert_non_null(plan->csv_file);
	assert_non_null(plan->combined_file);
	good("-targets 1 null -numreqs 1 -id a -id b -outputformat add +USERTIME -ofmt add "
	     "+SYSTEMTIME");
	assert_string_equal(plan->id, "a b");
	assert_string_equal(plan->output_format, PLAN_DEFAULT_COLUMNS "+USERTIME+SYSTEMTIME");
	good("-targets 1 null -numreqs 1 -reallyverbose");
	assert_true(plan->verbose && plan->really_verbose);
	good("-targets 1 null -numreqs 1 -reallyverbose -unverbose");
	assert_false(plan->verbose || plan->really_verbose);
}

/* A refusal is not preceded by warnings; func/badinput.py has what is refused. */
PARSE_TEST(refused)
{
	bad("-op read -targets 2 data data -numreqs 9999 -qd target 1 0", XDD_BAD_ARGUMENT,
	    "-qd 0");
	bad("-op read -targets 2 data data -numreqs 9999 -seek target 1 range 1", XDD_BAD_ARGUMENT,
	    "target 1, data: -seek range 1");
	bad("-op read -targets 1 data -numreqs 9999 -reqsize 2097152 -qd 65536", XDD_BAD_ARGUMENT,
	    "I/O buffers");
}

static const char *word_at(const void *words, size_t i)
{
	return ((const char *const *)words)[i];
}

/* A list that exceeds the buffer ends within it. */
/* The file that is read does not stay open. */
PARSE_TEST(record_of_a_stonewall)
{
	write_file("wall.R0.txt", "none\n", 5);
	bad("-op read -targets 1 data -reqsize 4 -stonewall load wall", XDD_BAD_ARGUMENT,
	    "xdd: target 0, data: -stonewall load: wall.R0.txt: its first line must be \"xdd "
	    "stonewall 1, rank 0 of 1, targets 1\", as of a run with the same ranks and "
	    "targets\n");
}

PARSE_TEST(lists_of_words)
{
	static const char *const one[] = { "a", NULL }, *const three[] = { "a", "bc", "def", NULL };
	char buf[16];

	assert_string_equal(parse_list_words(word_at, one, buf, sizeof(buf)), "a");
	assert_string_equal(parse_list_words(word_at, three, buf, sizeof(buf)), "a, bc or def");
	memset(buf, '+', sizeof(buf));
	assert_string_equal(parse_list_words(word_at, three, buf, 7), "a, bc ");
	assert_memory_equal(buf + 7, "+++++++++", 9);
}

PARSE_TEST(warnings)
{
	good("-op read -targets 1 data -numreqs 99 -reqsize 1");
	plan_warn(plan);
	assert_string_equal(messages(), "xdd: warning: target 0, data: the operations reach to 99 "
					"KiB, and it has 100000 bytes\n");
	good("-op read -targets 2 data data -numreqs target 0 99 -numreqs target 1 98 -reqsize 1");
	plan_warn(plan);
	assert_string_equal(messages(), "xdd: warning: target 0, data: the operations reach to 99 "
					"KiB, and it has 100000 bytes\n"
					"xdd: warning: target 1, data: the operations reach to 98 "
					"KiB, and it has 100000 bytes\n");
	good("-op read -targets 1 data -numreqs 97 -reqsize 1");
	good("-op noop -targets 1 data -numreqs 99 -reqsize 1");
	good("-op write -targets 1 data -numreqs 99 -reqsize 1");
	plan_warn(plan);
	assert_string_equal(messages(), "");
}

#define THREE "-op write -targets 3 null null null -numreqs 10 "
#define TIED "op 1 op 1 wait complete "

/* A target must not wait for itself, by way of others either: the message has the last step. */
PARSE_TEST(cycles)
{
	static const char text[] =
		"target 1, null: -lockstep, -starttrigger: cannot wait for itself "
		"(by way of target 0)";

	good(THREE "-starttrigger 0 1 op 1 -starttrigger 1 2 op 1");
	good(THREE "-lockstep 0 1 " TIED "-lockstep 0 2 " TIED "-starttrigger 1 2 op 1");
	good(THREE "-lockstep 0 1 " TIED "-lockstep 1 2 " TIED "-starttrigger 0 1 op 1 "
		   "-starttrigger 0 2 op 1");
	bad(THREE "-starttrigger 0 1 op 1 -starttrigger 1 2 op 1 -starttrigger 2 0 op 1",
	    XDD_BAD_ARGUMENT, text);
	bad(THREE "-lockstep 0 1 " TIED "-starttrigger 1 2 op 1 -starttrigger 2 0 op 1",
	    XDD_BAD_ARGUMENT, text);
	bad(THREE "-starttrigger 2 0 op 1 -starttrigger 0 2 op 1", XDD_BAD_ARGUMENT,
	    "target 2, null: -lockstep, -starttrigger: cannot wait for itself (by way of target 0)");
	/* A cycle that does not have target 0. */
	bad(THREE "-starttrigger 1 2 op 1 -starttrigger 2 1 op 1", XDD_BAD_ARGUMENT,
	    "target 2, null: -lockstep, -starttrigger: cannot wait for itself (by way of target 1)");
	/* A cycle that target 0 waits for. */
	bad(THREE "-starttrigger 1 0 op 1 -starttrigger 1 2 op 1 -starttrigger 2 1 op 1",
	    XDD_BAD_ARGUMENT,
	    "target 2, null: -lockstep, -starttrigger: cannot wait for itself (by way of target 1)");
	bad(THREE "-starttrigger 0 0 op 1", XDD_BAD_ARGUMENT,
	    "-starttrigger 0: must be another target: a target cannot wait for itself");
}

RUN_TESTS(set_up, remove_directory)
