/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The column table: identifiers, headings, units and formats against literal copies of what scripts
 * know, and lists of identifiers. test_column_value.c has the values of results.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column_sample.h"
#include "xdd/report/column.h"

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
	"FLUSHES",
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
	LATENCY_IDS("FLUSHLAT"),
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
	"ID",
	"STARTTIME",
	"TARGETNAME",
	"ENGINE",
	"PATTERN",
	"REQUESTEDIOPS",
	"REQUESTEDBANDWIDTH",
};

/* The value is the cell of sample_result(); NULL: it depends on the machine. */
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
	{ "ID", "                  ID", "                text", "                   -" },
	{ "STARTTIME", "              Start_Time", "                     UTC",
	  "                       -" },
	{ "TARGETNAME", "             Target_Name", "                    text",
	  "                       -" },
	{ "ENGINE", "  Engine", "    text", "       -" },
	{ "PATTERN", "    Pattern", "       text", "          -" },
	{ "REQUESTEDIOPS", "  Req_IOPS", "     Ops/s", "         -" },
	{ "REQUESTEDBANDWIDTH", "    Req_BW", "  MBytes/s", "         -" },
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
	{ "FLUSHES", "    Flushes", "   #flushes", "         13" },
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
	{ "E2EIOTIME", "     E2E_I/O", "     seconds", "       62.50" },
	{ "E2ESRTIME", "     E2E_S/R", "     seconds", "        6.40" },
	{ "E2EPERCENTSRTIME", " E2E_Pct_S/R", "     percent", "       20.00" },
	{ "E2ELAGTIME", " E2E_Lag", "millisec", "  200.00" },
	{ "E2EPERCENTLAGTIME", "E2E_Pct_Lag ", "   percent  ", "       10.00" },
	{ "E2EFIRSTREADTIME", "  E2E_1st_Rd", "    millisec", "        1.25" },
	{ "E2ELASTWRITETIME", " E2E_Lst_Wrt", "    millisec", "     1998.76" },
	{ "NODENAME", " Node_Name", "      text", NULL },
	{ "DELIM", " ", " ", " " },
#define LATENCY(id, heading, value)                   \
	{                                             \
		id, heading, "       millisec", value \
	}
#define FEW "              -"
#define LATENCIES(id, of, min, mean, stddev, likely, p50, few, max)                               \
	LATENCY(id "MIN", "    " of "Min", min), LATENCY(id "MEAN", "   " of "Mean", mean),       \
		LATENCY(id "STDDEV", " " of "StdDev", stddev),                                    \
		LATENCY(id "WAVG", "   " of "WAvg", likely),                                      \
		LATENCY(id "P50", "    " of "P50", p50), LATENCY(id "P90", "    " of "P90", few), \
		LATENCY(id "P95", "    " of "P95", few), LATENCY(id "P99", "    " of "P99", few), \
		LATENCY(id "P999", "  " of "P99.9", few),                                         \
		LATENCY(id "P9999", " " of "P99.99", few),                                        \
		LATENCY(id "P99999", of "P99.999", few), LATENCY(id "MAX", "    " of "Max", max)
	/* sample_latency(): few operations, of which there are few percentiles */
	LATENCIES("LAT", "    Lat_", "       0.000100", "       0.000127", "       0.000063",
		  "       0.000105", "       0.000100", FEW, "       0.000400"),
	LATENCIES("READLAT", " Rd_Lat_", "       0.000100", "       0.000100", "       0.000000",
		  "       0.000100", "       0.000100", FEW, "       0.000100"),
	LATENCIES("WRITELAT", "Wrt_Lat_", "       0.000200", "       0.000233", "       0.000075",
		  "       0.000208", FEW, FEW, "       0.000400"),
	LATENCIES("RESP", "   Resp_", NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	LATENCIES("FLUSHLAT", "Fls_Lat_", "       1.000000", "       2.000000", "       1.000000",
		  "       2.000735", FEW, FEW, "       3.000000"),
};

TEST(test_identifiers_are_known)
{
	char member[COLUMN_MEMBER_SIZE];

	for (size_t i = 0; i < COUNT_OF(identifiers); i++)
		find(identifiers[i]);
	assert_null(column_find("WHA", 3));
	assert_null(column_find("WHATS", 5));
	assert_null(column_find("what", 4));
	assert_null(column_find("", 0));
	assert_null(column_find("USER USRTIME", 12));
	assert_ptr_equal(column_find("WHAT+PASS", 4), find("WHAT"));
	assert_string_equal(column_member(find("LATP50"), member), "latp50");
}

TEST(test_headings_and_formats)
{
	struct result r = sample_result();

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
TEST(test_table_is_whole)
{
	const struct column *col;

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

static const char *suggest(const char *id)
{
	return column_suggest(id, strlen(id));
}

/* A column of a figure needs what the figure's row says. */
TEST(test_needs)
{
	const struct column *col;

	for (size_t i = 0; (col = column_at(i)); i++) {
		const size_t off = col->off - offsetof(struct result, figures);

		for (const struct figure_row *row = figure_rows; col->n && row->n; row++) {
			if (off < row->off || off >= row->off + row->n * sizeof(uint64_t))
				continue;
			if (row->part & ~col->needs)
				fail_msg("%s lacks needs %#x", col->id, row->part);
		}
	}
}

TEST(test_suggest)
{
	assert_string_equal(suggest("LATENCYY"), "LATENCY");
	assert_string_equal(suggest("BANDWITH"), "BANDWIDTH");
	assert_string_equal(suggest("pass"), "PASS");
	assert_string_equal(suggest("PERCENTSYSTEMTIMES"), "PERCENTSYSTEM");
	assert_null(suggest("ZZZZZZZZ"));
	assert_null(suggest(""));
}

TEST(test_list)
{
	struct column_list list;
	const char *bad;
	size_t len;

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

TEST(test_bad_lists)
{
	assert_bad_list("", 0, 0);
	assert_bad_list("+", 1, 0);
	assert_bad_list("PASS+OPS", 0, 4);
	assert_bad_list("+PASS+NOPE+OPS", 6, 4);
	assert_bad_list("+PASS+NOPE", 6, 4);
	assert_bad_list("+PASS++OPS", 6, 0);
	assert_bad_list("+PASS+", 6, 0);
	assert_bad_list("+PASS +OPS", 1, 5);
}

RUN_TESTS(NULL, NULL)
