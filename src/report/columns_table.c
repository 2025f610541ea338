/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the column table, and how each value is computed from a struct result. Read by
 * column_at(), column_find() and the writers.
 *
 * Headings, units, widths and precisions are fixed: scripts know them. A new column is a row here
 * and a row of tests/unit/test_column.c.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "xdd/base/units.h"
#include "xdd/report/column.h"

#define BYTES_PER_MB 1e6

/* The numbers of the column's field of struct result, added up. */
static uint64_t number(const struct result *r, const struct column_value *v)
{
	const uint64_t *values = column_field(r, v);
	uint64_t sum = 0;

	for (size_t i = 0; i < v->column->n; i++)
		sum += values[i];
	return sum;
}

/* A quotient; without a whole it is unknown, not 0. */
static void set_ratio(struct column_value *v, double part, double whole)
{
	v->unknown = whole <= 0;
	if (!v->unknown)
		v->real = part / whole;
}

static void set_rate(struct column_value *v, const struct result *r, double amount)
{
	set_ratio(v, amount, (double)r->figures.elapsed_ns / NS_PER_SEC);
}

/* ---- any number ---- */

static void get_count(const struct result *r, struct column_value *v)
{
	v->count = number(r, v);
}

static void get_seconds(const struct result *r, struct column_value *v)
{
	v->real = (double)number(r, v) / NS_PER_SEC;
}

static void get_ms(const struct result *r, struct column_value *v)
{
	v->real = (double)number(r, v) / NS_PER_MS;
}

/* As get_ms(), of a time that is unknown where it is 0. */
static void get_moment(const struct result *r, struct column_value *v)
{
	v->unknown = !number(r, v);
	get_ms(r, v);
}

static void get_per_second(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)number(r, v));
}

static void get_mb_per_second(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)number(r, v) / BYTES_PER_MB);
}

/* Processor time over elapsed time. */
static void get_percent_of_cpu(const struct result *r, struct column_value *v)
{
	double processors = r->processors ? (double)r->processors : 1;

	set_ratio(v, 100 * (double)number(r, v) / processors, (double)r->figures.elapsed_ns);
}

/* ---- one column each ---- */

/*
 * Mean size of the requests that succeeded: the size of others is not known.
 * Operations that move nothing by nature (noop) do not pull it down.
 */
static double request_bytes(const struct result *r)
{
	uint64_t bytes = 0, ops = 0;

	for (int dir = 0; dir < DIR_COUNT; dir++) {
		uint64_t all = r->figures.tally.bytes[dir],
			 failed = r->figures.tally.failed_bytes[dir];

		if (all <= failed)
			continue;
		bytes += all - failed;
		ops += r->figures.tally.ops[dir];
	}
	return ops ? (double)bytes / (double)ops : (double)r->req_bytes;
}

const char *column_what(enum result_what what)
{
	static const char *const names[] = {
		[RESULT_QUEUE_PASS] = "QUEUE_PASS",
		[RESULT_TARGET_PASS] = "TARGET_PASS",
		[RESULT_TARGET_AVERAGE] = "TARGET_AVERAGE",
		[RESULT_COMBINED] = "COMBINED",
		[RESULT_STONEWALL_AT] = "STONEWALL_AT",
		[RESULT_STONEWALL_END] = "STONEWALL_END",
		[RESULT_HOST] = "HOST",
	};

	return names[what];
}

/* On the left, as no other column is. */
static void get_what(const struct result *r, struct column_value *v)
{
	snprintf(v->buf, sizeof(v->buf), " %-14s", column_what(r->what));
	v->text = v->buf;
}

static void get_latency(const struct result *r, struct column_value *v)
{
	set_ratio(v, (double)tally_busy_ns(&r->figures.tally) / NS_PER_MS,
		  (double)tally_ops(&r->figures.tally));
}

static void get_cached(const struct result *r, struct column_value *v)
{
	const struct cache_state *cache = &r->figures.cache;

	if (cache->accuracy >= CACHE_NOT_MEASURED)
		v->unknown = true;
	else
		set_ratio(v, 100.0 * (double)cache->resident_bytes, (double)cache->range_bytes);
}

