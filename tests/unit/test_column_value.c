/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The values of columns for a made-up result, and for runs that did nothing, measured nothing or
 * had errors.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "column_sample.h"
#include "report/screen.h"
#include "xdd/plan/engine_info.h"
#include "xdd/report/column.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/*
 * In CSV, which readers split at commas, the field is empty; elsewhere a mark keeps the number of
 * words.
 */
static void assert_unknown(const char *id, const struct result *r)
{
	static struct line_cell cell;
	const char *text = cell_of(id, r);

	if (strlen(text) != (size_t)find(id)->width || strcmp(text + strspn(text, " "), "-") != 0)
		fail_msg("%s: \"%s\"", id, text);
	line_cell_bare(&cell, find(id), r);
	assert_string_equal(cell.text, "");
}

TEST(test_unknown_share)
{
	struct result r = sample_result();

	r.figures.cache.accuracy = CACHE_UNKNOWN;
	assert_unknown("PAGECACHED", &r);
	assert_string_equal(cell_of("HOLES", &r), "   12.500");
	r.figures.cache.holes_unknown = true;
	assert_unknown("HOLES", &r);
}

static const char *csv_of(const char *id, const struct result *r)
{
	static struct line_cell cell;

	line_cell_bare(&cell, find(id), r);
	return cell.whole ? cell.whole : cell.text;
}

/* The columns that tell the rows of several runs apart. */
TEST(test_run)
{
	static const struct engine_info psync = { .name = "psync" }, libaio = { .name = "libaio" };
	static char long_id[500];
	struct target_plan targets[2] = {
		{ .path = "/data/a directory/of some length/a\tfile",
		  .engine = &psync,
		  .seek.pattern = SEEK_RANDOM,
		  .throttle = { .by = THROTTLE_OPS, .rate = 1000 } },
		{ .path = "b",
		  .engine = &libaio,
		  .throttle = { .by = THROTTLE_OPS, .rate = 500.5 } },
	};
	struct plan plan = { .id = "an id, with \"quotes\"", .n_targets = 2, .targets = targets };
	struct result r = sample_result();

	r.plan = &plan;
	r.target = 0;
	r.started_ns = 1700000000045000000;
	assert_string_equal(csv_of("ID", &r), plan.id);
	assert_string_equal(cell_of("ID", &r), "an_id,_with_\"quotes\"");
	assert_string_equal(csv_of("STARTTIME", &r), "2023-11-14T22:13:20.045Z");
	assert_string_equal(cell_of("STARTTIME", &r), "2023-11-14T22:13:20.045Z");
	assert_string_equal(csv_of("TARGETNAME", &r), targets[0].path);
	assert_string_equal(cell_of("TARGETNAME", &r), "ry/of_some_length/a?file");
	assert_string_equal(csv_of("ENGINE", &r), "psync");
	assert_string_equal(csv_of("PATTERN", &r), "random");
	assert_string_equal(csv_of("REQUESTEDIOPS", &r), "1000.000");
	assert_unknown("REQUESTEDBANDWIDTH", &r);
	r.what = RESULT_QUEUE_PASS;
	assert_unknown("REQUESTEDIOPS", &r);
	r.what = RESULT_TARGET_AVERAGE;
	r.target = 1;
	assert_string_equal(csv_of("TARGETNAME", &r), "b");
	assert_string_equal(cell_of("TARGETNAME", &r), "                       b");
	r.what = RESULT_COMBINED;
	r.target = 2;
	assert_string_equal(csv_of("TARGETNAME", &r), "*");
	assert_string_equal(csv_of("ENGINE", &r), "mixed");
	assert_string_equal(csv_of("PATTERN", &r), "mixed");
	assert_string_equal(csv_of("REQUESTEDIOPS", &r), "1500.500");
	targets[1] = targets[0];
	targets[1].throttle.by = THROTTLE_BANDWIDTH;
	assert_string_equal(csv_of("TARGETNAME", &r), targets[0].path);
	assert_string_equal(csv_of("ENGINE", &r), "psync");
	assert_string_equal(csv_of("PATTERN", &r), "random");
	assert_unknown("REQUESTEDIOPS", &r);
	/* The null device has an engine of its own, whatever -ioengine says. */
	targets[1].kind = TARGET_NULL;
	assert_string_equal(csv_of("ENGINE", &r), "mixed");
	assert_unknown("REQUESTEDBANDWIDTH", &r);
	plan.id = NULL;
	assert_unknown("ID", &r);
	memset(long_id, 'x', sizeof(long_id) - 1);
	plan.id = long_id;
	assert_string_equal(csv_of("ID", &r), long_id);
	assert_int_equal(strlen(cell_of("ID", &r)), find("ID")->width);
	assert_true(column_text_bytes(&plan) >= strlen(long_id) + strlen(targets[0].path));
}

TEST(test_labels)
{
	struct result r = sample_result();

	r.what = RESULT_TARGET_AVERAGE;
	assert_string_equal(cell_of("WHAT", &r), " TARGET_AVERAGE");
	r.what = RESULT_COMBINED;
	assert_string_equal(cell_of("WHAT", &r), " COMBINED      ");
	r.what = RESULT_QUEUE_PASS;
	assert_string_equal(cell_of("WHAT", &r), " QUEUE_PASS    ");
}

