/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results and copies of a document of a run, and figures of a result; see the header. Called by
 * document.c, combine*.c and the page.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/document_internal.h"
#include "report/jsonout.h"
#include "report/latency.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/report/column.h"
#include "xdd/report/jvalue.h"

/* ---- the list ---- */

static bool take_what(const json_t *o, enum result_what *what)
{
	static const enum result_what taken[] = { RESULT_TARGET_PASS, RESULT_TARGET_AVERAGE,
						  RESULT_COMBINED, RESULT_HOST };
	const char *text = document_text(o, "what");

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		*what = taken[i];
		if (strcmp(text, column_what(taken[i])) == 0)
			return true;
	}
	return false;
}

static enum op_request op_of(const json_t *o)
{
	const char *text = document_text(o, "operation");

	for (enum op_request op = OP_READ; op <= OP_MIXED; op++) {
		if (strcmp(text, plan_op_name(op)) == 0)
			return op;
	}
	return OP_MIXED;
}

static enum result_bound bound_of(const json_t *o)
{
	const char *text = document_text(o, "bound");

	for (enum result_bound b = RESULT_BOUND_UNKNOWN + 1; b < RESULT_BOUNDS; b++) {
		if (strcmp(text, result_causes[b].name) == 0)
			return b;
	}
	return RESULT_BOUND_UNKNOWN;
}

/* When a result began and ended in global time. */
static bool take_span(const struct document_check *c, const json_t *o, struct document_result *r)
{
	bool begin, finish, good;

	good = document_count(c, o, "begin_ns", &r->begin_ns, &begin);
	good &= document_count(c, o, "finish_ns", &r->finish_ns, &finish);
	r->placed = begin && finish;
	if (!r->placed || r->begin_ns <= r->finish_ns)
		return good;
	r->placed = false;
	return document_wrong(c, "finish_ns", "a time after begin_ns");
}

/* The numbers of a pass, or of several. */
static bool take_numbers(const struct document_check *c, const json_t *o, struct document_result *r)
{
	const bool host = r->what == RESULT_HOST, all = host || r->what == RESULT_COMBINED;
	const bool one = r->what == RESULT_TARGET_PASS;
	bool *const optional = &(bool){ false }, good;
	uint64_t miscompares;

	good = document_count(c, o, one ? "pass" : "passes", &r->pass, NULL);
	good &= document_count(c, o, all ? "targets" : "target", &r->target, NULL);
	good &= document_count(c, o, "elapsed_ns", &r->elapsed_ns, NULL);
	good &= document_count(c, o, "miscompares", &miscompares, &r->verified);
	if (host)
		good &= document_count(c, o, "host", &r->host, NULL);
	/* Of a pass nothing depends on the others. */
	good &= document_count(c, o, "queue_depth", &r->queue_depth, all ? NULL : optional);
	good &= document_count(c, o, "request_bytes", &r->request_bytes, all ? NULL : optional);
	good &= document_count(c, o, "block_bytes", &r->block_bytes, all ? NULL : optional);
	if (one && (!r->pass || r->target > UINT32_MAX))
		return document_wrong(c, "pass, target",
				      "a pass from 1 on and the number of a target");
	return good;
}

static void take_result(struct document *d, const json_t *o, struct document_result *r)
{
	const struct document_check c = { .why = d->fault, .part = "results: " };

	r->value = o;
	r->partial = json_is_true(json_object_get(o, "partial"));
	r->op = op_of(o);
	r->bound = bound_of(o);
	r->known = take_numbers(&c, o, r);
	r->known &= take_span(&c, o, r);
	if (r->what == RESULT_COMBINED && document_result(d, RESULT_COMBINED))
		document_wrong(&c, "COMBINED", "one of them");
}

/* The parts of a copy between which the verdict is unclear, or the only one. */
static struct copy_verdict verdict_of(const json_t *o)
{
	const json_t *between = json_object_get(o, "bound_between");
	const char *first = json_string_value(json_array_get(between, 0));
	const char *second = json_string_value(json_array_get(between, 1));