static void get_holes(const struct result *r, struct column_value *v)
{
	const struct cache_state *cache = &r->figures.cache;

	if (cache->holes_unknown)
		v->unknown = true;
	else
		set_ratio(v, 100.0 * (double)cache->hole_bytes, (double)cache->range_bytes);
}

/* A rate needs an interval that is not empty. */
static void get_span_bandwidth(const struct result *r, struct column_value *v)
{
	const struct span *span = column_field(r, v);

	v->unknown = !span->ns;
	v->real = span_rate(span);
}

static void get_span_iops(const struct result *r, struct column_value *v)
{
	const struct span *span = column_field(r, v);

	v->unknown = !span->ns;
	v->real = span_iops(span);
}

static void get_fairness(const struct result *r, struct column_value *v)
{
	v->real = r->fairness;
}

static void get_op(const struct result *r, struct column_value *v)
{
	v->text = plan_op_name(r->op);
}

static void get_xfer_bytes(const struct result *r, struct column_value *v)
{
	v->real = request_bytes(r);
}

static void get_xfer_blocks(const struct result *r, struct column_value *v)
{
	set_ratio(v, request_bytes(r), (double)r->block_size);
}

static void get_xfer_kbytes(const struct result *r, struct column_value *v)
{
	v->real = request_bytes(r) / 1024;
}

static void get_xfer_mbytes(const struct result *r, struct column_value *v)
{
	v->real = request_bytes(r) / (1024 * 1024);
}

static void get_node_name(const struct result *r, struct column_value *v)
{
	struct utsname name;

	_Static_assert(sizeof(name.nodename) <= COLUMN_TEXT_MAX, "a node name fits into a value");
	(void)r;
	v->unknown = uname(&name) != 0;
	if (!v->unknown)
		v->text = memcpy(v->buf, name.nodename, sizeof(name.nodename));
}

static void get_delimiter(const struct result *r, struct column_value *v)
{
	(void)r;
	v->text = " ";
}

/* The width of a column is the width of its heading. */
#define ROW(id_, type_, heading_, units_, precision_, needs_, get_, help_)                    \
	.id = id_, .type = type_, .heading = heading_, .units = units_,                       \
	.width = sizeof(heading_) - 1, .precision = precision_, .needs = needs_, .get = get_, \
	.help = help_

/* The numbers of struct result that its value is made of. */
#define OF(field_)                              \
	.off = offsetof(struct result, field_), \
	.n = sizeof(((struct result *)0)->field_) / sizeof(uint64_t)

#define VALUE(...)               \
	{                        \
		ROW(__VA_ARGS__) \
	}
#define TEXT(id_, heading_, units_, get_, help_) \
	VALUE(id_, COLUMN_TEXT, heading_, units_, 0, 0, get_, help_)
#define COUNT(id_, aliases_, heading_, units_, needs_, field_, help_)                  \
	{                                                                              \
		ROW(id_, COLUMN_COUNT, heading_, units_, 0, needs_, get_count, help_), \
			.aliases = aliases_, OF(field_)                                \
	}
#define REAL(id_, aliases_, heading_, units_, needs_, get_, field_, help_)       \
	{                                                                        \
		ROW(id_, COLUMN_REAL, heading_, units_, 3, needs_, get_, help_), \
			.aliases = aliases_, OF(field_)                          \
	}

