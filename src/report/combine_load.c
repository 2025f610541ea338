/*
 * A host's document: reading it from a file, checking what the other parts rely on, and its
 * results as figures. Called by the command, by combine.c and by combine_passes.c.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/combine_host.h"
#include "report/document.h"
#include "report/jsonout.h"
#include "report/latency.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/report/column.h"

/*
 * Results of documents as figures. Every number is checked: nothing else in xdd combine looks at
 * counts of a document.
 */

#define MAX_DIGITS 20

static bool combine_decode_bad(const struct combine_source *s, const char *key,
			       const char *expected)
{
	log_error("combine: %s: results: %s: expected %s", s->document, key, expected);
	return false;
}

/* A whole number, or a text of digits, as jvalue_count() writes it. */
static bool whole(const json_t *value, uint64_t *out)
{
	const char *text = json_string_value(value);
	size_t n = text ? strspn(text, "0123456789") : 0;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*out = (uint64_t)json_integer_value(value);
		return true;
	}
	if (!text || !n || text[n] || n > MAX_DIGITS)
		return false;
	errno = 0;
	*out = strtoull(text, NULL, 10);
	return errno == 0;
}

/* A count at `o`.`key`. It must be there, except with `known`: if it is not, it is 0. */
static bool combine_count(const struct combine_source *s, const json_t *o, const char *key,
			  uint64_t *value, bool *known)
{
	const json_t *member = json_object_get(o, key);

	*value = 0;
	if (known)
		*known = member && !json_is_null(member);
	if (known && !*known)
		return true;
	if (!whole(member, value))
		return combine_decode_bad(s, key, "a whole number");
	return *value <= INT64_MAX || combine_decode_bad(s, key, "a smaller number");
}

static bool directions(const struct combine_source *s, const json_t *o, const char *key,
		       uint64_t *values)
{
	const json_t *by_dir = json_object_get(o, key);
	bool known;

	for (unsigned dir = 0; dir < DIR_COUNT; dir++) {
		/* Documents of versions that could not discard lack the member. */
		bool optional = dir == DIR_DISCARD;

		if (!combine_count(s, by_dir, op_dir_name(dir), &values[dir],
				   optional ? &known : NULL))
			return false;
	}
	return true;
}

/* A count that makes a part of the figures unknown where the document lacks it. */
static bool part(const struct combine_source *s, const json_t *o, const char *key, uint64_t *value,
		 struct figures *f, unsigned which)
{
	bool known;

	if (!combine_count(s, o, key, value, &known))
		return false;
	if (!known)
		f->known &= ~which;
	return true;
}

static bool tally(const struct combine_source *s, const json_t *o, struct figures *f)
{
	struct tally *t = &f->tally;
	bool known;

	return directions(s, o, "ops", t->ops) && directions(s, o, "bytes", t->bytes) &&
	       directions(s, o, "failed_bytes", t->failed_bytes) &&
	       directions(s, o, "busy_ns", t->busy_ns) &&
	       combine_count(s, o, "issued", &t->issued, NULL) &&
	       combine_count(s, o, "warmup_ops", &t->warmup_ops, &known) &&
	       combine_count(s, o, "errors", &t->errors, NULL) &&
	       combine_count(s, o, "outstanding", &t->outstanding, NULL) &&
	       combine_count(s, o, "miscompares", &t->miscompares, &known) &&
	       combine_count(s, o, "retries", &t->retries, &known) &&
	       combine_count(s, o, "fill_ns", &t->fill_ns, &known) &&
	       combine_count(s, o, "flushes", &t->flushes, &known) &&
	       combine_count(s, o, "flush_ns", &t->flush_ns, &known) &&
	       combine_count(s, o, "sync_ns", &t->sync_ns, &known) &&
	       combine_count(s, o, "open_ns", &t->open_ns, &known) &&
	       combine_count(s, o, "close_ns", &t->close_ns, &known) &&
	       part(s, o, "order_breaks", &t->order_breaks, f, FIGURES_ORDER) &&
	       part(s, o, "overhead_ns", &t->overhead_ns, f, FIGURES_OVERHEAD) &&
	       part(s, o, "network_ns", &t->net_ns, f, FIGURES_NETWORK) &&
	       part(s, o, "network_wait_ns", &t->net_wait_ns, f, FIGURES_NETWORK) &&
	       part(s, o, "check_ns", &t->check_ns, f, FIGURES_NETWORK);
}

