/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document of -jsonout, with a result, the global clock and the start of a run as objects; see
 * the header. Called by report.c.
 *
 * Values are jansson's; the outermost object and the list of results are put together here, so
 * that results need not be held in memory. Where the document cannot be put in place by renaming,
 * as on standard output, it is held in memory and written at the end all the same. The rows of
 * -intervals may be many: they wait in a temporary file, and so does a document that is held.
 *
 * A figure that is not measured is null.
 */
#include "report/jsonout.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "report/latency.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/report/column.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/report.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/sysfile.h"

/*
 * The global clock and the start of a run as objects of the document of -jsonout. Called by
 * jsonout.c.
 */

#define LINE_BYTES 80

/* Processes with the same value read one monotonic clock. */
static json_t *machine_value(void)
{
	char line[LINE_BYTES], *boot;
	struct stat st;

	boot = sysfile_line("/proc/sys/kernel/random/boot_id", line, sizeof(line));
	if (!boot)
		return json_null();
	/* A time namespace has a clock of its own. */
	if (stat("/proc/self/ns/time", &st))
		st.st_ino = 0;
	return json_sprintf("%s %ju", boot, (uintmax_t)st.st_ino);
}

static json_t *jsonout_clock_value(const struct clock_result *c)
{
	const bool served = c->server != NULL;
	json_t *o = json_object();

	const char *source = c->ranks ? "mpi" : served ? "timeserver" : "wall";

	jvalue_put(o, "source", jvalue_text(source));
	jvalue_put(o, "server", jvalue_text(c->server));
	jvalue_put(o, "offset_ns", json_integer(c->offset_ns));
	jvalue_put(o, "bound_ns", jvalue_known(served, c->bound_ns));
	jvalue_put(o, "bound_at_end_ns", jvalue_known(served, c->bound_at_end_ns));
	jvalue_put(o, "drift_ppm", c->drift_known ? jvalue_real(c->drift_ppm) : json_null());
	jvalue_put(o, "round_trip_ns", jvalue_known(served, c->round_trip_ns));
	jvalue_put(o, "exchanges", jvalue_count(c->exchanges));
	jvalue_put(o, "lost", jvalue_count(c->lost));
	jvalue_put(o, "steps", jvalue_count(c->steps));
	jvalue_put(o, "machine", machine_value());
	jvalue_put(o, "machine_offset_ns", json_integer(c->local_ns));
	return o;
}

static json_t *jsonout_start_value(const struct start_result *s)
{
	const bool requested = s->requested_ns != 0;
	const int64_t late_ns = (int64_t)(s->achieved_ns - s->requested_ns);
	json_t *o = json_object();

	jvalue_put(o, "requested_ns", jvalue_known(requested, s->requested_ns));
	jvalue_put(o, "achieved_ns", jvalue_count(s->achieved_ns));
	jvalue_put(o, "late_ns", requested ? json_integer(late_ns) : json_null());
	jvalue_put(o, "bound_ns", jvalue_known(s->bound_known, s->bound_ns));
	return o;
}

/* The numbers of a row: one, or an object of one for each direction; null: not known. */
static json_t *figure_json(const struct figure_row *row, const struct result *r)
{
	const uint64_t *values = figure_row_read(&r->figures, row);
	json_t *o;

	if ((row->part & ~result_known(r)) || (row->known && !row->known(&r->figures)))
		return json_null();
	if (row->n == 1)
		return jvalue_count(*values);
	o = json_object();
	for (size_t dir = 0; dir < row->n; dir++)
		jvalue_put(o, op_dir_name((enum op_dir)dir), jvalue_count(values[dir]));
	return o;
}

/* The members of `row` and of those after it, up to `end` (NULL: the last), which is returned. */
static const struct figure_row *put_figures(json_t *o, const struct result *r,
					    const struct figure_row *row, const char *end)
{
	for (; row->n; row++) {
		if (end && row->member && strcmp(row->member, end) == 0)
			break;
		if (row->member)
			jvalue_put(o, row->member, figure_json(row, r));
	}
	return row;
}

