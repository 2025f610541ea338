/*
 * The rows of the column table, and how each value is computed from a struct result. Read by
 * column_at(), column_find() and the writers.
 *
 * Headings, units, widths and precisions are fixed: scripts know them. A new column is a row here
 * and a row of tests/unit/test_column.c.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "xdd/base/units.h"
#include "xdd/report/column.h"

#define BYTES_PER_MB 1e6

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

static void set_percent_of_cpu(struct column_value *v, const struct result *r, uint64_t cpu_ns)
{
	double processors = r->processors ? (double)r->processors : 1;

	set_ratio(v, 100 * (double)cpu_ns / processors, (double)r->figures.elapsed_ns);
}

/* The time of a file that belongs to the target, and to no QThread. */
static void set_file_time(struct column_value *v, const struct result *r, uint64_t ns)
{
	v->unknown = r->what == RESULT_QUEUE_PASS;
	v->real = (double)ns / NS_PER_MS;
}

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
	};

	return names[what];
}

/* On the left, as no other column is. */
static void get_what(const struct result *r, struct column_value *v)
{
	snprintf(v->buf, sizeof(v->buf), " %-14s", column_what(r->what));
	v->text = v->buf;
}

static void get_pass(const struct result *r, struct column_value *v)
{
	v->count = r->pass;
}

static void get_target(const struct result *r, struct column_value *v)
{
	v->count = r->target;
}

static void get_queue(const struct result *r, struct column_value *v)
{
	v->count = r->queue;
}

static void get_bytes(const struct result *r, struct column_value *v)
{
	v->count = tally_bytes(&r->figures.tally);
}

static void get_bytes_read(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.bytes[DIR_READ];
}

static void get_bytes_written(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.bytes[DIR_WRITE];
}

static void get_ops(const struct result *r, struct column_value *v)
{
	v->count = tally_ops(&r->figures.tally);
}

static void get_read_ops(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.ops[DIR_READ];
}

static void get_write_ops(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.ops[DIR_WRITE];
}

static void get_errors(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.errors;
}

static void get_bandwidth(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)tally_bytes(&r->figures.tally) / BYTES_PER_MB);
}

static void get_miscompares(const struct result *r, struct column_value *v)
{
	v->unknown = !r->verified;
	v->count = r->figures.tally.miscompares;
}

static void get_order_breaks(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.order_breaks;
}

static void get_read_bandwidth(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)r->figures.tally.bytes[DIR_READ] / BYTES_PER_MB);
}

static void get_write_bandwidth(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)r->figures.tally.bytes[DIR_WRITE] / BYTES_PER_MB);
}

static void get_iops(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)tally_ops(&r->figures.tally));
}

static void get_read_iops(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)r->figures.tally.ops[DIR_READ]);
}

static void get_write_iops(const struct result *r, struct column_value *v)
{
	set_rate(v, r, (double)r->figures.tally.ops[DIR_WRITE]);
}

static void get_latency(const struct result *r, struct column_value *v)
{
	set_ratio(v, (double)tally_busy_ns(&r->figures.tally) / NS_PER_MS,
		  (double)tally_ops(&r->figures.tally));
}

static void get_first_op(const struct result *r, struct column_value *v)
{
	v->unknown = !r->figures.first_op_ns;
	v->real = (double)r->figures.first_op_ns / NS_PER_MS;
}

static void get_elapsed(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.elapsed_ns / NS_PER_SEC;
}

static void get_flush(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.tally.flush_ns / NS_PER_MS;
}

static void get_flushes(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.flushes;
}

static void get_open(const struct result *r, struct column_value *v)
{
	set_file_time(v, r, r->figures.tally.open_ns);
}

static void get_close(const struct result *r, struct column_value *v)
{
	set_file_time(v, r, r->figures.tally.close_ns);
}

static void get_retries(const struct result *r, struct column_value *v)
{
	v->count = r->figures.tally.retries;
}

static void get_fill(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.tally.fill_ns / NS_PER_MS;
}