static bool cache(const struct combine_source *s, const json_t *o, struct cache_state *c)
{
	const char *accuracy = json_string_value(json_object_get(o, "resident_accuracy"));
	bool known, holes;

	c->accuracy = !accuracy			       ? CACHE_EXACT :
		      strcmp(accuracy, "exact") == 0   ? CACHE_EXACT :
		      strcmp(accuracy, "about") == 0   ? CACHE_SAMPLED :
		      strcmp(accuracy, "unknown") == 0 ? CACHE_UNKNOWN :
							 CACHE_NOT_MEASURED;
	if (!combine_count(s, o, "range_bytes", &c->range_bytes, &known) ||
	    !combine_count(s, o, "resident_bytes", &c->resident_bytes, &known) ||
	    !combine_count(s, o, "hole_bytes", &c->hole_bytes, &holes))
		return false;
	c->holes_unknown = c->range_bytes && !holes;
	return true;
}

/* The buckets: their least times ascend, and no count is 0. */
static bool combine_decode_buckets(const struct combine_source *s, const json_t *array,
				   struct histogram_sum *h)
{
	static const char key[] = "histogram";
	size_t size = json_array_size(array);
	uint64_t from, last, count;

	if (!json_is_array(array) || size % 2 || !size || size > 2 * HISTOGRAM_BUCKETS)
		return combine_decode_bad(s, key, "pairs of a time and a number of operations");
	if (!whole(json_array_get(array, 0), &from) ||
	    !whole(json_array_get(array, size - 2), &last) || last < from ||
	    last > HISTOGRAM_MAX_NS)
		return combine_decode_bad(s, key, "times that ascend");
	if (histogram_sum_widen(h, histogram_bucket(from), histogram_bucket(last))) {
		log_error("combine: %s", strerror(ENOMEM));
		return false;
	}
	for (size_t i = 0; i < size; i += 2) {
		unsigned bucket;

		if (!whole(json_array_get(array, i), &from) || from > last)
			return combine_decode_bad(s, key, "times that ascend");
		bucket = histogram_bucket(from);
		if (histogram_bucket_from(bucket) != from || bucket < h->first ||
		    h->counts[bucket - h->first])
			return combine_decode_bad(s, key, "the least time of a bucket, once each");
		if (!whole(json_array_get(array, i + 1), &count) || !count ||
		    count > s->ops_limit || h->n > s->ops_limit - count)
			return combine_decode_bad(s, key, "a number of operations");
		h->counts[bucket - h->first] = count;
		h->n += count;
	}
	return true;
}

/* Sum and squares follow from mean and standard deviation, which have 15 digits. */
static bool distribution(const struct combine_source *s, const json_t *o, struct histogram_sum *h)
{
	double mean = json_number_value(json_object_get(o, "mean_ns"));
	double deviation = json_number_value(json_object_get(o, "standard_deviation_ns"));
	uint64_t n;

	if (!combine_decode_buckets(s, json_object_get(o, "histogram"), h) ||
	    !combine_count(s, o, "count", &n, NULL) ||
	    !combine_count(s, o, "minimum_ns", &h->min_ns, NULL) ||
	    !combine_count(s, o, "maximum_ns", &h->max_ns, NULL))
		return false;
	if (n != h->n)
		return combine_decode_bad(s, "count", "the number of operations in the histogram");
	if (histogram_bucket(h->min_ns) != h->first ||
	    histogram_bucket(h->max_ns) != h->first + h->size - 1)
		return combine_decode_bad(s, "minimum_ns and maximum_ns", "times in the histogram");
	if (!(mean >= (double)h->min_ns * 0.999999 && mean <= (double)h->max_ns * 1.000001) ||
	    !(deviation >= 0 && deviation <= (double)h->max_ns))
		return combine_decode_bad(s, "mean_ns and standard_deviation_ns",
					  "times in the histogram");
	if (mean * (double)n >= (double)INT64_MAX)
		return combine_decode_bad(s, "mean_ns", "a smaller number");
	h->sum_ns = (uint64_t)llround(mean * (double)n);
	h->squares = (deviation * deviation + mean * mean) * (double)n;
	return true;
}

