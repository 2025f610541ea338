/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the column table beside the rows of columns_table.c, looking columns up by their
 * identifiers, and -outputformat as a list of them. Called by report_check(), report_open(), the
 * writers and the help.
 */
#include "xdd/report/column.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/info.h"
#include "report/latency.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"

/*
 * Rows that identify a result: its run, its target, and what was requested of it. CSV files have
 * them by default, so that rows of several runs can be told apart.
 */

/* The name of a target or of its engine or pattern. */
typedef const char *target_text(const struct target_plan *t);

static const char *path_of(const struct target_plan *t)
{
	return t->path;
}

static const char *engine_of(const struct target_plan *t)
{
	return plan_engine(t)->name;
}

static const char *pattern_of(const struct target_plan *t)
{
	return plan_seek_name(t->seek.pattern);
}

/* The text of the target; in COMBINED the text of all targets, or `mixed` if they differ. */
static void set_text(struct column_value *v, const struct result *r, target_text *text,
		     const char *mixed)
{
	const struct plan *plan = r->plan;
	size_t first = r->what == RESULT_COMBINED ? 0 : r->target;

	v->unknown = !plan || first >= plan->n_targets;
	if (v->unknown)
		return;
	v->text = text(&plan->targets[first]);
	v->unknown = !v->text;
	for (size_t i = 1; r->what == RESULT_COMBINED && !v->unknown && i < plan->n_targets; i++) {
		const char *other = text(&plan->targets[i]);

		if (!other || strcmp(other, v->text) != 0) {
			v->text = mixed;
			return;
		}
	}
}

/* The rate of -throttle; in COMBINED the sum, if all targets have one of that kind. */
static void set_requested(struct column_value *v, const struct result *r, enum throttle_by by)
{
	const struct plan *plan = r->plan;
	size_t first = r->target, end = first + 1;

	if (r->what == RESULT_COMBINED) {
		first = 0;
		end = plan ? plan->n_targets : 0;
	}
	/* The rate belongs to the target, not to each QThread. */
	v->unknown = !plan || !end || end > plan->n_targets || r->what == RESULT_QUEUE_PASS;
	for (size_t i = first; !v->unknown && i < end; i++) {
		v->unknown = plan->targets[i].throttle.by != by;
		v->real += plan->targets[i].throttle.rate;
	}
}

static void get_id(const struct result *r, struct column_value *v)
{
	v->unknown = !r->plan || !r->plan->id;
	if (!v->unknown)
		v->text = r->plan->id;
}

static void get_start_time(const struct result *r, struct column_value *v)
{
	_Static_assert(INFO_UTC_SIZE <= COLUMN_TEXT_MAX, "a time fits into a value");
	v->unknown = !r->started_ns;
	if (!v->unknown)
		v->text = info_utc(r->started_ns, v->buf);
}

static void get_target_name(const struct result *r, struct column_value *v)
{
	set_text(v, r, path_of, "*");
}

static void get_engine(const struct result *r, struct column_value *v)
{
	set_text(v, r, engine_of, "mixed");
}

static void get_pattern(const struct result *r, struct column_value *v)
{
	set_text(v, r, pattern_of, "mixed");
}

static void get_requested_iops(const struct result *r, struct column_value *v)
{
	set_requested(v, r, THROTTLE_OPS);
}

static void get_requested_bandwidth(const struct result *r, struct column_value *v)
{
	set_requested(v, r, THROTTLE_BANDWIDTH);
}

#define COLUMNS_RUN_ROW(id_, type_, heading_, units_, get_, help_)                              \
	{                                                                                       \
		.id = id_, .type = type_, .heading = heading_, .units = units_,                 \
		.width = sizeof(heading_) - 1, .precision = 3, .get = get_, .identifies = true, \
		.help = help_,                                                                  \
	}

const struct column columns_run[] = {
	/* clang-format off */
	COLUMNS_RUN_ROW("ID", COLUMN_TEXT, "                  ID", "                text", get_id,
	    "the text of -id"),
	COLUMNS_RUN_ROW("STARTTIME", COLUMN_TEXT, "              Start_Time", "                     UTC", get_start_time,
	    "when the run started, as 2026-11-23T08:15:02.117Z: the same in each of its lines"),
	COLUMNS_RUN_ROW("TARGETNAME", COLUMN_TEXT, "             Target_Name", "                    text", get_target_name,
	    "the name of the target; in COMBINED the one name of all targets, or *"),
	COLUMNS_RUN_ROW("ENGINE", COLUMN_TEXT, "  Engine", "    text", get_engine,
	    "the I/O engine; mixed in COMBINED of targets with different ones"),
	COLUMNS_RUN_ROW("PATTERN", COLUMN_TEXT, "    Pattern", "       text", get_pattern,
	    "the access pattern: sequential, random, random once, zipf, staggered, interleaved, streams, none or "
	    "loaded; mixed in COMBINED of targets with different ones"),
	COLUMNS_RUN_ROW("REQUESTEDIOPS", COLUMN_REAL, "  Req_IOPS", "     Ops/s", get_requested_iops,
	    "the rate of -throttle ops; in COMBINED the sum, if all targets have such a rate"),
	COLUMNS_RUN_ROW("REQUESTEDBANDWIDTH", COLUMN_REAL, "    Req_BW", "  MBytes/s", get_requested_bandwidth,
	    "the rate of -throttle bw; in COMBINED the sum, if all targets have such a rate"),
	{ 0 },
	/* clang-format on */
};

