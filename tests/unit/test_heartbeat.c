/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of the heartbeat of made-up samples, and the time that a run has left.
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/units.h"
#include "xdd/report/heartbeat.h"

#define SECOND NS_PER_SEC

/* Two targets in a pass of 100 operations. */
static struct target_plan targets[2];
static struct plan plan;
static struct heartbeat_sample samples[2];

static void set_up(void)
{
	memset(targets, 0, sizeof(targets));
	memset(samples, 0, sizeof(samples));
	plan = (struct plan){ .targets = targets, .n_targets = 2, .passes = 1 };
	for (uint32_t i = 0; i < 2; i++) {
		targets[i].number = i;
		targets[i].pass_ops = 100;
		samples[i] = (struct heartbeat_sample){ .target = &targets[i],
							.options = &targets[i].heartbeat,
							.state = HEARTBEAT_RUNNING,
							.pass = 1 };
	}
}

static void assert_left(double wanted, double limit_s)
{
	double left = heartbeat_left(&plan, samples, limit_s);

	if (!(fabs(left - wanted) < 1e-6))
		fail_msg("%g s left, not %g", left, wanted);
}

/* Target `i` has done so many operations in so many seconds. */
static void go_on(size_t i, uint64_t ops, uint64_t elapsed_s)
{
	samples[i].done_ops = ops;
	samples[i].elapsed_ns = elapsed_s * SECOND;
}

TEST(test_left_of_operations)
{
	set_up();
	assert_left(HEARTBEAT_UNKNOWN, INFINITY);
	go_on(0, 50, 10);
	assert_left(HEARTBEAT_UNKNOWN, INFINITY);
	go_on(1, 20, 10);
	assert_left(40, INFINITY);
	assert_left(25, 25);
	/* Each further pass takes as long as the slower target, with the delays. */
	plan.passes = 3;
	assert_left(40 + 2 * 50, INFINITY);
	plan.pass_delay_ns = 5 * SECOND;
	targets[1].delay_ns = 7 * SECOND;
	assert_left(40 + 2 * (50 + 7 + 5), INFINITY);
	/* By themselves, the second one has the longer way as well. */
	plan.no_barrier = true;
	assert_left(40 + 2 * (50 + 7 + 5), INFINITY);
	samples[0].pass = 3;
	samples[1].pass = 2;
	assert_left(40 + (50 + 7 + 5), INFINITY);
}

TEST(test_left_of_time)
{
	set_up();
	targets[0].pass_ops = targets[1].pass_ops = PLAN_UNLIMITED;
	go_on(0, 1, 4);
	go_on(1, 1, 4);
	assert_left(HEARTBEAT_UNKNOWN, INFINITY);
	assert_left(30, 30);
	targets[0].time_limit_ns = targets[1].time_limit_ns = 10 * SECOND;
	assert_left(6, INFINITY);
	plan.passes = 4;
	assert_left(6 + 3 * 10, INFINITY);
	assert_left(20, 20);
	/* A limit comes before operations that would take longer. */
	targets[0].pass_ops = 1000;
	assert_left(6 + 3 * 10, INFINITY);
	/* A target that waits ends at its limit. */
	samples[1].state = HEARTBEAT_WAITING;
	samples[1].elapsed_ns = 0;
	assert_left(10 + 3 * 10, INFINITY);
}

TEST(test_left_between_passes)
{
	set_up();
	plan.passes = 3;
	plan.pass_delay_ns = 5 * SECOND;
	for (size_t i = 0; i < 2; i++) {
		samples[i].state = HEARTBEAT_COMPLETE;
		samples[i].pass = 2;
		go_on(i, 100, 20);
	}
	assert_left(20 + 5, INFINITY);
	/* The time between passes goes by; the pass ended with its last target. */
	samples[0].rested_ns = 4 * SECOND;
	samples[1].rested_ns = 3 * SECOND;
	assert_left(20 + 5 - 3, INFINITY);
	samples[0].rested_ns = samples[1].rested_ns = 9 * SECOND;
	assert_left(20, INFINITY);
	targets[0].delay_ns = targets[1].delay_ns = 2 * SECOND;
	assert_left(20 + 5 + 2 - 7, INFINITY);
	plan.no_barrier = true;
	samples[0].rested_ns = 4 * SECOND;
	samples[1].rested_ns = 3 * SECOND;
	assert_left(20 + 5 + 2 - 3, INFINITY);
	plan.no_barrier = false;
	samples[0].pass = samples[1].pass = 3;
	assert_left(0, INFINITY);
	plan.until_percent = 2;
	assert_left(HEARTBEAT_UNKNOWN, INFINITY);
	assert_left(12, 12);
}

