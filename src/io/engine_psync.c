/*
 * The psync engine: pread and pwrite, one operation at a time in each QThread. Needs nothing of the
 * kernel that a file does not have; the default.
 */
#include "xdd/io/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct psync {
	int fd; /* const after init */
};

/* One system call for what is left of the request. Returns bytes moved or -errno. */
static ssize_t transfer(const struct psync *p, const struct io_request *req)
{
	char *buf = (char *)req->buf + req->done;
	size_t size = req->size - req->done;
	off_t offset = (off_t)(req->offset + req->done);
	ssize_t n = req->dir == DIR_READ ? pread(p->fd, buf, size, offset) :
					   pwrite(p->fd, buf, size, offset);

	return n < 0 ? -errno : n;
}

static int psync_init(void **ctx, const struct engine_params *params)
{
	struct psync *p = engine_alloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = params->fd;
	*ctx = p;
	return 0;
}

static int psync_submit(void *ctx, struct io_request *req)
{
	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		return 0;
	}
	while (!io_request_result(req, transfer(ctx, req)))
		;
	return 0;
}

const struct engine engine_psync = {
	.name = "psync",
	.help = "pread and pwrite, one operation at a time in each QThread",
	.caps = ENGINE_SYNC,
	.init = psync_init,
	.submit = psync_submit,
	.fini = free,
};
