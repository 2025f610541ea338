/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SCSI commands for blocks, and what the answers mean. Called by the sg engine.
 */
#include "io/scsi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define READ_10 0x28
#define WRITE_10 0x2a
#define READ_16 0x88
#define WRITE_16 0x8a
#define MODE_SENSE_6 0x1a
#define SYNCHRONIZE_CACHE_10 0x35

#define BLOCKS_MAX_10 0xffffu
#define LBA_MAX_10 0xffffffffull

#define ATTEMPTS 4 /* after a reset a device reports several unit attentions */

/* Of the kernel's host_status */
enum host_status {
	HOST_NO_CONNECT = 0x01,
	HOST_BUS_BUSY = 0x02,
	HOST_TIME_OUT = 0x03,
	HOST_BAD_TARGET = 0x04,
	HOST_ABORT = 0x05,
	HOST_PARITY = 0x06,
	HOST_ERROR = 0x07,
	HOST_RESET = 0x08,
	HOST_BAD_INTR = 0x09,
	HOST_PASSTHROUGH = 0x0a,
	HOST_SOFT_ERROR = 0x0b,
	HOST_IMM_RETRY = 0x0c,
	HOST_REQUEUE = 0x0d,
	HOST_TRANSPORT_DISRUPTED = 0x0e,
	HOST_TRANSPORT_FAILFAST = 0x0f,
	HOST_TRANSPORT_MARGINAL = 0x14,
};

/* Of the status that a device gives. */
enum device_status {
	STATUS_CONDITION_MET = 0x04,
	STATUS_BUSY = 0x08,
	STATUS_RESERVATION_CONFLICT = 0x18,
	STATUS_TASK_SET_FULL = 0x28,
	STATUS_ACA_ACTIVE = 0x30,
	STATUS_TASK_ABORTED = 0x40,
};

static void put_be(uint8_t *p, size_t n, uint64_t value)
{
	while (n--) {
		p[n] = (uint8_t)value;
		value >>= 8;
	}
}

size_t scsi_cdb_transfer(uint8_t cdb[SCSI_CDB_MAX], enum op_dir dir, uint64_t lba, uint32_t blocks,
			 unsigned cache)
{
	bool fits = lba <= LBA_MAX_10 && blocks <= BLOCKS_MAX_10;

	memset(cdb, 0, SCSI_CDB_MAX);
	cdb[1] = (uint8_t)cache;
	if (fits) {
		cdb[0] = dir == DIR_READ ? READ_10 : WRITE_10;
		put_be(cdb + 2, 4, lba);
		put_be(cdb + 7, 2, blocks);
		return 10;
	}
	cdb[0] = dir == DIR_READ ? READ_16 : WRITE_16;
	put_be(cdb + 2, 8, lba);
	put_be(cdb + 10, 4, blocks);
	return 16;
}

/* ---- sense data ---- */

static void decode_fixed(const uint8_t *data, size_t size, struct scsi_sense *sense)
{
	size_t end = size > 7 ? 8 + (size_t)data[7] : size;

	if (end > size)
		end = size;
	sense->key = data[2] & 0x0f;
	sense->has_info = size >= 7 && data[0] & 0x80;
	if (sense->has_info)
		sense->info = scsi_get_be32(data + 3);
	sense->asc = end > 12 ? data[12] : 0;
	sense->ascq = end > 13 ? data[13] : 0;
}

static void decode_descriptors(const uint8_t *data, size_t size, struct scsi_sense *sense)
{
	size_t end = size > 7 ? 8 + (size_t)data[7] : size;

	if (end > size)
		end = size;
	sense->key = data[1] & 0x0f;
	sense->asc = size > 2 ? data[2] : 0;
	sense->ascq = size > 3 ? data[3] : 0;

	/* Type and length, then the rest. Type 0 is the information. */
	for (size_t i = 8; i + 1 < end; i += 2 + (size_t)data[i + 1]) {
		if (data[i] == 0x00 && data[i + 1] >= 10 && i + 12 <= end && data[i + 2] & 0x80) {
			sense->has_info = true;
			sense->info = scsi_get_be64(data + i + 4);
		}
	}
}