	return (struct copy_verdict){
		.limit = copy_limit_named(first ? first : document_text(o, "bound")),
		.other = copy_limit_named(second ? second : ""),
	};
}

static bool take_copies(struct document *d)
{
	const json_t *array = json_object_get(d->root, "endtoend"), *o;
	struct document_copy *copies;
	size_t i;

	copies = arena_alloc(d->arena, (json_array_size(array) + 1) * sizeof(*copies));
	if (!copies)
		return false;
	d->copies = copies;
	json_array_foreach(array, i, o)
	{
		struct document_copy *copy = &copies[d->n_copies];

		copy->verdict = verdict_of(o);
		d->n_copies += document_whole(json_object_get(o, "target"), &copy->target);
	}
	return true;
}

bool document_take_results(struct document *d)
{
	const json_t *array = json_object_get(d->root, "results"), *o;
	const struct document_check c = { .why = d->fault, .part = "" };
	struct document_result *results;
	size_t i;

	if (!json_is_array(array))
		document_wrong(&c, "results", "a list");
	results = arena_alloc(d->arena, (json_array_size(array) + 1) * sizeof(*results));
	if (!results)
		return false;
	d->results = results;
	json_array_foreach(array, i, o)
	{
		struct document_result *r = &results[d->n_results];

		if (!take_what(o, &r->what))
			continue;
		take_result(d, o, r);
		d->n_results++;
	}
	return take_copies(d);
}

const struct document_result *document_result(const struct document *d, enum result_what what)
{
	for (size_t i = 0; i < d->n_results; i++) {
		if (d->results[i].what == what)
			return &d->results[i];
	}
	return NULL;
}

/* ---- figures ---- */

/* The numbers of a row of the table. False: one of them is invalid. */
static bool take_numbers_of(const struct document_check *c, const json_t *o, struct figures *f,
			    const struct figure_row *row)
{
	const json_t *by_dir = row->n > 1 ? json_object_get(o, row->member) : NULL;
	uint64_t *values = figure_row_at(f, row);
	bool known = true;

	if (row->n == 1) {
		if (!document_count(c, o, row->member, values, row->required ? NULL : &known))
			return false;
		/* Of a part that is known, a number may not be. */
		if (!known && !row->known)
			f->known &= ~row->part;
		return true;
	}
	for (unsigned dir = 0; dir < row->n; dir++) {
		/* Documents of versions that could not discard lack the member. */
		bool *const optional = dir == DIR_DISCARD ? &known : NULL;

		if (!document_count(c, by_dir, op_dir_name(dir), &values[dir], optional))
			return false;
	}
	return true;
}

static bool take_members(const struct document_check *c, const json_t *o, struct figures *f)
{
	for (const struct figure_row *row = figure_rows; row->n; row++) {
		if (row->member && !take_numbers_of(c, o, f, row))
			return false;
	}
	return true;
}

static void take_cache(const json_t *o, struct cache_state *cache)
{
	const char *accuracy = document_text(o, "resident_accuracy");
	const json_t *holes = json_object_get(o, "hole_bytes");

	cache->accuracy = !*accuracy || strcmp(accuracy, "exact") == 0 ? CACHE_EXACT :
			  strcmp(accuracy, "about") == 0	       ? CACHE_SAMPLED :
			  strcmp(accuracy, "unknown") == 0	       ? CACHE_UNKNOWN :
									 CACHE_NOT_MEASURED;
	cache->holes_unknown = cache->range_bytes && (!holes || json_is_null(holes));
}

static bool take_extreme(const struct document_check *c, const json_t *o, enum extremes_which which,
			 struct extremes *extremes)
{
	const json_t *member = json_object_get(o, extremes_name(which));
	struct extreme *e = &extremes->of[which];
	const char *name = document_text(member, "direction");
	unsigned dir = 0;

