/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for tests of the wire format.
 */
#ifndef XDD_TESTS_WIRE_SAMPLE_H
#define XDD_TESTS_WIRE_SAMPLE_H

#include <stdio.h>
#include <string.h>

#include "xdd/net/wire.h"

#define SAMPLE_MAX_DATA (1u << 20)

/* The type after `type`: there are none between SUMS and COPY_START. */
static inline enum wire_type sample_next(enum wire_type type)
{
	return type == WIRE_SUMS ? WIRE_COPY_START : (enum wire_type)(type + 1);
}

/* On data connections only. */
static inline bool sample_on_data(enum wire_type type)
{
	return type == WIRE_DATA || type == WIRE_SKIP || type == WIRE_PASS_LAST ||
	       type == WIRE_COPY_BLOCK || type == WIRE_COPY_BUNDLE || type == WIRE_COPY_SUMS ||
	       type == WIRE_COPY_FILE_END;
}

static inline bool sample_has_offset(enum wire_type type)
{
	return type == WIRE_DATA || type == WIRE_COPY_BLOCK;
}

static inline bool sample_in_pass(enum wire_type type)
{
	return type >= WIRE_PASS_BEGIN && type <= WIRE_PASS_RESULT;
}

/* A body length that a message of this type may have. */
static inline uint64_t sample_length(enum wire_type type)
{
	switch (type) {
	case WIRE_HELLO:
	case WIRE_WELCOME:
		return 40;
	case WIRE_PLAN:
	case WIRE_ACCEPT:
		return 200;
	case WIRE_COPY_START:
	case WIRE_COPY_STARTED:
	case WIRE_COPY_MEET:
	case WIRE_COPY_MET:
	case WIRE_COPY_FAILURE:
		return 200;
	case WIRE_PROVE:
		return 36;
	case WIRE_SUMS:
		return 64;
	case WIRE_DATA:
	case WIRE_COPY_OFFER:
	case WIRE_COPY_WANT:
	case WIRE_COPY_RESULT:
	case WIRE_COPY_BLOCK:
	case WIRE_COPY_BUNDLE:
	case WIRE_COPY_SUMS:
		return 65536;
	case WIRE_COPY_COUNTS:
	case WIRE_COPY_FINISH:
	case WIRE_COPY_FINISHED:
		return 208;
	case WIRE_PASS_END:
	case WIRE_PASS_RESULT:
		return 144;
	case WIRE_ERROR:
	case WIRE_COPY_FILE_END:
	case WIRE_COPY_CANCEL:
		return 30;
	default:
		return 0;
	}
}

/* A header that decodes. */
static inline struct wire_header sample_header(enum wire_type type)
{
	struct wire_header h = {
		.type = type,
		.target = 0x01020304,
		.connection = sample_on_data(type) ? 7 : WIRE_NO_CONNECTION,
		.pass = sample_in_pass(type) || type == WIRE_COPY_BLOCK ? 3 : 0,
		.length = sample_length(type),
		.sequence = 0x1122334455667788,
		.offset = sample_has_offset(type) ? 0x0000665544332211 : 0,
	};

	if (h.length)
		h.digest = (struct digest){ .low = 0x0102030405060708, .high = 0x1112131415161718 };
	return h;
}

static inline struct wire_hello sample_hello(void)
{
	struct wire_hello b = { .purpose = WIRE_TRANSFER, .flags = WIRE_CAN_ENCRYPT };

	for (size_t i = 0; i < sizeof(b.session); i++)
		b.session[i] = (uint8_t)(i + 1);
	strcpy(b.software, "xdd 8.0.0");
	return b;
}

static inline struct wire_plan sample_plan(void)
{
	struct wire_plan b = {
		.req_bytes = 0x100000,
		.bytes = 0x123456789,
		.ops = 0x1235,
		.passes = 3,
		.connections = 8,
		.flags = WIRE_CAN_KEY | WIRE_RESUMES,
		.final_bytes = WIRE_NO_SIZE,
		.start_bytes = 0x400,
		.size_bytes = 0x1234567ff,
		.mtime_ns = -5,
		.ctime_ns = -6,
		.device = 0x801,
		.inode = 0x8182838485868788,
		.pattern = 0x9192939495969798,
		.skipped_bytes = 0x21a2a3a4a5a6a7a8,
	};

	for (size_t i = 0; i < sizeof(b.run); i++)
		b.run[i] = (uint8_t)(0xa0 + i);
	strcpy(b.host, "one");
	strcpy(b.name, "/data/b\xc3\xa4");
	return b;
}

static inline struct wire_pass sample_pass(void)
{
	return (struct wire_pass){
		.ops = 1,
		.bytes = 2,
		.failed = 3,
		.digest = { .low = 4, .high = 0xffffffffffffffff },
		.elapsed_ns = 6,
		.storage_ns = 7,
		.network_ns = 8,
		.waiting_ns = 9,
		.checking_ns = 10,
		.first_read_ns = 11,
		.last_write_ns = 12,
		.retransmits = 13,
		.pace_ns = 14,
		.cpu_ns = 15,
		.cpu_wait_ns = 16,
		.quota_ns = 17,
		.transit_ns = 18,
	};
}

#endif
