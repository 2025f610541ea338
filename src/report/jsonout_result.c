/*
 * A result as an object of the document of -jsonout. A figure that is not measured is null. Called
 * by jsonout.c.
 */
#include <ctype.h>

#include "report/jsonout.h"
#include "report/latency.h"
#include "report/line.h"
#include "xdd/report/column.h"
#include "xdd/report/jvalue.h"

#define MAX_ID 32 /* of a column, with the NUL */

/* The value of a column; a text as in CSV, without the blanks around it. */
static json_t *column_json(const struct column *col, const struct result *r)
{
	struct column_value v;
	struct line_cell cell;

	column_value(col, r, &v);
	if (v.unknown)
		return json_null();
	if (col->type == COLUMN_TEXT) {
		line_cell_bare(&cell, col, r);
		return jvalue_text(cell.text);
	}
	return col->type == COLUMN_COUNT ? jvalue_count(v.count) : jvalue_real(v.real);
}

/* The columns, each under its identifier in lower case; those of the run are in the plan. */
static json_t *columns(const struct result *r)
{
	json_t *o = json_object();
	const struct column *col;

	for (size_t i = 0; (col = column_at(i)); i++) {
		char id[MAX_ID];
		size_t n = 0;

		if (col->type == COLUMN_DELIMITER || col->identifies)
			continue;
		while (col->id[n] && n + 1 < sizeof(id)) {
			id[n] = (char)tolower((unsigned char)col->id[n]);
			n++;
		}
		id[n] = '\0';
		jvalue_put(o, id, column_json(col, r));
	}
	return o;
}

