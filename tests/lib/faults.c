/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD that stands before pread and pwrite, before the functions that set
 * attributes of files, and before those that pass requests to libaio and io_uring: it injects
 * faults, and records requests. XDD_FAULT names what it
 * does to the operations on files whose name contains XDD_FAULT_FILE, in the bytes from
 * XDD_FAULT_FROM to XDD_FAULT_TO. tests/lib/xddsys.py compiles it when a test needs it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name_) ((__typeof__(&name_))dlsym(RTLD_NEXT, #name_))

static long long number(const char *name, long long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? atoll(text) : otherwise;
}

static int concerned(int fd, off_t offset)
{
	const char *file = getenv("XDD_FAULT_FILE");
	char link[64], path[4096];
	ssize_t n;

	if (offset < number("XDD_FAULT_FROM", 0) || offset >= number("XDD_FAULT_TO", 1ll << 62))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = '\0';
	return !file || strstr(path, file);
}

/* Returns the bytes left of the size, or -1 with errno: the call fails. */
static ssize_t fault(int fd, size_t size, off_t offset)
{
	static __thread unsigned calls;
	static long long failed;
	const char *what = getenv("XDD_FAULT");
	struct timespec wait = { 0, number("XDD_FAULT_NS", 5000000) };

	if (!what || !concerned(fd, offset))
		return size;
	if (!strcmp(what, "eio")) {
		if (__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED) >=
		    number("XDD_FAULT_TIMES", 1ll << 62))
			return size;
		errno = number("XDD_FAULT_ERRNO", EIO);
		return -1;
	}
	if (!strcmp(what, "short"))
		return size > 1000 ? 1000 : size;
	if (!strcmp(what, "eintr") && ++calls % 3) {
		errno = EINTR;
		return -1;
	}
	if (!strcmp(what, "slow"))
		while (nanosleep(&wait, &wait) < 0)
			;
	if (!strcmp(what, "hang"))
		for (;;)
			sleep(1000);
	return size;
}

#define WRAP(name_, type_, call_)                                              \
	ssize_t name_(int fd, type_ buf, size_t size, off_t offset)            \
	{                                                                      \
		ssize_t n = fault(fd, size, offset);                           \
                                                                               \
		return n < 0 ? n : syscall(call_, fd, buf, (size_t)n, offset); \
	}

WRAP(pread, void *, SYS_pread64)
WRAP(pread64, void *, SYS_pread64)
WRAP(pwrite, const void *, SYS_pwrite64)
WRAP(pwrite64, const void *, SYS_pwrite64)

/*
 * The functions that set attributes: XDD_FAULT_CALL names the one that fails, for files whose names
 * contain XDD_FAULT_FILE, and attributes whose names begin with XDD_FAULT_ATTRIBUTE.
 */
static int denied(const char *call, int fd, const char *attribute)
{
	const char *what = getenv("XDD_FAULT"), *which = getenv("XDD_FAULT_CALL");
	const char *only = getenv("XDD_FAULT_ATTRIBUTE");

	if (!what || strcmp(what, "attribute") || !which || strcmp(which, call) ||
	    (only && (!attribute || strncmp(attribute, only, strlen(only)))) || !concerned(fd, 0))
		return 0;
	errno = number("XDD_FAULT_ERRNO", EIO);
	return 1;
}

int fchownat(int fd, const char *name, uid_t uid, gid_t gid, int flags)
{
	return denied("fchownat", fd, NULL) ? -1 : NEXT(fchownat)(fd, name, uid, gid, flags);
}

int fchmod(int fd, mode_t mode)
{
	return denied("fchmod", fd, NULL) ? -1 : NEXT(fchmod)(fd, mode);
}

int futimens(int fd, const struct timespec times[2])
{
	return denied("futimens", fd, NULL) ? -1 : NEXT(futimens)(fd, times);
}

int utimensat(int fd, const char *name, const struct timespec times[2], int flags)
{
	return denied("utimensat", fd, NULL) ? -1 : NEXT(utimensat)(fd, name, times, flags);
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
	return denied("fsetxattr", fd, name) ? -1 : NEXT(fsetxattr)(fd, name, value, size, flags);
}

int fremovexattr(int fd, const char *name)
{
	return denied("fremovexattr", fd, name) ? -1 : NEXT(fremovexattr)(fd, name);
}

/* Requests that are submitted, for the test to read. */
static int queue_log = -1;

static void __attribute__((constructor)) open_log(void)
{
	const char *file = getenv("XDD_QUEUE_LOG");

	if (file)
		queue_log = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void write_down(int fd, const char *call, size_t size, unsigned long long offset)
{
	char link[64], path[4096] = "", line[4200];
	int n;

	if (queue_log < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		path[0] = '\0';
	n = snprintf(line, sizeof(line), "%d %s %d %zu %llu %s\n", (int)syscall(SYS_gettid), call,
		     fd, size, offset, path);
	if (syscall(SYS_write, queue_log, line, n) != n)
		abort();
}

#if __has_include(<libaio.h>)
#include <libaio.h>

/* The request with which io_submit() stopped, and its error: a fault that the next call reports. */
static __thread struct iocb *refused;
static __thread int refused_errno;

/* As the kernel does, take the requests before one that is refused; the next call refuses that. */
int io_submit(io_context_t context, long n, struct iocb **iocbs)
{
	long i;

	if (n > 0 && iocbs[0] == refused) {
		refused = NULL;
		return -refused_errno;
	}
	for (i = 0; i < n; i++) {
		struct iocb *io = iocbs[i];
		ssize_t size = fault(io->aio_fildes, io->u.c.nbytes, io->u.c.offset);

		if (size < 0 && !i)
			return -errno;
		if (size < 0) {
			refused = io;
			refused_errno = errno;
			break;
		}
		io->u.c.nbytes = size;
		write_down(io->aio_fildes, io->aio_lio_opcode == IO_CMD_PREAD ? "pread" : "pwrite",
			   size, io->u.c.offset);
	}
	return NEXT(io_submit)(context, i, iocbs);
}
#endif

#if __has_include(<liburing.h>)
#include <liburing.h>

#define INJECT_RESULT 1 /* IORING_NOP_INJECT_RESULT */

static struct {
	int ring, fd;
} registered[1024];
static int n_registered;

int io_uring_register_files(struct io_uring *ring, const int *files, unsigned n)
{
	int place = __atomic_fetch_add(&n_registered, 1, __ATOMIC_RELAXED) % 1024;

	registered[place].fd = files[0];
	__atomic_store_n(&registered[place].ring, ring->ring_fd, __ATOMIC_RELEASE);
	return NEXT(io_uring_register_files)(ring, files, n);
}

static int fd_of(const struct io_uring *ring, const struct io_uring_sqe *sqe)
{
	if (sqe->flags & IOSQE_FIXED_FILE)
		for (int i = __atomic_load_n(&n_registered, __ATOMIC_RELAXED) - 1; i >= 0; i--)
			if (__atomic_load_n(&registered[i % 1024].ring, __ATOMIC_ACQUIRE) ==
			    ring->ring_fd)
				return registered[i % 1024].fd;
	return sqe->fd;
}

/* Look at the requests that are about to be submitted. */
static void look(struct io_uring *ring)
{
	struct io_uring_sq *sq = &ring->sq;

	for (unsigned i = sq->sqe_head; i != sq->sqe_tail; i++) {
		struct io_uring_sqe *sqe = &sq->sqes[i & *sq->kring_mask];
		int reads = sqe->opcode == IORING_OP_READ || sqe->opcode == IORING_OP_READ_FIXED;
		int writes = sqe->opcode == IORING_OP_WRITE || sqe->opcode == IORING_OP_WRITE_FIXED;
		int fd = fd_of(ring, sqe);
		ssize_t size;

		if (!reads && !writes)
			continue;
		size = fault(fd, sqe->len, sqe->off);
		if (size >= 0)
			sqe->len = size;
		write_down(fd, reads ? "pread" : "pwrite", sqe->len, sqe->off);
		if (size < 0) {
			sqe->opcode = IORING_OP_NOP;
			sqe->rw_flags = INJECT_RESULT;
			sqe->len = -errno;
			sqe->off = sqe->addr = 0;
			sqe->flags = 0;
			sqe->buf_index = 0;
			sqe->fd = -1;
		}
	}
}

int io_uring_submit(struct io_uring *ring)
{
	look(ring);
	return NEXT(io_uring_submit)(ring);
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
	look(ring);
	return NEXT(io_uring_submit_and_wait)(ring, n);
}

int io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
				     struct __kernel_timespec *ts, sigset_t *set)
{
	look(ring);
	return NEXT(io_uring_submit_and_wait_timeout)(ring, cqe, n, ts, set);
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	look(ring);
	return NEXT(io_uring_submit_and_get_events)(ring);
}
#endif