	if (!json_is_object(member)) {
		extremes->any = false;
		return true;
	}
	while (dir < DIR_COUNT && strcmp(name, op_dir_name(dir)) != 0)
		dir++;
	if (dir == DIR_COUNT)
		return document_wrong(c, extremes_name(which), "an operation");
	e->dir = dir;
	return document_count(c, member, "ns", &e->took_ns, NULL) &&
	       document_count(c, member, "operation", &e->op, NULL) &&
	       document_count(c, member, "offset_bytes", &e->offset, NULL);
}

/* The buckets: their least times ascend, and no count is 0. */
static bool take_buckets(struct document_check *c, const json_t *array, struct histogram_sum *h)
{
	static const char key[] = "histogram";
	size_t size = json_array_size(array);
	uint64_t from, last, count, before = 0;

	if (!json_is_array(array) || size % 2 || !size || size > 2 * HISTOGRAM_BUCKETS)
		return document_wrong(c, key, "pairs of a time and a number of operations");
	if (!document_whole(json_array_get(array, 0), &from) ||
	    !document_whole(json_array_get(array, size - 2), &last) || last < from ||
	    last > HISTOGRAM_MAX_NS)
		return document_wrong(c, key, "times that ascend");
	if (histogram_sum_widen(h, histogram_bucket(from), histogram_bucket(last))) {
		c->no_memory = true;
		return false;
	}
	for (size_t i = 0; i < size; i += 2) {
		unsigned bucket;

		if (!document_whole(json_array_get(array, i), &from) || from > last ||
		    (i && from <= before))
			return document_wrong(c, key, "times that ascend");
		before = from;
		bucket = histogram_bucket(from);
		if (histogram_bucket_from(bucket) != from)
			return document_wrong(c, key, "the least time of a bucket");
		if (!document_whole(json_array_get(array, i + 1), &count) || !count ||
		    count > DOCUMENT_MAX_OPS || h->n > DOCUMENT_MAX_OPS - count)
			return document_wrong(c, key, "a number of operations");
		h->counts[bucket - h->first] = count;
		h->n += count;
	}
	return true;
}

/* Sum and squares follow from mean and standard deviation, which have 15 digits. */
static bool take_distribution(struct document_check *c, const json_t *o, struct histogram_sum *h)
{
	double mean = json_number_value(json_object_get(o, "mean_ns"));
	double deviation = json_number_value(json_object_get(o, "standard_deviation_ns"));
	uint64_t n;

	if (!take_buckets(c, json_object_get(o, "histogram"), h) ||
	    !document_count(c, o, "count", &n, NULL) ||
	    !document_count(c, o, "minimum_ns", &h->min_ns, NULL) ||
	    !document_count(c, o, "maximum_ns", &h->max_ns, NULL))
		return false;
	if (n != h->n)
		return document_wrong(c, "count", "the number of operations in the histogram");
	if (histogram_bucket(h->min_ns) != h->first ||
	    histogram_bucket(h->max_ns) != h->first + h->size - 1)
		return document_wrong(c, "minimum_ns and maximum_ns", "times in the histogram");
	if (!(mean >= (double)h->min_ns * 0.999999 && mean <= (double)h->max_ns * 1.000001) ||
	    !(deviation >= 0 && deviation <= (double)h->max_ns))
		return document_wrong(c, "mean_ns and standard_deviation_ns",
				      "times in the histogram");
	if (mean * (double)n >= (double)INT64_MAX)
		return document_wrong(c, "mean_ns", "a smaller number");
	h->sum_ns = (uint64_t)llround(mean * (double)n);
	h->squares = (deviation * deviation + mean * mean) * (double)n;
	return true;
}

static bool take_latency(struct document_check *c, const json_t *o, struct latency *l)
{
	const json_t *flushes = json_object_get(o, latency_dir_name(LATENCY_FLUSHES));

	for (unsigned time = 0; time < LATENCY_TIMES; time++) {
		const json_t *by_dir = json_object_get(o, latency_time_name(time));

		for (unsigned dir = 0; dir < DIR_COUNT; dir++) {
			const json_t *one = json_object_get(by_dir, latency_dir_name(dir));

			if (one && !take_distribution(c, one, &l->of[time][dir]))
				return false;
		}
	}
	return !flushes || take_distribution(c, flushes, &l->flushes);
}