static json_t *by_direction(const uint64_t values[DIR_COUNT])
{
	json_t *o = json_object();

	for (unsigned dir = 0; dir < DIR_COUNT; dir++)
		jvalue_put(o, op_dir_name(dir), jvalue_count(values[dir]));
	return o;
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

/* A number that is measured, or null. */
static json_t *known(bool is_known, uint64_t value)
{
	return is_known ? jvalue_count(value) : json_null();
}

static void put_tally(json_t *o, const struct result *r)
{
	const struct tally *t = &r->figures.tally;
	/* Only targets have files and the flush at the end of a pass. */
	bool of_target = r->what != RESULT_QUEUE_PASS;

	jvalue_put(o, "ops", by_direction(t->ops));
	jvalue_put(o, "bytes", by_direction(t->bytes));
	jvalue_put(o, "failed_bytes", by_direction(t->failed_bytes));
	jvalue_put(o, "busy_ns", by_direction(t->busy_ns));
	jvalue_put(o, "issued", jvalue_count(t->issued));
	jvalue_put(o, "warmup_ops", jvalue_count(t->warmup_ops));
	jvalue_put(o, "errors", jvalue_count(t->errors));
	jvalue_put(o, "outstanding", jvalue_count(t->outstanding));
	jvalue_put(o, "miscompares", known(r->verified, t->miscompares));
	jvalue_put(o, "retries", jvalue_count(t->retries));
	jvalue_put(o, "order_breaks", known(r->figures.known & FIGURES_ORDER, t->order_breaks));
	jvalue_put(o, "fill_ns", jvalue_count(t->fill_ns));
	jvalue_put(o, "overhead_ns", known(r->figures.known & FIGURES_OVERHEAD, t->overhead_ns));
	jvalue_put(o, "flushes", jvalue_count(t->flushes));
	jvalue_put(o, "flush_ns", jvalue_count(t->flush_ns));
	jvalue_put(o, "sync_ns", known(of_target, t->sync_ns));
	jvalue_put(o, "open_ns", known(of_target, t->open_ns));
	jvalue_put(o, "close_ns", known(of_target, t->close_ns));
}

/* Of end-to-end targets. */
static void put_network(json_t *o, const struct result *r)
{
	const struct tally *t = &r->figures.tally;
	bool is_known = r->figures.known & FIGURES_NETWORK;

	jvalue_put(o, "network_ns", known(is_known, t->net_ns));
	jvalue_put(o, "network_wait_ns", known(is_known, t->net_wait_ns));
	jvalue_put(o, "check_ns", known(is_known, t->check_ns));
}

/*
 * The buckets that are not empty: [from_ns, count, ...], which is half as long as pairs would be.
 */
static json_t *buckets(const struct histogram_sum *sum)
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

/* One direction, or flushes: NULL where there were none. */
static json_t *latency_of(const struct plan *plan, const struct latency *l, enum latency_time time,
			  unsigned dir)
{
	struct histogram_view v = latency_view(l, time, dir);
	json_t *o;

	if (!histogram_count(&v))
		return NULL;
	o = json_object();
	jvalue_put(o, "count", jvalue_count(histogram_count(&v)));
	jvalue_put(o, "minimum_ns", jvalue_count(histogram_min(&v)));
	jvalue_put(o, "mean_ns", jvalue_real(histogram_mean(&v)));
	jvalue_put(o, "standard_deviation_ns", jvalue_real(histogram_stddev(&v)));
	jvalue_put(o, "maximum_ns", jvalue_count(histogram_max(&v)));
	jvalue_put(o, "percentiles_ns", percentiles(&v, plan));
	jvalue_put(o, "histogram", buckets(v.parts[0]));
	return o;
}

static json_t *latency(const struct plan *plan, const struct latency *l)
{
	json_t *o = json_object(), *flushes;

	for (unsigned time = 0; time < LATENCY_TIMES; time++) {
		json_t *by_dir = json_object();

		for (unsigned dir = 0; dir < DIR_COUNT; dir++) {
			json_t *one = latency_of(plan, l, (enum latency_time)time, dir);

			if (one)
				jvalue_put(by_dir, latency_dir_name(dir), one);
		}
		jvalue_put(o, latency_time_name((enum latency_time)time), by_dir);
	}
	flushes = latency_of(plan, l, LATENCY_SERVICE, LATENCY_FLUSHES);
	if (flushes)
		jvalue_put(o, latency_dir_name(LATENCY_FLUSHES), flushes);
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

static void put_cache(json_t *o, const struct cache_state *c)
{
	bool residency = c->range_bytes && c->accuracy < CACHE_NOT_MEASURED;

	jvalue_put(o, "range_bytes", jvalue_count(c->range_bytes));
	jvalue_put(o, "resident_bytes", known(residency, c->resident_bytes));
	jvalue_put(o, "resident_accuracy", jvalue_text(cache_name(c)));
	jvalue_put(o, "hole_bytes", known(c->range_bytes && !c->holes_unknown, c->hole_bytes));
}

const char *jsonout_bound_name(enum result_bound bound)
{
	static const char *const names[] = {
		[RESULT_BOUND_UNKNOWN] = NULL,		[RESULT_BOUND_DEVICE] = "device",
		[RESULT_BOUND_GENERATOR] = "generator", [RESULT_BOUND_PACED] = "paced",
		[RESULT_BOUND_STARVED] = "starved",	[RESULT_BOUND_MIXED] = "mixed",
		[RESULT_BOUND_QUOTA] = "quota",		[RESULT_BOUND_LIMIT] = "io_quota",
	};

	return names[bound];
}

json_t *jsonout_result_value(const struct plan *plan, const struct result *r)
{
	const struct figures *f = &r->figures;
	json_t *o = result_kind(r);

	jvalue_put(o, "partial", json_boolean(r->partial));
	jvalue_put(o, "operation", jvalue_text(plan_op_name(r->op)));
	jvalue_put(o, "request_bytes", jvalue_count(r->req_bytes));
	jvalue_put(o, "block_bytes", jvalue_count(r->block_size));
	put_tally(o, r);
	put_network(o, r);
	jvalue_put(o, "elapsed_ns", jvalue_count(f->elapsed_ns));
	jvalue_put(o, "begin_ns", known(r->begin_ns, r->begin_ns));
	jvalue_put(o, "finish_ns", known(r->finish_ns, r->finish_ns));
	jvalue_put(o, "first_operation_ns", known(f->first_op_ns, f->first_op_ns));
	put_cache(o, &f->cache);
	jvalue_put(o, "wait_ns", known(f->known & FIGURES_WAIT, f->wait_ns));
	if (r->what == RESULT_TARGET_AVERAGE)
		jvalue_put(o, "bound", jvalue_text(jsonout_bound_name(r->bound)));
	jvalue_put(o, "user_ns", known(f->known & FIGURES_CPU, f->cpu.user_ns));
	jvalue_put(o, "system_ns", known(f->known & FIGURES_CPU, f->cpu.sys_ns));
	if (f->known & FIGURES_LATENCY)
		jvalue_put(o, "latency", latency(plan, &f->latency));
	jvalue_put(o, "columns", columns(r));
	return o;
}
