/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms of times: random values against a sort of them, sums, and the edges of the range
 * (src/stat/histogram.c, src/stat/figures.c).
 */
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xdd/base/random.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"

#define VALUES 50000
#define TOLERANCE 0.005 /* a bucket's middle is off by 1/256 at most */

static const uint32_t percents[] = {
	1,
	50 * HISTOGRAM_PERCENT,
	90 * HISTOGRAM_PERCENT,
	99 * HISTOGRAM_PERCENT,
	99 * HISTOGRAM_PERCENT + 900000,
	99 * HISTOGRAM_PERCENT + 999000,
	HISTOGRAM_ALL - 1,
	HISTOGRAM_ALL,
};

static struct histogram_view view_of(const struct histogram_sum *s)
{
	return (struct histogram_view){ .parts = { s }, .n_parts = 1 };
}

/* Uniform over [0, 1). */
static double draw(uint64_t n, unsigned sequence)
{
	const struct random_key key = { .seed = 20250301, .pass = sequence };
	const struct random_sequence s = random_sequence(&key);

	return (double)(random_u64(&s, n) >> 11) / 9007199254740992.0;
}

static uint64_t lognormal(uint64_t n)
{
	double normal = sqrt(-2 * log(1 - draw(n, 1))) * cos(2 * M_PI * draw(n, 2));

	return (uint64_t)(100000 * exp(1.5 * normal));
}

static uint64_t bimodal(uint64_t n)
{
	return (uint64_t)(draw(n, 3) < 0.95 ? 80000 + 4000 * draw(n, 4) : 9e6 + 1e6 * draw(n, 4));
}

static uint64_t constant(uint64_t n)
{
	(void)n;
	return 123456;
}

static uint64_t tiny(uint64_t n)
{
	return (uint64_t)(300 * draw(n, 5));
}

/* From 1 ns to days: beyond the last bucket too. */
static uint64_t any(uint64_t n)
{
	return (uint64_t)exp2(49 * draw(n, 6));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void fill(struct histogram *h, uint64_t *values, uint64_t (*value)(uint64_t))
{
	assert_int_equal(histogram_init(h, 1), 0);
	for (uint64_t i = 0; i < VALUES; i++) {
		values[i] = value(i);
		histogram_add(h, values[i]);
	}
	qsort(values, VALUES, sizeof(*values), by_value);
}

static void assert_near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance * fabs(want))
		fail_msg("got %g, wanted %g", got, want);
}

static uint64_t exact_percentile(const uint64_t *sorted, uint32_t percent)
{
	uint64_t rank = ((uint64_t)VALUES * percent + HISTOGRAM_ALL - 1) / HISTOGRAM_ALL;

	return sorted[rank ? rank - 1 : 0];
}

static void check_against_sort(uint64_t (*value)(uint64_t))
{
	static uint64_t sorted[VALUES];
	struct histogram h;
	struct histogram_sum s;
	struct histogram_view v = view_of(&s);
	double sum = 0, squares = 0;

	fill(&h, sorted, value);
	histogram_sum_init(&s);
	assert_int_equal(histogram_sum_add_live(&s, &h), 0);
	for (size_t i = 0; i < VALUES; i++) {
		sum += (double)sorted[i];
		squares += (double)sorted[i] * (double)sorted[i];
	}
	assert_int_equal(histogram_count(&v), VALUES);
	assert_int_equal(histogram_min(&v), sorted[0]);
	assert_int_equal(histogram_max(&v), sorted[VALUES - 1]);
	assert_near(histogram_mean(&v), sum / VALUES, 1e-12);
	assert_near(histogram_stddev(&v) * histogram_stddev(&v) + sum / VALUES * sum / VALUES,
		    squares / VALUES, 1e-9);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		uint64_t want = exact_percentile(sorted, percents[i]);

		if (want <= HISTOGRAM_MAX_NS)
			assert_near((double)histogram_percentile(&v, percents[i]), (double)want,
				    TOLERANCE);
	}
	histogram_sum_free(&s);
	histogram_free(&h, 1);
}

TEST(test_against_sort)
{
	check_against_sort(lognormal);
	check_against_sort(bimodal);
	check_against_sort(constant);
	check_against_sort(tiny);
	check_against_sort(any);
}

