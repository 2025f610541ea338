/*
 * The capacity of a SCSI disk. Called where the plan looks at its targets, and by the sg engine.
 */
#include "xdd/sys/scsi_capacity.h"

#include <errno.h>
#include <fcntl.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "xdd/sys/scsi_command.h"

#define READ_CAPACITY_10 0x25
#define SERVICE_ACTION_IN_16 0x9e
#define READ_CAPACITY_16 0x10 /* service action */

#define LAST_TOO_LARGE 0xffffffffu /* in the answer to READ CAPACITY (10): ask with (16) */
#define ATTEMPTS 4		   /* after a reset a device reports several unit attentions */

static int error_of(const struct scsi_reply *reply)
{
	switch (scsi_reply_key(reply)) {
	case SCSI_NOT_READY:
		return -ENOMEDIUM;
	case SCSI_ILLEGAL_REQUEST:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

static int query(int fd, const uint8_t *cdb, size_t cdb_size, uint8_t *answer, uint32_t size)
{
	struct scsi_reply reply;

	for (int i = 0; i < ATTEMPTS; i++) {
		int err = scsi_command(fd, cdb, cdb_size, SCSI_FROM_DEVICE, answer, size, &reply);

		if (err)
			return err;
		if (scsi_reply_good(&reply))
			return 0;
		if (scsi_reply_key(&reply) != SCSI_UNIT_ATTENTION)
			break;
	}
	return error_of(&reply);
}

static int query_10(int fd, uint64_t *last, uint32_t *block)
{
	static const uint8_t cdb[10] = { READ_CAPACITY_10 };
	uint8_t answer[8] = { 0 };
	int err = query(fd, cdb, sizeof(cdb), answer, sizeof(answer));

	*last = scsi_get_be32(answer);
	*block = scsi_get_be32(answer + 4);
	return err;
}

static int query_16(int fd, uint64_t *last, uint32_t *block)
{
	static const uint8_t cdb[16] = { SERVICE_ACTION_IN_16, READ_CAPACITY_16, [13] = 32 };
	uint8_t answer[32] = { 0 };
	int err = query(fd, cdb, sizeof(cdb), answer, sizeof(answer));

	*last = scsi_get_be64(answer);
	*block = scsi_get_be32(answer + 8);
	return err;
}

int scsi_capacity_fd(int fd, uint64_t *bytes, uint32_t *block)
{
	uint64_t last;
	int err, version;

	if (ioctl(fd, SG_GET_VERSION_NUM, &version))
		return -ENOTTY;
	err = query_10(fd, &last, block);
	if (err == -EOPNOTSUPP || (!err && last == LAST_TOO_LARGE))
		err = query_16(fd, &last, block);
	if (err == -EINVAL) /* SCSI, but not with this kind of command: /dev/bsg */
		return -ENOTTY;
	if (err)
		return err;
	/* A drive without a medium may say so in this way. */
	if (!*block)
		return -ENOMEDIUM;
	if (last == UINT64_MAX || __builtin_mul_overflow(last + 1, *block, bytes))
		return -EOVERFLOW;
	return 0;
}

int scsi_capacity(const char *path, uint64_t *bytes, uint32_t *block)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = scsi_capacity_fd(fd, bytes, block);
	close(fd);
	return err;
}
