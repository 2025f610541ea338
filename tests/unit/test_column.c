/*
 * The column table: identifiers, headings, units and formats against literal copies of what scripts
 * know, the values of a made-up result, and lists of identifiers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "report/latency.h"
#include "report/line.h"
#include "xdd/report/column.h"
#include "xdd/stat/flow.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const char *const identifiers[] = {
	"WHAT",
	"PASS",
	"TARGET",
	"QUEUE",
	"BYTESTRANSFERED",
	"BYTESXFERED",
	"BYTESREAD",
	"BYTESWRITTEN",
	"OPS",
	"READOPS",
	"WRITEOPS",
	"BANDWIDTH",
	"READBANDWIDTH",
	"WRITEBANDWIDTH",
	"IOPS",
	"READIOPS",
	"WRITEIOPS",
	"LATENCY",
	"ELAPSEDTIME1STOP",
	"ELAPSEDTIMEPASS",
	"OVERHEADTIME",
	"PATTERNFILLTIME",
	"BUFFERFLUSHTIME",
	"OPENTIME",
	"CLOSETIME",
	"CPUTIME",
	"PERCENTCPUTIME",
	"PERCENTCPU",
	"USERTIME",
	"USER",
	"USRTIME",
	"SYSTEMTIME",
	"SYSTEM",
	"SYSTIME",
	"PERCENTUSER",
	"PERCENTUSERTIME",
	"PERCENTUSR",
	"PERCENTSYSTEM",
	"PERCENTSYSTEMTIME",
	"PERCENTSYS",
	"OPTYPE",
	"XFERSIZEBYTES",
	"XFERSIZEBLOCKS",
	"XFERSIZEKBYTES",
	"XFERSIZEMBYTES",
	"E2EIOTIME",
	"E2ESRTIME",
	"E2EPERCENTSRTIME",
	"E2ELAGTIME",
	"E2EPERCENTLAGTIME",
	"E2EFIRSTREADTIME",
	"E2ELASTWRITETIME",
	"DELIM",
	"NODENAME",
	"ERRORS",
	"MISCOMPARES",
	"ORDERBREAKS",
	"PAGECACHED",
	"HOLES",
#define LATENCY_IDS(of)                                                                      \
	of "MIN", of "MEAN", of "STDDEV", of "WAVG", of "P50", of "P90", of "P95", of "P99", \
		of "P999", of "P9999", of "P99999", of "MAX"
	LATENCY_IDS("LAT"),
	LATENCY_IDS("READLAT"),
	LATENCY_IDS("WRITELAT"),
	LATENCY_IDS("RESP"),
	"RETRIES",
	"DESKEWTIME",
	"DESKEWBANDWIDTH",
	"DESKEWIOPS",
	"TAILTIME",
	"TAILBANDWIDTH",
	"TAILIOPS",
	"FAIRNESS",
	"LONGEST",
	"LONGESTOP",
	"LONGESTOFFSET",
	"LONGESTTYPE",
	"SHORTEST",
	"SHORTESTOP",
	"SHORTESTOFFSET",
	"SHORTESTTYPE",
};

/* The value is the cell of sample_result() below; NULL: it depends on the machine. */
static const struct expected {
	const char *id;
	const char *heading;
	const char *units;
	const char *value;
} expected[] = {
	{ "WHAT", "What           ", "    UNITS>>    ", " TARGET_PASS   " },
	{ "PASS", "   Pass", " Number", "      3" },
	{ "TARGET", " Target", " Number", "      7" },
	{ "QUEUE", "  Queue", " Number", "     32" },
	{ "BYTESTRANSFERED", "    Bytes_Xfered", "           Bytes", "        40960000" },
	{ "BYTESXFERED", "    Bytes_Xfered", "           Bytes", "        40960000" },
	{ "BYTESREAD", "      Bytes_Read", "           Bytes", "        30720000" },
	{ "BYTESWRITTEN", "   Bytes_Written", "           Bytes", "        10240000" },
	{ "OPS", "        Ops", "       #ops", "      10000" },
	{ "READOPS", "   Read_Ops", "       #ops", "       7500" },
	{ "WRITEOPS", "  Write_Ops", "       #ops", "       2500" },
	{ "ERRORS", "     Errors", "       #ops", "         11" },
	{ "PAGECACHED", "   Cached", "  percent", "   25.000" },
	{ "HOLES", "    Holes", "  percent", "   12.500" },
	{ "MISCOMPARES", "Miscompares", "    extents", "          7" },
	{ "DESKEWTIME", "   Dsk_Time", "    seconds", "      1.500" },
	{ "DESKEWBANDWIDTH", "    Dsk_BW", "  MBytes/s", "    24.000" },
	{ "DESKEWIOPS", "  Dsk_IOPS", "     Ops/s", "  3000.500" },
	{ "TAILTIME", "  Tail_Time", "    seconds", "      0.250" },
	{ "TAILBANDWIDTH", "   Tail_BW", "  MBytes/s", "     8.000" },
	{ "TAILIOPS", " Tail_IOPS", "     Ops/s", "   488.000" },
	{ "FAIRNESS", "Fairness", "   ratio", "   0.875" },
	{ "ORDERBREAKS", "Ord_Breaks", "      #ops", "        12" },
	{ "RETRIES", "    Retries", "       #ops", "         12" },
	{ "LONGEST", "     Longest", "    millisec", "    9.876543" },
	{ "LONGESTOP", "  Longest_Op", "      number", "        4711" },
	{ "LONGESTOFFSET", "  Longest_Offset", "           bytes", "        81920000" },
	{ "LONGESTTYPE", " Longest_Type", "         text", "        write" },
	{ "SHORTEST", "    Shortest", "    millisec", "    0.001234" },
	{ "SHORTESTOP", " Shortest_Op", "      number", "          17" },
	{ "SHORTESTOFFSET", " Shortest_Offset", "           bytes", "           69632" },
	{ "SHORTESTTYPE", " Shortest_Type", "          text", "          read" },
	{ "BANDWIDTH", " Bandwidth", "  MBytes/s", "    20.480" },
	{ "READBANDWIDTH", "   Read_BW", "  MBytes/s", "    15.360" },
	{ "WRITEBANDWIDTH", "  Write_BW", "  MBytes/s", "     5.120" },
	{ "IOPS", "      IOPS", "     Ops/s", "  5000.000" },
	{ "READIOPS", "   Rd_IOPS", "     Ops/s", "  3750.000" },
	{ "WRITEIOPS", "  Wrt_IOPS", "     Ops/s", "  1250.000" },
	{ "LATENCY", "  Latency", " millisec", "    6.250" },
	{ "ELAPSEDTIME1STOP", "   1st_Op", " millisec", "    1.235" },
	{ "ELAPSEDTIMEPASS", "    Elapsed", "    seconds", "      2.000" },
	{ "OVERHEADTIME", " Overhead", " millisec", "    1.500" },
	{ "PATTERNFILLTIME", " Pat_Fill", " millisec", "    2.500" },
	{ "BUFFERFLUSHTIME", "    Flush", " millisec", "    3.457" },
	{ "OPENTIME", "     Open", " millisec", "    0.250" },
	{ "CLOSETIME", "    Close", " millisec", "    0.009" },
	{ "CPUTIME", " CPU Time", "  seconds", "    2.500" },
	{ "PERCENTCPUTIME", "  Pct_CPU", "  percent", "   31.250" },
	{ "PERCENTCPU", "  Pct_CPU", "  percent", "   31.250" },
	{ "USERTIME", "User Time", "  seconds", "    0.500" },
	{ "USER", "User Time", "  seconds", "    0.500" },
	{ "USRTIME", "User Time", "  seconds", "    0.500" },
	{ "SYSTEMTIME", " Sys Time", "  seconds", "    2.000" },
	{ "SYSTEM", " Sys Time", "  seconds", "    2.000" },
	{ "SYSTIME", " Sys Time", "  seconds", "    2.000" },
	{ "PERCENTUSER", "  Pct_Usr", "  percent", "    6.250" },
	{ "PERCENTUSERTIME", "  Pct_Usr", "  percent", "    6.250" },
	{ "PERCENTUSR", "  Pct_Usr", "  percent", "    6.250" },
	{ "PERCENTSYSTEM", "  Pct_Sys", "  percent", "   25.000" },
	{ "PERCENTSYSTEMTIME", "  Pct_Sys", "  percent", "   25.000" },
	{ "PERCENTSYS", "  Pct_Sys", "  percent", "   25.000" },
	{ "OPTYPE", " Op_Type", "    text", "   mixed" },
	{ "XFERSIZEBYTES", "   Xfer_Size", "       bytes", "        4096" },
	{ "XFERSIZEBLOCKS", "   Xfer_Size", "      blocks", "        8.00" },
	{ "XFERSIZEKBYTES", "   Xfer_Size", "  1024-bytes", "        4.00" },
	{ "XFERSIZEMBYTES", "   Xfer_Size", "1024^2 bytes", "        0.00" },
	{ "E2EIOTIME", "     E2E_I/O", "     seconds", "           -" },
	{ "E2ESRTIME", "     E2E_S/R", "     seconds", "           -" },
	{ "E2EPERCENTSRTIME", " E2E_Pct_S/R", "     percent", "           -" },
	{ "E2ELAGTIME", " E2E_Lag", "millisec", "       -" },
	{ "E2EPERCENTLAGTIME", "E2E_Pct_Lag ", "   percent  ", "           -" },
	{ "E2EFIRSTREADTIME", "  E2E_1st_Rd", "    millisec", "           -" },
	{ "E2ELASTWRITETIME", " E2E_Lst_Wrt", "    millisec", "           -" },
	{ "NODENAME", " Node_Name", "      text", NULL },
	{ "DELIM", " ", " ", " " },
#define LATENCY(id, heading, value)                   \
	{                                             \
		id, heading, "       millisec", value \
	}
#define LATENCIES(id, of, min, mean, stddev, likely, p50, p90, max)                               \
	LATENCY(id "MIN", "    " of "Min", min), LATENCY(id "MEAN", "   " of "Mean", mean),       \
		LATENCY(id "STDDEV", " " of "StdDev", stddev),                                    \
		LATENCY(id "WAVG", "   " of "WAvg", likely),                                      \
		LATENCY(id "P50", "    " of "P50", p50), LATENCY(id "P90", "    " of "P90", p90), \
		LATENCY(id "P95", "    " of "P95", p90), LATENCY(id "P99", "    " of "P99", max), \
		LATENCY(id "P999", "  " of "P99.9", max),                                         \
		LATENCY(id "P9999", " " of "P99.99", max),                                        \
		LATENCY(id "P99999", of "P99.999", max), LATENCY(id "MAX", "    " of "Max", max)
	/* sample_latency() */
	LATENCIES("LAT", "    Lat_", "       0.000100", "       0.000127", "       0.000063",
		  "       0.000105", "       0.000100", "       0.000200", "       0.000400"),
	LATENCIES("READLAT", " Rd_Lat_", "       0.000100", "       0.000100", "       0.000000",
		  "       0.000100", "       0.000100", "       0.000100", "       0.000100"),
	LATENCIES("WRITELAT", "Wrt_Lat_", "       0.000200", "       0.000233", "       0.000075",
		  "       0.000208", "       0.000200", "       0.000400", "       0.000400"),
	LATENCIES("RESP", "   Resp_", NULL, NULL, NULL, NULL, NULL, NULL, NULL),
};

