/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of times, and of bytes and operations per interval. QThreads write them, the latter
 * in a run with -deskew; they are copied and added up at the end of a pass and for intervals.
 */
#include "xdd/stat/histogram.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xdd/base/arith.h"

/*
 * Histograms of times. Written by QThreads, copied and added up at the end of a pass and for
 * intervals.
 */

#define OCTAVE (1u << HISTOGRAM_SUB_BITS)
#define LAST_BUCKET (HISTOGRAM_BUCKETS - 1)
#define COUNTS_BYTES (HISTOGRAM_BUCKETS * sizeof(_Atomic uint64_t))

static unsigned bucket_shift(unsigned bucket)
{
	return bucket < 2 * OCTAVE ? 0 : (bucket >> HISTOGRAM_SUB_BITS) - 1;
}

uint64_t histogram_bucket_from(unsigned bucket)
{
	unsigned shift = bucket_shift(bucket);

	return (uint64_t)(bucket - (shift << HISTOGRAM_SUB_BITS)) << shift;
}

uint64_t histogram_bucket_value(unsigned bucket)
{
	return histogram_bucket_from(bucket) + ((1ull << bucket_shift(bucket)) - 1) / 2;
}

int histogram_init(struct histogram *h, size_t n)
{
	const size_t size = n * COUNTS_BYTES;
	char *counts = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	memset(h, 0, n * sizeof(*h));
	if (counts == MAP_FAILED)
		return -errno;
	/* Most of it is never touched; a huge page would use memory for all of it. */
	madvise(counts, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++) {
		h[i].counts = (_Atomic uint64_t *)(counts + i * COUNTS_BYTES);
		counters_set(&h[i].min_ns, UINT64_MAX);
	}
	return 0;
}

void histogram_free(struct histogram *h, size_t n)
{
	if (h->counts)
		munmap((void *)h->counts, n * COUNTS_BYTES);
	memset(h, 0, n * sizeof(*h));
}

void histogram_touch(struct histogram *h)
{
	const unsigned page = 4096 / sizeof(*h->counts);

	for (unsigned b = 0; h->counts && b < histogram_bucket(HISTOGRAM_TOUCHED_NS); b += page)
		counters_set(&h->counts[b], 0);
}

static uint64_t histogram_load(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

void histogram_reset(struct histogram *h)
{
	uint64_t min = histogram_load(&h->min_ns), max = histogram_load(&h->max_ns);

	if (!h->counts || min > max)
		return;
	for (unsigned b = histogram_bucket(min); b <= histogram_bucket(max); b++)
		counters_set(&h->counts[b], 0);
	counters_set(&h->sum_ns, 0);
	counters_set(&h->min_ns, UINT64_MAX);
	counters_set(&h->max_ns, 0);
	atomic_store_explicit(&h->squares, 0, memory_order_relaxed);
}

void histogram_sum_init(struct histogram_sum *s)
{
	*s = (struct histogram_sum){ .min_ns = UINT64_MAX };
}

void histogram_sum_free(struct histogram_sum *s)
{
	free(s->counts);
	histogram_sum_init(s);
}

int histogram_sum_widen(struct histogram_sum *s, unsigned first, unsigned last)
{
	uint64_t *counts;

	if (s->size) {
		if (s->first < first)
			first = s->first;
		if (s->first + s->size - 1 > last)
			last = s->first + s->size - 1;
		if (first == s->first && last - first + 1 == s->size)
			return 0;
	}
	counts = calloc(last - first + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	if (s->size)
		memcpy(counts + (s->first - first), s->counts, s->size * sizeof(*counts));
	free(s->counts);
	s->counts = counts;
	s->first = first;
	s->size = last - first + 1;
	return 0;
}

static void add_moments(struct histogram_sum *s, uint64_t sum_ns, uint64_t min_ns, uint64_t max_ns,
			double squares)
{
	s->sum_ns += sum_ns;
	s->squares += squares;
	if (min_ns < s->min_ns)
		s->min_ns = min_ns;
	if (max_ns > s->max_ns)
		s->max_ns = max_ns;
}

int histogram_sum_add_live(struct histogram_sum *s, const struct histogram *h)
{
	uint64_t min = histogram_load(&h->min_ns), max = histogram_load(&h->max_ns), n = 0;
	unsigned first, last;

	if (!h->counts || min > max)
		return 0;
	first = histogram_bucket(min);
	last = histogram_bucket(max);
	if (histogram_sum_widen(s, first, last))
		return -ENOMEM;
	for (unsigned b = first; b <= last; b++) {
		uint64_t count = histogram_load(&h->counts[b]);

		s->counts[b - s->first] += count;
		n += count;
	}
	s->n += n;
	add_moments(s, histogram_load(&h->sum_ns), min, max,
		    atomic_load_explicit(&h->squares, memory_order_relaxed));
	return 0;
}

int histogram_sum_add(struct histogram_sum *s, const struct histogram_sum *from)
{
	if (!from->size)
		return 0;
	if (histogram_sum_widen(s, from->first, from->first + from->size - 1))
		return -ENOMEM;
	for (unsigned i = 0; i < from->size; i++)
		s->counts[from->first - s->first + i] += from->counts[i];
	s->n += from->n;
	add_moments(s, from->sum_ns, from->min_ns, from->max_ns, from->squares);
	return 0;
}

/* Least and greatest from the buckets in use, no further out than they were. */
static void find_extremes(struct histogram_sum *s)
{
	uint64_t min = s->min_ns, max = s->max_ns;
	unsigned first = 0, last = s->size;

	s->min_ns = UINT64_MAX;
	s->max_ns = 0;
	if (!s->n)
		return;
	while (!s->counts[first])
		first++;
	while (!s->counts[last - 1])
		last--;
	s->min_ns = histogram_bucket_from(s->first + first);
	s->max_ns = histogram_bucket_from(s->first + last) - 1;
	if (s->min_ns < min)
		s->min_ns = min;
	if (s->max_ns > max || s->first + last > LAST_BUCKET)
		s->max_ns = max;
}

void histogram_sum_subtract(struct histogram_sum *s, const struct histogram_sum *earlier)
{
	if (!earlier->n)
		return;
	for (unsigned i = 0; i < earlier->size; i++)
		s->counts[earlier->first - s->first + i] -= earlier->counts[i];
	s->n -= earlier->n;
	s->sum_ns -= earlier->sum_ns;
	s->squares -= earlier->squares;
	find_extremes(s);
}

uint64_t histogram_sum_count(const struct histogram_sum *s, unsigned bucket)
{
	return bucket >= s->first && bucket - s->first < s->size ? s->counts[bucket - s->first] : 0;
}

static uint64_t count_at(const struct histogram_view *v, unsigned bucket)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < v->n_parts; i++)
		count += histogram_sum_count(v->parts[i], bucket);
	return count;
}

