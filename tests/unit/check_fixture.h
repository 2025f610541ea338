/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target of "xdd FILE" and measurements in which nothing looks wrong.
 */
#ifndef CHECK_FIXTURE_H
#define CHECK_FIXTURE_H

#include "commands/check.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define MS 1e6

/* A file on a solid-state disk, and a check of it that found nothing. */
static inline struct check_target sound_target(void)
{
	return (struct check_target){
		.name = "/data/file",
		.path = (char *)(uintptr_t) "/data/file",
		.size_bytes = GIB,
		.direct = true,
		.unit_bytes = 4096,
		.large_bytes = MIB,
		.engine = "io_uring",
		.file_system = "ext4",
		.new_file = "/data/xdd-write-test",
		.new_bytes = GIB,
		.device = { .name = "nvme0n1", .rotational_known = true },
	};
}

static inline struct check_row sound_row(uint64_t req_bytes, uint64_t depth, uint64_t ops)
{
	return (struct check_row){
		.measured = true,
		.req_bytes = req_bytes,
		.depth = depth,
		.ops = ops,
		.bytes = ops * req_bytes,
		.seconds = 10,
		.times[FIGURE_P50] = 0.1 * MS,
		.times[FIGURE_P99] = 0.3 * MS,
		.times[FIGURE_MAX] = 5 * MS,
		.covered_bytes = ops * req_bytes,
		.device_ops = ops,
		.device_requests = ops,
		.device_bytes = ops * req_bytes,
	};
}

static inline struct check_result sound_result(void)
{
	return (struct check_result){
		.rows = { sound_row(MIB, 8, 20000), sound_row(4096, 1, 100000),
			  sound_row(4096, 32, 1000000) },
		.sampled = 64,
	};
}

#endif