/* 24 reads of 100 ns, 5 writes of 200 ns and one of 400 ns. */
static struct latency sample_latency(void)
{
	static uint64_t reads[] = { 24 }, writes[HISTOGRAM_BUCKETS];
	struct latency l;

	latency_init(&l);
	l.of[LATENCY_SERVICE][DIR_READ] = (struct histogram_sum){ .n = 24,
								  .sum_ns = 2400,
								  .min_ns = 100,
								  .max_ns = 100,
								  .squares = 24e4,
								  .first = histogram_bucket(100),
								  .size = 1,
								  .counts = reads };
	writes[0] = 5;
	writes[histogram_bucket(400) - histogram_bucket(200)] = 1;
	l.of[LATENCY_SERVICE][DIR_WRITE] =
		(struct histogram_sum){ .n = 6,
					.sum_ns = 1400,
					.min_ns = 200,
					.max_ns = 400,
					.squares = 5 * 4e4 + 16e4,
					.first = histogram_bucket(200),
					.size = histogram_bucket(400) - histogram_bucket(200) + 1,
					.counts = writes };
	return l;
}

static struct result sample_result(void)
{
	return (struct result){
		.what = RESULT_TARGET_PASS,
		.pass = 3,
		.target = 7,
		.queue = 32,
		.figures = {
			.known = FIGURES_ALL,
			.tally = {
				.ops = { 7500, 2500, 0 },
				.bytes = { 30720000, 10240000, 0 },
				.busy_ns = { 50000000000, 12500000000, 0 },
				.errors = 11,
				.order_breaks = 12,
				.retries = 12,
				.flush_ns = 3456789,
				.open_ns = 250000,
				.close_ns = 9000,
				.miscompares = 7,
				.fill_ns = 2500000,
				.overhead_ns = 1500000,
			},
			.latency = sample_latency(),
			.extremes = {
				.any = true,
				.of = {
					{ .took_ns = 9876543, .op = 4711, .offset = 81920000,
					  .dir = DIR_WRITE },
					{ .took_ns = 1234, .op = 17, .offset = 69632,
					  .dir = DIR_READ },
				},
			},
			.elapsed_ns = 2000000000,
			.first_op_ns = 1234567,
			.cache = { .range_bytes = 8000, .resident_bytes = 2000, .hole_bytes = 1000 },
			.cpu = { .user_ns = 500000000, .sys_ns = 2000000000 },
		},
		.window = { 1500000000, 36000000, 450075ull * FLOW_OP / 100 },
		.tail = { 250000000, 2000000, 122ull * FLOW_OP },
		.fairness = 0.875,
		.verified = true,
		.processors = 4,
		.op = OP_MIXED,
		.req_bytes = 8192,
		.block_size = 512,
	};
}