/*
 * Take apart sense data in fixed or descriptor format. Returns false, and clears `sense`, when it
 * is neither, or too short to hold a sense key.
 */
static bool scsi_sense_decode(const uint8_t *data, size_t size, struct scsi_sense *sense)
{
	*sense = (struct scsi_sense){ 0 };
	if (size < 3)
		return false;
	switch (data[0] & 0x7f) {
	case 0x70:
	case 0x71:
		decode_fixed(data, size, sense);
		break;
	case 0x72:
	case 0x73:
		decode_descriptors(data, size, sense);
		break;
	default:
		return false;
	}
	sense->deferred = data[0] & 1;
	return true;
}

static const char *key_text(enum scsi_sense_key key)
{
	static const char *const texts[16] = {
		[SCSI_NO_SENSE] = "no sense",
		[SCSI_RECOVERED_ERROR] = "recovered error",
		[SCSI_NOT_READY] = "not ready",
		[SCSI_MEDIUM_ERROR] = "medium error",
		[SCSI_HARDWARE_ERROR] = "hardware error",
		[SCSI_ILLEGAL_REQUEST] = "illegal request",
		[SCSI_UNIT_ATTENTION] = "unit attention",
		[SCSI_DATA_PROTECT] = "data protect",
		[SCSI_BLANK_CHECK] = "blank check",
		[SCSI_VENDOR_SPECIFIC] = "vendor-specific error",
		[SCSI_COPY_ABORTED] = "copy aborted",
		[SCSI_ABORTED_COMMAND] = "aborted command",
		[SCSI_VOLUME_OVERFLOW] = "volume overflow",
		[SCSI_MISCOMPARE] = "miscompare",
		[SCSI_COMPLETED] = "completed",
	};

	return texts[key & 0x0f] ? texts[key & 0x0f] : "reserved sense key";
}