static bool latencies(const struct combine_source *s, const json_t *o, struct latency *l)
{
	const json_t *flushes = json_object_get(o, latency_dir_name(LATENCY_FLUSHES));

	for (unsigned time = 0; time < LATENCY_TIMES; time++) {
		const json_t *by_dir = json_object_get(o, latency_time_name(time));

		for (unsigned dir = 0; dir < DIR_COUNT; dir++) {
			const json_t *one = json_object_get(by_dir, latency_dir_name(dir));

			if (one && !distribution(s, one, &l->of[time][dir]))
				return false;
		}
	}
	return !flushes || distribution(s, flushes, &l->flushes);
}

bool combine_decode(const struct combine_source *s, const json_t *o, struct figures *f)
{
	const json_t *latency = json_object_get(o, "latency");
	bool known;

	figures_init(f);
	f->known &= ~(unsigned)(FIGURES_EXTREMES | FIGURES_DESKEW | FIGURES_LAG);
	if (!json_is_object(latency))
		f->known &= ~(unsigned)(FIGURES_LATENCY | FIGURES_PERCENTILES);
	return tally(s, o, f) && cache(s, o, &f->cache) &&
	       part(s, o, "wait_ns", &f->wait_ns, f, FIGURES_WAIT) &&
	       part(s, o, "user_ns", &f->cpu.user_ns, f, FIGURES_CPU) &&
	       part(s, o, "system_ns", &f->cpu.sys_ns, f, FIGURES_CPU) &&
	       combine_count(s, o, "first_operation_ns", &f->first_op_ns, &known) &&
	       combine_count(s, o, "elapsed_ns", &f->elapsed_ns, NULL) &&
	       latencies(s, latency, &f->latency);
}

#define MAX_STATUS XDD_MISCOMPARE
#define MAX_RANKS (1u << 24)

static bool combine_load_bad(const struct combine_source *s, const char *what)
{
	log_error("combine: %s: %s", s->document, what);
	return false;
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static bool is_what(const json_t *result, enum result_what what)
{
	const char *text = text_of(result, "what");

	return text && strcmp(text, column_what(what)) == 0;
}

/* ---- reading ---- */

/* Members of `o` that equal those of `first` become the same ones. */
static void combine_load_share(json_t *o, json_t *first)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(o, next, key, value)
	{
		json_t *other = json_object_get(first, key);

		if (other && other != value && json_equal(other, value))
			json_object_set(o, key, other);
		else if (json_is_object(value) && json_is_object(other))
			combine_load_share(value, other);
	}
}

/* Only the results of targets and of all of them count, and columns of the latter. */
static void trim_results(json_t *results)
{
	for (size_t i = json_array_size(results); i-- > 0;) {
		json_t *result = json_array_get(results, i);

		if (is_what(result, RESULT_QUEUE_PASS) || is_what(result, RESULT_TARGET_AVERAGE))
			json_array_remove(results, i);
		else if (is_what(result, RESULT_TARGET_PASS))
			json_object_del(result, "columns");
	}
}

json_t *combine_load(const char *path)
{
	return document_read("combine", path);
}

void combine_trim(json_t *doc, json_t *first)
{
	static const char *const unused[] = { "intervals", "endtoend", "deskew", "start_skew" };

	trim_results(json_object_get(doc, "results"));
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		json_object_del(doc, unused[i]);
	combine_load_share(json_object_get(doc, "plan"), json_object_get(first, "plan"));
	combine_load_share(json_object_get(doc, "environment"),
			   json_object_get(first, "environment"));
}

/* ---- checking ---- */

/* A time of jvalue_time(), in ns since 1970; 0: it is none. */
static uint64_t time_of(const json_t *o, const char *key)
{
	const char *text = text_of(o, key), *rest;
	struct tm tm = { 0 };
	unsigned ms = 0;
	time_t seconds;

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!rest || sscanf(rest, ".%3uZ", &ms) != 1)
		return 0;
	seconds = timegm(&tm);
	/* The year 2262, the last of 63 bits. */
	if (seconds <= 0 || seconds >= (time_t)(INT64_MAX / NS_PER_SEC))
		return 0;
	return (uint64_t)seconds * NS_PER_SEC + ms * NS_PER_MS;
}