int document_figures(const struct document_result *r, struct figures *f,
		     char why[DOCUMENT_WHY_SIZE])
{
	struct document_check c = { .why = why, .part = "results: " };
	const json_t *latency = json_object_get(r->value, "latency");

	*why = '\0';
	figures_init(f);
	f->known &= ~(unsigned)FIGURES_DESKEW;
	f->extremes.any = true;
	if (!json_is_object(latency))
		f->known &= ~(unsigned)(FIGURES_LATENCY | FIGURES_PERCENTILES);
	if (take_members(&c, r->value, f) &&
	    take_extreme(&c, r->value, EXTREMES_LONGEST, &f->extremes) &&
	    take_extreme(&c, r->value, EXTREMES_SHORTEST, &f->extremes) &&
	    take_latency(&c, latency, &f->latency)) {
		take_cache(r->value, &f->cache);
		return 0;
	}
	return c.no_memory ? -ENOMEM : -EBADMSG;
}

struct span document_span(const json_t *o)
{
	const struct document_check c = { .why = (char[DOCUMENT_WHY_SIZE]){ "" }, .part = "" };
	const double ops = document_real(o, "ops");
	struct span s;

	document_count(&c, o, "ns", &s.ns, NULL);
	document_count(&c, o, "bytes", &s.bytes, NULL);
	s.op_units = ops <= DOCUMENT_MAX_OPS ? (uint64_t)(ops * (double)FLOW_OP) : 0;
	return s;
}

json_t *document_deskew(const json_t *root)
{
	json_t *o;
	size_t i;

	json_array_foreach(json_object_get(root, "deskew"), i, o)
	{
		if (json_is_null(json_object_get(o, "pass")))
			return o;
	}
	return NULL;
}

/* With -deskew. */
static void take_deskew(const struct document *d, const struct document_result *r,
			struct result *to)
{
	const json_t *hosts = json_object_get(d->root, "hosts");
	const json_t *o = r->what == RESULT_HOST ?
				  json_object_get(json_array_get(hosts, r->host), "deskew") :
				  document_deskew(d->root);
	const double fairness = document_real(o, "fairness");

	if (isnan(fairness) || r->what < RESULT_COMBINED)
		return;
	to->window = document_span(json_object_get(o, "window"));
	to->tail = document_span(json_object_get(o, "tail"));
	to->fairness = fairness;
	to->figures.known |= FIGURES_DESKEW;
}

/* QThreads of a target, or of all; 0: not known, as of several hosts. */
static uint64_t qthreads_of(const json_t *root, bool one, uint64_t target)
{
	const json_t *plan = json_object_get(root, "plan"), *o;
	uint64_t sum = 0, n;
	size_t i;

	json_array_foreach(json_object_get(plan, "targets"), i, o)
	{
		if ((!one || i == target) &&
		    document_whole(json_object_get(json_object_get(o, "resolved"), "qthreads"),
				   &n) &&
		    n <= UINT32_MAX)
			sum += n;
	}
	return json_array_size(json_object_get(root, "hosts")) > 1 ? 0 : sum;
}

/* The base of percents of processors; of several hosts one. */
static uint64_t processors_of(const struct document *d, const struct document_result *r)
{
	const json_t *options = json_object_get(json_object_get(d->root, "plan"), "options");
	const json_t *environment = json_object_get(d->root, "environment");
	const json_t *hosts = json_object_get(d->root, "hosts");
	const bool relative = strcmp(document_text(options, "percentcpu"), "relative") == 0;
	double n = 1;

	if (r->what == RESULT_HOST)
		n = document_real(json_array_get(hosts, r->host), "processors");
	else if (relative && json_array_size(hosts) < 2)
		n = document_real(json_object_get(environment, "processors"), "online");
	return n >= 1 && n <= UINT32_MAX ? (uint64_t)n : 1;
}

int document_result_read(const struct document *d, const struct document_result *r,
			 struct result *to, char why[DOCUMENT_WHY_SIZE])
{
	int err;