/* Additional sense codes of disks; the first match counts, 0xff matches any qualifier. */
static const char *additional_text(uint8_t asc, uint8_t ascq)
{
	static const struct {
		uint8_t asc, ascq;
		const char *text;
	} codes[] = {
		{ 0x02, 0x00, "no seek complete" },
		{ 0x03, 0xff, "write fault" },
		{ 0x04, 0x00, "not ready, cause not reportable" },
		{ 0x04, 0x01, "becoming ready" },
		{ 0x04, 0x02, "start command wanted" },
		{ 0x04, 0x03, "manual intervention wanted" },
		{ 0x04, 0x04, "format in progress" },
		{ 0x04, 0x09, "self-test in progress" },
		{ 0x04, 0x0a, "asymmetric access state transition" },
		{ 0x04, 0x0b, "target port in standby state" },
		{ 0x04, 0x0c, "target port in unavailable state" },
		{ 0x04, 0x1b, "sanitize in progress" },
		{ 0x04, 0xff, "not ready" },
		{ 0x05, 0x00, "logical unit does not respond to selection" },
		{ 0x08, 0xff, "logical unit communication failure" },
		{ 0x09, 0xff, "track following error" },
		{ 0x0b, 0xff, "warning of the device about its own state" },
		{ 0x0c, 0x02, "write error, auto reallocation failed" },
		{ 0x0c, 0xff, "write error" },
		{ 0x0e, 0xff, "error in an information unit" },
		{ 0x10, 0x01, "protection information, guard check failed" },
		{ 0x10, 0x02, "protection information, application tag check failed" },
		{ 0x10, 0x03, "protection information, reference tag check failed" },
		{ 0x10, 0xff, "CRC or ECC error" },
		{ 0x11, 0x00, "unrecovered read error" },
		{ 0x11, 0x01, "read retries exhausted" },
		{ 0x11, 0x02, "error too long to correct" },
		{ 0x11, 0x04, "unrecovered read error, auto reallocation failed" },
		{ 0x11, 0x0a, "miscorrected error" },
		{ 0x11, 0x0b, "unrecovered read error, reassignment recommended" },
		{ 0x11, 0x14, "read error, block marked bad by the application client" },
		{ 0x11, 0xff, "unrecovered read error" },
		{ 0x14, 0xff, "recorded entity not found" },
		{ 0x15, 0xff, "positioning error" },
		{ 0x16, 0xff, "data synchronization mark error" },
		{ 0x17, 0xff, "recovered data without error correction" },
		{ 0x18, 0xff, "recovered data with error correction" },
		{ 0x19, 0xff, "defect list error" },
		{ 0x1a, 0x00, "parameter list length error" },
		{ 0x1b, 0x00, "synchronous data transfer error" },
		{ 0x1d, 0xff, "miscompare during verify" },
		{ 0x20, 0x00, "invalid command operation code" },
		{ 0x20, 0xff, "access denied" },
		{ 0x21, 0x00, "logical block address out of range" },
		{ 0x21, 0x04, "unaligned write command" },
		{ 0x21, 0x05, "write boundary violation" },
		{ 0x21, 0x06, "read invalid data" },
		{ 0x21, 0x07, "read boundary violation" },
		{ 0x24, 0x00, "invalid field in command" },
		{ 0x25, 0x00, "logical unit not supported" },
		{ 0x26, 0xff, "invalid field in parameter list" },
		{ 0x27, 0x00, "write protected" },
		{ 0x27, 0x07, "space allocation failed, write protect" },
		{ 0x27, 0xff, "write protected" },
		{ 0x28, 0x00, "medium may have changed" },
		{ 0x29, 0xff, "power on, reset, or bus device reset occurred" },
		{ 0x2a, 0x09, "capacity data has changed" },
		{ 0x2a, 0xff, "parameters changed" },
		{ 0x2c, 0x00, "command sequence error" },
		{ 0x2f, 0xff, "commands cleared by another initiator" },
		{ 0x30, 0xff, "incompatible medium installed" },
		{ 0x31, 0xff, "medium format corrupted" },
		{ 0x32, 0xff, "no defect spare location available" },
		{ 0x37, 0x00, "rounded parameter" },
		{ 0x38, 0x07, "thin provisioning soft threshold reached" },
		{ 0x3a, 0xff, "medium not present" },
		{ 0x3e, 0x01, "logical unit failure" },
		{ 0x3e, 0x02, "timeout on logical unit" },
		{ 0x3f, 0x0e, "reported LUNs data has changed" },
		{ 0x3f, 0xff, "operating conditions have changed" },
		{ 0x40, 0xff, "diagnostic failure on component" },
		{ 0x41, 0x00, "data path failure" },
		{ 0x43, 0x00, "message error" },
		{ 0x44, 0xff, "internal target failure" },
		{ 0x45, 0x00, "select or reselect failure" },
		{ 0x47, 0xff, "parity or CRC error" },
		{ 0x48, 0x00, "initiator detected error message received" },
		{ 0x49, 0x00, "invalid message error" },
		{ 0x4b, 0xff, "data phase error" },
		{ 0x4c, 0x00, "logical unit failed self-configuration" },
		{ 0x4e, 0x00, "overlapped commands attempted" },
		{ 0x53, 0x02, "medium removal prevented" },
		{ 0x55, 0xff, "system resource failure" },
		{ 0x5d, 0xff, "failure prediction threshold exceeded" },
		{ 0x65, 0x00, "voltage fault" },
		{ 0x74, 0xff, "security error" },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].asc == asc && (codes[i].ascq == ascq || codes[i].ascq == 0xff))
			return codes[i].text;
	return NULL;
}

/* ---- errors ---- */

static int illegal_request_error(const struct scsi_sense *sense, enum op_dir dir)
{
	switch (sense->asc) {
	case 0x20:
		return sense->ascq ? -EACCES : -EOPNOTSUPP;
	case 0x21:
		if (sense->ascq)
			return -EIO;
		return dir == DIR_READ ? -ENODATA : -ENOSPC;
	case 0x25:
		return -ENXIO;
	default:
		return -EINVAL;
	}
}

static int data_protect_error(const struct scsi_sense *sense)
{
	if (sense->asc == 0x27 && sense->ascq == 0x07)
		return -ENOSPC; /* thin provisioning has no more to give */
	return sense->asc == 0x20 ? -EACCES : -EROFS;
}

