/*
 * Results of documents as figures. Every number is checked: nothing else in xdd combine looks at
 * counts of a document. Called by combine_load.c and combine_passes.c.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/combine_host.h"
#include "report/latency.h"
#include "xdd/base/log.h"

#define MAX_DIGITS 20

static bool bad(const struct combine_source *s, const char *key, const char *expected)
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

bool combine_count(const struct combine_source *s, const json_t *o, const char *key,
		   uint64_t *value, bool *known)
{
	const json_t *member = json_object_get(o, key);

	*value = 0;
	if (known)
		*known = member && !json_is_null(member);
	if (known && !*known)
		return true;
	if (!whole(member, value))
		return bad(s, key, "a whole number");
	return *value <= INT64_MAX || bad(s, key, "a smaller number");
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
static bool buckets(const struct combine_source *s, const json_t *array, struct histogram_sum *h)
{
	static const char key[] = "histogram";
	size_t size = json_array_size(array);
	uint64_t from, last, count;

	if (!json_is_array(array) || size % 2 || !size || size > 2 * HISTOGRAM_BUCKETS)
		return bad(s, key, "pairs of a time and a number of operations");
	if (!whole(json_array_get(array, 0), &from) ||
	    !whole(json_array_get(array, size - 2), &last) || last < from ||
	    last > HISTOGRAM_MAX_NS)
		return bad(s, key, "times that ascend");
	if (histogram_sum_widen(h, histogram_bucket(from), histogram_bucket(last))) {
		log_error("combine: %s", strerror(ENOMEM));
		return false;
	}
	for (size_t i = 0; i < size; i += 2) {
		unsigned bucket;

		if (!whole(json_array_get(array, i), &from) || from > last)
			return bad(s, key, "times that ascend");
		bucket = histogram_bucket(from);
		if (histogram_bucket_from(bucket) != from || bucket < h->first ||
		    h->counts[bucket - h->first])
			return bad(s, key, "the least time of a bucket, once each");
		if (!whole(json_array_get(array, i + 1), &count) || !count ||
		    count > s->ops_limit || h->n > s->ops_limit - count)
			return bad(s, key, "a number of operations");
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

	if (!buckets(s, json_object_get(o, "histogram"), h) ||
	    !combine_count(s, o, "count", &n, NULL) ||
	    !combine_count(s, o, "minimum_ns", &h->min_ns, NULL) ||
	    !combine_count(s, o, "maximum_ns", &h->max_ns, NULL))
		return false;
	if (n != h->n)
		return bad(s, "count", "the number of operations in the histogram");
	if (histogram_bucket(h->min_ns) != h->first ||
	    histogram_bucket(h->max_ns) != h->first + h->size - 1)
		return bad(s, "minimum_ns and maximum_ns", "times in the histogram");
	if (!(mean >= (double)h->min_ns * 0.999999 && mean <= (double)h->max_ns * 1.000001) ||
	    !(deviation >= 0 && deviation <= (double)h->max_ns))
		return bad(s, "mean_ns and standard_deviation_ns", "times in the histogram");
	if (mean * (double)n >= (double)INT64_MAX)
		return bad(s, "mean_ns", "a smaller number");
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