	*to = (struct result){
		.what = r->what,
		.pass = r->pass,
		.target = r->target,
		.queue = r->queue_depth,
		.req_bytes = r->request_bytes,
		.block_size = r->block_bytes,
		.op = r->op,
		.bound = r->bound,
		.verified = r->verified,
		.partial = r->partial,
		.processors = processors_of(d, r),
		.qthreads = qthreads_of(d->root, r->what < RESULT_COMBINED, r->target),
	};
	err = document_figures(r, &to->figures, why);
	if (!err)
		take_deskew(d, r, to);
	return err;
}

/* The distribution of times in a direction, or of flushes; NULL: there is none. */
static const json_t *distribution(const struct document_result *r, enum latency_time time,
				  unsigned dir)
{
	const json_t *latency = json_object_get(r->value, "latency");

	if (dir != LATENCY_FLUSHES)
		latency = json_object_get(latency, latency_time_name(time));
	return json_object_get(latency, latency_dir_name(dir));
}

double document_deviation_ns(const struct document_result *r, unsigned dir)
{
	return document_real(distribution(r, LATENCY_SERVICE, dir), "standard_deviation_ns");
}

size_t document_percents(const struct document_result *r, uint32_t percents[DOCUMENT_MAX_PERCENTS])
{
	static const unsigned dirs[] = { DIR_READ, DIR_WRITE, DIR_NOOP, DIR_DISCARD,
					 LATENCY_FLUSHES };
	const size_t n_dirs = sizeof(dirs) / sizeof(dirs[0]);
	const json_t *of = NULL, *value;
	const char *key;
	size_t n = 0;

	/* All distributions of a document have the same ones. */
	for (size_t i = 0; i < LATENCY_TIMES * n_dirs && !of; i++)
		of = json_object_get(distribution(r, (enum latency_time)(i / n_dirs),
						  dirs[i % n_dirs]),
				     "percentiles_ns");
	json_object_foreach((json_t *)(uintptr_t)of, key, value)
	{
		char *end;
		double percent = strtod(key, &end);

		if (n < DOCUMENT_MAX_PERCENTS && end != key && !*end && percent > 0 &&
		    percent <= 100)
			percents[n++] = (uint32_t)(percent * HISTOGRAM_PERCENT + 0.5);
	}
	return n;
}

/* ---- sums ---- */

static uint64_t latency_ops(const struct latency *l)
{
	uint64_t n = l->flushes.n;

	for (unsigned time = 0; time < LATENCY_TIMES; time++) {
		for (unsigned dir = 0; dir < DIR_COUNT; dir++)
			n += l->of[time][dir].n;
	}
	return n;
}

/* Returns 0, or -EBADMSG with `why`, or -ENOMEM. */
static int check_results(const struct document *d, char *why)
{
	uint64_t ops = 0;
	int err = 0;

	for (size_t i = 0; i < d->n_results && !err; i++) {
		struct figures f;

		err = document_figures(&d->results[i], &f, why);
		if (!err && d->results[i].what == RESULT_TARGET_PASS)
			ops += latency_ops(&f.latency);
		figures_free(&f);
		/* Each has at most a small multiple of the limit. */
		if (ops <= DOCUMENT_MAX_OPS)
			continue;
		snprintf(why, DOCUMENT_WHY_SIZE, "results: histogram: expected fewer operations");
		err = -EBADMSG;
	}
	return err;
}

bool document_check_sums(const struct document *d, const char *command)
{
	char why[DOCUMENT_WHY_SIZE];
	int err;

	if (d->sweep)
		return log_fail(false, "%s: %s: is of a sweep or a curve; give documents of runs",
				command, d->name);
	err = *d->fault ? -EBADMSG : check_results(d, why);
	if (err)
		log_error("%s: %s: %s", command, d->name,
			  err == -ENOMEM ? strerror(ENOMEM) :
			  *d->fault	 ? d->fault :
					   why);
	return !err;
}

/* ---- documents of version 1 ---- */

/*
 * Results had every column in its unit, and some figures as columns only. Hosts had the figures of
 * their results, and rows of intervals had MB/s.
 */

