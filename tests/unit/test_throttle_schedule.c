/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schedule of -throttle: when operations are due (src/io/access.c).
 */
#include "unit.h"

#include <math.h>

#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/io/access.h"
#include "xdd/plan/mix.h"

#define CENTURY_NS (100ull * 31557600 * 1000000000)

static struct target_plan paced(double interval_ns)
{
	return (struct target_plan){
		.req_bytes = 4096,
		.seek.seed = 72058,
		.throttle = { .by = THROTTLE_OPS, .interval_ns = interval_ns },
	};
}

TEST(test_unpaced)
{
	struct target_plan t = paced(0);

	assert_false(throttle_is_on(&t));
	assert_int_equal(throttle_due_ns(&t, NULL, 0), 0);
	assert_int_equal(throttle_due_ns(&t, NULL, 1000000), 0);
}

/* Operation n is due n intervals after the start, however many there were: no error adds up. */
TEST(test_rate)
{
	const double rates[] = { 0.001, 1, 7.8, 1000, 3333.3, 1e6, 1e9 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct target_plan t = paced(1e9 / rates[i]);

		assert_true(throttle_is_on(&t));
		assert_int_equal(throttle_due_ns(&t, NULL, 0), 0);
		for (uint64_t n = 1; n < 1000000000000ull; n *= 3) {
			double want = (double)n * 1e9 / rates[i];

			if (want < 4e18)
				assert_true(fabs((double)throttle_due_ns(&t, NULL, n) - want) <=
					    1 + want * 1e-12);
		}
	}
}

TEST(test_far_future)
{
	struct target_plan t = paced(1e18);

	/* Any reading of the clock can be added. */
	assert_true(throttle_due_ns(&t, NULL, UINT64_MAX) <= UINT64_MAX / 2);
	assert_true(throttle_due_ns(&t, NULL, UINT64_MAX) >= CENTURY_NS);
}

/* Moved at random, in order still, by half of the variation at most, and without a drift. */
TEST(test_variation)
{
	const double variations[] = { 1, 50, 100 };

	for (size_t i = 0; i < 3; i++) {
		struct target_plan t = paced(1e6), other = t;
		double most = 1e6 * variations[i] / 100 / 2, sum = 0, spread = 0;
		uint64_t before = 0, differ = 0;

		t.throttle.var_percent = variations[i];
		other = t;
		other.number = 1;
		for (uint64_t n = 0; n < 100000; n++) {
			uint64_t due = throttle_due_ns(&t, NULL, n);
			double off = (double)due - 1e6 * (double)n;

			assert_true(due >= before);
			assert_true(fabs(off) <= most + 1);
			assert_int_equal(due, throttle_due_ns(&t, NULL, n));
			differ += due != throttle_due_ns(&other, NULL, n);
			sum += off;
			spread += off * off;
			before = due;
		}
		assert_true(fabs(sum / 100000) < most / 50);
		/* Uniform: the standard deviation is the half width over the root of 3. */
		assert_true(fabs(sqrt(spread / 100000) - most / sqrt(3)) < most / 50);
		assert_true(differ > 90000);
	}
}

/* With a rate of bytes, a loaded list of requests of several sizes. */
TEST(test_rows)
{
	const uint64_t before[] = { 0, 4096, 4096 + 1024, 4096 + 2048, 4096 + 2048 };
	const struct seek_row rows[4] = { { .blocks = 4 }, { .blocks = 1 }, { .blocks = 1 }, { 0 } };
	struct target_plan t = paced(1e6);

	t.rows = rows;
	t.n_rows = 4;
	t.throttle.bytes_before = before;
	assert_int_equal(throttle_due_ns(&t, NULL, 0), 0);
	assert_int_equal(throttle_due_ns(&t, NULL, 1), 1000000);
	assert_int_equal(throttle_due_ns(&t, NULL, 2), 1250000);
	assert_int_equal(throttle_due_ns(&t, NULL, 3), 1500000);
}

/*
 * Each operation has its interval, the last one as well; at a rate of bytes a short one has a short
 * interval.
 */
