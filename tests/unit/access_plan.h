/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common parts of the tests of src/io/access.c: a plan of a pattern, and its operations.
 */
#ifndef ACCESS_PLAN_H
#define ACCESS_PLAN_H

#include <stdint.h>
#include <string.h>

#include "xdd/io/access.h"

#define BLOCK 1024u
#define REQ (4u * BLOCK)
#define START (3u * BLOCK)

static inline struct target_plan plan_of(enum seek_pattern pattern, uint64_t ops)
{
	return (struct target_plan){
		.op = OP_READ,
		.block_size = BLOCK,
		.req_blocks = REQ / BLOCK,
		.req_bytes = REQ,
		.pass_ops = ops,
		.last_op_bytes = REQ,
		.start_offset_blocks = START / BLOCK,
		.start_bytes = START,
		.seek = { .pattern = pattern, .seed = PLAN_DEFAULT_SEED },
	};
}

static inline struct access_op op_of(const struct access *a, uint64_t n)
{
	struct access_op op;

	memset(&op, 0xff, sizeof(op));
	access_op(a, n, &op);
	return op;
}

#endif
