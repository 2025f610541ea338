/*
 * The document of several hosts, of what combine.c has found: combine_host.h. Called by combine.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "report/combine_host.h"
#include "report/jsonout.h"
#include "report/latency.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"

#define MAX_MESSAGES 1000
#define MAX_PERCENTS 64

double combine_rate(const struct combine_host *h, bool bytes)
{
	const struct figures *f = &h->sum.figures;
	double amount = bytes ? (double)tally_bytes(&f->tally) : (double)tally_ops(&f->tally);

	return f->elapsed_ns ? amount * NS_PER_SEC / (double)f->elapsed_ns : 0;
}

/* ---- members of the document ---- */

static json_t *text_or_null(const json_t *doc, const char *key)
{
	const char *text = json_string_value(json_object_get(doc, key));

	return jvalue_text(text);
}

static json_t *count_or_null(bool known, uint64_t value)
{
	return known ? jvalue_count(value) : json_null();
}

static json_t *skew_value(const struct combine_skew *s)
{
	json_t *o = json_object();

	jvalue_put(o, "skew_ns", jvalue_count(s->skew_ns));
	jvalue_put(o, "bound_ns", count_or_null(s->bound_known, s->bound_ns));
	jvalue_put(o, "first_host", jvalue_count(s->first));
	jvalue_put(o, "last_host", jvalue_count(s->last));
	return o;
}

static json_t *window_value(const struct combination *c)
{
	json_t *o = json_object();

	jvalue_put(o, "ns", jvalue_count(c->times.window_ns));
	jvalue_put(o, "bytes", jvalue_real(c->window_bytes));
	jvalue_put(o, "ops", jvalue_real(c->window_ops));
	return o;
}

static json_t *together_value(struct combination *c)
{
	const struct combine_times *t = &c->times;
	json_t *o = json_object();

	jvalue_put(o, "hosts", jvalue_count(c->n));
	jvalue_put(o, "missing", json_incref(c->missing));
	jvalue_put(o, "begin_ns", count_or_null(t->known, t->begin_ns));
	jvalue_put(o, "finish_ns", count_or_null(t->known, t->finish_ns));
	jvalue_put(o, "start_skew", t->known ? skew_value(&t->start) : json_null());
	jvalue_put(o, "end_skew", t->known ? skew_value(&t->end) : json_null());
	jvalue_put(o, "window", t->known ? window_value(c) : json_null());
	jvalue_put(o, "slowest_host", jvalue_count(c->slowest));
	jvalue_put(o, "fastest_host", jvalue_count(c->fastest));
	jvalue_put(o, "fairness", jvalue_real(c->fairness));
	jvalue_put(o, "passes", json_incref(c->pass_times));
	return o;
}

static void put_latencies(json_t *o, const struct figures *f)
{
	struct histogram_view v = latency_view(&f->latency, LATENCY_SERVICE, LATENCY_ALL_DIRS);
	bool known = histogram_count(&v) > 0;

	jvalue_put(o, "mean_ns", known ? jvalue_real(histogram_mean(&v)) : json_null());
	jvalue_put(o, "p50_ns", jvalue_ns(histogram_known_percentile(&v, 50 * HISTOGRAM_PERCENT)));
	jvalue_put(o, "p99_ns", jvalue_ns(histogram_known_percentile(&v, 99 * HISTOGRAM_PERCENT)));
	jvalue_put(o, "max_ns", count_or_null(known, histogram_max(&v)));
}

static json_t *host_value(const struct combine_host *h)
{
	const struct figures *f = &h->sum.figures;
	const bool timed = f->elapsed_ns > 0;
	json_t *o = json_object(), *clock = json_object_get(h->doc, "clock");

	jvalue_put(o, "host", jvalue_text(h->name));
	jvalue_put(o, "label", jvalue_text(h->label));
	jvalue_put(o, "document", jvalue_text(h->document));
	jvalue_put(o, "rank", count_or_null(h->ranked, h->rank));
	jvalue_put(o, "xdd", text_or_null(h->doc, "xdd"));
	jvalue_put(o, "start_time", text_or_null(h->doc, "start_time"));
	jvalue_put(o, "end_time", text_or_null(h->doc, "end_time"));
	jvalue_put(o, "end", text_or_null(h->doc, "end"));
	jvalue_put(o, "partial", json_boolean(h->partial));
	jvalue_put(o, "status", jvalue_count(h->status));
	jvalue_put(o, "passes", jvalue_count(h->sum.pass));
	jvalue_put(o, "targets", jvalue_count(h->sum.target));
	jvalue_put(o, "queue_depth", jvalue_count(h->sum.queue));
	jvalue_put(o, "ops", jvalue_count(tally_ops(&f->tally)));
	jvalue_put(o, "bytes", jvalue_count(tally_bytes(&f->tally)));
	jvalue_put(o, "errors", jvalue_count(f->tally.errors));
	jvalue_put(o, "elapsed_ns", jvalue_count(f->elapsed_ns));
	jvalue_put(o, "bandwidth", timed ? jvalue_real(combine_rate(h, true)) : json_null());
	jvalue_put(o, "iops", timed ? jvalue_real(combine_rate(h, false)) : json_null());
	put_latencies(o, f);
	jvalue_put(o, "begin_ns", h->n_spans ? jvalue_count(h->spans[0].from_ns) : json_null());
	jvalue_put(o, "finish_ns",
		   h->n_spans ? jvalue_count(h->spans[h->n_spans - 1].to_ns) : json_null());
	jvalue_put(o, "clock", json_is_object(clock) ? json_incref(clock) : json_null());
	return o;
}