uint64_t histogram_count(const struct histogram_view *v)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < v->n_parts; i++)
		n += v->parts[i]->n;
	return n;
}

uint64_t histogram_min(const struct histogram_view *v)
{
	uint64_t min = UINT64_MAX;

	for (unsigned i = 0; i < v->n_parts; i++)
		min = v->parts[i]->min_ns < min ? v->parts[i]->min_ns : min;
	return min == UINT64_MAX ? 0 : min;
}

uint64_t histogram_max(const struct histogram_view *v)
{
	uint64_t max = 0;

	for (unsigned i = 0; i < v->n_parts; i++)
		max = v->parts[i]->max_ns > max ? v->parts[i]->max_ns : max;
	return max;
}

double histogram_mean(const struct histogram_view *v)
{
	uint64_t n = histogram_count(v), sum = 0;

	for (unsigned i = 0; i < v->n_parts; i++)
		sum += v->parts[i]->sum_ns;
	return n ? (double)sum / (double)n : 0;
}

double histogram_stddev(const struct histogram_view *v)
{
	double mean = histogram_mean(v), squares = 0, variance;
	uint64_t n = histogram_count(v);

	if (!n)
		return 0;
	for (unsigned i = 0; i < v->n_parts; i++)
		squares += v->parts[i]->squares;
	variance = squares / (double)n - mean * mean;
	return variance > 0 ? sqrt(variance) : 0;
}

/* The middle of the bucket, limited to the range of the values. */
static uint64_t value_of(const struct histogram_view *v, unsigned bucket)
{
	uint64_t value = histogram_bucket_value(bucket);
	uint64_t min = histogram_min(v), max = histogram_max(v);

	if (value > max || bucket == LAST_BUCKET)
		return max;
	return value < min ? min : value;
}

uint64_t histogram_percentile(const struct histogram_view *v, uint32_t percent)
{
	uint64_t n = histogram_count(v), seen = 0, rank;
	unsigned last = histogram_bucket(histogram_max(v));

	if (!n)
		return 0;
	if (percent >= HISTOGRAM_ALL)
		return histogram_max(v);
	rank = (uint64_t)(((uint128)n * percent + HISTOGRAM_ALL - 1) / HISTOGRAM_ALL);
	if (rank <= 1)
		return histogram_min(v);
	for (unsigned b = histogram_bucket(histogram_min(v)); b < last; b++) {
		seen += count_at(v, b);
		if (seen >= rank)
			return value_of(v, b);
	}
	return value_of(v, last);
}

double histogram_known_percentile(const struct histogram_view *v, uint32_t percent)
{
	const uint64_t n = histogram_count(v);
	const uint32_t above = percent < HISTOGRAM_ALL ? HISTOGRAM_ALL - percent : 0;
	const uint32_t shorter = percent < above ? percent : above;

	if (!n || (above && (uint128)n * shorter < (uint128)HISTOGRAM_BEYOND * HISTOGRAM_ALL))
		return NAN;
	return (double)histogram_percentile(v, percent);
}

