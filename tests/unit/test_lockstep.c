/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lockstep as arithmetic: src/run/coord/gate.c.
 */
#include "unit.h"

#include "run/coord/gate.h"

#define PERCENT (PLAN_RATIO_ONE / 100)

static const struct target_plan hundred = {
	.pass_ops = 100, .req_bytes = 4096, .pass_bytes = 409600, .last_op_bytes = 4096
};

/* 99 whole requests and one of 100 bytes. */
static const struct target_plan ragged = {
	.pass_ops = 100, .req_bytes = 4096, .pass_bytes = 99 * 4096 + 100, .last_op_bytes = 100
};

static const struct target_plan endless = { .pass_ops = PLAN_UNLIMITED,
					    .req_bytes = 4096,
					    .pass_bytes = PLAN_UNLIMITED };

static struct measure ops(uint64_t n)
{
	return (struct measure){ MEASURE_OPS, n };
}

static struct measure bytes(uint64_t n)
{
	return (struct measure){ MEASURE_BYTES, n };
}

static struct measure percent(uint64_t millionths)
{
	return (struct measure){ MEASURE_PERCENT, millionths };
}

TEST(test_count)
{
	struct measure m = ops(8);

	assert_int_equal(measure_count(&m, &hundred, 7, 0), 0);
	assert_int_equal(measure_count(&m, &hundred, 8, 0), 1);
	assert_int_equal(measure_count(&m, &hundred, 100, 0), 12);
	m = bytes(4096);
	assert_int_equal(measure_count(&m, &hundred, 50, 4095), 0);
	assert_int_equal(measure_count(&m, &hundred, 0, 8192), 2);
	m = percent(10 * PERCENT);
	assert_int_equal(measure_count(&m, &hundred, 9, 0), 0);
	assert_int_equal(measure_count(&m, &hundred, 10, 0), 1);
	assert_int_equal(measure_count(&m, &hundred, 100, 0), 10);
	/* A third of a hundred operations: the 34th, the 67th, the 100th is not the third. */
	m = percent(PLAN_RATIO_ONE / 3 + 1);
	assert_int_equal(measure_count(&m, &hundred, 33, 0), 0);
	assert_int_equal(measure_count(&m, &hundred, 34, 0), 1);
	assert_int_equal(measure_count(&m, &hundred, 67, 0), 2);
	assert_int_equal(measure_count(&m, &hundred, 100, 0), 2);
	m = percent(PLAN_RATIO_ONE);
	assert_int_equal(measure_count(&m, &hundred, 99, 0), 0);
	assert_int_equal(measure_count(&m, &hundred, 100, 0), 1);
}

TEST(test_count_large)
{
	struct target_plan t = { .pass_ops = UINT64_MAX - 1, .req_bytes = 1, .pass_bytes = 1 };
	struct measure m = percent(PLAN_RATIO_ONE / 2);

	assert_int_equal(measure_count(&m, &t, UINT64_MAX / 2 - 1, 0), 0);
	assert_int_equal(measure_count(&m, &t, UINT64_MAX / 2, 0), 1);
	m = bytes(4096);
	assert_int_equal(measure_before(&m, &endless, UINT64_MAX / 2), UINT64_MAX / 4096);
}

TEST(test_before)
{
	struct measure m = bytes(8192);

	assert_int_equal(measure_before(&m, &hundred, 0), 0);
	assert_int_equal(measure_before(&m, &hundred, 1), 0);
	assert_int_equal(measure_before(&m, &hundred, 2), 1);
	assert_int_equal(measure_before(&m, &hundred, 100), 50);
	assert_int_equal(measure_before(&m, &ragged, 99), 49);
	assert_int_equal(measure_before(&m, &ragged, 100), 49);
}

TEST(test_slave)
{
	struct lockstep_plan l = { .when = ops(1), .what = ops(3) };

	for (uint64_t n = 0; n < 30; n++)
		assert_int_equal(lockstep_slave_needs(&l, &hundred, n), n / 3 + 1);
	l.run = true;
	for (uint64_t n = 0; n < 30; n++)
		assert_int_equal(lockstep_slave_needs(&l, &hundred, n), n / 3);
	/* Three requests of 4096 bytes begin within 10000 bytes, two in the 10000 after them. */
	l = (struct lockstep_plan){ .when = ops(1), .what = bytes(10000) };
	assert_int_equal(lockstep_slave_needs(&l, &hundred, 2), 1);
	assert_int_equal(lockstep_slave_needs(&l, &hundred, 3), 2);
	assert_int_equal(lockstep_slave_needs(&l, &hundred, 4), 2);
	assert_int_equal(lockstep_slave_needs(&l, &hundred, 5), 3);
}

TEST(test_master)
{
	struct lockstep_plan l = { .when = ops(1), .what = ops(1) };

	/* One by one: operation n waits for the task that operation n - 1 requested. */
	for (uint64_t n = 0; n < 100; n++)
		assert_int_equal(lockstep_master_needs(&l, &hundred, n), n);
	/*
	 * By eights: only the last of the eight waits, for the task requested by the eight before.
	 */
	l.when = ops(8);
	for (uint64_t n = 0; n < 100; n++)
		assert_int_equal(lockstep_master_needs(&l, &hundred, n), n % 8 == 7 ? n / 8 :
									 n / 8	    ? n / 8 - 1 :
										      0);
}

/*
 * With any measures, a gate has to be monotonic, and both sides together must get to their
 * ends.
 */
static void run_both(const struct lockstep_plan *l, const struct target_plan *master,
		     const struct target_plan *slave)
{
	uint64_t m = 0, s = 0, made = 0, done = 0, needs = 0;

	while (m < master->pass_ops) {
		bool moved = false;

		while (s < slave->pass_ops && lockstep_slave_needs(l, slave, s) <= made) {
			/* Never ahead of what was requested. */
			assert_true(measure_before(&l->what, slave, s) < made + l->run);
			s++;
			moved = true;
		}
		done = s == slave->pass_ops ? UINT64_MAX : measure_before(&l->what, slave, s);
		assert_true(lockstep_master_needs(l, master, m) >= needs);
		needs = lockstep_master_needs(l, master, m);
		if (done >= needs) {
			m++;
			moved = true;
			made = measure_before(&l->when, master, m);
		}
		assert_true(moved);
	}
}

TEST(test_never_stuck)
{
	const struct measure all[] = { ops(1),
				       ops(7),
				       ops(1000),
				       percent(1),
				       percent(PERCENT / 3),
				       percent(33 * PERCENT),
				       percent(PLAN_RATIO_ONE),
				       bytes(1),
				       bytes(1024),
				       bytes(10000),
				       bytes(1 << 30) };
	const size_t n = sizeof(all) / sizeof(all[0]);

	for (size_t i = 0; i < n * n * 2; i++) {
		struct lockstep_plan l = { .when = all[i % n],
					   .what = all[i / n % n],
					   .run = i / n / n };

		run_both(&l, &hundred, &ragged);
		run_both(&l, &ragged, &hundred);
	}
}

TEST(test_counted)
{
	struct lockstep_plan l = { .when = ops(1), .what = ops(1) };

	assert_true(lockstep_is_counted(&l));
	l.when.unit = MEASURE_TIME;
	assert_false(lockstep_is_counted(&l));
	l.when.unit = MEASURE_BYTES;
	l.what.unit = MEASURE_TIME;
	assert_false(lockstep_is_counted(&l));
}

RUN_TESTS(NULL, NULL)
