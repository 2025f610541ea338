/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms: of times, and of bytes and operations over time.
 */
#ifndef XDD_STAT_HISTOGRAM_H
#define XDD_STAT_HISTOGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/stat/counters.h"

/*
 * Histograms of times: log-linear, as in HdrHistogram. Each octave has 128 buckets of equal width,
 * and below 256 ns each nanosecond has its own, so a value that is read has an error of at most
 * 1/256, 0.4 %. Number of values, sum, least and greatest are exact.
 *
 * struct histogram is written by one thread and may be read by any other at the same time: every
 * field is a relaxed atomic that only its owner stores. A value costs 5 ns. struct histogram_sum
 * is a copy, or a sum of copies, in plain memory that spans only the buckets in use. Sums are
 * exact.
 */

#define HISTOGRAM_SUB_BITS 7  /* log2 of the buckets in an octave */
#define HISTOGRAM_MAX_BITS 46 /* values from 2^46 ns on, 19.5 h, count in the last bucket */
#define HISTOGRAM_MAX_NS ((1ull << HISTOGRAM_MAX_BITS) - 1)
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* A percentile counts in 10^-6 percent, so that 99.999 % is a whole number. */
#define HISTOGRAM_PERCENT 1000000u
#define HISTOGRAM_ALL (100 * HISTOGRAM_PERCENT)

struct histogram {
	/* const after histogram_init() */
	_Atomic uint64_t *counts; /* HISTOGRAM_BUCKETS; only buckets with values use memory */

	/* atomic: written by the owner, read by anyone */
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t min_ns; /* UINT64_MAX when empty */
	_Atomic uint64_t max_ns;
	_Atomic double squares; /* sum of the squares, ns^2 */
};

struct histogram_sum {
	uint64_t n;
	uint64_t sum_ns;
	uint64_t min_ns; /* UINT64_MAX when empty */
	uint64_t max_ns;
	double squares;
	unsigned first;	  /* bucket that counts[0] is */
	unsigned size;	  /* of counts */
	uint64_t *counts; /* owned; NULL when empty */
};

/* Several sums seen as one. */
#define HISTOGRAM_VIEW_PARTS DIR_COUNT
struct histogram_view {
	const struct histogram_sum *parts[HISTOGRAM_VIEW_PARTS];
	unsigned n_parts;
};

/* The bucket of a value. */
static inline unsigned histogram_bucket(uint64_t ns)
{
	const unsigned octave = 1u << HISTOGRAM_SUB_BITS;
	unsigned shift;

	if (__builtin_expect(ns > HISTOGRAM_MAX_NS, 0))
		ns = HISTOGRAM_MAX_NS;
	/* The bits below the leading one and its HISTOGRAM_SUB_BITS followers are dropped. */
	shift = 63u - (unsigned)__builtin_clzll(ns | (2 * octave - 1)) - HISTOGRAM_SUB_BITS;
	return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(ns >> shift);
}

/* The least value of a bucket; for the number after the last bucket, the end of that. */
uint64_t histogram_bucket_from(unsigned bucket);

/* The value that represents a bucket: its middle. */
uint64_t histogram_bucket_value(unsigned bucket);

/* `n` empty histograms. Returns 0 or -errno; free with histogram_free(), safe on those all zero. */
int histogram_init(struct histogram *h, size_t n);
void histogram_free(struct histogram *h, size_t n);

/*
 * Touch the memory of values up to HISTOGRAM_TOUCHED_NS, 20 KiB, while all is 0 still: the first
 * value then costs no page fault. Owner only; nothing happens without histogram_init().
 */
#define HISTOGRAM_TOUCHED_NS (1ull << 26)
void histogram_touch(struct histogram *h);

/* Owner only. */
static inline void histogram_add(struct histogram *h, uint64_t ns)
{
	double squares = atomic_load_explicit(&h->squares, memory_order_relaxed);
	double value = (double)(int64_t)ns;

	counters_add(&h->counts[histogram_bucket(ns)], 1);
	counters_publish(&h->sum_ns, ns);
	atomic_store_explicit(&h->squares, squares + value * value, memory_order_relaxed);
	if (__builtin_expect(ns < atomic_load_explicit(&h->min_ns, memory_order_relaxed), 0))
		counters_set(&h->min_ns, ns);
	if (__builtin_expect(ns > atomic_load_explicit(&h->max_ns, memory_order_relaxed), 0))
		counters_set(&h->max_ns, ns);
}

/* Empty the histogram; only the range in use costs time. Owner only, while no thread reads. */
void histogram_reset(struct histogram *h);

/* An empty sum. */
void histogram_sum_init(struct histogram_sum *s);
void histogram_sum_free(struct histogram_sum *s);

