/*
 * Measure the clock and the recording of time stamps. Called by run_execute().
 */
#include "run/timerinfo.h"

#include <errno.h>

#include "run/issue/trace.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define ROUNDS 5
#define READINGS 20000u
#define STAMPS 32768u /* 2 MiB: more than stays in the caches next to the processor */

static void measure_readings(struct timer_info *info)
{
	uint64_t best = UINT64_MAX;

	info->resolution_ns = UINT64_MAX;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = clock_now_ns(), last = begin, now = begin;

		for (unsigned i = 0; i < READINGS; i++) {
			now = clock_now_ns();
			if (now > last)
				info->resolution_ns = ns_earlier(info->resolution_ns, now - last);
			last = now;
		}
		best = ns_earlier(best, now - begin);
	}
	info->reading_ns = (double)best / READINGS;
}

/* Record as a QThread does, into a table that each round overwrites. */
static int measure_stamps(struct timer_info *info)
{
	const struct target_plan plan = {
		.qthreads = 1,
		.trace = { .on = true,
			   .wrap = true,
			   .size_ops = STAMPS,
			   .chunk_ops = 1024,
			   .chunks = STAMPS / 1024 },
	};
	struct trace_table table = { 0 };
	struct io_request req = { .size = 4096, .done = 4096 };
	uint64_t best = UINT64_MAX, begin;
	int err = trace_open(&table, &plan, 0);

	for (int round = 0; !err && round < ROUNDS; round++) {
		begin = clock_now_ns();
		for (unsigned i = 0; i < STAMPS; i++) {
			req.op = i;
			trace_issue(&req);
			trace_done(table.writers, &req, NULL, 1, begin);
		}
		best = ns_earlier(best, clock_now_ns() - begin);
	}
	trace_close(&table);
	info->stamp_ns = (double)best / STAMPS;
	return err;
}

int timerinfo_measure(struct timer_info *info)
{
	measure_readings(info);
	return measure_stamps(info);
}