static const struct column table[] = {
	/* clang-format off */
	TEXT("WHAT", "What           ", "    UNITS>>    ", get_what,
	     "subject of the line: TARGET_PASS, QUEUE_PASS, TARGET_AVERAGE, COMBINED, "
	     "STONEWALL_AT or STONEWALL_END"),
	COUNT("PASS", NULL, "   Pass", " Number", 0, pass,
	      "number of the pass, from 1; number of passes in averages and COMBINED"),
	COUNT("TARGET", NULL, " Target", " Number", 0, target,
	      "number of the target, from 0; number of targets in COMBINED and STONEWALL"),
	COUNT("QUEUE", NULL, "  Queue", " Number", 0, queue,
	      "queue depth of the target; number of the QThread, from 0, in QUEUE_PASS; sum of all "
	      "queue depths in COMBINED and STONEWALL"),
	COUNT("BYTESXFERED", "BYTESTRANSFERED", "    Bytes_Xfered", "           Bytes", 0, figures.tally.bytes,
	      "bytes moved in either direction, by failed operations too"),
	COUNT("BYTESREAD", NULL, "      Bytes_Read", "           Bytes", 0, figures.tally.bytes[DIR_READ],
	      "bytes read"),
	COUNT("BYTESWRITTEN", NULL, "   Bytes_Written", "           Bytes", 0, figures.tally.bytes[DIR_WRITE],
	      "bytes written"),
	COUNT("OPS", NULL, "        Ops", "       #ops", 0, figures.tally.ops,
	      "operations that succeeded"),
	COUNT("READOPS", NULL, "   Read_Ops", "       #ops", 0, figures.tally.ops[DIR_READ],
	      "read operations that succeeded"),
	COUNT("WRITEOPS", NULL, "  Write_Ops", "       #ops", 0, figures.tally.ops[DIR_WRITE],
	      "write operations that succeeded"),
	COUNT("ERRORS", NULL, "     Errors", "       #ops", 0, figures.tally.errors,
	      "operations that failed"),
	COUNT("MISCOMPARES", NULL, "Miscompares", "    extents", FIGURES_VERIFIED, figures.tally.miscompares,
	      "extents of wrong data that were read (-verify); their operations count as succeeded"),
	COUNT("ORDERBREAKS", NULL, "Ord_Breaks", "      #ops", FIGURES_ORDER, figures.tally.order_breaks,
	      "operations that were not issued directly after their predecessor (-ordering); "
	      "no value where several QThreads are not in order"),
	COUNT("RETRIES", NULL, "    Retries", "       #ops", 0, figures.tally.retries,
	      "repetitions of operations that had failed (-retry), successful or not"),
	REAL("BANDWIDTH", NULL, " Bandwidth", "  MBytes/s", 0, get_mb_per_second, figures.tally.bytes,
	     "bytes over elapsed time, in 10^6 bytes per second"),
	REAL("READBANDWIDTH", NULL, "   Read_BW", "  MBytes/s", 0, get_mb_per_second, figures.tally.bytes[DIR_READ],
	     "bytes read over elapsed time"),
	REAL("WRITEBANDWIDTH", NULL, "  Write_BW", "  MBytes/s", 0, get_mb_per_second, figures.tally.bytes[DIR_WRITE],
	     "bytes written over elapsed time"),
	REAL("IOPS", NULL, "      IOPS", "     Ops/s", 0, get_per_second, figures.tally.ops,
	     "operations over elapsed time"),
	REAL("READIOPS", NULL, "   Rd_IOPS", "     Ops/s", 0, get_per_second, figures.tally.ops[DIR_READ],
	     "read operations over elapsed time"),
	REAL("WRITEIOPS", NULL, "  Wrt_IOPS", "     Ops/s", 0, get_per_second, figures.tally.ops[DIR_WRITE],
	     "write operations over elapsed time"),
	VALUE("LATENCY", COLUMN_REAL, "  Latency", " millisec", 3, 0, get_latency,
	      "mean completion time of an operation; at a queue depth above 1 operations overlap, so "
	     "this is not elapsed time over operations"),
	REAL("ELAPSEDTIME1STOP", NULL, "   1st_Op", " millisec", 0, get_moment, figures.first_op_ns,
	     "completion time of the first operation"),
	REAL("ELAPSEDTIMEPASS", NULL, "    Elapsed", "    seconds", 0, get_seconds, figures.elapsed_ns,
	     "time from the first issue to the last completion, and of the flush of -syncwrite"),
	REAL("OVERHEADTIME", NULL, " Overhead", " millisec", FIGURES_OVERHEAD, get_ms, figures.tally.overhead_ns,
	     "time of QThreads between operations: without waits, fills and flushes"),
	REAL("PATTERNFILLTIME", NULL, " Pat_Fill", " millisec", 0, get_ms, figures.tally.fill_ns,
	     "time spent filling buffers, the sum over all QThreads"),
	REAL("BUFFERFLUSHTIME", NULL, "    Flush", " millisec", 0, get_ms, figures.tally.flush_ns,
	     "time of the flushes of -flushwrite and -syncwrite, outside of operations"),
	COUNT("FLUSHES", NULL, "    Flushes", "   #flushes", 0, figures.tally.flushes,
	      "number of these flushes, also of those that failed"),
	REAL("OPENTIME", NULL, "     Open", " millisec", FIGURES_FILE, get_ms, figures.tally.open_ns,
	     "time spent opening the target for the pass, and creating its file"),
	REAL("CLOSETIME", NULL, "    Close", " millisec", FIGURES_FILE, get_ms, figures.tally.close_ns,
	     "time spent closing the target after the pass"),
	VALUE("PAGECACHED", COLUMN_REAL, "   Cached", "  percent", 3, 0, get_cached,
	      "share of the bytes read that were in the page cache before the pass; no value with -dio"),
	VALUE("HOLES", COLUMN_REAL, "    Holes", "  percent", 3, 0, get_holes,
	      "share of the bytes read that were never written"),
	REAL("DESKEWTIME", NULL, "   Dsk_Time", "    seconds", FIGURES_DESKEW, get_seconds, window.ns,
	     "COMBINED with -deskew: time while all targets were transferring, summed over passes"),
	REAL("DESKEWBANDWIDTH", NULL, "    Dsk_BW", "  MBytes/s", FIGURES_DESKEW, get_span_bandwidth, window,
	     "COMBINED with -deskew: bandwidth of all targets in that time"),
	REAL("DESKEWIOPS", NULL, "  Dsk_IOPS", "     Ops/s", FIGURES_DESKEW, get_span_iops, window,
	     "COMBINED with -deskew: operations per second of all targets in that time"),
	REAL("TAILTIME", NULL, "  Tail_Time", "    seconds", FIGURES_DESKEW, get_seconds, tail.ns,
	     "COMBINED with -deskew: time from the first target's end to the last one's"),
	REAL("TAILBANDWIDTH", NULL, "   Tail_BW", "  MBytes/s", FIGURES_DESKEW, get_span_bandwidth, tail,
	     "COMBINED with -deskew: bandwidth in that time"),
	REAL("TAILIOPS", NULL, " Tail_IOPS", "     Ops/s", FIGURES_DESKEW, get_span_iops, tail,
	     "COMBINED with -deskew: operations per second in that time"),
	VALUE("FAIRNESS", COLUMN_REAL, "Fairness", "   ratio", 3, FIGURES_DESKEW, get_fairness,
	      "COMBINED with -deskew: bandwidth of the slowest target divided by the fastest's"),
	REAL("CPUTIME", NULL, " CPU Time", "  seconds", FIGURES_CPU, get_seconds, figures.cpu,
	     "processor time, user and system"),
	REAL("PERCENTCPUTIME", "PERCENTCPU", "  Pct_CPU", "  percent", FIGURES_CPU, get_percent_of_cpu, figures.cpu,
	     "processor time over elapsed time"),
	REAL("USERTIME", "USER USRTIME", "User Time", "  seconds", FIGURES_CPU, get_seconds, figures.cpu.user_ns,
	     "processor time in user mode"),
	REAL("SYSTEMTIME", "SYSTEM SYSTIME", " Sys Time", "  seconds", FIGURES_CPU, get_seconds, figures.cpu.sys_ns,
	     "processor time in the kernel"),
	REAL("PERCENTUSER", "PERCENTUSERTIME PERCENTUSR", "  Pct_Usr", "  percent", FIGURES_CPU, get_percent_of_cpu, figures.cpu.user_ns,
	     "user time over elapsed time"),
	REAL("PERCENTSYSTEM", "PERCENTSYSTEMTIME PERCENTSYS", "  Pct_Sys", "  percent", FIGURES_CPU, get_percent_of_cpu, figures.cpu.sys_ns,
	     "system time over elapsed time"),
	TEXT("OPTYPE", " Op_Type", "    text", get_op,
	     "read, write, mixed, noop or discard"),
	VALUE("XFERSIZEBYTES", COLUMN_REAL, "   Xfer_Size", "       bytes", 0, 0, get_xfer_bytes,
	      "mean size of the requests that succeeded, in bytes; the request size where there are "
	     "none"),
	VALUE("XFERSIZEBLOCKS", COLUMN_REAL, "   Xfer_Size", "      blocks", 2, 0, get_xfer_blocks,
	      "mean size of the requests that succeeded, in blocks"),
	VALUE("XFERSIZEKBYTES", COLUMN_REAL, "   Xfer_Size", "  1024-bytes", 2, 0, get_xfer_kbytes,
	      "mean size of the requests that succeeded, in units of 1024 bytes"),
	VALUE("XFERSIZEMBYTES", COLUMN_REAL, "   Xfer_Size", "1024^2 bytes", 2, 0, get_xfer_mbytes,
	      "mean size of the requests that succeeded, in units of 1048576 bytes"),
	TEXT("NODENAME", " Node_Name", "      text", get_node_name,
	     "network name of this computer"),
	VALUE("DELIM", COLUMN_DELIMITER, " ", " ", 0, 0, get_delimiter,
	      "one more delimiter; left out of CSV"),
	/* clang-format on */
};