static int sense_error(const struct scsi_sense *sense, enum op_dir dir)
{
	switch (sense->key) {
	case SCSI_NO_SENSE:
	case SCSI_RECOVERED_ERROR:
	case SCSI_COMPLETED:
		return 0;
	case SCSI_NOT_READY:
		return sense->asc == 0x3a ? -ENOMEDIUM : -EBUSY;
	case SCSI_ILLEGAL_REQUEST:
		return illegal_request_error(sense, dir);
	case SCSI_UNIT_ATTENTION:
		return -EAGAIN;
	case SCSI_DATA_PROTECT:
		return data_protect_error(sense);
	case SCSI_ABORTED_COMMAND:
		return sense->asc == 0x10 ? -EILSEQ : -EIO;
	case SCSI_VOLUME_OVERFLOW:
		return -ENOSPC;
	case SCSI_MISCOMPARE:
		return -EILSEQ;
	default:
		return -EIO;
	}
}

static int host_error(uint16_t host)
{
	switch (host) {
	case HOST_NO_CONNECT:
	case HOST_BAD_TARGET:
		return -ENODEV;
	case HOST_BUS_BUSY:
		return -EBUSY;
	case HOST_TIME_OUT:
		return -ETIMEDOUT;
	case HOST_SOFT_ERROR:
	case HOST_IMM_RETRY:
	case HOST_REQUEUE:
	case HOST_TRANSPORT_DISRUPTED:
		return -EAGAIN;
	case HOST_TRANSPORT_FAILFAST:
	case HOST_TRANSPORT_MARGINAL:
		return -ENOLINK;
	default:
		return -EIO;
	}
}

int scsi_reply_error(const struct scsi_reply *reply, enum op_dir dir)
{
	struct scsi_sense sense;

	if (reply->host)
		return host_error(reply->host);
	switch (reply->status) {
	case SCSI_GOOD:
	case STATUS_CONDITION_MET:
		return 0;
	case SCSI_CHECK_CONDITION:
		if (!scsi_sense_decode(reply->sense, reply->sense_size, &sense))
			return -EIO;
		return sense_error(&sense, dir);
	case STATUS_BUSY:
	case STATUS_TASK_SET_FULL:
		return -EBUSY;
	case STATUS_RESERVATION_CONFLICT:
		return -EBADE; /* as the kernel's disk driver says it */
	default:
		return -EIO;
	}
}

uint32_t scsi_reply_bytes(const struct scsi_reply *reply, uint64_t lba, uint32_t size,
			  uint32_t block)
{
	uint32_t moved = size - reply->resid_bytes;
	struct scsi_sense sense;
	uint64_t before;

	if (!scsi_reply_error(reply, DIR_READ))
		return moved;
	if (reply->host || !scsi_sense_decode(reply->sense, reply->sense_size, &sense) ||
	    sense.deferred || !sense.has_info || sense.info < lba ||
	    sense.info - lba >= size / block)
		return 0;
	before = (sense.info - lba) * block;
	return before < moved ? (uint32_t)before : moved / block * block;
}

int scsi_repeat(int fd, const uint8_t *cdb, size_t cdb_size, enum scsi_way way, void *data,
		uint32_t size, enum op_dir dir, struct scsi_reply *reply)
{
	int err = -EAGAIN;

	for (int i = 0; i < ATTEMPTS && err == -EAGAIN; i++) {
		err = scsi_command(fd, cdb, cdb_size, way, data, size, reply);
		if (err)
			return err;
		err = scsi_reply_error(reply, dir);
	}
	return err;
}

/* ---- in words ---- */

