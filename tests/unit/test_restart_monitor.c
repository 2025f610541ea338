/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The restart monitor: what it records, and when: src/run/endtoend/restart.c.
 */
#include "restart_fixture.h"

/* Operations that are written during a flush are not durable after it. */
FIXTURE_TEST(test_flush_comes_first)
{
	struct restart_record *rec;

	sem_init(&flush_began, 0, 0);
	sem_init(&flush_may_end, 0, 0);
	plan.restart.frequency_ns = 10 * NS_PER_MS;
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	write_ops(0, 5);
	flush_waits = true;
	write_ops(5, 10);
	sem_wait(&flush_began);
	/* Not even those before it are recorded until it ends, unless an earlier flush was. */
	assert_true(read_record()->durable.total <= 5);
	write_ops(10, 15);
	flush_waits = false;
	flush_error = EIO;
	sem_post(&flush_may_end);
	/* That flush fails: its operations are never recorded, also not after a good one. */
	write_ops(15, 20);
	usleep(30000);
	flush_error = 0;
	usleep(30000);
	assert_int_equal(restart_end(r, true, &why), -EIO);
	assert_string_equal(why.text, "-restart: cannot flush the target: Input/output error");
	rec = read_record();
	assert_true(rec->durable.total <= 5);
	assert_false(rec->complete);
	sem_destroy(&flush_began);
	sem_destroy(&flush_may_end);
}

/* Wait until `n` operations are recorded. */
static void wait_for_record(uint64_t n)
{
	for (unsigned i = 0; read_record()->durable.total < n && i < 2000; i++)
		usleep(5000);
	assert_int_equal(read_record()->durable.total, n);
}

FIXTURE_TEST(test_frequency)
{
	uint64_t begin_ns;
	unsigned before, ops = 0;

	plan.restart.frequency_ns = 50 * NS_PER_MS;
	assert_int_equal(accept_peer(), 0);
	begin_ns = clock_kernel_ns();
	assert_int_equal(begin(), 0);
	for (; flushes < 5 && ops < OPS; ops++) {
		write_ops(ops, ops + 1);
		usleep(40000);
	}
	wait_for_record(ops);
	assert_true(flushes >= 5);
	assert_true(flushes <= 1 + (clock_kernel_ns() - begin_ns) / plan.restart.frequency_ns);
	/* There is nothing more to make durable. */
	before = flushes;
	usleep(200000);
	assert_int_equal(flushes, before);
}

FIXTURE_TEST(test_costs)
{
	struct endtoend_monitor cost;

	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	write_ops(0, OPS);
	assert_int_equal(restart_end(r, true, &why), 0);
	restart_costs(r, &cost);
	assert_int_equal(cost.flushes, 2);
	assert_int_equal(cost.records, 2);
	assert_true(cost.record_ns > 0);
}

FIXTURE_TEST(test_record_fails)
{
	plan.restart.file = "missing/file";
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), -ENOENT);
	assert_string_equal(why.text,
			    "restart file missing/file: cannot be written (No such file or "
			    "directory)");
}

static void *write_each_fourth(void *arg)
{
	for (uint64_t op = (uintptr_t)arg; op < OPS; op += 4) {
		write_ops(op, op + 1);
		usleep(100);
	}
	return NULL;
}

FIXTURE_TEST(test_threads)
{
	pthread_t threads[4];
	struct restart_record *rec;
	struct digest sum = digest_of_ops(0, OPS);

	plan.restart.frequency_ns = NS_PER_MS;
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_each_fourth, (void *)i),
				 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(end(false), 0);
	rec = read_record();
	assert_int_equal(rec->durable.total, OPS);
	assert_true(digest_equal(rec->digest, sum));
	assert_false(rec->complete);
}

/* More ranges than a message can have: what was first is kept. */
FIXTURE_TEST(test_too_many_ranges)
{
	struct restart_record *rec;

	peer.ops = 4 * WIRE_MAX_RANGES;
	peer.bytes = peer.ops * REQUEST;
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	for (uint64_t op = 0; op < peer.ops; op += 2)
		restart_written(r, op, op * REQUEST, REQUEST, digest_of(op));
	assert_int_equal(end(false), 0);
	rec = read_record();
	assert_int_equal(rec->durable.n, RESTART_MAX_RANGES);
	assert_int_equal(rec->durable.total, RESTART_MAX_RANGES);
	assert_int_equal(truncate("target", (off_t)rec->end_bytes), 0);
	assert_int_equal(accept_peer(), 1);
	assert_int_equal(n_ranges, RESTART_MAX_RANGES);
}

FIXTURE_TEST(test_too_many_ranges_complete)
{
	struct restart_record *rec;
	struct digest sum = { 0, 0 };

	peer.ops = 4 * WIRE_MAX_RANGES;
	peer.bytes = peer.ops * REQUEST;
	assert_int_equal(accept_peer(), 0);
	assert_int_equal(begin(), 0);
	for (uint64_t i = 0; i < peer.ops; i++) {
		uint64_t op = i < peer.ops / 2 ? 2 * i : 2 * (i - peer.ops / 2) + 1;

		restart_written(r, op, op * REQUEST, REQUEST, digest_of(op));
		digest_add(&sum, op * REQUEST, REQUEST, digest_of(op));
	}
	assert_int_equal(end(true), 0);
	rec = read_record();
	assert_true(rec->complete);
	assert_int_equal(rec->durable.total, peer.ops);
	assert_true(digest_equal(rec->digest, sum));
}

RUN_TESTS(enter, leave)