const struct column *column_at(size_t i)
{
	const size_t n = sizeof(table) / sizeof(table[0]);

	if (i < n)
		return &table[i];
	for (const struct column *col = columns_endtoend; col->id; col++) {
		if (i-- == n)
			return col;
	}
	for (const struct column *col = columns_extremes; col->id; col++) {
		if (i-- == n)
			return col;
	}
	for (const struct column *col = columns_run; col->id; col++) {
		if (i-- == n)
			return col;
	}
	return column_latency_at(i - n);
}

/*
 * Rows about end-to-end copies.
 *
 * Times are sums over the QThreads of a target, shares are of their time in the pass. The other
 * side measures some of them; without its report they are unknown.
 */

/* A share of the time that the QThreads had, in percent. */
static void get_share(const struct result *r, struct column_value *v)
{
	set_ratio(v, 100 * (double)number(r, v),
		  (double)r->figures.elapsed_ns * (double)r->qthreads);
}

static void get_lag(const struct result *r, struct column_value *v)
{
	v->unknown = !r->qthreads;
	if (!v->unknown)
		v->real = (double)number(r, v) / (double)r->qthreads / NS_PER_MS;
}

#define NET(id_, heading_, units_, needs_, get_, field_, help_)                             \
	{                                                                                   \
		ROW(id_, COLUMN_REAL, heading_, units_, 2, needs_, get_, help_), OF(field_) \
	}