static json_t *result_kind(const struct result *r)
{
	const char *number = r->what == RESULT_COMBINED ? "targets" : "target";
	const char *queue = r->what == RESULT_QUEUE_PASS ? "qthread" : "queue_depth";
	bool one_pass = r->what == RESULT_QUEUE_PASS || r->what == RESULT_TARGET_PASS;
	json_t *o = json_object();

	jvalue_put(o, "what", jvalue_text(column_what(r->what)));
	jvalue_put(o, one_pass ? "pass" : "passes", jvalue_count(r->pass));
	jvalue_put(o, number, jvalue_count(r->target));
	jvalue_put(o, queue, jvalue_count(r->queue));
	return o;
}

/*
 * The buckets that are not empty: [from_ns, count, ...], which is half as long as pairs would be.
 */
static json_t *jsonout_result_buckets(const struct histogram_sum *sum)
{
	json_t *array = json_array();

	for (unsigned i = sum->first; i < sum->first + sum->size; i++) {
		uint64_t count = histogram_sum_count(sum, i);

		if (!count)
			continue;
		json_array_append_new(array, jvalue_count(histogram_bucket_from(i)));
		json_array_append_new(array, jvalue_count(count));
	}
	return array;
}

static json_t *percentiles(const struct histogram_view *v, const struct plan *plan)
{
	json_t *o = json_object();
	const uint32_t *percents;
	size_t n = latency_percents(plan, &percents);

	for (size_t i = 0; i < n; i++) {
		const double ns = histogram_known_percentile(v, percents[i]);
		char text[LATENCY_PERCENT_SIZE];

		jvalue_put(o, latency_percent_text(percents[i], text), jvalue_ns(ns));
	}
	return o;
}

/* One direction, or flushes. The buckets of all directions are in the parts. */
static json_t *distribution(const struct plan *plan, const struct histogram_view *v)
{
	json_t *o = json_object();

	jvalue_put(o, "count", jvalue_count(histogram_count(v)));
	jvalue_put(o, "minimum_ns", jvalue_count(histogram_min(v)));
	jvalue_put(o, "mean_ns", jvalue_real(histogram_mean(v)));
	jvalue_put(o, "standard_deviation_ns", jvalue_real(histogram_stddev(v)));
	jvalue_put(o, "maximum_ns", jvalue_count(histogram_max(v)));
	jvalue_put(o, "percentiles_ns", percentiles(v, plan));
	if (v->n_parts == 1)
		jvalue_put(o, "histogram", jsonout_result_buckets(v->parts[0]));
	return o;
}

static json_t *latency(const struct plan *plan, const struct result *r)
{
	json_t *o = json_object();
	struct histogram_view v;

	for (enum latency_time time = 0; time < LATENCY_TIMES; time++) {
		json_t *by_dir = json_object();

		for (unsigned dir = 0; dir <= LATENCY_ALL_DIRS; dir++) {
			if (latency_row(r, false, time, dir, &v))
				jvalue_put(by_dir, latency_dir_name(dir), distribution(plan, &v));
		}
		jvalue_put(o, latency_time_name(time), by_dir);
	}
	if (latency_row(r, false, LATENCY_SERVICE, LATENCY_FLUSHES, &v))
		jvalue_put(o, latency_dir_name(LATENCY_FLUSHES), distribution(plan, &v));
	return o;
}

static json_t *extreme(const struct result *r, enum extremes_which which)
{
	const struct extreme *e = &r->figures.extremes.of[which];
	json_t *o;

	if (!(r->figures.known & FIGURES_EXTREMES) || !r->figures.extremes.any)
		return json_null();
	o = json_object();
	jvalue_put(o, "ns", jvalue_count(e->took_ns));
	jvalue_put(o, "direction", jvalue_text(op_dir_name(e->dir)));
	jvalue_put(o, "operation", jvalue_count(e->op));
	jvalue_put(o, "offset_bytes", jvalue_count(e->offset));
	return o;
}

static const char *cache_name(const struct cache_state *cache)
{
	static const char *const names[] = {
		[CACHE_EXACT] = "exact",
		[CACHE_SAMPLED] = "about",
		[CACHE_NOT_MEASURED] = "not measured",
		[CACHE_UNKNOWN] = "unknown",
	};

	return cache->range_bytes || cache->accuracy ? names[cache->accuracy] : NULL;
}

