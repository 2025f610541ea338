/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock and CPU time: src/sys/clock.c.
 */
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "kernel_files.h"
#include "xdd/sys/clock.h"

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define BURN_NS 50000000ull

static uint64_t cpu_sum(const struct cpu_time *cpu)
{
	return cpu->user_ns + cpu->sys_ns;
}

/*
 * Use CPU time until this thread has had `ns` of it; how long that takes is the machine's affair.
 */
static void *burn(void *arg)
{
	struct cpu_time *cpu = arg;

	do {
		clock_thread_cpu(cpu);
	} while (cpu_sum(cpu) < BURN_NS);
	return NULL;
}

TEST(test_forwards)
{
	uint64_t last = clock_now_ns();

	for (int i = 0; i < 100000; i++) {
		uint64_t now = clock_now_ns();

		assert_true(now >= last);
		last = now;
	}
}

/* The counter is used only where the kernel uses it. Before other tests, which may use it. */
TEST_SETUP_TEARDOWN(test_source_of_kernel, kernel_files_begin, kernel_files_end)
{
	clock_start();
	clock_calibrate();
	assert_string_equal(clock_source(), "vDSO");
	kernel_file_put(CLOCKSOURCE, "hpet\n");
	clock_start();
	clock_calibrate();
	assert_string_equal(clock_source(), "vDSO");
}

/*
 * From the counter, where it is used, as from the kernel: the same rate, and the same time after a
 * resync.
 */
TEST(test_agrees_with_kernel)
{
	uint64_t kernel, ours, kernel_end, ours_end, start = clock_kernel_ns();

	clock_start();
	clock_calibrate();
	kernel = clock_kernel_ns();
	ours = clock_now_ns();
	assert_true(ours + 1000 >= kernel);
	usleep(50000);
	ours_end = clock_now_ns();
	kernel_end = clock_kernel_ns();
	/*
	 * `ours` was read later and `ours_end` earlier: so it can be more only by the error of the
	 * rate.
	 */
	assert_true(ours_end - ours <= (kernel_end - kernel) + (kernel_end - kernel) / 1000);
	clock_resync();
	kernel = clock_kernel_ns();
	ours = clock_now_ns();
	kernel_end = clock_kernel_ns();
	/* And by the error of the rate since the start. */
	assert_true(ours + 1000 + (kernel - start) / 1000 >= kernel);
	assert_true(ours <= kernel_end + 100000);
	test_forwards(state);
	assert_non_null(strstr("TSC vDSO", clock_source()));
}

TEST(test_thread_apart_from_process)
{
	struct cpu_time mine_before, mine_after, process_before, process_after, its = { 0 };
	pthread_t thread;

	clock_thread_cpu(&mine_before);
	clock_process_cpu(&process_before);
	assert_int_equal(pthread_create(&thread, NULL, burn, &its), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	clock_process_cpu(&process_after);
	clock_thread_cpu(&mine_after);

	assert_true(cpu_sum(&its) >= BURN_NS);
	assert_true(cpu_sum(&process_after) - cpu_sum(&process_before) >= BURN_NS / 2);
	assert_true(cpu_sum(&mine_after) - cpu_sum(&mine_before) < BURN_NS / 2);
}

RUN_TESTS(NULL, NULL)