/*
 * Make room for the buckets `first` to `last` as well, for a caller that sets counts and the other
 * fields itself. Returns 0 or -ENOMEM.
 */
int histogram_sum_widen(struct histogram_sum *s, unsigned first, unsigned last);

/*
 * Add the values of `h` (any thread) or of `from` to `s`; or subtract the values of `earlier`,
 * which `s` contains: least and greatest are then known to a bucket only. Return 0, or -ENOMEM with
 * `s` unchanged.
 */
int histogram_sum_add_live(struct histogram_sum *s, const struct histogram *h);
int histogram_sum_add(struct histogram_sum *s, const struct histogram_sum *from);
void histogram_sum_subtract(struct histogram_sum *s, const struct histogram_sum *earlier);

/* Values in bucket `bucket`. */
uint64_t histogram_sum_count(const struct histogram_sum *s, unsigned bucket);

/* Number of values. Without any, the functions below return 0. */
uint64_t histogram_count(const struct histogram_view *v);

/* In nanoseconds. */
uint64_t histogram_min(const struct histogram_view *v);
uint64_t histogram_max(const struct histogram_view *v);
double histogram_mean(const struct histogram_view *v);

/* Standard deviation of the values (of the population, not of a sample). */
double histogram_stddev(const struct histogram_view *v);

/*
 * The smallest value that at least `percent` (of HISTOGRAM_ALL) of the values do not exceed, to a
 * bucket; HISTOGRAM_ALL: the greatest.
 */
uint64_t histogram_percentile(const struct histogram_view *v, uint32_t percent);

/*
 * That percentile, for all that people or programs are shown; NAN where it would be the least or
 * greatest value under another name: less than HISTOGRAM_BEYOND values are expected on its shorter
 * side. p50 needs 20 values, p99 1000, p99.9 10,000. HISTOGRAM_ALL needs one.
 */
#define HISTOGRAM_BEYOND 10
double histogram_known_percentile(const struct histogram_view *v, uint32_t percent);

/*
 * The mean of the values, each bucket weighted by the square of its share: where most values lie,
 * whatever the tail is like. IBM's xdisk calls it the weighted average; the formula is its guide's.
 */
double histogram_weighted_mean(const struct histogram_view *v);

/* Values whose bucket's middle lies at `from_ns` or above and below `to_ns`. */
uint64_t histogram_count_between(const struct histogram_view *v, uint64_t from_ns, uint64_t to_ns);

/*
 * Bytes and operations over time: a histogram of constant size, of bytes and of operations. An
 * operation is spread evenly over the time from its issue to its completion. When time outgrows
 * the histogram, its intervals double in length, so at least half of them are always in use.
 *
 * One thread writes; others read when it has finished.
 */

#define FLOW_INTERVALS 1024
#define FLOW_FIRST_SHIFT 10 /* intervals begin with 2^10 ns */
/* One operation, in units of flow_amount.op_units: its parts may lie in several intervals. */
#define FLOW_OP (1u << 20)

/* In one struct, because each operation adds to both. */
struct flow_amount {
	uint64_t bytes;
	uint64_t op_units; /* operations that succeeded, in units of 1/FLOW_OP */
};

struct flow {
	uint64_t origin_ns;
	unsigned shift; /* an interval has 2^shift ns */
	struct flow_amount done[FLOW_INTERVALS];
};

/* Empty, from clock `origin_ns` on. */
void flow_begin(struct flow *f, uint64_t origin_ns);

/* Private to flow_add(): an operation that does not lie within one interval. */
void flow_add_slowly(struct flow *f, uint64_t from_ns, uint64_t to_ns, struct flow_amount amount);

/* Add `amount`, done between two clocks; times before the origin count as the origin. */
static inline void flow_add(struct flow *f, uint64_t from_ns, uint64_t to_ns,
			    struct flow_amount amount)
{
	/* Times before the origin wrap, and lie after the last interval. */
	uint64_t first = (from_ns - f->origin_ns) >> f->shift;
	uint64_t last = (to_ns - f->origin_ns) >> f->shift;

	if (__builtin_expect(first != last || last >= FLOW_INTERVALS, 0)) {
		flow_add_slowly(f, from_ns, to_ns, amount);
		return;
	}
	f->done[last].bytes += amount.bytes;
	f->done[last].op_units += amount.op_units;
}

/* Add `from`, which has the same origin. */
void flow_merge(struct flow *f, const struct flow *from);

/*
 * The sum up to clock `at_ns`. Exact at the ends of intervals; within one, its amount counts in
 * proportion to the time.
 */
struct flow_amount flow_before(const struct flow *f, uint64_t at_ns);

#endif
