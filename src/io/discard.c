/*
 * Discards by system calls; see the header. Called by the engines psync and io_uring.
 */
#include "io/discard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

/* Another target of the run may write to the range again between two calls. */
#define DEVICE_TRIES 64

/*
 * The kernel drops dirty pages only for the holder of an exclusive claim, which is the guard, on
 * another descriptor. For others it is EBUSY, so write them first.
 */
static int discard_device(int fd, const struct io_request *req)
{
	for (int tries = 1;; tries++) {
		uint64_t range[2] = { req->offset, req->size };
		int ret = ioctl(fd, BLKDISCARD, range);

		if (!ret || errno != EBUSY || tries == DEVICE_TRIES)
			return ret;
		ret = sync_file_range(fd, (off_t)req->offset, (off_t)req->size,
				      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER);
		if (ret)
			return ret;
	}
}

int discard_now(int fd, bool is_device, const struct io_request *req)
{
	int ret = is_device ? discard_device(fd, req) :
			      fallocate(fd, DISCARD_MODE, (off_t)req->offset, (off_t)req->size);

	return ret ? -errno : 0;
}

void discard_explain(const struct io_request *req, bool is_device, char *buf, size_t size)
{
	if (req->dir != DIR_DISCARD || req->error != -EOPNOTSUPP)
		return;
	snprintf(buf, size, "%s (%s)",
		 is_device ? "the device cannot discard" : "the file system cannot punch holes",
		 strerror(EOPNOTSUPP));
}