static void get_overhead(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.tally.overhead_ns / NS_PER_MS;
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

/* Intervals of the run; a rate needs an interval that is not empty. */
#define EXTENT(name_, of_)                                                                  \
	static void get_##name_##_time(const struct result *r, struct column_value *v)      \
	{                                                                                   \
		v->real = (double)r->of_.ns / NS_PER_SEC;                                   \
	}                                                                                   \
	static void get_##name_##_bandwidth(const struct result *r, struct column_value *v) \
	{                                                                                   \
		v->unknown = !r->of_.ns;                                                    \
		v->real = span_rate(&r->of_);                                               \
	}                                                                                   \
	static void get_##name_##_iops(const struct result *r, struct column_value *v)      \
	{                                                                                   \
		v->unknown = !r->of_.ns;                                                    \
		v->real = span_iops(&r->of_);                                               \
	}

EXTENT(deskew, window)
EXTENT(tail, tail)

static void get_fairness(const struct result *r, struct column_value *v)
{
	v->real = r->fairness;
}

static void get_cpu(const struct result *r, struct column_value *v)
{
	v->real = (double)(r->figures.cpu.user_ns + r->figures.cpu.sys_ns) / NS_PER_SEC;
}

static void get_percent_cpu(const struct result *r, struct column_value *v)
{
	set_percent_of_cpu(v, r, r->figures.cpu.user_ns + r->figures.cpu.sys_ns);
}

static void get_user(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.cpu.user_ns / NS_PER_SEC;
}

static void get_percent_user(const struct result *r, struct column_value *v)
{
	set_percent_of_cpu(v, r, r->figures.cpu.user_ns);
}

static void get_system(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.cpu.sys_ns / NS_PER_SEC;
}

static void get_percent_system(const struct result *r, struct column_value *v)
{
	set_percent_of_cpu(v, r, r->figures.cpu.sys_ns);
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

/* The width of a column is that of its heading. */
#define ROW(id_, aliases_, type_, heading_, units_, precision_, needs_, get_, help_)     \
	{                                                                                \
		.id = id_, .aliases = aliases_, .type = type_, .heading = heading_,      \
		.units = units_, .width = sizeof(heading_) - 1, .precision = precision_, \
		.needs = needs_, .get = get_, .help = help_,                             \
	}
#define TEXT(id_, heading_, units_, get_, help_) \
	ROW(id_, NULL, COLUMN_TEXT, heading_, units_, 0, 0, get_, help_)
#define COUNT(id_, aliases_, heading_, units_, get_, help_) \
	ROW(id_, aliases_, COLUMN_COUNT, heading_, units_, 0, 0, get_, help_)
#define REAL(id_, aliases_, heading_, units_, precision_, get_, help_) \
	ROW(id_, aliases_, COLUMN_REAL, heading_, units_, precision_, 0, get_, help_)
#define CPU(id_, aliases_, heading_, units_, get_, help_) \
	ROW(id_, aliases_, COLUMN_REAL, heading_, units_, 3, FIGURES_CPU, get_, help_)
#define DESKEW(id_, heading_, units_, get_, help_) \
	ROW(id_, NULL, COLUMN_REAL, heading_, units_, 3, FIGURES_DESKEW, get_, help_)
static const struct column table[] = {
	/* clang-format off */
	TEXT("WHAT", "What           ", "    UNITS>>    ", get_what,
	     "subject of the line: TARGET_PASS, QUEUE_PASS, TARGET_AVERAGE, COMBINED, "
	     "STONEWALL_AT or STONEWALL_END"),
	COUNT("PASS", NULL, "   Pass", " Number", get_pass,
	      "number of the pass, from 1; number of passes in averages and COMBINED"),
	COUNT("TARGET", NULL, " Target", " Number", get_target,
	      "number of the target, from 0; number of targets in COMBINED and STONEWALL"),
	COUNT("QUEUE", NULL, "  Queue", " Number", get_queue,
	      "queue depth of the target; number of the QThread, from 0, in QUEUE_PASS; sum of all "
	      "queue depths in COMBINED and STONEWALL"),
	COUNT("BYTESXFERED", "BYTESTRANSFERED", "    Bytes_Xfered", "           Bytes", get_bytes,
	      "bytes moved in either direction, by failed operations too"),
	COUNT("BYTESREAD", NULL, "      Bytes_Read", "           Bytes", get_bytes_read,
	      "bytes read"),
	COUNT("BYTESWRITTEN", NULL, "   Bytes_Written", "           Bytes", get_bytes_written,
	      "bytes written"),
	COUNT("OPS", NULL, "        Ops", "       #ops", get_ops,
	      "operations that succeeded"),
	COUNT("READOPS", NULL, "   Read_Ops", "       #ops", get_read_ops,
	      "read operations that succeeded"),
	COUNT("WRITEOPS", NULL, "  Write_Ops", "       #ops", get_write_ops,
	      "write operations that succeeded"),
	COUNT("ERRORS", NULL, "     Errors", "       #ops", get_errors,
	      "operations that failed"),
	COUNT("MISCOMPARES", NULL, "Miscompares", "    extents", get_miscompares,
	      "extents of wrong data that were read (-verify); their operations count as succeeded"),
	ROW("ORDERBREAKS", NULL, COLUMN_COUNT, "Ord_Breaks", "      #ops", 0, FIGURES_ORDER, get_order_breaks,
	      "operations that were not issued directly after their predecessor (-ordering); "
	      "no value where several QThreads are not in order"),
	COUNT("RETRIES", NULL, "    Retries", "       #ops", get_retries,
	      "repetitions of operations that had failed (-retry), successful or not"),
	REAL("BANDWIDTH", NULL, " Bandwidth", "  MBytes/s", 3, get_bandwidth,
	     "bytes over elapsed time, in 10^6 bytes per second"),
	REAL("READBANDWIDTH", NULL, "   Read_BW", "  MBytes/s", 3, get_read_bandwidth,
	     "bytes read over elapsed time"),
	REAL("WRITEBANDWIDTH", NULL, "  Write_BW", "  MBytes/s", 3, get_write_bandwidth,
	     "bytes written over elapsed time"),
	REAL("IOPS", NULL, "      IOPS", "     Ops/s", 3, get_iops,
	     "operations over elapsed time"),
	REAL("READIOPS", NULL, "   Rd_IOPS", "     Ops/s", 3, get_read_iops,
	     "read operations over elapsed time"),
	REAL("WRITEIOPS", NULL, "  Wrt_IOPS", "     Ops/s", 3, get_write_iops,
	     "write operations over elapsed time"),
	REAL("LATENCY", NULL, "  Latency", " millisec", 3, get_latency,
	     "mean completion time of an operation; at a queue depth above 1 operations overlap, so "
	     "this is not elapsed time over operations"),
	REAL("ELAPSEDTIME1STOP", NULL, "   1st_Op", " millisec", 3, get_first_op,
	     "completion time of the first operation"),
	REAL("ELAPSEDTIMEPASS", NULL, "    Elapsed", "    seconds", 3, get_elapsed,
	     "time from the first issue to the last completion, and of the flush of -syncwrite"),
	ROW("OVERHEADTIME", NULL, COLUMN_REAL, " Overhead", " millisec", 3, FIGURES_OVERHEAD, get_overhead,
	     "time of QThreads between operations: without waits, fills and flushes"),
	REAL("PATTERNFILLTIME", NULL, " Pat_Fill", " millisec", 3, get_fill,
	     "time spent filling buffers, the sum over all QThreads"),
	REAL("BUFFERFLUSHTIME", NULL, "    Flush", " millisec", 3, get_flush,
	     "time of the flushes of -flushwrite and -syncwrite, outside of operations"),
	COUNT("FLUSHES", NULL, "    Flushes", "   #flushes", get_flushes,
	      "number of these flushes, also of those that failed"),
	REAL("OPENTIME", NULL, "     Open", " millisec", 3, get_open,
	     "time spent opening the target for the pass, and creating its file"),
	REAL("CLOSETIME", NULL, "    Close", " millisec", 3, get_close,
	     "time spent closing the target after the pass"),
	REAL("PAGECACHED", NULL, "   Cached", "  percent", 3, get_cached,
	     "share of the bytes read that were in the page cache before the pass; no value with -dio"),
	REAL("HOLES", NULL, "    Holes", "  percent", 3, get_holes,
	     "share of the bytes read that were never written"),
	DESKEW("DESKEWTIME", "   Dsk_Time", "    seconds", get_deskew_time,
	     "COMBINED with -deskew: time while all targets were transferring, summed over passes"),
	DESKEW("DESKEWBANDWIDTH", "    Dsk_BW", "  MBytes/s", get_deskew_bandwidth,
	     "COMBINED with -deskew: bandwidth of all targets in that time"),
	DESKEW("DESKEWIOPS", "  Dsk_IOPS", "     Ops/s", get_deskew_iops,
	     "COMBINED with -deskew: operations per second of all targets in that time"),
	DESKEW("TAILTIME", "  Tail_Time", "    seconds", get_tail_time,
	     "COMBINED with -deskew: time from the first target's end to the last one's"),
	DESKEW("TAILBANDWIDTH", "   Tail_BW", "  MBytes/s", get_tail_bandwidth,
	     "COMBINED with -deskew: bandwidth in that time"),
	DESKEW("TAILIOPS", " Tail_IOPS", "     Ops/s", get_tail_iops,
	     "COMBINED with -deskew: operations per second in that time"),
	DESKEW("FAIRNESS", "Fairness", "   ratio", get_fairness,
	     "COMBINED with -deskew: bandwidth of the slowest target over that of the fastest"),
	CPU("CPUTIME", NULL, " CPU Time", "  seconds", get_cpu,
	     "processor time, user and system"),
	CPU("PERCENTCPUTIME", "PERCENTCPU", "  Pct_CPU", "  percent", get_percent_cpu,
	     "processor time over elapsed time"),
	CPU("USERTIME", "USER USRTIME", "User Time", "  seconds", get_user,
	     "processor time in user mode"),
	CPU("SYSTEMTIME", "SYSTEM SYSTIME", " Sys Time", "  seconds", get_system,
	     "processor time in the kernel"),
	CPU("PERCENTUSER", "PERCENTUSERTIME PERCENTUSR", "  Pct_Usr", "  percent",
	     get_percent_user, "user time over elapsed time"),
	CPU("PERCENTSYSTEM", "PERCENTSYSTEMTIME PERCENTSYS", "  Pct_Sys", "  percent",
	     get_percent_system, "system time over elapsed time"),
	TEXT("OPTYPE", " Op_Type", "    text", get_op,
	     "read, write, mixed, noop or discard"),
	REAL("XFERSIZEBYTES", NULL, "   Xfer_Size", "       bytes", 0, get_xfer_bytes,
	     "mean size of the requests that succeeded, in bytes; the request size where there are "
	     "none"),
	REAL("XFERSIZEBLOCKS", NULL, "   Xfer_Size", "      blocks", 2, get_xfer_blocks,
	     "mean size of the requests that succeeded, in blocks"),
	REAL("XFERSIZEKBYTES", NULL, "   Xfer_Size", "  1024-bytes", 2, get_xfer_kbytes,
	     "mean size of the requests that succeeded, in units of 1024 bytes"),
	REAL("XFERSIZEMBYTES", NULL, "   Xfer_Size", "1024^2 bytes", 2, get_xfer_mbytes,
	     "mean size of the requests that succeeded, in units of 1048576 bytes"),
	TEXT("NODENAME", " Node_Name", "      text", get_node_name,
	     "network name of this computer"),
	ROW("DELIM", NULL, COLUMN_DELIMITER, " ", " ", 0, 0, get_delimiter,
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
static void set_share(struct column_value *v, const struct result *r, uint64_t ns)
{
	double all = (double)r->figures.elapsed_ns * (double)r->qthreads;

	v->unknown = all <= 0;
	if (!v->unknown)
		v->real = 100 * (double)ns / all;
}

static void get_storage(const struct result *r, struct column_value *v)
{
	v->real = (double)tally_busy_ns(&r->figures.tally) / NS_PER_SEC;
}

static void get_network(const struct result *r, struct column_value *v)
{
	v->real = (double)r->figures.tally.net_ns / NS_PER_SEC;
}

static void get_percent_network(const struct result *r, struct column_value *v)
{
	set_share(v, r, r->figures.tally.net_ns);
}

static void get_lag(const struct result *r, struct column_value *v)
{
	v->unknown = !r->qthreads;
	if (!v->unknown)
		v->real = (double)r->figures.lag_ns / (double)r->qthreads / NS_PER_MS;
}

static void get_percent_lag(const struct result *r, struct column_value *v)
{
	set_share(v, r, r->figures.lag_ns);
}

static void set_moment(struct column_value *v, uint64_t ns)
{
	v->unknown = !ns;
	v->real = (double)ns / NS_PER_MS;
}

static void get_first_read(const struct result *r, struct column_value *v)
{
	set_moment(v, r->figures.first_read_ns);
}

static void get_last_write(const struct result *r, struct column_value *v)
{
	set_moment(v, r->figures.last_write_ns);
}

#define NET(id_, heading_, units_, needs_, get_, help_)                                      \
	{                                                                                    \
		.id = id_, .type = COLUMN_REAL, .heading = heading_, .units = units_,        \
		.width = sizeof(heading_) - 1, .precision = 2, .needs = needs_, .get = get_, \
		.help = help_,                                                               \
	}

const struct column columns_endtoend[] = {
	NET("E2EIOTIME", "     E2E_I/O", "     seconds", FIGURES_NETWORK, get_storage,
	    "end-to-end: time of operations on storage, of all QThreads together"),
	NET("E2ESRTIME", "     E2E_S/R", "     seconds", FIGURES_NETWORK, get_network,
	    "end-to-end: time of sending or receiving, of all QThreads together"),
	NET("E2EPERCENTSRTIME", " E2E_Pct_S/R", "     percent", FIGURES_NETWORK,
	    get_percent_network,
	    "end-to-end: share of sending or receiving in the time of the QThreads"),
	NET("E2ELAGTIME", " E2E_Lag", "millisec", FIGURES_LAG, get_lag,
	    "end-to-end: time that a QThread of the destination waited for data, or for its turn to "
	    "write, on average"),
	NET("E2EPERCENTLAGTIME", "E2E_Pct_Lag ", "   percent  ", FIGURES_LAG, get_percent_lag,
	    "end-to-end: share of that in the time of the QThreads"),
	NET("E2EFIRSTREADTIME", "  E2E_1st_Rd", "    millisec", FIGURES_NETWORK, get_first_read,
	    "end-to-end: from the start of the pass to the end of the source's first read; of "
	    "several passes or targets the least"),
	NET("E2ELASTWRITETIME", " E2E_Lst_Wrt", "    millisec", FIGURES_NETWORK, get_last_write,
	    "end-to-end: from the start of the pass to the end of the destination's last "
	    "write; of several passes or targets the greatest"),
	{ 0 },
};