/* A time in ms of a column; NAN: not known. */
static double column_ns(const json_t *columns, const char *column)
{
	const double ns = document_real(columns, column) * NS_PER_MS;

	return ns <= (double)INT64_MAX ? round(ns) : NAN;
}

static void upgrade_extreme(json_t *result, const json_t *columns, const char *name)
{
	static const char *const members[][2] = { { "direction", "type" },
						  { "operation", "op" },
						  { "offset_bytes", "offset" } };
	const double ns = column_ns(columns, name);
	json_t *o = isnan(ns) ? json_null() : json_object();

	jvalue_put(o, "ns", jvalue_ns(ns));
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		char column[32];

		snprintf(column, sizeof(column), "%s%s", name, members[i][1]);
		jvalue_put(o, members[i][0], json_incref(json_object_get(columns, column)));
	}
	jvalue_put(result, name, o);
}

/* A host keeps the columns that identify it, and the base of Pct_CPU. */
static void upgrade_host(json_t *host, const json_t *result)
{
	static const char *const moved[] = { "passes", "targets",  "queue_depth", "ops",
					     "bytes",  "errors",   "elapsed_ns",  "bandwidth",
					     "iops",   "mean_ns",  "p50_ns",	  "p99_ns",
					     "max_ns", "begin_ns", "finish_ns" };
	const json_t *columns = json_object_get(result, "columns");
	const double cpu_ns = document_real(result, "user_ns") + document_real(result, "system_ns");
	const double share = cpu_ns / document_real(result, "elapsed_ns");
	const double n = round(100 * share / document_real(columns, "percentcputime"));
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof(moved) / sizeof(*moved); i++)
		json_object_del(host, moved[i]);
	for (const struct column *col = columns_run; col->id; col++) {
		char member[COLUMN_MEMBER_SIZE];
		json_t *value = json_object_get(columns, column_member(col, member));

		jvalue_put(o, member, value ? json_incref(value) : json_null());
	}
	json_object_del(o, "starttime");
	jvalue_put(host, "identity", o);
	jvalue_put(host, "processors", json_integer(n >= 1 && n <= UINT32_MAX ? (json_int_t)n : 1));
}

static void upgrade_result(const json_t *root, json_t *result)
{
	json_t *columns = json_object_get(result, "columns");
	const double lag_ns = column_ns(columns, "e2elagtime");
	uint64_t target, host;
	const bool one = document_whole(json_object_get(result, "target"), &target);

	jvalue_put(result, "lag_ns", jvalue_ns(lag_ns * (double)qthreads_of(root, one, target)));
	jvalue_put(result, "first_read_ns", jvalue_ns(column_ns(columns, "e2efirstreadtime")));
	jvalue_put(result, "last_write_ns", jvalue_ns(column_ns(columns, "e2elastwritetime")));
	jvalue_put(result, "bandwidth", jvalue_real(document_real(columns, "bandwidth") * 1e6));
	jvalue_put(result, "iops", jvalue_real(document_real(columns, "iops")));
	for (enum extremes_which i = 0; i < EXTREMES_COUNT; i++)
		upgrade_extreme(result, columns, extremes_name(i));
	if (document_whole(json_object_get(result, "host"), &host))
		upgrade_host(json_array_get(json_object_get(root, "hosts"), host), result);
	json_object_del(result, "columns");
}

bool document_upgrade(json_t *root)
{
	const unsigned long lost = jvalue_lost();
	json_t *o, *value;
	size_t i;

	json_array_foreach(json_object_get(root, "hosts"), i, o) upgrade_host(o, NULL);
	json_array_foreach(json_object_get(root, "results"), i, o) upgrade_result(root, o);
	json_array_foreach(json_object_get(root, "intervals"), i, o)
	{
		value = jvalue_real(document_real(o, "bandwidth") * 1e6);
		jvalue_put(o, "bandwidth", value);
	}
	jvalue_put(root, "version", json_integer(JSONOUT_VERSION));
	return jvalue_lost() == lost;
}
