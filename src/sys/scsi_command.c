/*
 * One SCSI command through SG_IO. Called by the capacity query and by the sg engine.
 */
#include "xdd/sys/scsi_command.h"

#include <errno.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>

static int direction(enum scsi_way way)
{
	switch (way) {
	case SCSI_FROM_DEVICE:
		return SG_DXFER_FROM_DEV;
	case SCSI_TO_DEVICE:
		return SG_DXFER_TO_DEV;
	case SCSI_NO_DATA:
		break;
	}
	return SG_DXFER_NONE;
}

int scsi_command(int fd, const uint8_t *cdb, size_t cdb_size, enum scsi_way way, void *data,
		 uint32_t size, struct scsi_reply *reply)
{
	struct sg_io_hdr hdr = {
		.interface_id = 'S',
		.dxfer_direction = direction(way),
		.cmd_len = (unsigned char)cdb_size,
		.mx_sb_len = SCSI_SENSE_MAX,
		.dxfer_len = size,
		.dxferp = data,
		.cmdp = (unsigned char *)cdb,
		.sbp = reply->sense,
		.timeout = SCSI_TIMEOUT_MS,
		/* /dev/sg* copies unless told otherwise, and copies all the same where it must. */
		.flags = SG_FLAG_DIRECT_IO,
	};

	*reply = (struct scsi_reply){ 0 };
	while (ioctl(fd, SG_IO, &hdr))
		if (errno != EINTR)
			return -errno;
	reply->status = hdr.status;
	reply->host = hdr.host_status;
	reply->sense_size = hdr.sb_len_wr < SCSI_SENSE_MAX ? hdr.sb_len_wr : SCSI_SENSE_MAX;
	/* Some drivers have been seen to leave nonsense here. */
	if (hdr.resid > 0)
		reply->resid_bytes = (uint32_t)hdr.resid < size ? (uint32_t)hdr.resid : size;
	return 0;
}

enum scsi_sense_key scsi_reply_key(const struct scsi_reply *reply)
{
	bool descriptors;

	if (reply->sense_size < 3)
		return SCSI_NO_SENSE;
	descriptors = (reply->sense[0] & 0x7f) >= 0x72;
	return reply->sense[descriptors ? 1 : 2] & 0x0f;
}
