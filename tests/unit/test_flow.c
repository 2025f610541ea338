/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes and operations per interval: src/stat/histogram.c.
 */
#include "unit.h"

#include "xdd/stat/histogram.h"

#define FIRST (1ull << FLOW_FIRST_SHIFT)
#define SECOND 1000000000ull
#define ORIGIN 12345678901ull

static struct flow f, other;

/*
 * `n` bytes, and as many operations times three: each amount has to be kept apart from the other.
 */
static struct flow_amount amount(uint64_t n)
{
	return (struct flow_amount){ n, 3 * n };
}

/* The bytes before `at_ns`. Operations are spread alike, but each amount is rounded on its own. */
static uint64_t before(const struct flow *flow, uint64_t at_ns)
{
	struct flow_amount sum = flow_before(flow, at_ns);

	assert_in_range(sum.op_units, 3 * sum.bytes, 3 * sum.bytes + 2);
	return sum.bytes;
}

static uint64_t all(const struct flow *flow)
{
	struct flow_amount sum = flow_before(flow, UINT64_MAX);

	assert_int_equal(sum.op_units, 3 * sum.bytes);
	return sum.bytes;
}

TEST(test_one_interval)
{
	flow_begin(&f, ORIGIN);
	assert_int_equal(all(&f), 0);
	flow_add(&f, ORIGIN + FIRST, ORIGIN + FIRST + 10, amount(4096));
	assert_int_equal(before(&f, 0), 0);
	assert_int_equal(before(&f, ORIGIN + FIRST), 0);
	assert_int_equal(before(&f, ORIGIN + FIRST + FIRST / 4), 1024);
	assert_int_equal(before(&f, ORIGIN + 2 * FIRST), 4096);
	assert_int_equal(all(&f), 4096);
}

TEST(test_spread)
{
	flow_begin(&f, ORIGIN);
	/*
	 * From the middle of one interval to the middle of the fourth after it: 1/8, 1/4, 1/4,
	 * 1/4, 1/8.
	 */
	flow_add(&f, ORIGIN + FIRST / 2, ORIGIN + 4 * FIRST + FIRST / 2, amount(8000));
	assert_int_equal(before(&f, ORIGIN + FIRST), 1000);
	assert_int_equal(before(&f, ORIGIN + 2 * FIRST), 3000);
	assert_int_equal(before(&f, ORIGIN + 4 * FIRST), 7000);
	assert_int_equal(all(&f), 8000);
	/* Nothing is lost to rounding. */
	flow_add(&f, ORIGIN + 1, ORIGIN + 777 * FIRST + 5, amount(10007));
	assert_int_equal(all(&f), 18007);
}

TEST(test_rescale)
{
	uint64_t sum = 0;

	flow_begin(&f, ORIGIN);
	/* An operation of a millisecond each hundredth of a second, for an hour. */
	for (uint64_t i = 0; i < 360000; i++) {
		uint64_t at = ORIGIN + i * SECOND / 100;

		flow_add(&f, at, at + SECOND / 1000, amount(1000 + i % 7));
		sum += 1000 + i % 7;
	}
	assert_int_equal(all(&f), sum);
	/* The intervals have not got longer than they had to be. */
	assert_true((3600 * SECOND) >> f.shift >= FLOW_INTERVALS / 2);
	assert_true((3600 * SECOND) >> f.shift < FLOW_INTERVALS);
	/* Ten minutes of it, to within two intervals of seven seconds at most. */
	sum = before(&f, ORIGIN + 900 * SECOND) - before(&f, ORIGIN + 300 * SECOND);
	assert_in_range(sum, 60180000 - 2 * 700 * 1006, 60180000 + 2 * 700 * 1006);
}

TEST(test_before_origin)
{
	flow_begin(&f, ORIGIN);
	flow_add(&f, ORIGIN - 100, ORIGIN - 50, amount(5));
	flow_add(&f, ORIGIN - 100, ORIGIN + 10, amount(6));
	flow_add(&f, ORIGIN + 20, ORIGIN + 10, amount(7)); /* clocks that cross */
	assert_int_equal(before(&f, ORIGIN - 1), 0);
	assert_int_equal(all(&f), 18);
}

TEST(test_merge)
{
	flow_begin(&f, ORIGIN);
	flow_begin(&other, ORIGIN);
	flow_add(&f, ORIGIN + 5, ORIGIN + 6, amount(100));
	flow_add(&other, ORIGIN + SECOND, ORIGIN + SECOND + 1, amount(1000));
	flow_merge(&f, &other);
	assert_int_equal(f.shift, other.shift);
	assert_int_equal(before(&f, ORIGIN + SECOND / 2), 100);
	assert_int_equal(all(&f), 1100);
	flow_begin(&other, ORIGIN);
	flow_add(&other, ORIGIN + 5, ORIGIN + 6, amount(1));
	flow_merge(&f, &other);
	assert_int_equal(before(&f, ORIGIN + SECOND / 2), 101);
	assert_int_equal(all(&f), 1101);
}

RUN_TESTS(NULL, NULL)