static bool read_clock(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	const json_t *clock = json_object_get(doc, "clock");
	const char *source = text_of(clock, "source");
	bool end_known;

	if (!json_is_object(clock))
		return true;
	h->served = source && strcmp(source, "timeserver") == 0;
	if (!combine_count(s, clock, "bound_ns", &h->bound_ns, &h->bound_known) ||
	    !combine_count(s, clock, "bound_at_end_ns", &h->end_bound_ns, &end_known))
		return false;
	if (!end_known)
		h->end_bound_ns = h->bound_ns;
	if (json_is_integer(json_object_get(clock, "machine_offset_ns")))
		h->machine = text_of(clock, "machine");
	h->machine_offset = json_integer_value(json_object_get(clock, "machine_offset_ns"));
	return true;
}

static bool read_rank(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	bool rank, ranks;

	if (!combine_count(s, doc, "rank", &h->rank, &rank) ||
	    !combine_count(s, doc, "ranks", &h->ranks, &ranks))
		return false;
	h->ranked = rank && ranks;
	if (h->ranked && (h->ranks > MAX_RANKS || h->rank >= h->ranks))
		return combine_load_bad(s, "rank: expected a number below that of ranks");
	return true;
}

/* When and where, for the messages of all other parts. */
static bool read_head(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	const json_t *status = json_object_get(doc, "status");
	const json_t *host = json_object_get(json_object_get(doc, "environment"), "host");

	h->name = text_of(host, "name");
	if (!h->name || !*h->name)
		h->name = "?";
	h->called = h->name;
	h->run_id = text_of(doc, "run_id");
	if (!json_is_integer(status) || json_integer_value(status) < 0 ||
	    json_integer_value(status) > MAX_STATUS)
		return combine_load_bad(s, "status: expected an exit status of xdd");
	h->status = (uint64_t)json_integer_value(status);
	h->partial = json_is_true(json_object_get(doc, "partial"));
	h->start_ns = time_of(doc, "start_time");
	h->end_ns = time_of(doc, "end_time");
	if (!json_is_array(json_object_get(doc, "results")))
		return combine_load_bad(s, "the results are missing");
	return read_clock(h, s, doc) && read_rank(h, s, doc);
}

static enum op_request op_of(const json_t *o)
{
	const char *text = text_of(o, "operation");

	for (enum op_request op = OP_READ; text && op <= OP_MIXED; op++) {
		if (strcmp(text, plan_op_name(op)) == 0)
			return op;
	}
	return OP_MIXED;
}

/* The result of all targets. */
static bool read_combined(struct combine_host *h, const struct combine_source *s, const json_t *o)
{
	struct result *r = &h->sum;
	uint64_t miscompares;

	if (h->combined)
		return combine_load_bad(s, "results: COMBINED is there twice");
	h->combined = o;
	r->what = RESULT_COMBINED;
	r->op = op_of(o);
	r->partial = json_is_true(json_object_get(o, "partial"));
	r->processors = 1;
	return combine_count(s, o, "passes", &r->pass, NULL) &&
	       combine_count(s, o, "targets", &r->target, NULL) &&
	       combine_count(s, o, "queue_depth", &r->queue, NULL) &&
	       combine_count(s, o, "request_bytes", &r->req_bytes, NULL) &&
	       combine_count(s, o, "block_bytes", &r->block_size, NULL) &&
	       combine_count(s, o, "miscompares", &miscompares, &r->verified) &&
	       combine_decode(s, o, &r->figures);
}

/* Where a result lies in global time; `*placed`: the document says. */
static bool read_span(const struct combine_source *s, const json_t *o, struct combine_span *span,
		      bool *placed)
{
	bool begin, finish;

	if (!combine_count(s, o, "begin_ns", &span->from_ns, &begin) ||
	    !combine_count(s, o, "finish_ns", &span->to_ns, &finish))
		return false;
	*placed = begin && finish;
	if (*placed && span->from_ns > span->to_ns)
		return combine_load_bad(s, "results: finish_ns: expected a time after begin_ns");
	return true;
}

