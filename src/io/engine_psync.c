/*
 * The psync engine: pread and pwrite, one operation at a time in each QThread. Needs nothing of the
 * kernel that a file does not have; the default.
 */
#include "xdd/io/engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef ssize_t transfer_fn(int fd, void *buf, size_t size, off_t offset);

struct psync {
	/* const after init */
	int fd;
	int buffered_fd;
	struct engine_tail tail;
	transfer_fn *read;
	transfer_fn *write;
};

/*
 * libc's pread and pwrite are cancellation points, which takes 5 % of a small read from memory, and no
 * thread here is ever cancelled.
 */
static ssize_t bare_read(int fd, void *buf, size_t size, off_t offset)
{
	return syscall(SYS_pread64, fd, buf, size, offset);
}

static ssize_t bare_write(int fd, void *buf, size_t size, off_t offset)
{
	return syscall(SYS_pwrite64, fd, buf, size, offset);
}

static ssize_t libc_read(int fd, void *buf, size_t size, off_t offset)
{
	return pread(fd, buf, size, offset);
}

static ssize_t libc_write(int fd, void *buf, size_t size, off_t offset)
{
	return pwrite(fd, buf, size, offset);
}

/* Whether that function lies in libc: a preloaded library that watches or injects faults has its own. */
static bool is_of_libc(void *function)
{
	Dl_info own, libc;

	return dladdr(function, &own) && dladdr((void *)gnu_get_libc_version, &libc) &&
	       own.dli_fbase == libc.dli_fbase;
}

/* const after choose(): looked up once, which takes longer than many an operation */
static pthread_once_t chosen = PTHREAD_ONCE_INIT;
static transfer_fn *read_fn, *write_fn;

static void choose(void)
{
	read_fn = is_of_libc((void *)pread) ? bare_read : libc_read;
	write_fn = is_of_libc((void *)pwrite) ? bare_write : libc_write;
}

/* One system call for what is left of the request. Returns bytes moved or -errno. */
static ssize_t transfer(const struct psync *p, const struct io_request *req)
{
	transfer_fn *move = req->dir == DIR_READ ? p->read : p->write;
	int fd = __builtin_expect(engine_in_tail(&p->tail, req), 0) ? p->buffered_fd : p->fd;
	ssize_t n = move(fd, (char *)req->buf + req->done, engine_bytes_left(&p->tail, req),
			 (off_t)(req->offset + req->done));

	return n < 0 ? -errno : n;
}

static int psync_init(void **ctx, const struct engine_params *params)
{
	struct psync *p = engine_alloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = params->fd;
	p->buffered_fd = params->buffered_fd;
	engine_tail_init(&p->tail, params);
	pthread_once(&chosen, choose);
	p->read = read_fn;
	p->write = write_fn;
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
	.caps = ENGINE_SYNC | ENGINE_OWN_FILE,
	.init = psync_init,
	.submit = psync_submit,
	.fini = free,
};