double histogram_weighted_mean(const struct histogram_view *v)
{
	double weighted = 0, weights = 0;
	unsigned first = histogram_bucket(histogram_min(v));
	unsigned last = histogram_bucket(histogram_max(v));

	for (unsigned b = first; b <= last; b++) {
		double count = (double)count_at(v, b);

		weighted += count * count * (double)value_of(v, b);
		weights += count * count;
	}
	return weights > 0 ? weighted / weights : 0;
}

uint64_t histogram_count_between(const struct histogram_view *v, uint64_t from_ns, uint64_t to_ns)
{
	unsigned first = histogram_bucket(histogram_min(v));
	unsigned last = histogram_bucket(histogram_max(v));
	uint64_t count = 0;

	for (unsigned b = first; b <= last; b++) {
		uint64_t value = value_of(v, b);

		if (value >= from_ns && value < to_ns)
			count += count_at(v, b);
	}
	return count;
}

/*
 * Bytes and operations per interval. Called by QThreads for each operation of a run with -deskew,
 * and by the results manager.
 */

void flow_begin(struct flow *f, uint64_t origin_ns)
{
	memset(f, 0, sizeof(*f));
	f->origin_ns = origin_ns;
	f->shift = FLOW_FIRST_SHIFT;
}

static inline void add_to(struct flow_amount *sum, const struct flow_amount *amount)
{
	sum->bytes += amount->bytes;
	sum->op_units += amount->op_units;
}

/* `part` of `whole` of an amount. */
static struct flow_amount share_of(const struct flow_amount *amount, uint64_t part, uint64_t whole)
{
	return (struct flow_amount){
		.bytes = (uint64_t)((uint128)amount->bytes * part / whole),
		.op_units = (uint64_t)((uint128)amount->op_units * part / whole),
	};
}

/* Merge pairs of intervals. */
static void double_intervals(struct flow *f)
{
	for (unsigned i = 0; i < FLOW_INTERVALS / 2; i++) {
		f->done[i] = f->done[2 * i];
		add_to(&f->done[i], &f->done[2 * i + 1]);
	}
	memset(&f->done[FLOW_INTERVALS / 2], 0, sizeof(f->done) / 2);
	f->shift++;
}

/*
 * Spread an amount over the intervals `first` to `last`, which hold the times `from` to `to`.
 * Rounding loses nothing.
 */
static void spread(struct flow *f, uint64_t first, uint64_t last, uint64_t from, uint64_t to,
		   const struct flow_amount *amount)
{
	struct flow_amount before = { 0 };

	for (uint64_t i = first; i < last; i++) {
		uint64_t end = (i + 1) << f->shift;
		struct flow_amount sum = share_of(amount, end - from, to - from);

		f->done[i].bytes += sum.bytes - before.bytes;
		f->done[i].op_units += sum.op_units - before.op_units;
		before = sum;
	}
	f->done[last].bytes += amount->bytes - before.bytes;
	f->done[last].op_units += amount->op_units - before.op_units;
}

void flow_add_slowly(struct flow *f, uint64_t from_ns, uint64_t to_ns, struct flow_amount amount)
{
	uint64_t from = from_ns > f->origin_ns ? from_ns - f->origin_ns : 0;
	uint64_t to = to_ns > f->origin_ns ? to_ns - f->origin_ns : 0;

	if (to < from)
		to = from;
	while (to >> f->shift >= FLOW_INTERVALS)
		double_intervals(f);
	if (from >> f->shift == to >> f->shift)
		add_to(&f->done[from >> f->shift], &amount);
	else
		spread(f, from >> f->shift, to >> f->shift, from, to, &amount);
}

void flow_merge(struct flow *f, const struct flow *from)
{
	unsigned by;

	while (f->shift < from->shift)
		double_intervals(f);
	by = f->shift - from->shift;
	for (unsigned i = 0; i < FLOW_INTERVALS; i++)
		add_to(&f->done[i >> by], &from->done[i]);
}

struct flow_amount flow_before(const struct flow *f, uint64_t at_ns)
{
	uint64_t at = at_ns > f->origin_ns ? at_ns - f->origin_ns : 0;
	uint64_t last = at >> f->shift, part = at - (last << f->shift);
	struct flow_amount sum = { 0 }, rest;

	for (uint64_t i = 0; i < last && i < FLOW_INTERVALS; i++)
		add_to(&sum, &f->done[i]);
	if (last >= FLOW_INTERVALS)
		return sum;
	rest = share_of(&f->done[last], part, 1ull << f->shift);
	add_to(&sum, &rest);
	return sum;
}