json_t *combine_hosts_value(const struct combination *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(array, host_value(&c->hosts[i]));
	return array;
}

/* ---- results ---- */

/* The percentiles of the first document, so that the combined one has the same. */
static size_t percents_of(const json_t *combined, uint32_t *percents)
{
	static const char *const times[] = { "service", "response" };
	const json_t *of = NULL;
	const char *key;
	json_t *value;
	size_t n = 0;

	for (size_t i = 0; i < 2 && !of; i++) {
		const json_t *by = json_object_get(json_object_get(combined, "latency"), times[i]);

		json_object_foreach((json_t *)by, key, value)
			of = of ? of : json_object_get(value, "percentiles_ns");
	}
	json_object_foreach((json_t *)of, key, value)
	{
		char *end;
		double percent = strtod(key, &end);

		if (n < MAX_PERCENTS && end != key && !*end && percent > 0 && percent <= 100)
			percents[n++] = (uint32_t)(percent * HISTOGRAM_PERCENT + 0.5);
	}
	return n;
}

/* The longest and the shortest operation of all hosts. */
static void put_extreme(json_t *columns, const struct combination *c, const char *name,
			const char *const *members, bool longest)
{
	const json_t *best = NULL;
	double found = 0;

	for (size_t i = 0; i < c->n; i++) {
		const json_t *own = json_object_get(c->hosts[i].combined, "columns");
		const json_t *value = json_object_get(own, name);
		double x = json_number_value(value);

		if (!json_is_number(value) || (best && (longest ? x <= found : x >= found)))
			continue;
		best = own;
		found = x;
	}
	for (; best && *members; members++) {
		json_t *value = json_object_get(best, *members);

		if (json_is_string(value) || json_is_number(value))
			json_object_set(columns, *members, value);
	}
}

static json_t *sum_value(const struct combination *c)
{
	static const char *const longest[] = { "longest", "longestop", "longestoffset",
					       "longesttype", NULL };
	static const char *const shortest[] = { "shortest", "shortestop", "shortestoffset",
						"shortesttype", NULL };
	uint32_t percents[MAX_PERCENTS];
	struct plan *plan = calloc(1, sizeof(*plan));
	json_t *o = NULL, *columns;

	if (!plan) {
		jvalue_no_memory();
		return NULL;
	}
	plan->latency.n_percents = percents_of(c->hosts[0].combined, percents);
	if (plan->latency.n_percents)
		plan->latency.percents = percents;
	o = jsonout_result_value(plan, &c->sum);
	free(plan);
	columns = json_object_get(o, "columns");
	put_extreme(columns, c, "longest", longest, true);
	put_extreme(columns, c, "shortest", shortest, false);
	json_object_set_new(columns, "nodename", json_null());
	combine_identify(columns, c->hosts[0].doc, NULL);
	return o;
}

/* The result of a host, as its document has it, under another name. */
static json_t *host_result(const struct combine_host *h, size_t number)
{
	json_t *o = json_copy((json_t *)h->combined);
	json_t *columns = json_copy(json_object_get(h->combined, "columns"));

	if (!json_is_object(columns)) {
		json_decref(columns);
		columns = json_object();
	}
	jvalue_put(o, "what", jvalue_text("HOST"));
	/* Older documents lack these. */
	if (!json_object_get(o, "begin_ns"))
		jvalue_put(o, "begin_ns", json_null());
	if (!json_object_get(o, "finish_ns"))
		jvalue_put(o, "finish_ns", json_null());
	jvalue_put(o, "host", jvalue_count(number));
	jvalue_put(columns, "what", jvalue_text("HOST"));
	combine_identify(columns, h->doc, h->label);
	jvalue_put(o, "columns", columns);
	return o;
}

static json_t *results_value(const struct combination *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->n; i++) {
		if (c->hosts[i].combined)
			json_array_append_new(array, host_result(&c->hosts[i], i));
	}
	if (c->sum.pass)
		json_array_append_new(array, sum_value(c));
	return array;
}

/* ---- messages ---- */

