/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The psync engine: pread and pwrite, or a call that discards, one operation at a time in each
 * QThread. Needs nothing of the kernel that a file does not have; the default. And the null
 * engine.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "io/engine_internal.h"
#include "xdd/io/engine.h"

/*
 * Discards by system calls, also for the engine io_uring.
 */

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

struct psync {
	/* const after init */
	int fd;
	int buffered_fd;
	bool is_device; /* a block device */
	struct engine_tail tail;
};

/* A preloaded library that watches or injects faults has its own functions. */
static bool is_of_libc(void *function)
{
	Dl_info own, libc;

	return dladdr(function, &own) && dladdr((void *)gnu_get_libc_version, &libc) &&
	       own.dli_fbase == libc.dli_fbase;
}

/* const after engine_psync_choose(): looked up once, which takes longer than many an operation */
static pthread_once_t chosen = PTHREAD_ONCE_INIT;
static bool raw_read, raw_write;

static void engine_psync_choose(void)
{
	raw_read = is_of_libc((void *)pread);
	raw_write = is_of_libc((void *)pwrite);
}

/*
 * One system call for `size` bytes of what is left of the request. Returns bytes moved or -errno.
 */
static ssize_t engine_psync_transfer(int fd, const struct io_request *req, uint64_t size)
{
	char *buf = (char *)req->buf + req->done;
	off_t offset = (off_t)(req->offset + req->done);
	bool reads = req->dir == DIR_READ;
	ssize_t n;

	if (__builtin_expect(reads ? raw_read : raw_write, 1))
		return raw_transfer(reads ? SYS_pread64 : SYS_pwrite64, fd, buf, size, offset);
	n = reads ? pread(fd, buf, size, offset) : pwrite(fd, buf, size, offset);
	return n < 0 ? -errno : n;
}

static int psync_init(void **ctx, const struct engine_params *params)
{
	struct psync *p = engine_alloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = params->fd;
	p->buffered_fd = params->buffered_fd;
	p->is_device = params->target->kind == TARGET_BLOCK;
	engine_tail_init(&p->tail, params);
	pthread_once(&chosen, engine_psync_choose);
	*ctx = p;
	return 0;
}

/* A noop or a discard. */
static int submit_other(const struct psync *p, struct io_request *req)
{
	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		return 0;
	}
	while (!io_request_result(req, discard_now(p->fd, p->is_device, req)))
		;
	return 0;
}

static int psync_submit(void *ctx, struct io_request *req)
{
	const struct psync *p = ctx;
	int fd;

	if (req->dir > DIR_WRITE)
		return submit_other(p, req);
	/* Nearly always the first transfer moves all of it. */
	if (__builtin_expect(req->size != p->tail.op_bytes, 1))
		if (io_request_result(req, engine_psync_transfer(p->fd, req, req->size)))
			return 0;
	do {
		fd = engine_in_tail(&p->tail, req) ? p->buffered_fd : p->fd;
	} while (!io_request_result(req, engine_psync_transfer(fd, req,
							       engine_bytes_left(&p->tail, req))));
	return 0;
}

static void psync_explain(const void *ctx, const struct io_request *req, char *buf, size_t size)
{
	const struct psync *p = ctx;

	discard_explain(req, p->is_device, buf, size);
}

const struct engine engine_psync = {
	.info = { ENGINE_NAMED("psync", "pread and pwrite, one QThread an operation (the default)"),
		  .caps = ENGINE_OWN_FILE | ENGINE_DISCARDS },
	.init = psync_init,
	.submit = psync_submit,
	.explain = psync_explain,
	.fini = free,
};

/*
 * The null engine: every operation succeeds at once and moves nothing. For the target `null`, and
 * for measuring what xdd itself costs.
 */

static int null_submit(void *ctx, struct io_request *req)
{
	(void)ctx;
	req->done = req->size;
	return 0;
}

const struct engine engine_null = {
	.info = { ENGINE_NAMED("null", "nothing is transferred; shows what xdd itself costs"),
		  .caps = ENGINE_NO_DATA | ENGINE_DISCARDS },
	.submit = null_submit,
};