/* How the QThreads of a target spent their time: the evidence for "bound". */
static json_t *times_value(const struct result_times *t)
{
	json_t *o;

	if (!t->known)
		return json_null();
	o = json_object();
	jvalue_put(o, "device", jvalue_real(t->idle));
	jvalue_put(o, "busy", jvalue_real(t->busy));
	jvalue_put(o, "no_processor", jvalue_real(t->waited));
	jvalue_put(o, "pace", jvalue_real(t->held));
	return o;
}

json_t *jsonout_result_value(const struct plan *plan, const struct result *r)
{
	const struct figure_row *row;
	const struct figures *f = &r->figures;
	json_t *o = result_kind(r);

	jvalue_put(o, "partial", json_boolean(r->partial));
	jvalue_put(o, "operation", jvalue_text(plan_op_name(r->op)));
	jvalue_put(o, "request_bytes", jvalue_count(r->req_bytes));
	jvalue_put(o, "block_bytes", jvalue_count(r->block_size));
	/* Members that are no figures stand among them as they always have. */
	row = put_figures(o, r, figure_rows, "hole_bytes");
	jvalue_put(o, "resident_accuracy", jvalue_text(cache_name(&f->cache)));
	row = put_figures(o, r, row, "user_ns");
	if (r->what == RESULT_TARGET_AVERAGE) {
		jvalue_put(o, "bound", jvalue_text(result_causes[r->bound].name));
		jvalue_put(o, "bound_shares", times_value(&r->times));
	}
	put_figures(o, r, row, NULL);
	for (enum pass_figure i = 0; i < FIGURE_LATENCY; i++)
		jvalue_put(o, figure_name(i), jvalue_real(figure_of_pass(f, i)));
	for (enum extremes_which i = 0; i < EXTREMES_COUNT; i++)
		jvalue_put(o, extremes_name(i), extreme(r, i));
	if (f->known & FIGURES_LATENCY)
		jvalue_put(o, "latency", latency(plan, r));
	return o;
}

/* The arrays that follow the results; what belongs to them is kept as text, which is shorter. */
enum list {
	LIST_DEVICES,
	LIST_STATISTICS,
	LIST_DESKEW,
	LIST_STONEWALL,
	LIST_START_SKEW,
	LIST_ENDTOEND,
	LIST_COUNT,
};

static const char *const list_names[LIST_COUNT] = {
	[LIST_DEVICES] = "devices",   [LIST_STATISTICS] = "statistics",
	[LIST_DESKEW] = "deskew",     [LIST_START_SKEW] = "start_skew",
	[LIST_ENDTOEND] = "endtoend", [LIST_STONEWALL] = "stonewall",
};

struct kept {
	struct memstream m;
	size_t n;
};

struct jsonout {
	const struct plan *plan;
	struct report_document *to; /* the spool goes there; NULL: to the path of `out` */
	struct jsonfile out;
	bool partial;
	size_t n_results;
	struct kept lists[LIST_COUNT];
	json_t *clock, *start; /* NULL: not known */
	FILE *intervals;       /* rows of -intervals; NULL: not used */
	size_t n_intervals;
	const char *end;
};

bool jsonout_is_stdout(const struct plan *plan)
{
	return plan->json_file && output_standard(plan->json_file) == STDOUT_FILENO;
}

static void jsonout_keep(struct jsonout *j, enum list list, json_t *value)
{
	struct kept *kept = &j->lists[list];

	if (!kept->m.f) {
		jsonfile_fail(&j->out, ENOMEM);
		json_decref(value);
		return;
	}
	fputs(kept->n++ ? ",\n" : "\n", kept->m.f);
	jsonfile_put(&j->out, kept->m.f, value);
}

/* A member of the outermost object, the array of what was kept. */
static void put_list(struct jsonout *j, enum list list)
{
	struct kept *kept = &j->lists[list];

	if (memstream_close(&kept->m))
		jsonfile_fail(&j->out, ENOMEM);
	else
		fprintf(j->out.f, ",\n\"%s\":[%s\n]", list_names[list], kept->m.text);
	free(kept->m.text);
}

/* For a document that is not a file of its own. NULL with errno. */
static FILE *open_spool(const struct plan *plan)
{
	int fd = plan->intervals.length_ns ? -1 : memfd_create("jsonout", MFD_CLOEXEC), err;
	FILE *f = fd < 0 ? spool_open(NULL) : fdopen(fd, "w+");

	err = errno;
	if (!f && fd >= 0)
		close(fd);
	errno = err;
	return f;
}

