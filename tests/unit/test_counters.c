/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters and sums of them: src/stat/counters.c.
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "xdd/stat/counters.h"

TEST(test_clear)
{
	struct tally t;

	memset(&t, 0xff, sizeof(t));
	tally_clear(&t);
	assert_int_equal(tally_ops(&t), 0);
	assert_int_equal(tally_bytes(&t), 0);
	assert_int_equal(tally_busy_ns(&t), 0);
	assert_int_equal(t.errors, 0);
	assert_int_equal(t.outstanding, 0);
	assert_true(t.first_issue_ns == UINT64_MAX);
	assert_int_equal(t.last_done_ns, 0);
}

static void fill(struct counters *c, uint64_t base)
{
	counters_reset(c);
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		counters_add(&c->ops[dir], base + (uint64_t)dir);
		counters_add(&c->bytes[dir], 10 * base + (uint64_t)dir);
		counters_add(&c->failed_bytes[dir], base + 1);
		counters_add(&c->failed_ops[dir], base + 3);
		counters_add(&c->busy_ns[dir], 100 * base + (uint64_t)dir);
	}
	counters_add(&c->errors, 2);
	counters_add(&c->retries, base);
	counters_add(&c->flush_ns, 1000 * base);
	counters_add(&c->flushes, base);
	counters_add(&c->issued, 4 * base + 6 + 2 + 5);
	counters_set(&c->first_issue_ns, 1000 - base);
	counters_set(&c->last_done_ns, 1000 + base);
}

/* The difference to an earlier tally of the same counters. */
TEST(test_subtract)
{
	struct counters c;
	struct tally before, now;

	fill(&c, 7);
	tally_clear(&before);
	tally_add_counters(&before, &c);
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		counters_add(&c.ops[dir], 5);
		counters_publish(&c.bytes[dir], 600);
		counters_add(&c.failed_ops[dir], 1);
		counters_add(&c.failed_bytes[dir], 50);
	}
	counters_add(&c.errors, 3);
	counters_add(&c.flush_ns, 4);
	tally_clear(&now);
	tally_add_counters(&now, &c);
	tally_subtract(&now, &before);
	for (int dir = 0; dir < DIR_COUNT; dir++) {
		assert_int_equal(now.ops[dir], 5);
		assert_int_equal(now.bytes[dir], 600);
		assert_int_equal(now.failed_ops[dir], 1);
		assert_int_equal(now.failed_bytes[dir], 50);
	}
	assert_int_equal(now.errors, 3);
	assert_int_equal(now.flush_ns, 4);
	/* Times of the first and the last operation are no sums. */
	assert_int_equal(now.first_issue_ns, 993);
}

TEST(test_sums)
{
	struct counters a, b, idle;
	struct tally t, total;

	fill(&a, 7);
	fill(&b, 20);
	counters_reset(&idle);
	tally_clear(&t);
	tally_add_counters(&t, &a);
	assert_int_equal(t.ops[DIR_READ], 7);
	assert_int_equal(t.ops[DIR_NOOP], 9);
	assert_int_equal(t.outstanding, 5);
	assert_int_equal(t.first_issue_ns, 993);
	assert_int_equal(t.last_done_ns, 1007);

	tally_add_counters(&t, &b);
	tally_add_counters(&t, &idle); /* changes nothing, the times least of all */
	assert_int_equal(t.ops[DIR_WRITE], 8 + 21);
	assert_int_equal(t.bytes[DIR_READ], 70 + 200);
	assert_int_equal(t.failed_bytes[DIR_WRITE], 8 + 21);
	assert_int_equal(t.busy_ns[DIR_NOOP], 702 + 2002);
	assert_int_equal(tally_ops(&t), 34 + 86);
	assert_int_equal(tally_bytes(&t), 286 + 806);
	assert_int_equal(tally_busy_ns(&t), 2806 + 8006);
	assert_int_equal(t.errors, 4);
	assert_int_equal(t.retries, 7 + 20);
	assert_int_equal(t.flush_ns, 27000);
	assert_int_equal(t.flushes, 27);
	assert_int_equal(t.outstanding, 10);
	assert_int_equal(t.first_issue_ns, 980);
	assert_int_equal(t.last_done_ns, 1020);

	tally_clear(&total);
	tally_add(&total, &t);
	tally_add(&total, &t);
	assert_int_equal(tally_ops(&total), 2 * (34 + 86));
	assert_int_equal(total.outstanding, 20);
	assert_int_equal(total.errors, 8);
	assert_int_equal(total.first_issue_ns, 980);
	assert_int_equal(total.last_done_ns, 1020);
}

/* Fields that counters and tallies have; those by direction are arrays. */
#define BOTH(field)                                                             \
	{                                                                       \
		offsetof(struct counters, field), offsetof(struct tally, field) \
	}

static const struct field {
	size_t counter, tally;
} plain[] = {
	BOTH(errors),	    BOTH(miscompares),	BOTH(fill_ns), BOTH(overhead_ns), BOTH(issued),
	BOTH(warmup_ops),   BOTH(order_breaks), BOTH(retries), BOTH(flush_ns),	  BOTH(flushes),
	BOTH(net_ns),	    BOTH(net_wait_ns),	BOTH(check_ns),
}, by_direction[] = {
	BOTH(ops), BOTH(bytes), BOTH(busy_ns), BOTH(failed_bytes), BOTH(failed_ops),
};