static const struct column *find(const char *id)
{
	const struct column *col = column_find(id, strlen(id));

	if (!col)
		fail_msg("%s is no column", id);
	return col;
}

static const char *cell_of(const char *id, const struct result *r)
{
	static struct line_cell cell;

	line_cell_padded(&cell, find(id), r);
	return cell.text;
}

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

static void test_unknown_share(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.figures.cache.accuracy = CACHE_UNKNOWN;
	assert_unknown("PAGECACHED", &r);
	assert_string_equal(cell_of("HOLES", &r), "   12.500");
	r.figures.cache.holes_unknown = true;
	assert_unknown("HOLES", &r);
}

static void test_identifiers_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(identifiers); i++)
		find(identifiers[i]);
	assert_null(column_find("WHA", 3));
	assert_null(column_find("WHATS", 5));
	assert_null(column_find("what", 4));
	assert_null(column_find("", 0));
	assert_null(column_find("USER USRTIME", 12));
	assert_ptr_equal(column_find("WHAT+PASS", 4), find("WHAT"));
}

static void test_headings_and_formats(void **state)
{
	struct result r = sample_result();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		const struct column *col = find(expected[i].id);

		assert_string_equal(col->heading, expected[i].heading);
		assert_string_equal(col->units, expected[i].units);
		assert_int_equal(col->width, strlen(expected[i].heading));
		assert_int_equal(col->width, strlen(expected[i].units));
		if (expected[i].value)
			assert_string_equal(cell_of(expected[i].id, &r), expected[i].value);
	}
}