static int open_file(struct jsonout *j, const struct plan *plan)
{
	const char *path = jsonout_is_stdout(plan) ? NULL : plan->json_file;
	FILE *spool = NULL;
	struct stat st;

	if (!path || j->to || output_standard(path) >= 0 ||
	    (stat(path, &st) == 0 && !S_ISREG(st.st_mode))) {
		spool = open_spool(plan);
		if (!spool)
			return -errno;
	}
	return jsonfile_open(&j->out, path, spool);
}

/* As open_file(), for the rows of -intervals. */
static int open_intervals(struct jsonout *j, const struct plan *plan)
{
	if (!plan->intervals.length_ns)
		return 0;
	j->intervals = spool_open(j->out.file.f ? j->out.path : NULL);
	return j->intervals ? 0 : -errno;
}

int jsonout_open(struct jsonout **out, const struct plan *plan, uint64_t started_ns,
		 json_t *environment, struct report_document *to)
{
	struct jsonout *j = calloc(1, sizeof(*j));
	int err;

	*out = NULL;
	if (!j)
		return -ENOMEM;
	j->plan = plan;
	j->to = to;
	j->end = "errors";
	err = open_file(j, plan);
	if (!err)
		err = open_intervals(j, plan);
	if (err) {
		jsonout_discard(j);
		return err;
	}
	for (enum list list = 0; list < LIST_COUNT; list++)
		memstream_open(&j->lists[list].m);
	fprintf(j->out.f, "{\"format\":\"%s\"", JSONOUT_FORMAT);
	jsonfile_member(&j->out, "version", json_integer(JSONOUT_VERSION));
	jsonfile_member(&j->out, "xdd", jvalue_text(PACKAGE_VERSION));
	jsonfile_member(&j->out, "id", jvalue_text(plan->id));
	jsonfile_member(&j->out, "run_id", jvalue_text(plan->run_id));
	if (plan->ranks_given) {
		jsonfile_member(&j->out, "rank", jvalue_count(plan->rank));
		jsonfile_member(&j->out, "ranks", jvalue_count(plan->n_ranks));
	}
	jsonfile_member(&j->out, "command_line", jvalue_text(plan->command_line));
	jsonfile_member(&j->out, "start_time", jvalue_time(started_ns));
	jsonfile_member(&j->out, "environment", json_incref(environment));
	jsonfile_member(&j->out, "plan", jsonout_plan(plan));
	fputs(",\n\"results\":[", j->out.f);
	*out = j;
	return 0;
}

void jsonout_result(struct jsonout *j, const struct result *r)
{
	j->partial |= r->partial;
	fputs(j->n_results++ ? ",\n" : "\n", j->out.f);
	jsonfile_put(&j->out, j->out.f, jsonout_result_value(j->plan, r));
}

void jsonout_statistics(struct jsonout *j, const struct pass_statistics *s)
{
	jsonout_keep(j, LIST_STATISTICS, jsonout_statistics_value(s));
}

void jsonout_deskew(struct jsonout *j, const struct deskew_result *d)
{
	json_t *o = json_object();

	jvalue_put(o, "pass", jvalue_given(d->pass));
	jvalue_put(o, "whole", jvalue_span(&d->whole));
	jvalue_put(o, "head", jvalue_span(&d->head));
	jvalue_put(o, "window", jvalue_span(&d->window));
	jvalue_put(o, "tail", jvalue_span(&d->tail));
	jvalue_put(o, "fairness", jvalue_real(d->fairness));
	jvalue_put(o, "slowest_target", jvalue_count(d->slowest.target));
	jvalue_put(o, "fastest_target", jvalue_count(d->fastest.target));
	jsonout_keep(j, LIST_DESKEW, o);
}

void jsonout_stonewall(struct jsonout *j, const struct stonewall_result *s)
{
	jsonout_keep(j, LIST_STONEWALL, jvalue_stonewall(s));
}