static const char *host_text(uint16_t host)
{
	static const char *const texts[] = {
		[HOST_NO_CONNECT] = "no connection to the device",
		[HOST_BUS_BUSY] = "the bus stayed busy",
		[HOST_TIME_OUT] = "the device did not answer in time",
		[HOST_BAD_TARGET] = "bad target",
		[HOST_ABORT] = "the command was aborted",
		[HOST_PARITY] = "parity error",
		[HOST_ERROR] = "internal error of the host adapter",
		[HOST_RESET] = "reset",
		[HOST_BAD_INTR] = "unexpected interrupt",
		[HOST_PASSTHROUGH] = "refused by the low-level driver",
		[HOST_SOFT_ERROR] = "error of the low-level driver",
		[HOST_IMM_RETRY] = "to be tried again",
		[HOST_REQUEUE] = "to be queued again",
		[HOST_TRANSPORT_DISRUPTED] = "the transport was disrupted",
		[HOST_TRANSPORT_FAILFAST] = "the transport failed",
		[HOST_TRANSPORT_MARGINAL] = "the transport is unreliable",
	};

	if (host >= sizeof(texts) / sizeof(texts[0]) || !texts[host])
		return "error of the host adapter";
	return texts[host];
}

static const char *status_text(uint8_t status)
{
	switch (status) {
	case SCSI_CHECK_CONDITION:
		return "check condition without sense data";
	case STATUS_BUSY:
		return "the device is busy";
	case STATUS_RESERVATION_CONFLICT:
		return "reservation conflict";
	case STATUS_TASK_SET_FULL:
		return "the device's queue is full";
	case STATUS_ACA_ACTIVE:
		return "auto contingent allegiance active";
	case STATUS_TASK_ABORTED:
		return "aborted by another initiator";
	default:
		return "unknown status";
	}
}

static void sense_text(const struct scsi_sense *sense, char *buf, size_t size)
{
	const char *more = additional_text(sense->asc, sense->ascq);
	char lba[40] = "";

	if (sense->has_info)
		snprintf(lba, sizeof(lba), " at LBA %llu", (unsigned long long)sense->info);
	snprintf(buf, size, "%s%s%s%s (%x/%02x/%02x)%s",
		 sense->deferred ? "of an earlier command: " : "", key_text(sense->key),
		 more ? ", " : "", more ? more : "", (unsigned)sense->key, sense->asc, sense->ascq,
		 lba);
}

void scsi_reply_text(const struct scsi_reply *reply, char *buf, size_t size)
{
	struct scsi_sense sense;

	if (reply->host)
		snprintf(buf, size, "%s (host status 0x%02x)", host_text(reply->host), reply->host);
	else if (reply->status == SCSI_CHECK_CONDITION &&
		 scsi_sense_decode(reply->sense, reply->sense_size, &sense))
		sense_text(&sense, buf, size);
	else if (reply->status)
		snprintf(buf, size, "%s (status 0x%02x)", status_text(reply->status),
			 reply->status);
	else
		snprintf(buf, size, "%s", "");
}

/* ---- other commands ---- */

static int repeat_command(int fd, const uint8_t *cdb, size_t cdb_size, void *data, uint32_t size,
			  struct scsi_reply *reply)
{
	enum scsi_way way = size ? SCSI_FROM_DEVICE : SCSI_NO_DATA;
	int err = scsi_repeat(fd, cdb, cdb_size, way, data, size, DIR_WRITE, reply);

	return err == -EAGAIN ? -EIO : err;
}

void scsi_abilities(int fd, struct scsi_abilities *abilities)
{
	/* All pages, 192 bytes: what every disk answers, even those that know only one question. */
	static const uint8_t cdb[6] = { MODE_SENSE_6, [2] = 0x3f, [4] = 192 };
	uint8_t answer[192] = { 0 };
	struct scsi_reply reply;

	*abilities = (struct scsi_abilities){ 0 };
	if (repeat_command(fd, cdb, sizeof(cdb), answer, sizeof(answer), &reply) || !answer[0])
		return;
	abilities->answered = true;
	abilities->write_protected = answer[2] & 0x80;
	abilities->fua_dpo = answer[2] & 0x10;
}

int sg_sync_cache(int fd)
{
	static const uint8_t cdb[10] = { SYNCHRONIZE_CACHE_10 };
	struct scsi_reply reply;
	int err = repeat_command(fd, cdb, sizeof(cdb), NULL, 0, &reply);

	return err == -EOPNOTSUPP ? 0 : err;
}
