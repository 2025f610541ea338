/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block devices and SCSI disks, and their properties as the kernel or the device reports them. No
 * state; any thread.
 */
#ifndef XDD_SYS_BLOCKDEV_H
#define XDD_SYS_BLOCKDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The block device of a name, and its properties as the kernel reports them. No state; any thread;
 * nothing is opened.
 */

/*
 * The number of the block device that `path` leads to: a block device itself, or the one that a
 * SCSI generic device (/dev/sg*) drives. False when it leads to none.
 */
bool blockdev_number(const char *path, dev_t *dev);

/* As blockdev_number(), for a file whose attributes are known. */
bool blockdev_number_of(const struct stat *st, dev_t *dev);

/*
 * The node below /dev that the kernel names for a block device, into `buf`. Returns 0, or -errno
 * when there is none, or it is another device.
 */
int blockdev_node(dev_t dev, char *buf, size_t size);

bool blockdev_is_partition(dev_t dev);

/* The whole disk that a device is part of, or itself. */
dev_t blockdev_disk(dev_t dev);

/*
 * A number of the device's queue, such as "logical_block_size", which for a
 * partition is its disk's. False, with `*value` as it was, when there is none.
 */
bool blockdev_queue_number(dev_t dev, const char *name, uint64_t *value);

/*
 * The file of loop device `name`, a directory of /sys/class/block below `root` ("" but in tests),
 * into `file`, and if the device reads and writes it through the page cache. False when it is no
 * loop device, or has no file.
 */
bool blockdev_loop(const char *root, const char *name, char *file, size_t size, bool *buffered);

/*
 * Properties of direct I/O (O_DIRECT) on a file, as the kernel reports them. Any thread; no state.
 */

struct directio {
	/*
	 * The file accepts O_DIRECT and goes through the page cache all the same: encrypted and
	 * verity files, ext4 with data=journal, file systems in memory. False where the kernel does
	 * not tell.
	 */
	bool ignored;
	uint32_t offset_align; /* bytes, of offsets and sizes; 0: not known */
	uint32_t memory_align; /* bytes, of buffers; 0: not known */
};

/* Ask about a path, or with `path` NULL about the open file `fd`. On errors nothing is known. */
void directio_query(struct directio *d, int fd, const char *path);

/*
 * One SCSI command through the kernel's SG_IO, on /dev/sg* as on SCSI block devices, and its
 * result. No state; any thread.
 */

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

/*
 * How large a SCSI disk is, asked from the device itself: /dev/sg* has no size of its own. No
 * state; any thread.
 */

/*
 * Ask for the capacity in bytes and the size of a block. `path` is opened for reading, without
 * waiting for a medium, and closed again; nothing is changed. Returns 0 or -errno, among them
 *
 *	-ENOTTY      not a SCSI device
 *	-EOPNOTSUPP  a SCSI device that is no disk: it has no capacity
 *	-ENOMEDIUM   no medium, or not ready
 *	-EACCES, -EPERM  no permission to open it, to send it commands
 */
int scsi_capacity(const char *path, uint64_t *bytes, uint32_t *block);

/* As scsi_capacity(), for an open device. */
int scsi_capacity_fd(int fd, uint64_t *bytes, uint32_t *block);

#endif