void jsonout_start_skew(struct jsonout *j, const struct start_skew_result *s)
{
	json_t *o = json_object();

	jvalue_put(o, "pass", jvalue_count(s->pass));
	jvalue_put(o, "skew_ns", jvalue_count(s->skew_ns));
	jvalue_put(o, "first_target", jvalue_count(s->first_target));
	jvalue_put(o, "last_target", jvalue_count(s->last_target));
	jsonout_keep(j, LIST_START_SKEW, o);
}

void jsonout_endtoend(struct jsonout *j, const struct endtoend_result *r)
{
	jsonout_keep(j, LIST_ENDTOEND, jsonout_endtoend_value(r));
}

void jsonout_clock(struct jsonout *j, const struct clock_result *clock)
{
	json_decref(j->clock);
	j->clock = jsonout_clock_value(clock);
}

void jsonout_start(struct jsonout *j, const struct start_result *start)
{
	json_decref(j->start);
	j->start = jsonout_start_value(start);
}

void jsonout_device(struct jsonout *j, const struct device_use *use)
{
	json_t *o = json_object();

	jvalue_put(o, "device", jvalue_text(use->name));
	jvalue_put(o, "ops", jvalue_count(use->ops));
	jvalue_put(o, "bytes", jvalue_count(use->bytes));
	jvalue_put(o, "requests", jvalue_count(use->requests));
	jvalue_put(o, "merged", jvalue_count(use->merged));
	jvalue_put(o, "device_bytes", jvalue_count(use->device_bytes));
	jsonout_keep(j, LIST_DEVICES, o);
}

void jsonout_interval(struct jsonout *j, const struct series_row *row)
{
	fputs(j->n_intervals++ ? ",\n" : "\n", j->intervals);
	jsonfile_put(&j->out, j->intervals, series_value(row));
}

void jsonout_end(struct jsonout *j, const char *end)
{
	j->end = end;
	j->partial |= strcmp(end, "canceled") == 0;
}

/* The document goes into memory. Returns 0 or -errno. */
static int keep_document(struct jsonout *j)
{
	const int err = jsonfile_end(&j->out);
	const long size = err ? 0 : ftell(j->out.f);
	char *text = err || size < 0 ? NULL : malloc((size_t)size + 1);

	if (!text)
		return err ? err : size < 0 ? -EIO : -ENOMEM;
	rewind(j->out.f);
	if (fread(text, 1, (size_t)size, j->out.f) != (size_t)size) {
		free(text);
		return -EIO;
	}
	text[size] = '\0';
	j->to->text = text;
	j->to->size = (size_t)size;
	return 0;
}

static void jsonout_release(struct jsonout *j)
{
	json_decref(j->clock);
	json_decref(j->start);
	free(j);
}

void jsonout_discard(struct jsonout *j)
{
	if (!j)
		return;
	jsonfile_discard(&j->out);
	if (j->intervals)
		fclose(j->intervals);
	for (enum list list = 0; list < LIST_COUNT; list++)
		memstream_discard(&j->lists[list].m);
	jsonout_release(j);
}

int jsonout_close(struct jsonout *j, enum xdd_status status)
{
	int err;

	if (!j)
		return 0;
	if (status == XDD_CANCELED)
		jsonout_end(j, "canceled");
	fputs("\n]", j->out.f);
	for (enum list list = 0; list < LIST_COUNT; list++)
		put_list(j, list);
	if (j->intervals)
		jsonfile_put_array(&j->out, "intervals", j->intervals);
	jsonfile_member(&j->out, "clock", j->clock ? json_incref(j->clock) : json_null());
	jsonfile_member(&j->out, "start", j->start ? json_incref(j->start) : json_null());
	jsonfile_member(&j->out, "messages", jvalue_messages());
	jsonfile_member(&j->out, "messages_left_out", jvalue_count(log_not_kept()));
	jsonfile_member(&j->out, "end_time", jvalue_time(clock_wall_ns()));
	jsonfile_member(&j->out, "end", jvalue_text(j->end));
	jsonfile_member(&j->out, "partial", json_boolean(j->partial));
	jsonfile_member(&j->out, "status", json_integer((json_int_t)status));
	fputs("}\n", j->out.f);
	err = j->to ? keep_document(j) : jsonfile_close(&j->out);
	if (j->to)
		jsonfile_discard(&j->out);
	if (j->intervals)
		fclose(j->intervals);
	jsonout_release(j);
	return err;
}