const struct column columns_endtoend[] = {
	NET("E2EIOTIME", "     E2E_I/O", "     seconds", FIGURES_NETWORK, get_seconds,
	    figures.tally.busy_ns,
	    "end-to-end: time of operations on storage, of all QThreads together"),
	NET("E2ESRTIME", "     E2E_S/R", "     seconds", FIGURES_NETWORK, get_seconds,
	    figures.tally.net_ns,
	    "end-to-end: time of sending or receiving, of all QThreads together"),
	NET("E2EPERCENTSRTIME", " E2E_Pct_S/R", "     percent", FIGURES_NETWORK, get_share,
	    figures.tally.net_ns,
	    "end-to-end: share of sending or receiving in the time of the QThreads"),
	NET("E2ELAGTIME", " E2E_Lag", "millisec", FIGURES_LAG, get_lag, figures.lag_ns,
	    "end-to-end: time that a QThread of the destination waited for data, or for its turn to "
	    "write, on average"),
	NET("E2EPERCENTLAGTIME", "E2E_Pct_Lag ", "   percent  ", FIGURES_LAG, get_share,
	    figures.lag_ns, "end-to-end: share of that in the time of the QThreads"),
	NET("E2EFIRSTREADTIME", "  E2E_1st_Rd", "    millisec", FIGURES_NETWORK, get_moment,
	    figures.first_read_ns,
	    "end-to-end: from the start of the pass to the end of the source's first read; of "
	    "several passes or targets the least"),
	NET("E2ELASTWRITETIME", " E2E_Lst_Wrt", "    millisec", FIGURES_NETWORK, get_moment,
	    figures.last_write_ns,
	    "end-to-end: from the start of the pass to the end of the destination's last "
	    "write; of several passes or targets the greatest"),
	{ 0 },
};
