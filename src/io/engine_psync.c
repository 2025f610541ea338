/*
 * The psync engine: pread and pwrite, one operation at a time in each QThread. Needs nothing of the
 * kernel that a file does not have; the default.
 */
#include "xdd/io/engine.h"

#include <errno.h>
#include <unistd.h>

/* One system call for what is left of the request. */
static ssize_t transfer(const struct io_request *req)
{
	char *buf = (char *)req->buf + req->done;
	size_t size = req->size - req->done;
	off_t offset = (off_t)(req->offset + req->done);

	return req->dir == DIR_READ ? pread(req->fd, buf, size, offset) :
				      pwrite(req->fd, buf, size, offset);
}

/* The error of a call that failed after part of the request was moved, or at once. */
static int error_of(const struct io_request *req, int err)
{
	/*
	 * A direct read that meets the end of a file inside a sector is short, and what is left of it
	 * is not aligned: EINVAL says no more than that.
	 */
	if (err == EINVAL && req->dir == DIR_READ && req->done)
		return -ENODATA;
	return -err;
}

static int psync_submit(void *ctx, struct io_request *req)
{
	(void)ctx;
	req->done = 0;
	req->error = 0;
	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		return 0;
	}
	while (req->done < req->size) {
		ssize_t n = transfer(req);

		if (n > 0) {
			req->done += (uint64_t)n;
		} else if (n == 0) {
			req->error = req->dir == DIR_READ ? -ENODATA : -ENOSPC;
			break;
		} else if (errno != EINTR) {
			req->error = error_of(req, errno);
			break;
		}
	}
	return 0;
}

const struct engine engine_psync = {
	.name = "psync",
	.help = "pread and pwrite, one operation at a time in each QThread",
	.caps = ENGINE_SYNC,
	.submit = psync_submit,
};