TEST(test_buckets)
{
	assert_int_equal(histogram_bucket(0), 0);
	assert_int_equal(histogram_bucket(255), 255);
	assert_int_equal(histogram_bucket(256), 256);
	assert_int_equal(histogram_bucket(257), 256);
	assert_int_equal(histogram_bucket(HISTOGRAM_MAX_NS), HISTOGRAM_BUCKETS - 1);
	assert_int_equal(histogram_bucket(HISTOGRAM_MAX_NS + 1), HISTOGRAM_BUCKETS - 1);
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++) {
		uint64_t from = histogram_bucket_from(b), to = histogram_bucket_from(b + 1);
		uint64_t middle = histogram_bucket_value(b);

		assert_true(from < to && from <= middle && middle < to);
		assert_int_equal(histogram_bucket(from), b);
		assert_int_equal(histogram_bucket(to - 1), b);
		assert_true((double)(middle - from) <= TOLERANCE * (double)from);
		assert_true((double)(to - 1 - middle) <= TOLERANCE * (double)from);
	}
	assert_int_equal(histogram_bucket_from(HISTOGRAM_BUCKETS), HISTOGRAM_MAX_NS + 1);
}

/* The values of a whole, dealt out to many and added up again, make the same whole. */
TEST(test_sums_are_exact)
{
	static struct histogram parts[7];
	struct histogram whole;
	struct histogram_sum all, sum, later;

	assert_int_equal(histogram_init(&whole, 1), 0);
	histogram_sum_init(&all);
	histogram_sum_init(&sum);
	histogram_sum_init(&later);
	for (size_t k = 0; k < 7; k++)
		assert_int_equal(histogram_init(&parts[k], 1), 0);
	for (uint64_t i = 0; i < VALUES; i++) {
		uint64_t value = i % 2 ? lognormal(i) : any(i);

		histogram_add(&whole, value);
		histogram_add(&parts[i % 7], value);
	}
	assert_int_equal(histogram_sum_add_live(&all, &whole), 0);
	for (size_t k = 0; k < 7; k++) {
		struct histogram_sum one;

		histogram_sum_init(&one);
		assert_int_equal(histogram_sum_add_live(&one, &parts[k]), 0);
		assert_int_equal(histogram_sum_add(k % 2 ? &sum : &later, &one), 0);
		histogram_sum_free(&one);
	}
	assert_int_equal(histogram_sum_add(&sum, &later), 0);
	assert_int_equal(sum.n, all.n);
	assert_true(sum.sum_ns == all.sum_ns);
	assert_near(sum.squares, all.squares, 1e-12);
	assert_true(sum.min_ns == all.min_ns && sum.max_ns == all.max_ns);
	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++)
		assert_int_equal(histogram_sum_count(&sum, b), histogram_sum_count(&all, b));

	/* And what is taken out again leaves the rest. */
	histogram_sum_subtract(&sum, &later);
	assert_int_equal(sum.n + later.n, all.n);
	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++)
		assert_int_equal(histogram_sum_count(&sum, b) + histogram_sum_count(&later, b),
				 histogram_sum_count(&all, b));
	histogram_sum_free(&all);
	histogram_sum_free(&sum);
	histogram_sum_free(&later);
	histogram_free(&whole, 1);
	for (size_t k = 0; k < 7; k++)
		histogram_free(&parts[k], 1);
}

TEST(test_differences)
{
	struct histogram h;
	struct histogram_sum before, now;
	struct histogram_view v = view_of(&now);

	assert_int_equal(histogram_init(&h, 1), 0);
	histogram_sum_init(&before);
	histogram_sum_init(&now);
	histogram_add(&h, 10);
	histogram_add(&h, 5000000);
	assert_int_equal(histogram_sum_add_live(&before, &h), 0);
	histogram_add(&h, 1000);
	histogram_add(&h, 2000);
	histogram_add(&h, 3000);
	assert_int_equal(histogram_sum_add_live(&now, &h), 0);
	histogram_sum_subtract(&now, &before);
	assert_int_equal(histogram_count(&v), 3);
	assert_near((double)histogram_min(&v), 1000, 2 * TOLERANCE);
	assert_near((double)histogram_max(&v), 3000, 2 * TOLERANCE);
	assert_near(histogram_mean(&v), 2000, 1e-12);
	assert_near((double)histogram_percentile(&v, 50 * HISTOGRAM_PERCENT), 2000, TOLERANCE);
	histogram_sum_subtract(&now, &now);
	assert_int_equal(histogram_count(&v), 0);
	assert_int_equal(histogram_max(&v), 0);
	histogram_sum_free(&before);
	histogram_sum_free(&now);
	histogram_free(&h, 1);
}

/* A sum of some values; free it. */
static void sum_of(struct histogram_sum *s, const uint64_t *values, size_t n)
{
	struct histogram h;

	assert_int_equal(histogram_init(&h, 1), 0);
	for (size_t i = 0; i < n; i++)
		histogram_add(&h, values[i]);
	histogram_sum_init(s);
	assert_int_equal(histogram_sum_add_live(s, &h), 0);
	histogram_free(&h, 1);
}