TEST(test_nothing_done)
{
	struct result r = { .what = RESULT_TARGET_PASS,
			    .figures.known = FIGURES_ALL,
			    .op = OP_READ,
			    .req_bytes = 4096 };

	assert_unknown("BANDWIDTH", &r);
	assert_unknown("IOPS", &r);
	assert_unknown("LATENCY", &r);
	assert_unknown("PERCENTCPU", &r);
	assert_unknown("LATP99", &r);
	assert_unknown("LONGEST", &r);
	assert_unknown("LONGESTTYPE", &r);
	assert_unknown("HOLES", &r);
	assert_string_equal(cell_of("CPUTIME", &r), "    0.000");
	assert_string_equal(cell_of("OPS", &r), "          0");
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        4096");
	assert_unknown("XFERSIZEBLOCKS", &r);
}

/* Of all columns, those that are known of a run that measured nothing and did nothing. */
TEST(test_nothing_measured)
{
	static const char *const known[] = {
		"WHAT",
		"PASS",
		"TARGET",
		"QUEUE",
		"BYTESXFERED",
		"BYTESREAD",
		"BYTESWRITTEN",
		"OPS",
		"READOPS",
		"WRITEOPS",
		"ERRORS",
		"RETRIES",
		"ELAPSEDTIMEPASS",
		"PATTERNFILLTIME",
		"BUFFERFLUSHTIME",
		"FLUSHES",
		"OPENTIME",
		"CLOSETIME",
		"OPTYPE",
		"XFERSIZEBYTES",
		"XFERSIZEKBYTES",
		"XFERSIZEMBYTES",
		"NODENAME",
		"DELIM",
	};
	struct result r = { .what = RESULT_TARGET_PASS, .op = OP_READ, .req_bytes = 4096 };
	const struct column *col;

	for (size_t i = 0; (col = column_at(i)); i++) {
		bool is_known = false;

		for (size_t k = 0; k < COUNT_OF(known); k++)
			is_known |= strcmp(col->id, known[k]) == 0;
		if (!is_known)
			assert_unknown(col->id, &r);
		else if (strcmp(cell_of(col->id, &r) + strspn(cell_of(col->id, &r), " "), "-") == 0)
			fail_msg("%s is unknown", col->id);
	}
}

/* A QThread neither opens nor closes the target. */
TEST(test_of_targets_only)
{
	struct result r = sample_result();

	r.what = RESULT_QUEUE_PASS;
	assert_unknown("OPENTIME", &r);
	assert_unknown("CLOSETIME", &r);
}

/* The other side measured these, and did not report them. */
TEST(test_endtoend_alone)
{
	struct result r = sample_result();

	r.figures.known &= ~(unsigned)FIGURES_LAG;
	r.figures.last_write_ns = 0;
	assert_unknown("E2ELAGTIME", &r);
	assert_unknown("E2EPERCENTLAGTIME", &r);
	assert_unknown("E2ELASTWRITETIME", &r);
	assert_string_equal(cell_of("E2ESRTIME", &r), "        6.40");
	r.figures.elapsed_ns = 0;
	assert_unknown("E2EPERCENTSRTIME", &r);
}

TEST(test_not_verified)
{
	struct result r = sample_result();

	r.verified = false;
	assert_unknown("MISCOMPARES", &r);
}

/* A noop moves nothing, and is no reason to report requests of no size. */
TEST(test_noop_sizes)
{
	struct result r = sample_result();

	r.figures.tally.ops[DIR_NOOP] = 10000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        4096");
	assert_string_equal(cell_of("OPS", &r), "      20000");
	memset(&r.figures.tally, 0, sizeof(r.figures.tally));
	r.figures.tally.ops[DIR_NOOP] = 10000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        8192");
}

/* Operations that failed in the middle moved bytes, and are none of those whose size is shown. */
TEST(test_failed_sizes)
{
	struct result r = sample_result();

	r.figures.tally.bytes[DIR_READ] += 1000;
	r.figures.tally.failed_bytes[DIR_READ] = 1000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        4096");
	assert_string_equal(cell_of("BYTESXFERED", &r), "        40961000");
	memset(&r.figures.tally, 0, sizeof(r.figures.tally));
	r.figures.tally.bytes[DIR_READ] = r.figures.tally.failed_bytes[DIR_READ] = 1000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        8192");
}

TEST(test_processors_zero_is_one)
{
	struct result r = sample_result();

	r.processors = 0;
	assert_string_equal(cell_of("PERCENTCPU", &r), "  125.000");
}

TEST(test_widths_grow)
{
	struct result r = sample_result();

	r.pass = 123456789;
	assert_string_equal(cell_of("PASS", &r), "123456789");
	r.figures.tally.bytes[DIR_READ] = UINT64_MAX;
	assert_string_equal(cell_of("BYTESREAD", &r), "18446744073709551615");
	r.figures.elapsed_ns = 1;
	assert_string_equal(cell_of("IOPS", &r), "10000000000000.000");
	assert_true(strlen(cell_of("READBANDWIDTH", &r)) < LINE_CELL_SIZE - 1);
}

TEST(test_node_name)
{
	struct result r = sample_result();
	struct utsname name;
	char padded[128];

	assert_int_equal(uname(&name), 0);
	snprintf(padded, sizeof(padded), "%10s", name.nodename);
	assert_string_equal(cell_of("NODENAME", &r), padded);
}

RUN_TESTS(NULL, NULL)