#define N_PLAIN (sizeof(plain) / sizeof(plain[0]))
#define N_FIELDS (N_PLAIN + sizeof(by_direction) / sizeof(by_direction[0]) * DIR_COUNT)

/* Field i of all, the directions of a field one after another. */
static struct field field_at(size_t i)
{
	struct field f;

	if (i < N_PLAIN)
		return plain[i];
	i -= N_PLAIN;
	f = by_direction[i / DIR_COUNT];
	f.counter += i % DIR_COUNT * sizeof(uint64_t);
	f.tally += i % DIR_COUNT * sizeof(uint64_t);
	return f;
}

static _Atomic uint64_t *counter_at(struct counters *c, size_t i)
{
	return (_Atomic uint64_t *)((char *)c + field_at(i).counter);
}

static uint64_t tallied(const struct tally *t, size_t i)
{
	return *(const uint64_t *)((const char *)t + field_at(i).tally);
}

/* Every counter is reset, reaches its own field of the tally, and is added there. */
TEST(test_each_counter)
{
	const uint64_t issued = 1000000;
	struct counters c;
	struct tally t;

	memset(&c, 0x5a, sizeof(c));
	counters_reset(&c);
	for (size_t i = 0; i < N_FIELDS; i++)
		assert_int_equal(*counter_at(&c, i), 0);
	assert_int_equal(c.last_done_ns, 0);
	assert_true(c.first_issue_ns == UINT64_MAX);

	for (size_t i = 0; i < N_FIELDS; i++)
		counters_set(counter_at(&c, i), i + 1);
	counters_set(&c.issued, issued);
	tally_clear(&t);
	for (uint64_t times = 1; times <= 3; times++) {
		uint64_t ended = c.errors + c.warmup_ops;

		tally_add_counters(&t, &c);
		for (size_t i = 0; i < N_FIELDS; i++)
			assert_int_equal(tallied(&t, i), times * *counter_at(&c, i));
		for (int dir = 0; dir < DIR_COUNT; dir++)
			ended += c.ops[dir];
		assert_int_equal(t.outstanding, times * (issued - ended));
	}
}

/* Times that no counter has are added as well. */
TEST(test_times_of_target)
{
	const struct tally one = { .sync_ns = 1, .open_ns = 20, .close_ns = 300, .last_done_ns = 4 };
	struct tally t;

	tally_clear(&t);
	tally_add(&t, &one);
	tally_add(&t, &one);
	assert_int_equal(t.sync_ns, 2);
	assert_int_equal(t.open_ns, 40);
	assert_int_equal(t.close_ns, 600);
}

TEST(test_elapsed)
{
	struct tally t = { .first_issue_ns = 70, .last_done_ns = 100 };

	assert_int_equal(tally_elapsed_ns(&t), 30);
	t.last_done_ns = 69;
	assert_int_equal(tally_elapsed_ns(&t), 0);
	tally_clear(&t);
	assert_int_equal(tally_elapsed_ns(&t), 0);
}

TEST(test_reset)
{
	struct counters c;
	struct tally t, none;

	fill(&c, 7);
	counters_reset(&c);
	tally_clear(&t);
	tally_clear(&none);
	tally_add_counters(&t, &c);
	assert_memory_equal(&t, &none, sizeof(t));
}

/* Counters that were caught halfway must not come out as 2^64 - 1 outstanding. */
TEST(test_never_negative)
{
	struct counters c;
	struct tally t;

	counters_reset(&c);
	counters_set(&c.ops[DIR_READ], 5);
	counters_set(&c.issued, 4);
	tally_clear(&t);
	tally_add_counters(&t, &c);
	assert_int_equal(t.outstanding, 0);
}

struct shared {
	struct counters counters;
	_Atomic bool done;
	_Atomic bool retry_flush;
};

/* One operation at a time, as a QThread does. */
static void *operate(void *arg)
{
	struct shared *s = arg;

	for (uint64_t n = 0; n < 2000000; n++) {
		counters_add(&s->counters.issued, 1);
		if (n % 7 == 3) {
			counters_add(&s->counters.errors, 1);
		} else {
			counters_add(&s->counters.bytes[n % DIR_COUNT], 512);
			counters_add(&s->counters.ops[n % DIR_COUNT], 1);
		}
		if (n == 1000)
			while (!atomic_load(&s->retry_flush))
				sched_yield();
	}
	atomic_store(&s->done, true);
	return NULL;
}

TEST(test_read_while_written)
{
	static struct shared s;
	uint64_t before = 0;
	pthread_t thread;
	struct tally t;
	bool done;

	counters_reset(&s.counters);
	assert_int_equal(pthread_create(&thread, NULL, operate, &s), 0);
	do {
		done = atomic_load(&s.done);
		tally_clear(&t);
		tally_add_counters(&t, &s.counters);
		assert_true(t.outstanding <= 2000000);
		assert_true(tally_ops(&t) >= before);
		before = tally_ops(&t);
		atomic_store(&s.retry_flush, true);
	} while (!done);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(t.outstanding, 0);
	assert_int_equal(tally_ops(&t) + t.errors, 2000000);
	assert_int_equal(tally_bytes(&t), 512 * tally_ops(&t));
}

RUN_TESTS(NULL, NULL)