/*
 * The extremes of a difference are known to their buckets, and to the extremes of the whole. The
 * bucket of 1002 is 1000 to 1003, the one of 3000 is 2992 to 3007.
 */
TEST(test_extremes_of_difference)
{
	static const struct {
		uint64_t before[2], after[2], min, max;
	} cases[] = {
		{ { 10, 5000000 }, { 1002, 3000 }, 1000, 3007 },
		{ { 1001, 5000 }, { 1002, 3000 }, 1001, 3007 },
		{ { 10, 1000 }, { 1002, 3000 }, 1000, 3000 },
		{ { 2000, 2500 }, { 1002, 3000 }, 1002, 3000 },
		{ { 1000, 1003 }, { 1000, 1003 }, 1000, 1003 },
		{ { 10, 20 }, { 15, HISTOGRAM_MAX_NS + 5 }, 15, HISTOGRAM_MAX_NS + 5 },
		{ { 10, HISTOGRAM_MAX_NS + 9 }, { 15, 16 }, 15, 16 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t all[] = { cases[i].before[0], cases[i].before[1], cases[i].after[0],
					 cases[i].after[1] };
		const double sum = (double)(all[2] + all[3]), apart = (double)(all[3] - all[2]);
		struct histogram_sum before, now;
		struct histogram_view v = view_of(&now);

		sum_of(&before, all, 2);
		sum_of(&now, all, 4);
		histogram_sum_subtract(&now, &before);
		assert_int_equal(now.n, 2);
		assert_int_equal(now.min_ns, cases[i].min);
		assert_int_equal(now.max_ns, cases[i].max);
		assert_near(histogram_mean(&v), sum / 2, 1e-12);
		/* The square of so long a time leaves no digits for the others. */
		if (all[1] < HISTOGRAM_MAX_NS)
			assert_near(histogram_stddev(&v), apart / 2, 1e-3);
		histogram_sum_subtract(&now, &now);
		assert_int_equal(now.n, 0);
		assert_true(now.min_ns == UINT64_MAX && now.max_ns == 0);
		assert_true(now.sum_ns == 0 && now.squares == 0);
		histogram_sum_free(&before);
		histogram_sum_free(&now);
	}
}

/* The buckets of a sum become more as they must, and keep their counts. */
TEST(test_widen)
{
	static const struct {
		unsigned first, last, want_first, want_last;
	} cases[] = { { 100, 100, 100, 100 }, { 100, 100, 100, 100 }, { 100, 101, 100, 101 },
		      { 99, 101, 99, 101 },   { 100, 100, 99, 101 },  { 99, 100, 99, 101 },
		      { 100, 101, 99, 101 },  { 90, 95, 90, 101 },    { 105, 110, 90, 110 },
		      { 80, 120, 80, 120 } };
	struct histogram_sum s;

	histogram_sum_init(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool same = s.size == cases[i].want_last - cases[i].want_first + 1;
		const uint64_t *counts = s.counts;

		assert_int_equal(histogram_sum_widen(&s, cases[i].first, cases[i].last), 0);
		assert_int_equal(s.first, cases[i].want_first);
		assert_int_equal(s.first + s.size - 1, cases[i].want_last);
		assert_int_equal(s.counts == counts, same);
		if (i == 0)
			s.counts[0] = 7;
		for (unsigned b = 0; b < 200; b++)
			assert_int_equal(histogram_sum_count(&s, b), b == 100 ? 7 : 0);
	}
	histogram_sum_free(&s);
	assert_true(s.size == 0 && s.min_ns == UINT64_MAX && !s.counts);
}

/*
 * The bounds of a range count: the lower one is in it. The bucket of 1003 has the middle 1001; the
 * greatest value itself is known.
 */
TEST(test_count_between)
{
	static const uint64_t values[] = { 10, 20, 20, 30, 1003 };
	static const struct {
		uint64_t from, to, count;
	} cases[] = { { 10, 30, 3 }, { 11, 31, 3 },	{ 10, 31, 4 },	 { 20, 21, 2 },
		      { 20, 20, 0 }, { 31, 1001, 0 },	{ 31, 1002, 1 }, { 1001, 1002, 1 },
		      { 0, 10, 0 },  { 1002, 2000, 0 }, { 0, 100000, 5 } };
	struct histogram_sum s;
	struct histogram_view v = view_of(&s);

	sum_of(&s, values, 5);
	assert_int_equal(histogram_percentile(&v, HISTOGRAM_ALL), 1003);
	assert_int_equal(histogram_percentile(&v, HISTOGRAM_ALL - 1), 1001);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(histogram_count_between(&v, cases[i].from, cases[i].to),
				 cases[i].count);
	histogram_sum_free(&s);
}

/* Values at both ends are forgotten, and those between. */
TEST(test_reset_of_all)
{
	static const uint64_t values[] = { 3, 77, 78, 5000 };
	struct histogram h;
	struct histogram_sum s;
	struct histogram_view v = view_of(&s);

	assert_int_equal(histogram_init(&h, 1), 0);
	for (int i = 0; i < 4; i++)
		histogram_add(&h, values[i]);
	histogram_reset(&h);
	histogram_add(&h, 2);
	histogram_add(&h, 6000);
	histogram_sum_init(&s);
	assert_int_equal(histogram_sum_add_live(&s, &h), 0);
	assert_int_equal(s.n, 2);
	assert_true(s.sum_ns == 6002 && s.min_ns == 2 && s.max_ns == 6000);
	assert_near(histogram_stddev(&v), 2999, 1e-9);
	for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++)
		assert_int_equal(histogram_sum_count(&s, b), b == 2 || b == histogram_bucket(6000));
	histogram_sum_free(&s);
	histogram_free(&h, 1);
}