TEST(test_span)
{
	const uint64_t before[] = { 0, 4096, 4096 + 1024, 4096 + 2048 };
	struct target_plan t = paced(1e6);

	t.pass_ops = 10;
	t.throttle.var_percent = 100;
	t.last_op_bytes = 1024;
	assert_int_equal(throttle_span_ns(&t, NULL, 0), 0);
	assert_int_equal(throttle_span_ns(&t, NULL, 1), 1000000);
	assert_int_equal(throttle_span_ns(&t, NULL, 10), 10000000);
	t.throttle.by = THROTTLE_BANDWIDTH;
	assert_int_equal(throttle_span_ns(&t, NULL, 9), 9000000);
	assert_int_equal(throttle_span_ns(&t, NULL, 10), 9250000);
	t.last_op_bytes = 4096;
	assert_int_equal(throttle_span_ns(&t, NULL, 10), 10000000);
	t.n_rows = 3;
	t.throttle.bytes_before = before;
	t.pass_ops = 3;
	assert_int_equal(throttle_span_ns(&t, NULL, 1), 1000000);
	assert_int_equal(throttle_span_ns(&t, NULL, 3), 1500000);
	t = paced(0);
	assert_int_equal(throttle_span_ns(&t, NULL, 10), 0);
}

/*
 * Moved at random, requests of very different sizes are due in order still, and near to where they
 * were.
 */
TEST(test_rows_vary)
{
	enum {
		ROWS = 200
	};
	static struct seek_row rows[ROWS];
	static uint64_t before[ROWS + 1];
	struct target_plan t = paced(1e6), even;
	uint64_t last = 0, moved = 0;

	t.block_size = 1024;
	t.req_bytes = 128 * 1024;
	for (size_t i = 0; i < ROWS; i++) {
		rows[i].blocks = i % 50 ? 1 : 128;
		before[i + 1] = before[i] + rows[i].blocks * t.block_size;
	}
	t.rows = rows;
	t.n_rows = ROWS;
	t.throttle.bytes_before = before;
	even = t;
	t.throttle.var_percent = 100;
	for (uint64_t n = 0; n < ROWS; n++) {
		uint64_t due = throttle_due_ns(&t, NULL, n),
			 plain = throttle_due_ns(&even, NULL, n);

		assert_true(due >= last);
		assert_true(n == 0 || due >= throttle_due_ns(&even, NULL, n - 1));
		assert_true(due <= throttle_due_ns(&even, NULL, n + 1));
		moved += due != plain;
		last = due;
	}
	assert_true(moved > ROWS * 9 / 10);
}

/* With a rate of bytes each request of a mix has the interval of its size; with one of ops, one. */
TEST(test_mix)
{
	struct request_mix mix = { .n = 2, .sizes = { { 1024, 3 }, { 4096, 1 } } };
	struct arena *arena = arena_new();
	struct target_plan t = paced(1e6);
	uint64_t bytes = 0;

	assert_non_null(arena);
	mix_init(&mix, arena, 1, NULL);
	t.mix = &mix;
	t.pass_ops = 100;
	t.pass_bytes = mix_bytes(&mix, 100) - 512;
	for (uint64_t n = 0; n < 100; n++) {
		t.throttle.by = THROTTLE_BANDWIDTH;
		assert_int_equal(throttle_due_ns(&t, NULL, n), bytes * 1000000 / 4096);
		assert_int_equal(throttle_span_ns(&t, NULL, n), bytes * 1000000 / 4096);
		t.throttle.by = THROTTLE_OPS;
		assert_int_equal(throttle_due_ns(&t, NULL, n), n * 1000000);
		bytes += mix_op(&mix, n).size;
	}
	/* The last operation may be shorter than its size of the mix. */
	t.throttle.by = THROTTLE_BANDWIDTH;
	assert_int_equal(throttle_span_ns(&t, NULL, 100), (bytes - 512) * 1000000 / 4096);
	t.throttle.by = THROTTLE_OPS;
	assert_int_equal(throttle_span_ns(&t, NULL, 100), 100000000);
	arena_free(arena);
}

/* Arrivals are those of the process that seed, target, rank and pass name. */
TEST(test_arrivals)
{
	struct target_plan t = paced(1e6);
	struct poisson arrivals, others;

	t.number = 3;
	t.throttle.rank = 2;
	t.throttle.poisson = true;
	for (uint64_t pass = 1; pass <= 2; pass++) {
		const struct random_key key = { .seed = 72058,
						.pass = (uint32_t)pass,
						.target = 3,
						.rank = 2,
						.stream = RANDOM_STREAM_ARRIVAL };

		/* A previous pass left arrivals of its own. */
		memset(&arrivals, 0x5a, sizeof(arrivals));
		throttle_arrivals(&arrivals, &t, pass);
		poisson_init(&others, &key);
		for (uint64_t n = 0; n < 1000; n++) {
			uint64_t due = throttle_due_ns(&t, &arrivals, n);
			double want = (double)poisson_arrival(&others, n) / POISSON_UNIT * 1e6;

			assert_int_equal(due, (uint64_t)want);
			assert_int_equal(throttle_span_ns(&t, &arrivals, n), due);
		}
	}
}

RUN_TESTS(NULL, NULL)