size_t column_text_bytes(const struct plan *plan)
{
	size_t longest = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		size_t len = plan->targets[i].path ? strlen(plan->targets[i].path) : 0;

		if (len > longest)
			longest = len;
	}
	return longest + (plan->id ? strlen(plan->id) : 0);
}

/*
 * Rows about latencies: the same figures for all operations, for reads, for writes, of the
 * response time, and for flushes.
 */

static void get_stat(const struct result *r, struct column_value *v)
{
	const struct column *col = v->column;
	struct histogram_view view = latency_view(&r->figures.latency, col->time, col->dir);

	v->real = latency_stat_ms(&view, col->stat);
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

#define COLUMNS_LATENCY_ROW(id_, pad_, name_, stat_, what_, prefix_, heading_, time_, dir_, of_) \
	{                                                                                        \
		.id = #prefix_ #id_,                                                             \
		.type = COLUMN_REAL,                                                             \
		.heading = pad_ heading_ name_,                                                  \
		.units = "       millisec",                                                      \
		.width = sizeof(pad_ heading_ name_) - 1,                                        \
		.precision = 6,                                                                  \
		.needs = FIGURES_LATENCY,                                                        \
		.get = get_stat,                                                                 \
		.time = time_,                                                                   \
		.dir = dir_,                                                                     \
		.stat = stat_,                                                                   \
		.help = what_ " " of_,                                                           \
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

static const struct column table[] = {
	FIGURES(COLUMNS_LATENCY_ROW, ALL) FIGURES(COLUMNS_LATENCY_ROW, READS)
		FIGURES(COLUMNS_LATENCY_ROW, WRITES) FIGURES(COLUMNS_LATENCY_ROW, RESPONSES)
			FIGURES(COLUMNS_LATENCY_ROW, FLUSHES)
};

const struct column *column_latency_at(size_t i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

/*
 * Rows about the longest and the shortest operation.
 */

/* The operation of the column; where none succeeded `v` is unknown, and it is all 0. */
static const struct extreme *extreme_of(const struct result *r, struct column_value *v)
{
	v->unknown = !r->figures.extremes.any;
	return column_field(r, v);
}

static void get_extreme_time(const struct result *r, struct column_value *v)
{
	v->real = (double)extreme_of(r, v)->took_ns / NS_PER_MS;
}

static void get_extreme_op(const struct result *r, struct column_value *v)
{
	v->count = extreme_of(r, v)->op;
}

static void get_extreme_offset(const struct result *r, struct column_value *v)
{
	v->count = extreme_of(r, v)->offset;
}

static void get_extreme_type(const struct result *r, struct column_value *v)
{
	v->text = op_dir_name(extreme_of(r, v)->dir);
}

#define COLUMNS_EXTREMES_ROW(id_, type_, heading_, units_, precision_, get_, which_, help_) \
	{                                                                                   \
		.id = id_, .type = type_, .heading = heading_, .units = units_,             \
		.width = sizeof(heading_) - 1, .precision = precision_, .get = get_,        \
		.help = help_, .needs = FIGURES_EXTREMES,                                   \
		.off = offsetof(struct result, figures.extremes.of[which_]),                \
	}

const struct column columns_extremes[] = {
	COLUMNS_EXTREMES_ROW("LONGEST", COLUMN_REAL, "     Longest", "    millisec", 6,
			     get_extreme_time, EXTREMES_LONGEST,
			     "time of the operation that took longest, of those that succeeded"),
	COLUMNS_EXTREMES_ROW("LONGESTOP", COLUMN_COUNT, "  Longest_Op", "      number", 0,
			     get_extreme_op, EXTREMES_LONGEST,
			     "which operation of its pass that was, from 0"),
	COLUMNS_EXTREMES_ROW("LONGESTOFFSET", COLUMN_COUNT, "  Longest_Offset", "           bytes",
			     0, get_extreme_offset, EXTREMES_LONGEST, "where it began"),
	COLUMNS_EXTREMES_ROW("LONGESTTYPE", COLUMN_TEXT, " Longest_Type", "         text", 0,
			     get_extreme_type, EXTREMES_LONGEST,
			     "whether it was a read, a write, a noop or a discard"),
	COLUMNS_EXTREMES_ROW("SHORTEST", COLUMN_REAL, "    Shortest", "    millisec", 6,
			     get_extreme_time, EXTREMES_SHORTEST,
			     "time of the operation that was done soonest, of those that succeeded"),
	COLUMNS_EXTREMES_ROW("SHORTESTOP", COLUMN_COUNT, " Shortest_Op", "      number", 0,
			     get_extreme_op, EXTREMES_SHORTEST,
			     "which operation of its pass that was, from 0"),
	COLUMNS_EXTREMES_ROW("SHORTESTOFFSET", COLUMN_COUNT, " Shortest_Offset", "           bytes",
			     0, get_extreme_offset, EXTREMES_SHORTEST, "where it began"),
	COLUMNS_EXTREMES_ROW("SHORTESTTYPE", COLUMN_TEXT, " Shortest_Type", "          text", 0,
			     get_extreme_type, EXTREMES_SHORTEST,
			     "whether it was a read, a write, a noop or a discard"),
	{ 0 },
};

static bool has_id(const struct column *col, const char *id, size_t len)
{
	return (strlen(col->id) == len && memcmp(col->id, id, len) == 0) ||
	       list_has(col->aliases, id, len, strncmp);
}

const struct column *column_find(const char *id, size_t len)
{
	const struct column *col;

	for (size_t i = 0; (col = column_at(i)) != NULL; i++) {
		if (has_id(col, id, len))
			return col;
	}
	return NULL;
}

void column_value(const struct column *col, const struct result *r, struct column_value *v)
{
	*v = (struct column_value){ .column = col,
				    .unknown = (col->needs & ~result_known(r)) != 0 };
	if (!v->unknown)
		col->get(r, v);
}

char *column_member(const struct column *col, char *buf)
{
	size_t n = 0;

	for (; col->id[n] && n + 1 < COLUMN_MEMBER_SIZE; n++)
		buf[n] = (char)tolower((unsigned char)col->id[n]);
	buf[n] = '\0';
	return buf;
}

/* How far `id` is from the nearest of the column's identifiers. */
static unsigned column_distance(const struct column *col, const char *id, size_t len)
{
	const char *aliases = col->aliases, *alias;
	unsigned best = suggest_distance(id, len, col->id);
	size_t alias_len;

	while ((alias_len = list_next(&aliases, &alias)) > 0) {
		char word[32];
		unsigned d;

		if (alias_len >= sizeof(word))
			continue;
		memcpy(word, alias, alias_len);
		word[alias_len] = '\0';
		d = suggest_distance(id, len, word);
		if (d < best)
			best = d;
	}
	return best;
}

const char *column_suggest(const char *id, size_t len)
{
	const struct column *col, *nearest = NULL;
	unsigned best = 0;

	for (size_t i = 0; (col = column_at(i)) != NULL; i++) {
		unsigned d = column_distance(col, id, len);

		if (!nearest || d < best) {
			nearest = col;
			best = d;
		}
	}
	return nearest && suggest_is_near(best, len) ? nearest->id : NULL;
}

/* Room for the lists and, after them, the identifiers of `format` as strings. */
static int list_alloc(struct column_list *list, const char *format, char **text)
{
	size_t n = 0, size = strlen(format) + 1;

	for (const char *p = format; *p; p++)
		n += *p == '+';
	list->n = 0;
	list->names = NULL;
	list->columns = malloc(n * (sizeof(*list->columns) + sizeof(*list->names)) + size);
	if (!list->columns)
		return -ENOMEM;
	list->names = (const char **)(list->columns + n);
	*text = memcpy(list->names + n, format, size);
	return 0;
}

int column_list_parse(struct column_list *list, const char *format, const char **bad,
		      size_t *bad_len)
{
	const char *p = format;
	char *text;
	int err = list_alloc(list, format, &text);

	if (err)
		return err;
	do {
		const struct column *col = NULL;
		bool plus = *p == '+';
		size_t len;

		p += plus;
		len = strcspn(p, "+");
		if (plus)
			col = column_find(p, len);
		if (!col) {
			*bad = p;
			*bad_len = len;
			column_list_free(list);
			return -EINVAL;
		}
		list->columns[list->n] = col;
		list->names[list->n++] = text + (p - format);
		p += len;
		text[p - format] = '\0';
	} while (*p);
	return 0;
}

void column_list_refuse(const char *option, const char *format, const char *example,
			const char *bad, size_t bad_len)
{
	const char *nearest = column_suggest(bad, bad_len);

	if (bad == format || !bad_len)
		log_error("%s %.128s: expected a list of identifiers, each with a plus sign before "
			  "it, as in %s",
			  option, format, example);
	else
		log_error("%s %.*s: no such column identifier%s%s%s (xdd -help columns lists them)",
			  option, (int)bad_len, bad, nearest ? "; did you mean +" : "",
			  nearest ? nearest : "", nearest ? "?" : "");
}

void column_list_free(struct column_list *list)
{
	free(list->columns);
	list->columns = NULL;
	list->names = NULL;
	list->n = 0;
}