TEST(test_empty_and_reset)
{
	struct histogram h;
	struct histogram_sum s;
	struct histogram_view v = view_of(&s), none = { .n_parts = 0 };

	assert_int_equal(histogram_init(&h, 1), 0);
	for (int round = 0; round < 2; round++) {
		histogram_sum_init(&s);
		assert_int_equal(histogram_sum_add_live(&s, &h), 0);
		assert_null(s.counts);
		for (const struct histogram_view *e = &v; e; e = e == &v ? &none : NULL) {
			assert_int_equal(histogram_count(e), 0);
			assert_int_equal(histogram_min(e), 0);
			assert_int_equal(histogram_max(e), 0);
			assert_int_equal(histogram_percentile(e, 50 * HISTOGRAM_PERCENT), 0);
			assert_true(histogram_mean(e) == 0 && histogram_stddev(e) == 0);
			assert_true(histogram_weighted_mean(e) == 0);
		}
		histogram_add(&h, 0);
		histogram_add(&h, 77);
		histogram_add(&h, UINT64_MAX - 1);
		histogram_reset(&h);
		histogram_reset(&h);
	}
	histogram_free(&h, 1);
	histogram_free(&h, 1);
	histogram_reset(&h);
}

/* Values beyond the last bucket are counted, and the greatest value is still right. */
TEST(test_overflow)
{
	struct histogram h;
	struct histogram_sum s;
	struct histogram_view v = view_of(&s);
	const uint64_t month = 30ull * 86400 * 1000000000;

	assert_int_equal(histogram_init(&h, 1), 0);
	histogram_sum_init(&s);
	histogram_add(&h, 1000);
	histogram_add(&h, month - 1);
	histogram_add(&h, month);
	assert_int_equal(histogram_sum_add_live(&s, &h), 0);
	assert_int_equal(histogram_count(&v), 3);
	assert_true(histogram_max(&v) == month);
	assert_true(histogram_percentile(&v, 50 * HISTOGRAM_PERCENT) == month);
	assert_near(histogram_mean(&v), 2.0 * (double)month / 3, 1e-9);
	histogram_sum_free(&s);
	histogram_free(&h, 1);
}

/* The example of the xdisk guide: 90 of 5 ms, 80 of 6 ms, 2 of 500 ms. */
TEST(test_weighted_mean)
{
	struct histogram h;
	struct histogram_sum s;
	struct histogram_view v = view_of(&s);

	assert_int_equal(histogram_init(&h, 1), 0);
	histogram_sum_init(&s);
	for (int i = 0; i < 90; i++)
		histogram_add(&h, 5000000);
	for (int i = 0; i < 80; i++)
		histogram_add(&h, 6000000);
	for (int i = 0; i < 2; i++)
		histogram_add(&h, 500000000);
	assert_int_equal(histogram_sum_add_live(&s, &h), 0);
	assert_near(histogram_mean(&v), 11.2e6, 0.002);
	assert_near(histogram_weighted_mean(&v), 80900e6 / 14504, TOLERANCE);
	assert_int_equal(histogram_count_between(&v, 4096000, 8192000), 170);
	assert_int_equal(histogram_count_between(&v, 8192000, UINT64_MAX), 2);
	assert_int_equal(histogram_count_between(&v, 0, UINT64_MAX), 172);
	histogram_sum_free(&s);
	histogram_free(&h, 1);
}