static bool read_pass(struct combine_host *h, uint32_t number, const struct combine_source *s,
		      const json_t *o)
{
	struct combine_pass p = { .host = number, .result = o }, *passes;
	uint64_t target;

	if (!combine_count(s, o, "pass", &p.pass, NULL) ||
	    !combine_count(s, o, "target", &target, NULL) ||
	    !combine_count(s, o, "elapsed_ns", &p.elapsed_ns, NULL) ||
	    !read_span(s, o, &p.span, &p.placed))
		return false;
	if (!p.pass || target > UINT32_MAX)
		return combine_load_bad(
			s, "results: expected a pass from 1 on and the number of a target");
	p.target = (uint32_t)target;
	p.partial = json_is_true(json_object_get(o, "partial"));
	passes = array_room(h->passes, h->n_passes, sizeof(*passes));
	if (!passes)
		return combine_load_bad(s, strerror(ENOMEM));
	h->passes = passes;
	passes[h->n_passes++] = p;
	if (p.pass > h->last_pass)
		h->last_pass = p.pass;
	return true;
}

static int by_pass(const void *a, const void *b)
{
	const struct combine_pass *x = a, *y = b;

	if (x->pass != y->pass)
		return x->pass < y->pass ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

/*
 * When the host was transferring. Targets meet before each pass, so a pass of all lasts from its
 * first issue to its last completion; with -nobarrier passes of targets are independent.
 */
static bool read_spans(struct combine_host *h, const struct combine_source *s, const json_t *doc)
{
	const json_t *options = json_object_get(json_object_get(doc, "plan"), "options");
	const bool apart = json_is_true(json_object_get(options, "nobarrier"));
	uint64_t solid_ns = UINT64_MAX;

	h->spans = calloc(h->n_passes + 1, sizeof(*h->spans));
	if (!h->spans)
		return combine_load_bad(s, strerror(ENOMEM));
	if (h->n_passes)
		qsort(h->passes, h->n_passes, sizeof(*h->passes), by_pass);
	h->placed = true;
	for (size_t i = 0; i < h->n_passes; i++) {
		const struct combine_pass *p = &h->passes[i];
		struct combine_span *last = h->n_spans ? &h->spans[h->n_spans - 1] : NULL;

		if (i && p->pass == p[-1].pass && p->target == p[-1].target)
			return combine_load_bad(s, "results: a pass of a target is there twice");
		if (!p->placed) {
			h->placed &= !p->elapsed_ns;
		} else if (!apart && last && i && p->pass == p[-1].pass && p[-1].placed) {
			if (p->span.from_ns < last->from_ns)
				last->from_ns = p->span.from_ns;
			if (p->span.to_ns > last->to_ns)
				last->to_ns = p->span.to_ns;
		} else {
			h->spans[h->n_spans++] = p->span;
		}
	}
	/* Once a target has ended its last pass, the host is never between passes. */
	for (size_t i = 0; apart && i < h->n_passes; i++) {
		if (h->passes[i].pass == h->last_pass && h->passes[i].placed &&
		    h->passes[i].span.to_ns < solid_ns)
			solid_ns = h->passes[i].span.to_ns;
	}
	h->n_spans = combine_spans_join(h->spans, h->n_spans, solid_ns);
	return true;
}

bool combine_host_read(struct combine_host *host, uint32_t number, const json_t *doc,
		       const struct combine_source *s)
{
	const json_t *result;
	size_t i;

	*host = (struct combine_host){ .doc = doc, .document = s->document };
	figures_init(&host->sum.figures);
	if (!document_check("combine", s->document, doc) || !read_head(host, s, doc))
		return false;
	json_array_foreach(json_object_get(doc, "results"), i, result)
	{
		if (is_what(result, RESULT_COMBINED) && !read_combined(host, s, result))
			return false;
		if (is_what(result, RESULT_TARGET_PASS) && !read_pass(host, number, s, result))
			return false;
	}
	if (!read_spans(host, s, doc))
		return false;
	host->idle = !tally_ops(&host->sum.figures.tally) && !host->sum.figures.tally.errors &&
		     !host->sum.figures.tally.outstanding;
	host->placed &= host->n_spans > 0;
	return true;
}

void combine_host_free(struct combine_host *host)
{
	figures_free(&host->sum.figures);
	free(host->passes);
	free(host->spans);
}
