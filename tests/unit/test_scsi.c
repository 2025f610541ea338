/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SCSI commands and sense data: src/io/scsi.c. What goes to a device is in test_engine_sg.c and
 * test_scsi_device.c.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "io/scsi.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BLOCK 512

/* Unrecovered read error at block 5 */
static const uint8_t medium_5[18] = { 0xf0, [2] = 3, [6] = 5, [7] = 10, [12] = 0x11 };

TEST(test_cdb)
{
	static const struct {
		enum op_dir dir;
		uint64_t lba;
		uint32_t blocks;
		unsigned cache;
		const char *cdb; /* in hexadecimal */
	} cases[] = {
		{ DIR_READ, 0, 1, 0, "28000000000000000100" },
		{ DIR_WRITE, 0x1234, 8, 0, "2a000000123400000800" },
		{ DIR_READ, 0x89abcdef, 0xfedc, 0, "280089abcdef00fedc00" },
		{ DIR_READ, 0xffffffff, 0xffff, 0, "2800ffffffff00ffff00" },
		{ DIR_READ, 0x100000000, 1, 0, "88000000000100000000000000010000" },
		{ DIR_WRITE, 0x100000000, 1, 0, "8a000000000100000000000000010000" },
		{ DIR_READ, 7, 0x10000, 0, "88000000000000000007000100000000" },
		{ DIR_WRITE, 0x123456789abcdef, 0xfedcba98, 0, "8a000123456789abcdeffedcba980000" },
		{ DIR_READ, 0, 1, SCSI_FUA, "28080000000000000100" },
		{ DIR_WRITE, 0, 1, SCSI_DPO, "2a100000000000000100" },
		{ DIR_WRITE, 0, 65536, SCSI_FUA | SCSI_DPO, "8a180000000000000000000100000000" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint8_t cdb[SCSI_CDB_MAX];
		char hex[2 * SCSI_CDB_MAX + 1] = "";
		size_t size;

		memset(cdb, 0xee, sizeof(cdb));
		size = scsi_cdb_transfer(cdb, cases[i].dir, cases[i].lba, cases[i].blocks,
					 cases[i].cache);
		for (size_t k = 0; k < size; k++)
			snprintf(hex + 2 * k, 3, "%02x", cdb[k]);
		assert_string_equal(hex, cases[i].cdb);
	}
}

/* Size and bytes of sense data in fixed format. */
#define FIXED(key, asc, ascq)                            \
	18,                                              \
	{                                                \
		0x70, 0, key, [7] = 10, [12] = asc, ascq \
	}

/* Known answers, and what is to be made of them. */
static const struct sense_case {
	uint8_t size;
	uint8_t data[32];
	enum op_dir dir;
	int error;
	const char *text;
} sense_cases[] = {
	/* fixed format, with and without the block at fault */
	{ 18,
	  { 0xf0, 0, 3, 0, 0, 0x04, 0xd2, 10, [12] = 0x11 },
	  DIR_READ,
	  -EIO,
	  "medium error, unrecovered read error (3/11/00) at LBA 1234" },
	{ 18,
	  { 0x70, 0, 3, 0, 0, 0x04, 0xd2, 10, [12] = 0x0c, 0x02 },
	  DIR_WRITE,
	  -EIO,
	  "medium error, write error, auto reallocation failed (3/0c/02)" },
	{ FIXED(2, 0x3a, 0), DIR_READ, -ENOMEDIUM, "not ready, medium not present (2/3a/00)" },
	{ FIXED(2, 0x04, 0x01), DIR_READ, -EBUSY, "not ready, becoming ready (2/04/01)" },
	{ FIXED(5, 0x21, 0), DIR_READ, -ENODATA,
	  "illegal request, logical block address out of range (5/21/00)" },
	{ FIXED(5, 0x21, 0), DIR_WRITE, -ENOSPC,
	  "illegal request, logical block address out of range (5/21/00)" },
	{ FIXED(5, 0x21, 0x04), DIR_WRITE, -EIO,
	  "illegal request, unaligned write command (5/21/04)" },
	{ FIXED(5, 0x20, 0), DIR_READ, -EOPNOTSUPP,
	  "illegal request, invalid command operation code (5/20/00)" },
	{ FIXED(5, 0x24, 0), DIR_READ, -EINVAL,
	  "illegal request, invalid field in command (5/24/00)" },
	{ FIXED(5, 0x25, 0), DIR_READ, -ENXIO,
	  "illegal request, logical unit not supported (5/25/00)" },
	{ FIXED(6, 0x29, 0x03), DIR_READ, -EAGAIN,
	  "unit attention, power on, reset, or bus device reset occurred (6/29/03)" },
	{ FIXED(7, 0x27, 0), DIR_WRITE, -EROFS, "data protect, write protected (7/27/00)" },
	{ FIXED(7, 0x27, 0x07), DIR_WRITE, -ENOSPC,
	  "data protect, space allocation failed, write protect (7/27/07)" },
	{ FIXED(7, 0x20, 0x02), DIR_WRITE, -EACCES, "data protect, access denied (7/20/02)" },
	{ FIXED(4, 0x44, 0x77), DIR_READ, -EIO,
	  "hardware error, internal target failure (4/44/77)" },
	{ FIXED(0xb, 0x10, 0x01), DIR_READ, -EILSEQ,
	  "aborted command, protection information, guard check failed (b/10/01)" },
	{ FIXED(0xb, 0x4e, 0), DIR_READ, -EIO,
	  "aborted command, overlapped commands attempted (b/4e/00)" },
	{ FIXED(0xe, 0x1d, 0), DIR_READ, -EILSEQ,
	  "miscompare, miscompare during verify (e/1d/00)" },
	{ FIXED(0xd, 0, 0), DIR_WRITE, -ENOSPC, "volume overflow (d/00/00)" },
	{ FIXED(9, 0x80, 0x99), DIR_READ, -EIO, "vendor-specific error (9/80/99)" },
	/* no error: the data was moved */
	{ FIXED(1, 0x17, 0), DIR_READ, 0,
	  "recovered error, recovered data without error correction (1/17/00)" },
	{ FIXED(0, 0, 0), DIR_READ, 0, "no sense (0/00/00)" },
	/* an error of an earlier command */
	{ 18,
	  { 0xf1, 0, 3, [6] = 9, 10, [12] = 0x0c },
	  DIR_READ,
	  -EIO,
	  "of an earlier command: medium error, write error (3/0c/00) at LBA 9" },
	/* flags beside the key do not count */
	{ FIXED(0xe3, 0x11, 0), DIR_READ, -EIO, "medium error, unrecovered read error (3/11/00)" },
	/* short ones: what is not there counts as 0 */
	{ 8, { 0x70, 0, 4, [7] = 0 }, DIR_READ, -EIO, "hardware error (4/00/00)" },
	{ 13,
	  { 0x70, 0, 3, [7] = 5, [12] = 0x11, 0xee },
	  DIR_READ,
	  -EIO,
	  "medium error, unrecovered read error (3/11/00)" },
	{ 18, { 0x70, 0, 3, [7] = 4, [12] = 0x11 }, DIR_READ, -EIO, "medium error (3/00/00)" },
	{ 3, { 0xf0, 0, 3 }, DIR_READ, -EIO, "medium error (3/00/00)" },
	/* descriptor format */
	{ 8,
	  { 0x72, 5, 0x24 },
	  DIR_READ,
	  -EINVAL,
	  "illegal request, invalid field in command (5/24/00)" },
	{ 20,
	  { 0x72, 3, 0x11, 0, [7] = 12, 0, 10, 0x80, 0, 0, 0, 1, 0, 0, 0, 0, 2 },
	  DIR_READ,
	  -EIO,
	  "medium error, unrecovered read error (3/11/00) at LBA 1099511627778" },
	{ 20,
	  { 0x72, 3, 0x11, 0, [7] = 12, 0, 10, 0x00, [19] = 2 },
	  DIR_READ,
	  -EIO,
	  "medium error, unrecovered read error (3/11/00)" },
	/* another descriptor before the one looked for */
	{ 28,
	  { 0x73, 3, 0x0c, 0, [7] = 20, 2, 6, [16] = 0, 10, 0x80, [27] = 7 },
	  DIR_READ,
	  -EIO,
	  "of an earlier command: medium error, write error (3/0c/00) at LBA 7" },
	/* a descriptor that is cut off */
	{ 16,
	  { 0x72, 3, 0x11, 0, [7] = 12, 0, 10, 0x80 },
	  DIR_READ,
	  -EIO,
	  "medium error, unrecovered read error (3/11/00)" },
	/* nothing that could be taken apart */
	{ 18, { 0x7f, 0, 3 }, DIR_READ, -EIO, "check condition without sense data (status 0x02)" },
	{ 0, { 0 }, DIR_READ, -EIO, "check condition without sense data (status 0x02)" },
};

TEST(test_sense)
{
	char text[160];

	for (size_t i = 0; i < COUNT(sense_cases); i++) {
		const struct sense_case *c = &sense_cases[i];
		struct scsi_reply reply = { .status = SCSI_CHECK_CONDITION, .sense_size = c->size };

		memcpy(reply.sense, c->data, sizeof(c->data));
		scsi_reply_text(&reply, text, sizeof(text));
		assert_string_equal(text, c->text);
		assert_int_equal(scsi_reply_error(&reply, c->dir), c->error);
	}
}

TEST(test_reply_without_sense)
{
	static const struct {
		uint8_t status;
		uint16_t host;
		int error;
		const char *text;
	} cases[] = {
		{ 0x00, 0x00, 0, "" },
		{ 0x08, 0x00, -EBUSY, "the device is busy (status 0x08)" },
		{ 0x18, 0x00, -EBADE, "reservation conflict (status 0x18)" },
		{ 0x28, 0x00, -EBUSY, "the device's queue is full (status 0x28)" },
		{ 0x40, 0x00, -EIO, "aborted by another initiator (status 0x40)" },
		{ 0x00, 0x01, -ENODEV, "no connection to the device (host status 0x01)" },
		{ 0x00, 0x03, -ETIMEDOUT, "the device did not answer in time (host status 0x03)" },
		{ 0x00, 0x0b, -EAGAIN, "error of the low-level driver (host status 0x0b)" },
		{ 0x00, 0x0f, -ENOLINK, "the transport failed (host status 0x0f)" },
		{ 0x00, 0x99, -EIO, "error of the host adapter (host status 0x99)" },
	};
	char text[160];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scsi_reply reply = { .status = cases[i].status, .host = cases[i].host };

		scsi_reply_text(&reply, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
		assert_int_equal(scsi_reply_error(&reply, DIR_READ), cases[i].error);
	}
}

/* Text that does not fit is cut, and nothing behind it touched. */
TEST(test_text_fits)
{
	struct scsi_reply reply = { .status = SCSI_CHECK_CONDITION,
				    .sense_size = sizeof(medium_5) };
	char text[8] = "abcdefg";

	memcpy(reply.sense, medium_5, sizeof(medium_5));
	scsi_reply_text(&reply, text, 5);
	assert_memory_equal(text, "medi\0fg", 8);
}

TEST(test_bytes_moved)
{
	struct scsi_reply reply = { 0 };

	assert_int_equal(scsi_reply_bytes(&reply, 0, 4096, BLOCK), 4096);
	reply.resid_bytes = 1024;
	assert_int_equal(scsi_reply_bytes(&reply, 0, 4096, BLOCK), 3072);

	/* An error at block 5: what lies before it, as far as it was moved. */
	reply = (struct scsi_reply){ .status = SCSI_CHECK_CONDITION,
				     .sense_size = sizeof(medium_5) };
	memcpy(reply.sense, medium_5, sizeof(medium_5));
	assert_int_equal(scsi_reply_bytes(&reply, 0, 4096, BLOCK), 5 * BLOCK);
	assert_int_equal(scsi_reply_bytes(&reply, 5, 4096, BLOCK), 0);
	assert_int_equal(scsi_reply_bytes(&reply, 6, 4096, BLOCK), 0);
	assert_int_equal(scsi_reply_bytes(&reply, 0, 5 * BLOCK, BLOCK), 0);
	reply.resid_bytes = 4096 - 2 * BLOCK - 100;
	assert_int_equal(scsi_reply_bytes(&reply, 0, 4096, BLOCK), 2 * BLOCK);
	reply.resid_bytes = 4096;
	assert_int_equal(scsi_reply_bytes(&reply, 0, 4096, BLOCK), 0);

	/* It names no block: nothing is sure. */
	reply.resid_bytes = 0;
	reply.sense[0] = 0x70;
	assert_int_equal(scsi_reply_bytes(&reply, 0, 4096, BLOCK), 0);
	/* A recovered error is none. */
	reply.sense[2] = 1;
	assert_int_equal(scsi_reply_bytes(&reply, 0, 4096, BLOCK), 4096);
}

/* The key is in byte 2 of the fixed format, and in byte 1 of the one of descriptors. */
TEST(test_key)
{
	static const struct {
		uint8_t size, sense[3];
		int key;
	} cases[] = {
		{ 3, { 0x70, 0x05, 0xf3 }, 3 }, { 3, { 0x71, 0x05, 0x06 }, 6 },
		{ 3, { 0xf0, 0x05, 0x23 }, 3 }, { 3, { 0x72, 0xf5, 0x06 }, 5 },
		{ 3, { 0x73, 0x06, 0x05 }, 6 }, { 3, { 0xf2, 0x03, 0x05 }, 3 },
		{ 2, { 0x72, 0x05, 0x06 }, 0 }, { 0, { 0x70, 0x05, 0x06 }, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scsi_reply reply = { .status = SCSI_CHECK_CONDITION,
					    .sense_size = cases[i].size };

		memcpy(reply.sense, cases[i].sense, sizeof(cases[i].sense));
		assert_int_equal(scsi_reply_key(&reply), cases[i].key);
	}
}

RUN_TESTS(NULL, NULL)