TEST(test_directions)
{
	struct histogram h;
	struct latency l, sum;
	struct histogram_view v;

	assert_int_equal(histogram_init(&h, 1), 0);
	latency_init(&l);
	latency_init(&sum);
	histogram_add(&h, 10);
	assert_int_equal(histogram_sum_add_live(&l.of[LATENCY_SERVICE][DIR_READ], &h), 0);
	histogram_add(&h, 30);
	assert_int_equal(histogram_sum_add_live(&l.of[LATENCY_SERVICE][DIR_WRITE], &h), 0);
	histogram_add(&h, 200);
	assert_int_equal(histogram_sum_add_live(&l.of[LATENCY_RESPONSE][DIR_WRITE], &h), 0);
	assert_int_equal(latency_add(&sum, &l), 0);
	assert_int_equal(latency_add(&sum, &l), 0);
	v = latency_view(&sum, LATENCY_SERVICE, LATENCY_ALL_DIRS);
	assert_int_equal(histogram_count(&v), 6);
	assert_int_equal(histogram_percentile(&v, 50 * HISTOGRAM_PERCENT), 10);
	assert_int_equal(histogram_percentile(&v, 70 * HISTOGRAM_PERCENT), 30);
	v = latency_view(&sum, LATENCY_SERVICE, DIR_READ);
	assert_int_equal(histogram_count(&v), 2);
	v = latency_view(&sum, LATENCY_RESPONSE, LATENCY_ALL_DIRS);
	assert_int_equal(histogram_max(&v), 200);
	latency_free(&l);
	latency_free(&sum);
	latency_free(&sum);
	histogram_free(&h, 1);
}

struct race {
	struct histogram h;
	_Atomic bool over;
};

static void *write_on(void *arg)
{
	struct race *race = arg;

	for (uint64_t i = 0; i < 20 * VALUES; i++)
		histogram_add(&race->h, lognormal(i % 1000));
	atomic_store(&race->over, true);
	return NULL;
}

/* A reader meanwhile sees numbers that only grow, and in the end all. */
TEST(test_read_while_written)
{
	static struct race race;
	struct histogram_sum s;
	pthread_t writer;
	uint64_t seen = 0;
	bool over;

	assert_int_equal(histogram_init(&race.h, 1), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_on, &race), 0);
	do {
		over = atomic_load(&race.over);
		histogram_sum_init(&s);
		assert_int_equal(histogram_sum_add_live(&s, &race.h), 0);
		assert_true(s.n >= seen);
		seen = s.n;
		histogram_sum_free(&s);
	} while (!over);
	assert_int_equal(seen, 20 * VALUES);
	pthread_join(writer, NULL);
	histogram_free(&race.h, 1);
}

/* The counter of a value has memory. */
static bool is_resident(const struct histogram *h, uint64_t ns)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char in_core = 0;

	assert_int_equal(mincore((void *)((uintptr_t)&h->counts[histogram_bucket(ns)] & -page), 1,
				 &in_core),
			 0);
	return in_core & 1;
}

/* Usual times have memory before the first of them, others have none. */
TEST(test_touch)
{
	struct histogram h = { 0 };

	histogram_touch(&h);
	assert_int_equal(histogram_init(&h, 1), 0);
	histogram_touch(&h);
	assert_int_equal(h.min_ns, UINT64_MAX);
	for (uint64_t ns = 0; ns < HISTOGRAM_TOUCHED_NS; ns = 2 * ns + 1)
		assert_true(is_resident(&h, ns));
	assert_false(is_resident(&h, HISTOGRAM_MAX_NS));
	histogram_free(&h, 1);
}

/* A percentile is known from ten values beyond it on. */
TEST(test_known)
{
	static const struct {
		uint32_t percent;
		uint64_t least;
	} cases[] = { { 50 * HISTOGRAM_PERCENT, 20 },
		      { 99 * HISTOGRAM_PERCENT, 1000 },
		      { 999 * (HISTOGRAM_PERCENT / 10), 10000 },
		      { 1 * HISTOGRAM_PERCENT, 1000 },
		      { HISTOGRAM_ALL, 1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t count = cases[i].least;
		struct histogram_sum sum = { .n = count,
					     .sum_ns = 7 * count,
					     .min_ns = 7,
					     .max_ns = 7,
					     .first = 7,
					     .size = 1,
					     .counts = &count };
		const struct histogram_view v = { { &sum }, 1 };

		assert_near(histogram_known_percentile(&v, cases[i].percent), 7, TOLERANCE);
		sum.n = --count;
		assert_true(isnan(histogram_known_percentile(&v, cases[i].percent)));
	}
}

RUN_TESTS(NULL, NULL)
