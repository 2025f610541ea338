/*
 * The rows of the column table that are about latencies: the same figures for all operations, for
 * reads, for writes, of the response time, and for flushes. Read by column_at().
 */
#include <math.h>

#include "report/latency.h"
#include "xdd/report/column.h"

static void get_stat(const struct result *r, struct column_value *v, enum latency_time time,
		     unsigned dir, uint32_t stat)
{
	struct histogram_view view = latency_view(&r->figures.latency, time, dir);

	v->real = latency_stat_ms(&view, stat);
	v->unknown = isnan(v->real);
}

#define PERCENTILE(whole_, millionths_) ((whole_)*HISTOGRAM_PERCENT + (millionths_))

/*
 * Identifier, blanks before the heading, heading, figure, and what it is, for each of the figures.
 */
#define FIGURES(X, ...)                                                                           \
	X(MIN, "    ", "Min", LATENCY_MIN, "shortest", __VA_ARGS__)                               \
	X(MEAN, "   ", "Mean", LATENCY_MEAN, "mean", __VA_ARGS__)                                 \
	X(STDDEV, " ", "StdDev", LATENCY_STDDEV, "standard deviation of the", __VA_ARGS__)        \
	X(WAVG, "   ", "WAvg", LATENCY_WEIGHTED, "most likely", __VA_ARGS__)                      \
	X(P50, "    ", "P50", PERCENTILE(50, 0), "median", __VA_ARGS__)                           \
	X(P90, "    ", "P90", PERCENTILE(90, 0), "90th percentile of the", __VA_ARGS__)           \
	X(P95, "    ", "P95", PERCENTILE(95, 0), "95th percentile of the", __VA_ARGS__)           \
	X(P99, "    ", "P99", PERCENTILE(99, 0), "99th percentile of the", __VA_ARGS__)           \
	X(P999, "  ", "P99.9", PERCENTILE(99, 900000), "99.9th percentile of the", __VA_ARGS__)   \
	X(P9999, " ", "P99.99", PERCENTILE(99, 990000), "99.99th percentile of the", __VA_ARGS__) \
	X(P99999, "", "P99.999", PERCENTILE(99, 999000), "99.999th percentile of the",            \
	  __VA_ARGS__)                                                                            \
	X(MAX, "    ", "Max", LATENCY_MAX, "longest", __VA_ARGS__)

#define GETTER(id_, pad_, name_, stat_, what_, prefix_, heading_, time_, dir_, of_)    \
	static void get_##prefix_##id_(const struct result *r, struct column_value *v) \
	{                                                                              \
		get_stat(r, v, time_, dir_, stat_);                                    \
	}

#define ROW(id_, pad_, name_, stat_, what_, prefix_, heading_, time_, dir_, of_) \
	{                                                                        \
		.id = #prefix_ #id_,                                             \
		.type = COLUMN_REAL,                                             \
		.heading = pad_ heading_ name_,                                  \
		.units = "       millisec",                                      \
		.width = sizeof(pad_ heading_ name_) - 1,                        \
		.precision = 6,                                                  \
		.needs = FIGURES_LATENCY,                                        \
		.get = get_##prefix_##id_,                                       \
		.help = what_ " " of_,                                           \
	},

#define ALL                                                 \
	LAT, "    Lat_", LATENCY_SERVICE, LATENCY_ALL_DIRS, \
		"time of an operation, issue to completion"
#define READS READLAT, " Rd_Lat_", LATENCY_SERVICE, DIR_READ, "time of a read"
#define WRITES WRITELAT, "Wrt_Lat_", LATENCY_SERVICE, DIR_WRITE, "time of a write"
#define RESPONSES                                             \
	RESP, "   Resp_", LATENCY_RESPONSE, LATENCY_ALL_DIRS, \
		"time from when an operation was due to its completion (-throttle)"

#define FLUSHES FLUSHLAT, "Fls_Lat_", LATENCY_SERVICE, LATENCY_FLUSHES, "time of a flush"

FIGURES(GETTER, ALL)
FIGURES(GETTER, READS)
FIGURES(GETTER, WRITES)
FIGURES(GETTER, RESPONSES)
FIGURES(GETTER, FLUSHES)

static const struct column table[] = { FIGURES(ROW, ALL) FIGURES(ROW, READS) FIGURES(ROW, WRITES)
					       FIGURES(ROW, RESPONSES) FIGURES(ROW, FLUSHES) };

const struct column *column_latency_at(size_t i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}
