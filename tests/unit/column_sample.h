/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The columns of a made-up result, for unit tests.
 */
#ifndef TESTS_UNIT_COLUMN_SAMPLE_H
#define TESTS_UNIT_COLUMN_SAMPLE_H

#include "unit.h"

#include <string.h>

#include "report/latency.h"
#include "report/screen.h"
#include "xdd/report/column.h"
#include "xdd/stat/histogram.h"

/* 24 reads of 100 ns, 5 writes of 200 ns and one of 400 ns; a flush of 1 ms and one of 3 ms. */
static inline struct latency sample_latency(void)
{
	static uint64_t reads[] = { 24 }, writes[HISTOGRAM_BUCKETS], flushes[HISTOGRAM_BUCKETS];
	const unsigned first = histogram_bucket(1000000), last = histogram_bucket(3000000);
	struct latency l;

	latency_init(&l);
	l.of[LATENCY_SERVICE][DIR_READ] = (struct histogram_sum){ .n = 24,
								  .sum_ns = 2400,
								  .min_ns = 100,
								  .max_ns = 100,
								  .squares = 24e4,
								  .first = histogram_bucket(100),
								  .size = 1,
								  .counts = reads };
	writes[0] = 5;
	writes[histogram_bucket(400) - histogram_bucket(200)] = 1;
	l.of[LATENCY_SERVICE][DIR_WRITE] =
		(struct histogram_sum){ .n = 6,
					.sum_ns = 1400,
					.min_ns = 200,
					.max_ns = 400,
					.squares = 5 * 4e4 + 16e4,
					.first = histogram_bucket(200),
					.size = histogram_bucket(400) - histogram_bucket(200) + 1,
					.counts = writes };
	flushes[0] = flushes[last - first] = 1;
	l.flushes = (struct histogram_sum){ .n = 2,
					    .sum_ns = 4000000,
					    .min_ns = 1000000,
					    .max_ns = 3000000,
					    .squares = 1e12 + 9e12,
					    .first = first,
					    .size = last - first + 1,
					    .counts = flushes };
	return l;
}

static inline struct result sample_result(void)
{
	return (struct result){
		.what = RESULT_TARGET_PASS,
		.pass = 3,
		.target = 7,
		.queue = 32,
		.figures = {
			.known = FIGURES_ALL,
			.tally = {
				.ops = { 7500, 2500, 0 },
				.bytes = { 30720000, 10240000, 0 },
				.busy_ns = { 50000000000, 12500000000, 0 },
				.errors = 11,
				.order_breaks = 12,
				.retries = 12,
				.flushes = 13,
				.flush_ns = 3456789,
				.open_ns = 250000,
				.close_ns = 9000,
				.miscompares = 7,
				.fill_ns = 2500000,
				.overhead_ns = 1500000,
				.net_ns = 6400000000,
			},
			.latency = sample_latency(),
			.extremes = {
				.any = true,
				.of = {
					{ .took_ns = 9876543, .op = 4711, .offset = 81920000,
					  .dir = DIR_WRITE },
					{ .took_ns = 1234, .op = 17, .offset = 69632,
					  .dir = DIR_READ },
				},
			},
			.elapsed_ns = 2000000000,
			.lag_ns = 3200000000,
			.first_read_ns = 1250000,
			.last_write_ns = 1998760000,
			.first_op_ns = 1234567,
			.cache = { .range_bytes = 8000, .resident_bytes = 2000, .hole_bytes = 1000 },
			.cpu = { .user_ns = 500000000, .sys_ns = 2000000000 },
		},
		.window = { 1500000000, 36000000, 450075ull * FLOW_OP / 100 },
		.tail = { 250000000, 2000000, 122ull * FLOW_OP },
		.fairness = 0.875,
		.verified = true,
		.processors = 4,
		.qthreads = 16,
		.op = OP_MIXED,
		.req_bytes = 8192,
		.block_size = 512,
	};
}

static inline const struct column *find(const char *id)
{
	const struct column *col = column_find(id, strlen(id));

	if (!col)
		fail_msg("%s is no column", id);
	return col;
}

static inline const char *cell_of(const char *id, const struct result *r)
{
	static struct line_cell cell;

	line_cell_padded(&cell, find(id), r);
	return cell.text;
}

#endif
