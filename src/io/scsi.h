/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SCSI as the sg engine speaks it: commands for blocks, and sense data, by which a device says what
 * went wrong. The layouts follow the SCSI standards SPC and SBC. No state; any thread.
 */
#ifndef XDD_IO_SCSI_H
#define XDD_IO_SCSI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/stat/counters.h"
#include "xdd/sys/blockdev.h"

enum scsi_cache {
	SCSI_FUA = 1 << 3, /* force unit access: past the device's cache */
	SCSI_DPO = 1 << 4, /* disable page out: do not keep it in the cache */
};

/*
 * Build READ or WRITE of `blocks` blocks from `lba` on, with `cache` of enum scsi_cache: (10) where
 * both numbers fit, else (16). Returns the size of the command in bytes.
 */
size_t scsi_cdb_transfer(uint8_t cdb[SCSI_CDB_MAX], enum op_dir dir, uint64_t lba, uint32_t blocks,
			 unsigned cache);

/* Sense data, taken apart. */
struct scsi_sense {
	enum scsi_sense_key key;
	uint8_t asc;   /* additional sense code */
	uint8_t ascq;  /* and its qualifier */
	bool deferred; /* about an earlier command */
	bool has_info; /* `info` holds the block at fault */
	uint64_t info;
};

/*
 * The meaning of a reply to a transfer: 0 when the data was moved, -EAGAIN when the command should
 * be sent again at once, or the errno that comes nearest (negative). The end of the device is
 * -ENODATA for reads and -ENOSPC for writes, as for files.
 */
int scsi_reply_error(const struct scsi_reply *reply, enum op_dir dir);

/*
 * scsi_command(), again while the device has other news to tell first. Returns its error, or
 * scsi_reply_error() of the last reply.
 */
int scsi_repeat(int fd, const uint8_t *cdb, size_t cdb_size, enum scsi_way way, void *data,
		uint32_t size, enum op_dir dir, struct scsi_reply *reply);

/*
 * Bytes that a transfer of `size` bytes from `lba` on moved for sure. After an error a device has
 * what lies before the block it names, and nothing if it names none.
 */
uint32_t scsi_reply_bytes(const struct scsi_reply *reply, uint64_t lba, uint32_t size,
			  uint32_t block);

/*
 * The reply in words, such as "medium error, unrecovered read error (3/11/00) at LBA 4660"; "" when
 * it was good.
 */
void scsi_reply_text(const struct scsi_reply *reply, char *buf, size_t size);

/* The abilities of a disk by MODE SENSE; all false when it does not answer. */
struct scsi_abilities {
	bool answered;
	bool write_protected;
	bool fua_dpo; /* it takes both bits */
};

void scsi_abilities(int fd, struct scsi_abilities *abilities);

/*
 * SYNCHRONIZE CACHE: returns 0 when all that was written is on the medium, or the device has no
 * such command and so no cache of its own to write back; else -errno.
 */
int sg_sync_cache(int fd);

#endif