/* One target is in a pass, and the other one is in its start delay before that pass. */
TEST(test_left_in_start_delay)
{
	set_up();
	plan.passes = 3;
	plan.pass_delay_ns = 5 * SECOND;
	targets[0].pass_ops = targets[1].pass_ops = PLAN_UNLIMITED;
	targets[0].time_limit_ns = targets[1].time_limit_ns = 10 * SECOND;
	targets[1].delay_ns = 7 * SECOND;
	go_on(0, 1, 4);
	samples[0].pass = 2;
	samples[1].state = HEARTBEAT_COMPLETE;
	samples[1].pass = 1;
	go_on(1, 100, 10);
	samples[1].rested_ns = 9 * SECOND;
	assert_left(7 - 4 + 10 + (5 + 7 + 10), INFINITY);
	/* The first one is done, and waits for the other one. */
	samples[0].state = HEARTBEAT_COMPLETE;
	go_on(0, 100, 5);
	samples[0].rested_ns = SECOND;
	assert_left(7 - 6 + 10 + (5 + 7 + 10), INFINITY);
	samples[0].pass = 3;
	samples[1].pass = 2;
	assert_left(7 - 6 + 10, INFINITY);
	/* The first pass. */
	samples[0].pass = samples[1].pass = 1;
	samples[1].state = HEARTBEAT_WAITING;
	samples[1].elapsed_ns = samples[1].rested_ns = 0;
	assert_left(7 - 6 + 10 + 2 * (5 + 7 + 10), INFINITY);
}

static void assert_lines(const char *wanted, char separator)
{
	const struct heartbeat_time when = { .run_ns = 12 * SECOND, .beat = 2 };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	heartbeat_line(f, &when, samples, 2, separator);
	fclose(f);
	assert_string_equal(text, wanted);
	free(text);
}

TEST(test_legends)
{
	set_up();
	samples[0].ops = 7;
	samples[1].ops = 8;
	targets[0].heartbeat.fields = targets[1].heartbeat.fields = HEARTBEAT_OPS;
	assert_lines("Pass,0001,/OPS + [-],0000000007,ops + [-],0000000008,ops", '\n');
	samples[1].state = HEARTBEAT_WAITING;
	assert_lines("Pass,0001,/OPS + [-],0000000007,ops + WAITING", '\n');
	targets[1].heartbeat.fields |= HEARTBEAT_PCT;
	assert_lines("Pass,0001,/OPS + [-],0000000007,ops\nPass,0001,/OPS/PCT + WAITING", '\n');
	assert_lines("Pass,0001,/OPS + [-],0000000007,ops Pass,0001,/OPS/PCT + WAITING", ' ');
	targets[1].heartbeat.fields = HEARTBEAT_OPS;
	targets[1].heartbeat.fields |= HEARTBEAT_ELAPSED;
	assert_lines("Pass,0001,/OPS + [-],0000000007,ops\nPass,0001,/ELAPSED,12,/OPS + WAITING",
		     '\n');
	targets[1].heartbeat.fields = HEARTBEAT_OPS;
	samples[1].pass = 2;
	assert_lines("Pass,0001,/OPS + [-],0000000007,ops\nPass,0002,/OPS + WAITING", '\n');
}

/* A row has a value below each head, also where its target waits. */
TEST(test_rows)
{
	const struct heartbeat_time when = { .run_ns = 12 * SECOND };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	set_up();
	targets[0].heartbeat.fields = ~(unsigned)(HEARTBEAT_TOD | HEARTBEAT_HOSTNAME);
	go_on(0, 25, 10);
	samples[0].ops = 25;
	samples[0].bytes = 3ull << 30;
	samples[0].recent_ns = 2 * SECOND;
	samples[0].recent_bytes = 9000000;
	samples[0].recent_ops = 30;
	samples[0].left_s = 30;
	samples[0].median_ns = 1500000;
	samples[0].p99_ns = NAN;
	samples[0].longest_ns = 2000000;
	heartbeat_header(f, &targets[0].heartbeat);
	fputc('\n', f);
	heartbeat_row(f, &when, samples);
	fputc('\n', f);
	samples[0].state = HEARTBEAT_WAITING;
	heartbeat_row(f, &when, samples);
	fclose(f);
	assert_string_equal(
		text,
		"Pass_label,Pass,Elapsed_label,Elapsed,Fields,Target,Target_unit,Ops,Ops_unit,"
		"Bytes,Bytes_unit,KBytes,KBytes_unit,MBytes,MBytes_unit,GBytes,GBytes_unit,"
		"Bandwidth,Bandwidth_unit,IOPS,IOPS_unit,Percent,Time_left,Time_left_unit,"
		"P50,P50_unit,P99,P99_unit,Max,Max_unit\n"
		"Pass,0001,/ELAPSED,12,/TARGET/OPS/BYTES/KB/MB/GB/BW/IOPS/PCT/ET/LAT + [|],"
		"0000,tgt,0000000025,ops,000003221225472,B,00003145728.0,KiB,00003072.0,MiB,"
		"00003.0,GiB,004.50,MBps,015.00,iops,25.00%,0000030,s,1.500000,ms_p50,-,ms_p99,"
		"2.000000,ms_max\n"
		"Pass,0001,/ELAPSED,12,/TARGET/OPS/BYTES/KB/MB/GB/BW/IOPS/PCT/ET/LAT + WAITING"
		",,,,,,,,,,,,,,,,,,,,,,,,,");
	free(text);
}

RUN_TESTS(NULL, NULL)
