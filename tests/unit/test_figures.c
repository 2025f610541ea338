/*
 * Figures and their sums: src/stat/figures.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "xdd/stat/figures.h"

/* Figures of a pass of two reads from `first_ns` to `last_ns`, without latencies. */
static struct figures pass_of(uint64_t first_ns, uint64_t last_ns)
{
	struct figures f;

	figures_init(&f);
	f.known = FIGURES_ALL & ~(unsigned)FIGURES_LATENCY;
	f.tally.ops[DIR_READ] = 2;
	f.tally.bytes[DIR_READ] = 8192;
	f.tally.first_issue_ns = first_ns;
	f.tally.last_done_ns = last_ns;
	f.extremes = (struct extremes){ .any = true,
					.of = { { .took_ns = last_ns }, { .took_ns = first_ns } } };
	f.cpu = (struct cpu_time){ .user_ns = 3, .sys_ns = 4 };
	f.cache = (struct cache_state){ .range_bytes = 8192,
					.resident_bytes = 4096,
					.hole_bytes = 512,
					.accuracy = CACHE_SAMPLED };
	f.wait_ns = 5;
	f.first_op_ns = first_ns + 1;
	f.lag_ns = 6;
	f.first_read_ns = first_ns + 2;
	f.last_write_ns = last_ns - first_ns;
	figures_set_elapsed(&f);
	return f;
}

static void test_elapsed(void **state)
{
	struct figures f = pass_of(100, 350);

	(void)state;
	assert_int_equal(f.elapsed_ns, 250);
}

static void test_sum(void **state)
{
	struct figures sum, a = pass_of(100, 350), b = pass_of(1000, 1010);

	(void)state;
	figures_init(&sum);
	assert_int_equal(sum.known, FIGURES_ALL);
	assert_int_equal(figures_add(&sum, &a), 0);
	assert_int_equal(figures_add(&sum, &b), 0);
	assert_int_equal(sum.known, FIGURES_ALL & ~(unsigned)FIGURES_LATENCY);
	assert_int_equal(sum.parts, 2);
	assert_int_equal(tally_ops(&sum.tally), 4);
	assert_int_equal(tally_bytes(&sum.tally), 16384);
	assert_int_equal(sum.extremes.of[EXTREMES_LONGEST].took_ns, 1010);
	assert_int_equal(sum.extremes.of[EXTREMES_SHORTEST].took_ns, 100);
	assert_int_equal(sum.cpu.user_ns, 6);
	assert_int_equal(sum.cpu.sys_ns, 8);
	assert_int_equal(sum.cache.range_bytes, 16384);
	assert_int_equal(sum.cache.resident_bytes, 8192);
	assert_int_equal(sum.cache.hole_bytes, 1024);
	assert_int_equal(sum.cache.accuracy, CACHE_SAMPLED);
	assert_int_equal(sum.wait_ns, 10);
	/*
	 * The elapsed times, and not the time from the first issue to the last completion of both.
	 */
	assert_int_equal(sum.elapsed_ns, 260);
	assert_int_equal(sum.first_op_ns, 101);
	assert_int_equal(sum.lag_ns, 12);
	assert_int_equal(sum.first_read_ns, 102);
	assert_int_equal(sum.last_write_ns, 250);
	figures_free(&sum);
}

/* The first read of a sum is that of a part that knows it. */
static void test_first_read(void **state)
{
	struct figures sum, a = pass_of(100, 350), b = pass_of(50, 60);

	(void)state;
	a.first_read_ns = 0;
	figures_init(&sum);
	figures_add(&sum, &a);
	assert_int_equal(sum.first_read_ns, 0);
	figures_add(&sum, &b);
	assert_int_equal(sum.first_read_ns, 52);
	figures_free(&sum);
}

/* The first part says when the first operation was complete, also where that is unknown. */
static void test_first_is_unknown(void **state)
{
	struct figures sum, a = pass_of(100, 350), b = pass_of(1000, 1010);

	(void)state;
	a.first_op_ns = 0;
	figures_init(&sum);
	figures_add(&sum, &a);
	figures_add(&sum, &b);
	assert_int_equal(sum.first_op_ns, 0);
	figures_free(&sum);
}

static void test_latencies(void **state)
{
	struct figures sum, part;
	struct histogram h = { 0 };
	struct histogram_view v;

	(void)state;
	assert_int_equal(histogram_init(&h, 1), 0);
	histogram_add(&h, 1000);
	histogram_add(&h, 3000);
	figures_init(&sum);
	figures_init(&part);
	histogram_sum_add_live(&part.latency.of[LATENCY_SERVICE][DIR_WRITE], &h);
	assert_int_equal(figures_add(&sum, &part), 0);
	assert_int_equal(figures_add(&sum, &part), 0);
	v = latency_view(&sum.latency, LATENCY_SERVICE, LATENCY_ALL_DIRS);
	assert_int_equal(histogram_count(&v), 4);
	assert_int_equal(histogram_min(&v), 1000);
	assert_int_equal(histogram_max(&v), 3000);
	figures_free(&part);
	/* The sum has memory of its own. */
	assert_int_equal(histogram_count(&v), 4);
	figures_free(&sum);
	figures_free(&sum);
	histogram_free(&h, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_elapsed),	   cmocka_unit_test(test_sum),
		cmocka_unit_test(test_first_read), cmocka_unit_test(test_first_is_unknown),
		cmocka_unit_test(test_latencies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
