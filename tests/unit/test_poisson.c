/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Poisson process by number (src/base/random.c): arrivals, their gaps and their independence.
 * Seeds are fixed, so each figure is the same in every run; the bounds are those of statistics.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "xdd/base/random.h"

#define GAPS 100000u

static const uint64_t begins[] = { 0, 1000, 1048576 - GAPS / 2, 1000000007, 1ull << 40 };
#define N_BEGINS (sizeof(begins) / sizeof(begins[0]))

static double gaps[GAPS];

static struct poisson process(uint64_t seed, uint32_t pass)
{
	const struct random_key key = { .seed = seed,
					.pass = pass,
					.stream = RANDOM_STREAM_ARRIVAL };
	struct poisson p;

	poisson_init(&p, &key);
	return p;
}

/* The gaps after arrivals `from` and so on, in mean gaps. */
static void fill_gaps(struct poisson *p, uint64_t from)
{
	uint64_t before = poisson_arrival(p, from);

	for (uint64_t i = 0; i < GAPS; i++) {
		uint64_t at = poisson_arrival(p, from + i + 1);

		assert_true(at >= before);
		gaps[i] = (double)(at - before) / POISSON_UNIT;
		before = at;
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The greatest distance between the distribution of `v` and an exponential one of mean 1. */
static double ks_distance(double *v, size_t n)
{
	double most = 0;

	qsort(v, n, sizeof(*v), compare);
	for (size_t i = 0; i < n; i++) {
		double f = 1 - exp(-v[i]);
		double up = (double)(i + 1) / (double)n - f, down = f - (double)i / (double)n;

		most = fmax(most, fmax(up, down));
	}
	return most;
}

/* Gaps are exponential, near to the beginning and far from it: Kolmogorov and Smirnov, 1 %. */
TEST(test_gaps)
{
	for (size_t i = 0; i < N_BEGINS; i++) {
		struct poisson p = process(72058, 1);

		fill_gaps(&p, begins[i]);
		assert_true(ks_distance(gaps, GAPS) < 1.63 / sqrt(GAPS));
	}
}

/* The correlation of gaps with those `lag` later. */
static double correlation(size_t lag)
{
	double sum = 0;

	for (size_t i = 0; i + lag < GAPS; i++)
		sum += (gaps[i] - 1) * (gaps[i + lag] - 1);
	return sum / (double)(GAPS - lag);
}

/* A gap tells nothing about the next ones, wherever nodes of the tree begin and end. */
TEST(test_independent)
{
	for (size_t i = 0; i < N_BEGINS; i++) {
		struct poisson p = process(1, 1);

		fill_gaps(&p, begins[i]);
		for (size_t lag = 1; lag <= 64; lag = lag < 8 ? lag + 1 : lag * 2)
			assert_true(fabs(correlation(lag)) < 4 / sqrt(GAPS));
	}
}

/* Arrivals in `windows` equal times have as great a variance as a mean. */
TEST(test_counts)
{
	enum {
		WINDOWS = 5000
	};
	static unsigned counts[WINDOWS];
	struct poisson p = process(5, 3);
	double sum = 0, squares = 0, mean;

	for (uint64_t n = 0;; n++) {
		uint64_t window = poisson_arrival(&p, n) / (20 * POISSON_UNIT);

		if (window >= WINDOWS)
			break;
		counts[window]++;
	}
	for (size_t i = 0; i < WINDOWS; i++) {
		sum += counts[i];
		squares += (double)counts[i] * counts[i];
	}
	mean = sum / WINDOWS;
	assert_true(fabs(mean - 20) < 4 * sqrt(20.0 / WINDOWS));
	assert_true(fabs((squares / WINDOWS - mean * mean) / mean - 1) < 4 * sqrt(2.0 / WINDOWS));
}

/* Arrival n is at n on average, and its variance is n, for many processes. */
TEST(test_arrivals)
{
	const uint64_t numbers[] = { 1, 2, 3, 7, 64, 1000, 4097, 1000000, (1ull << 40) + 12345 };
	const unsigned runs = 4000;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const double n = (double)numbers[i];
		double sum = 0, squares = 0;

		for (uint32_t run = 0; run < runs; run++) {
			struct poisson p = process(9, run);
			double off = (double)poisson_arrival(&p, numbers[i]) / POISSON_UNIT - n;

			sum += off / sqrt(n);
			squares += off * off / n;
		}
		assert_true(fabs(sum / runs) < 4 / sqrt(runs));
		/* The fourth moment of a gamma variate is 3 + 6 / n. */
		assert_true(fabs(squares / runs - 1) < 4 * sqrt((2 + 6 / n) / runs));
	}
}

/*
 * Arrivals are part of what the program promises. Where a library rounds in another way, they
 * differ by far less than a gap.
 */
TEST(test_stays_the_same)
{
	static const struct {
		uint64_t n;
		double sum; /* of 1000 processes: how much later than n, in mean gaps */
	} known[] = {
		{ 1, -21.087142944 }, { 2, -15.767471313 },    { 3, -2.353927612 },
		{ 4, 4.859161377 },   { 1000, 273.799850464 }, { 1060921, 2814.484390259 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		double sum = 0;

		for (uint32_t run = 0; run < 1000; run++) {
			struct poisson p = process(72058, run);

			sum += (double)poisson_arrival(&p, known[i].n) / POISSON_UNIT -
			       (double)known[i].n;
		}
		assert_true(fabs(sum - known[i].sum) < 1e-3);
	}
}

/* Arrivals do not depend on the order in which they are asked for. */
TEST(test_any_order)
{
	struct poisson p = process(72058, 1), fresh;

	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t n = random_splitmix64(i) >> (17 + i % 47);

		if (i % 3 == 0)
			n = i;
		fresh = process(72058, 1);
		assert_int_equal(poisson_arrival(&p, n), poisson_arrival(&fresh, n));
		assert_int_equal(poisson_arrival(&p, n), poisson_arrival(&fresh, n));
	}
}

/* Other seeds and passes are other processes. */
TEST(test_keys)
{
	struct poisson a = process(1, 1), b = process(1, 2), c = process(2, 1);
	uint64_t same = 0;

	for (uint64_t n = 1; n < 1000; n++) {
		uint64_t at = poisson_arrival(&a, n);

		same += at == poisson_arrival(&b, n) || at == poisson_arrival(&c, n);
	}
	assert_true(same < 5);
}

TEST(test_end)
{
	struct poisson p = process(1, 1);

	assert_int_equal(poisson_arrival(&p, 0), 0);
	assert_true(poisson_arrival(&p, POISSON_END - 1) < UINT64_MAX);
	assert_true(poisson_arrival(&p, POISSON_END - 1) > poisson_arrival(&p, POISSON_END / 2));
	assert_int_equal(poisson_arrival(&p, POISSON_END), UINT64_MAX);
	assert_int_equal(poisson_arrival(&p, UINT64_MAX), UINT64_MAX);
	assert_int_equal(poisson_arrival(&p, 0), 0);
}

RUN_TESTS(NULL, NULL)