static void put_messages(json_t *doc, const struct combination *c)
{
	json_t *array = json_array();
	uint64_t left_out = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct combine_host *h = &c->hosts[i];
		json_int_t lost = json_integer_value(json_object_get(h->doc, "messages_left_out"));
		const json_t *one;
		size_t k;

		left_out += lost > 0 && lost < INT32_MAX ? (uint64_t)lost : 0;
		json_array_foreach(json_object_get(h->doc, "messages"), k, one)
		{
			const char *text = json_string_value(json_object_get(one, "text"));
			json_t *level = json_object_get(one, "level"), *o;

			if (!text || !json_is_string(level))
				continue;
			if (json_array_size(array) >= MAX_MESSAGES) {
				left_out++;
				continue;
			}
			o = json_object();
			json_object_set(o, "level", level);
			jvalue_put(o, "text", json_sprintf("%s: %s", h->label, text));
			json_array_append_new(array, o);
		}
	}
	jvalue_put(doc, "messages", array);
	jvalue_put(doc, "messages_left_out", jvalue_count(left_out));
}

/* ---- the document ---- */

/* The member of all documents; null where they differ. */
static json_t *common(const struct combination *c, const char *key)
{
	json_t *first = json_object_get(c->hosts[0].doc, key);

	for (size_t i = 1; i < c->n; i++) {
		json_t *other = json_object_get(c->hosts[i].doc, key);

		if (!first || !other || !json_equal(first, other))
			return json_null();
	}
	return first ? json_incref(first) : json_null();
}

static void put_head(json_t *doc, const struct combination *c)
{
	const json_t *first = c->hosts[0].doc;
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; i < c->n; i++) {
		if (c->hosts[i].start_ns && c->hosts[i].start_ns < begin)
			begin = c->hosts[i].start_ns;
	}
	jvalue_put(doc, "format", jvalue_text(JSONOUT_FORMAT));
	jvalue_put(doc, "version", json_integer(JSONOUT_VERSION));
	jvalue_put(doc, "xdd", jvalue_text(PACKAGE_VERSION));
	jvalue_put(doc, "id", common(c, "id"));
	jvalue_put(doc, "run_id", common(c, "run_id"));
	jvalue_put(doc, "command_line", text_or_null(first, "command_line"));
	jvalue_put(doc, "start_time",
		   begin == UINT64_MAX ? text_or_null(first, "start_time") : jvalue_time(begin));
	jvalue_put(doc, "environment", json_incref(json_object_get(first, "environment")));
	jvalue_put(doc, "plan", json_incref(json_object_get(first, "plan")));
}

static void put_tail(json_t *doc, const struct combination *c)
{
	uint64_t status = 0, end = 0;
	bool canceled = false, bad = false, partial = json_array_size(c->missing) > 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct combine_host *h = &c->hosts[i];
		const char *how = json_string_value(json_object_get(h->doc, "end"));

		status = h->status > status ? h->status : status;
		end = h->end_ns > end ? h->end_ns : end;
		partial |= h->partial;
		canceled |= how && strcmp(how, "canceled") == 0;
		bad |= !how || strcmp(how, "normal") != 0;
	}
	if (!status && json_array_size(c->missing))
		status = XDD_TARGET_FAILED;
	put_messages(doc, c);
	jvalue_put(doc, "end_time",
		   end ? jvalue_time(end) : text_or_null(c->hosts[0].doc, "end_time"));
	jvalue_put(doc, "end",
		   jvalue_text(canceled	     ? "canceled" :
			       bad || status ? "errors" :
					       "normal"));
	jvalue_put(doc, "partial", json_boolean(partial));
	jvalue_put(doc, "status", jvalue_count(status));
}

int combine_set_status(json_t *doc, enum xdd_status status)
{
	const char *end = json_string_value(json_object_get(doc, "end"));

	if (jvalue_put(doc, "status", json_integer((json_int_t)status)))
		return -ENOMEM;
	if (status && end && strcmp(end, "normal") == 0 &&
	    jvalue_put(doc, "end", jvalue_text("errors")))
		return -ENOMEM;
	return 0;
}

json_t *combine_value(struct combination *c)
{
	static const char *const of_hosts[] = { "devices", "deskew", "start_skew", "endtoend" };
	json_t *doc = json_object(), *differences = json_object();

	put_head(doc, c);
	jvalue_put(doc, "hosts", combine_hosts_value(c));
	jvalue_put(doc, "together", together_value(c));
	jvalue_put(differences, "environment", combine_differences(c->hosts, c->n, "environment"));
	jvalue_put(differences, "plan", combine_differences(c->hosts, c->n, "plan"));
	jvalue_put(doc, "differences", differences);
	jvalue_put(doc, "notes", json_incref(c->notes));
	jvalue_put(doc, "results", results_value(c));
	jvalue_put(doc, "statistics", json_incref(c->statistics));
	for (size_t i = 0; i < sizeof(of_hosts) / sizeof(of_hosts[0]); i++)
		jvalue_put(doc, of_hosts[i], json_array());
	jvalue_put(doc, "stonewall", combine_stonewall(c->hosts, c->n));
	jvalue_put(doc, "clock", json_null());
	jvalue_put(doc, "start", json_null());
	put_tail(doc, c);
	return doc;
}