/* Each row is covered above, has a help line, and no identifier stands twice. */
static void test_table_is_whole(void **state)
{
	const struct column *col;

	(void)state;
	for (size_t i = 0; (col = column_at(i)) != NULL; i++) {
		size_t found = 0;

		for (size_t k = 0; k < COUNT_OF(expected); k++)
			found += strcmp(expected[k].id, col->id) == 0;
		if (found != 1)
			fail_msg("%s: %zu rows in the test", col->id, found);
		assert_ptr_equal(find(col->id), col);
		assert_non_null(col->help);
	}
	assert_null(column_at(1000));
}

/* The page for users names every identifier. */
static void test_documented(void **state)
{
	const char *top = getenv("TOP_SRCDIR");
	char path[4096], *text;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/doc/output.md", top ? top : ".");
	f = fopen(path, "r");
	if (!f)
		skip();
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	for (size_t i = 0; i < COUNT_OF(identifiers); i++) {
		char word[64];

		snprintf(word, sizeof(word), "`%s`", identifiers[i]);
		if (!strstr(text, word))
			fail_msg("doc/output.md does not name %s", word);
	}
	free(text);
}

static void test_labels(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.what = RESULT_TARGET_AVERAGE;
	assert_string_equal(cell_of("WHAT", &r), " TARGET_AVERAGE");
	r.what = RESULT_COMBINED;
	assert_string_equal(cell_of("WHAT", &r), " COMBINED      ");
	r.what = RESULT_QUEUE_PASS;
	assert_string_equal(cell_of("WHAT", &r), " QUEUE_PASS    ");
}

