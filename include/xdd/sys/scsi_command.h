/*
 * One SCSI command through the kernel's SG_IO, on /dev/sg* as on SCSI block devices, and its
 * result. No state; any thread.
 */
#ifndef XDD_SYS_SCSI_COMMAND_H
#define XDD_SYS_SCSI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCSI_CDB_MAX 16
#define SCSI_SENSE_MAX 96
#define SCSI_TIMEOUT_MS 60000 /* then the kernel aborts the command */

/* Status of a command as the device gives it; others are errors. */
#define SCSI_GOOD 0x00
#define SCSI_CHECK_CONDITION 0x02

enum scsi_sense_key {
	SCSI_NO_SENSE = 0x0,
	SCSI_RECOVERED_ERROR = 0x1,
	SCSI_NOT_READY = 0x2,
	SCSI_MEDIUM_ERROR = 0x3,
	SCSI_HARDWARE_ERROR = 0x4,
	SCSI_ILLEGAL_REQUEST = 0x5,
	SCSI_UNIT_ATTENTION = 0x6,
	SCSI_DATA_PROTECT = 0x7,
	SCSI_BLANK_CHECK = 0x8,
	SCSI_VENDOR_SPECIFIC = 0x9,
	SCSI_COPY_ABORTED = 0xa,
	SCSI_ABORTED_COMMAND = 0xb,
	SCSI_VOLUME_OVERFLOW = 0xd,
	SCSI_MISCOMPARE = 0xe,
	SCSI_COMPLETED = 0xf,
};

enum scsi_way {
	SCSI_NO_DATA,
	SCSI_FROM_DEVICE,
	SCSI_TO_DEVICE,
};

struct scsi_reply {
	uint8_t status;	      /* of the device: SCSI_GOOD, ... */
	uint16_t host;	      /* of the host adapter: 0, or what went wrong on the way */
	uint32_t resid_bytes; /* of the data asked for, not moved */
	uint8_t sense_size;
	uint8_t sense[SCSI_SENSE_MAX];
};

/*
 * Send a command and wait for its end. Returns 0 when it was executed, with or without success, and
 * `reply` filled in; or -errno, with an empty reply, when the kernel refused it: -EINVAL or -ENOMEM
 * also for more data than fits one command.
 */
int scsi_command(int fd, const uint8_t *cdb, size_t cdb_size, enum scsi_way way, void *data,
		 uint32_t size, struct scsi_reply *reply);

/* The sense key of a reply, SCSI_NO_SENSE when it has none. */
enum scsi_sense_key scsi_reply_key(const struct scsi_reply *reply);

static inline bool scsi_reply_good(const struct scsi_reply *reply)
{
	return reply->status == SCSI_GOOD && reply->host == 0;
}

static inline uint32_t scsi_get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t scsi_get_be64(const uint8_t *p)
{
	return (uint64_t)scsi_get_be32(p) << 32 | scsi_get_be32(p + 4);
}

#endif
