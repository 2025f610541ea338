/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processor time in the elapsed time of passes, and the queue of results: src/run/meter.
 */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/sys/clock.h"

#define BURN_NS 20000000ull
#define TRIES 10

static struct cpu_reading reading(uint64_t at_ns, uint64_t used_ns, uint64_t user_ns,
				  uint64_t sys_ns)
{
	return (struct cpu_reading){ at_ns, used_ns, { user_ns, sys_ns } };
}

static void check(const struct cpu_meter *m, uint64_t first_ns, uint64_t last_ns, uint64_t user_ns,
		  uint64_t sys_ns)
{
	struct cpu_time used = cputime_within(m, first_ns, last_ns);

	assert_int_equal(used.user_ns, user_ns);
	assert_int_equal(used.sys_ns, sys_ns);
}

TEST(test_within)
{
	struct cpu_meter m = {
		.begin = reading(1000, 500, 400, 100),
		.first = reading(2000, 1100, 1000, 100),
		.last = reading(5000, 2100, 1500, 600),
		.issued = true,
	};

	/* The target had issued nothing before: the work up to then is none of the pass. */
	check(&m, 2000, 5000, 500, 500);
	/* Others had: as much of it as fits into that time. */
	check(&m, 1800, 5000, 200 + 500, 500);
	check(&m, 1, 5000, 600 + 500, 500);
	/* The last completion was earlier. */
	check(&m, 2000, 2600, 300, 300);
	check(&m, 2000, 3500, 500, 500);
	check(&m, 6000, 7000, 0, 0);
	check(&m, UINT64_MAX, 0, 0, 0);
	/* It issued nothing itself. */
	m.issued = false;
	check(&m, 1000, 5000, 1100, 500);
	check(&m, 5000, 5000, 0, 0);
	/* Too short for the kernel to say where. */
	m.last = reading(5000, 510, 400, 100);
	check(&m, 1000, 5000, 10, 0);
	m = (struct cpu_meter){ 0 };
	check(&m, 1000, 5000, 0, 0);
}

static void burn(void)
{
	struct cpu_time begin, now;

	clock_thread_cpu(&begin);
	do {
		clock_thread_cpu(&now);
	} while (now.user_ns + now.sys_ns - begin.user_ns - begin.sys_ns < BURN_NS);
}

static uint64_t sum(struct cpu_time cpu)
{
	return cpu.user_ns + cpu.sys_ns;
}

/* A QThread that works after its pass, while another is in its own. */
static void *leave_early(void *arg)
{
	struct qthread *q = arg;

	cputime_begin(q);
	cputime_end(q);
	burn();
	cputime_left(q);
	return NULL;
}

static struct run run;
static struct target target = { .run = &run };
static struct qthread a = { .target = &target }, b = { .target = &target };

/* The time of others beside two passes of a QThread that works in them and in between. */
static uint64_t others_of_passes(void)
{
	uint64_t begin, elapsed = 0;

	run = (struct run){ 0 };
	for (int pass = 0; pass < 2; pass++) {
		begin = clock_now_ns();
		cputime_begin(&a);
		cputime_first(&a);
		burn();
		cputime_end(&a);
		cputime_left(&a);
		assert_in_range(sum(cputime_within(&a.cpu, 0, UINT64_MAX)), BURN_NS,
				clock_now_ns() - begin);
		elapsed += clock_now_ns() - begin;
		burn();
	}
	assert_int_equal(atomic_load(&run.cpu.active), 0);
	return sum(cputime_of_others(&run.cpu, elapsed, UINT64_MAX));
}

/* Beside a QThread that works after its pass. */
static uint64_t others_of_early(void)
{
	pthread_t thread;

	run = (struct run){ 0 };
	cputime_begin(&a);
	assert_int_equal(pthread_create(&thread, NULL, leave_early, &b), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	cputime_end(&a);
	return sum(cputime_of_others(&run.cpu, UINT64_MAX, UINT64_MAX));
}

/*
 * Two QThreads that enter together: one leaves before the other has entered, and works after its
 * pass.
 */
static uint64_t others_of_together(void)
{
	pthread_t thread;

	run = (struct run){ .cpu = { .together = 2 } };
	for (uint64_t pass = 1; pass < 3; pass++) {
		atomic_store(&target.pass, pass);
		assert_int_equal(pthread_create(&thread, NULL, leave_early, &b), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(atomic_load(&run.cpu.active), 1);
		cputime_begin(&a);
		cputime_end(&a);
		assert_int_equal(atomic_load(&run.cpu.active), 0);
		burn();
	}
	return sum(cputime_of_others(&run.cpu, UINT64_MAX, UINT64_MAX));
}

/*
 * Where the host takes the processor away between two readings, its time counts. That only adds,
 * and not each time.
 */
static uint64_t least(uint64_t (*others)(void))
{
	uint64_t found = UINT64_MAX;

	for (int i = 0; i < TRIES && found >= BURN_NS / 2; i++)
		found = others();
	return found;
}

TEST(test_others)
{
	struct cpu_time before, after;
	uint64_t all;

	/* Its own time is none of others; no thread counts between passes. */
	assert_true(least(others_of_passes) < BURN_NS / 2);
	/* The work of one after its pass is none of others. */
	assert_true(least(others_of_early) < BURN_NS / 2);
	assert_true(least(others_of_together) < BURN_NS / 2);
	/* Of one that is stuck nothing else is known; no more counts than its share of the time. */
	run = (struct run){ 0 };
	clock_process_cpu(&before);
	cputime_begin(&a);
	burn();
	all = sum(cputime_of_others(&run.cpu, UINT64_MAX, UINT64_MAX));
	clock_process_cpu(&after);
	assert_in_range(all, BURN_NS * 9 / 10, sum(after) - sum(before));
	assert_true(sum(cputime_of_others(&run.cpu, 1000, UINT64_MAX)) < BURN_NS / 1000);
	assert_in_range(sum(cputime_of_others(&run.cpu, UINT64_MAX, 777)), 775, 777);
}

/* Results of intervals that wait for their manager count, other results do not. */
TEST(test_waiting)
{
	static const enum result_interval kinds[] = { RESULT_INTERVAL, RESULT_NO_INTERVAL,
						      RESULT_INTERVAL };
	struct results_queue q = { .tail = NULL };

	assert_int_equal(results_init(&q, 1), 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct pass_result *r = calloc(1, sizeof(*r));

		assert_non_null(r);
		r->interval = kinds[i];
		results_put(&q, r);
	}
	assert_int_equal(results_waiting_intervals(&q), 2);
	results_destroy(&q);
}

RUN_TESTS(NULL, NULL)