static void test_nothing_done(void **state)
{
	struct result r = { .what = RESULT_TARGET_PASS,
			    .figures.known = FIGURES_ALL,
			    .op = OP_READ,
			    .req_bytes = 4096 };

	(void)state;
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
static void test_nothing_measured(void **state)
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

	(void)state;
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
static void test_of_targets_only(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.what = RESULT_QUEUE_PASS;
	assert_unknown("OPENTIME", &r);
	assert_unknown("CLOSETIME", &r);
}

static void test_not_verified(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.verified = false;
	assert_unknown("MISCOMPARES", &r);
}

/* A noop moves nothing, and is no reason to report requests of no size. */
static void test_noop_sizes(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.figures.tally.ops[DIR_NOOP] = 10000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        4096");
	assert_string_equal(cell_of("OPS", &r), "      20000");
	memset(&r.figures.tally, 0, sizeof(r.figures.tally));
	r.figures.tally.ops[DIR_NOOP] = 10000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        8192");
}

/* Operations that failed in the middle moved bytes, and are none of those whose size is shown. */
static void test_failed_sizes(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.figures.tally.bytes[DIR_READ] += 1000;
	r.figures.tally.failed_bytes[DIR_READ] = 1000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        4096");
	assert_string_equal(cell_of("BYTESXFERED", &r), "        40961000");
	memset(&r.figures.tally, 0, sizeof(r.figures.tally));
	r.figures.tally.bytes[DIR_READ] = r.figures.tally.failed_bytes[DIR_READ] = 1000;
	assert_string_equal(cell_of("XFERSIZEBYTES", &r), "        8192");
}

static void test_processors_zero_is_one(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.processors = 0;
	assert_string_equal(cell_of("PERCENTCPU", &r), "  125.000");
}

static void test_widths_grow(void **state)
{
	struct result r = sample_result();

	(void)state;
	r.pass = 123456789;
	assert_string_equal(cell_of("PASS", &r), "123456789");
	r.figures.tally.bytes[DIR_READ] = UINT64_MAX;
	assert_string_equal(cell_of("BYTESREAD", &r), "18446744073709551615");
	r.figures.elapsed_ns = 1;
	assert_string_equal(cell_of("IOPS", &r), "10000000000000.000");
	assert_true(strlen(cell_of("READBANDWIDTH", &r)) < LINE_CELL_SIZE - 1);
}

static void test_node_name(void **state)
{
	struct result r = sample_result();
	struct utsname name;
	char padded[128];

	(void)state;
	assert_int_equal(uname(&name), 0);
	snprintf(padded, sizeof(padded), "%10s", name.nodename);
	assert_string_equal(cell_of("NODENAME", &r), padded);
}

static const char *suggest(const char *id)
{
	return column_suggest(id, strlen(id));
}

static void test_suggest(void **state)
{
	(void)state;
	assert_string_equal(suggest("LATENCYY"), "LATENCY");
	assert_string_equal(suggest("BANDWITH"), "BANDWIDTH");
	assert_string_equal(suggest("pass"), "PASS");
	assert_string_equal(suggest("PERCENTSYSTEMTIMES"), "PERCENTSYSTEM");
	assert_null(suggest("ZZZZZZZZ"));
	assert_null(suggest(""));
}

static void test_list(void **state)
{
	struct column_list list;
	const char *bad;
	size_t len;

	(void)state;
	assert_int_equal(column_list_parse(&list, "+WHAT+USRTIME+DELIM+WHAT", &bad, &len), 0);
	assert_int_equal(list.n, 4);
	assert_ptr_equal(list.columns[0], find("WHAT"));
	assert_ptr_equal(list.columns[1], find("USERTIME"));
	assert_ptr_equal(list.columns[2], find("DELIM"));
	assert_ptr_equal(list.columns[3], find("WHAT"));
	assert_string_equal(list.names[0], "WHAT");
	assert_string_equal(list.names[1], "USRTIME");
	assert_string_equal(list.names[3], "WHAT");
	column_list_free(&list);
	column_list_free(&list);

	assert_int_equal(column_list_parse(&list, COLUMN_DEFAULTS, &bad, &len), 0);
	assert_int_equal(list.n, 13);
	column_list_free(&list);
}

static void assert_bad_list(const char *format, size_t at, size_t bad_len)
{
	struct column_list list;
	const char *bad = NULL;
	size_t len = 1000;

	assert_int_equal(column_list_parse(&list, format, &bad, &len), -EINVAL);
	assert_ptr_equal(bad, format + at);
	assert_int_equal(len, bad_len);
}

static void test_bad_lists(void **state)
{
	(void)state;
	assert_bad_list("", 0, 0);
	assert_bad_list("+", 1, 0);
	assert_bad_list("PASS+OPS", 0, 4);
	assert_bad_list("+PASS+NOPE+OPS", 6, 4);
	assert_bad_list("+PASS+NOPE", 6, 4);
	assert_bad_list("+PASS++OPS", 6, 0);
	assert_bad_list("+PASS+", 6, 0);
	assert_bad_list("+PASS +OPS", 1, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identifiers_are_known),
		cmocka_unit_test(test_unknown_share),
		cmocka_unit_test(test_headings_and_formats),
		cmocka_unit_test(test_table_is_whole),
		cmocka_unit_test(test_documented),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_nothing_done),
		cmocka_unit_test(test_nothing_measured),
		cmocka_unit_test(test_of_targets_only),
		cmocka_unit_test(test_not_verified),
		cmocka_unit_test(test_noop_sizes),
		cmocka_unit_test(test_failed_sizes),
		cmocka_unit_test(test_processors_zero_is_one),
		cmocka_unit_test(test_widths_grow),
		cmocka_unit_test(test_node_name),
		cmocka_unit_test(test_suggest),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_bad_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
