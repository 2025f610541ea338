/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap engine: the target is mapped, and its data copied to or from the buffer. Each QThread
 * has a mapping of its own.
 *
 * A page that cannot be had is a SIGBUS: the end of the file moved below it, the device failed, or
 * the file system is full. A handler turns that into an error of the request.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/io/engine.h"

struct mmap_options {
	bool touch; /* read or write one byte a page instead of copying */
};

struct mapped {
	/* const after init */
	char *base;
	uint64_t map_bytes;
	uint64_t page_bytes;
	int fd; /* of the target, for its size */
	bool touch;
	sigset_t signals; /* that the QThread has blocked */

	uint64_t size_bytes; /* of the target; becomes smaller when it is cut off */
};

/* ---- before the run ---- */

static int mmap_check(const struct target_plan *target, struct err *why)
{
	if (target->direct_io)
		return err_set(why, -EINVAL,
			       "mapped data is in the page cache, which -dio excludes");
	if (target->open_sync && plan_writes(target))
		return err_set(why, -EINVAL,
			       "writes to a mapping go into the page cache, whatever -osync, "
			       "-odsync and -orsync ask for; use -flushwrite");
	if (target->kind == TARGET_CHAR)
		return err_set(why, -ENODEV, "only files and block devices can be mapped");
	if (target->kind == TARGET_MISSING)
		return err_set(why, -EINVAL,
			       "a mapped file cannot grow: it must be there before the run, and as "
			       "large as the operations reach");
	if (!plan_writes(target))
		return 0;
	if (target->end_bytes > target->size_bytes)
		return err_set(
			why, -EINVAL,
			"a mapped file cannot grow: to be written to it must be as large as the "
			"operations reach");
	if (fileopen_access(AT_FDCWD, target->path, R_OK))
		return err_set(why, -errno, "no permission to read it, which a mapping needs");
	return 0;
}

/* ---- SIGBUS ---- */

/* Where a thread that is copying goes on when a page cannot be had; NULL while it does not copy. */
static _Thread_local sigjmp_buf *guard;
static _Thread_local char *guard_fault;

/* The earlier action of SIGBUS; const once our handler is installed. */
static struct sigaction old_action;

static void on_sigbus(int sig, siginfo_t *info, void *ucontext)
{
	(void)ucontext;
	if (guard && info->si_code > 0) {
		guard_fault = info->si_addr;
		siglongjmp(*guard, 1);
	}
	/* Not ours: it comes again, by itself or by this. */
	sigaction(sig, &old_action, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

/* Install the handler if it is not there, or if another one has replaced it. */
static void install_handler(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	struct sigaction now;

	sigemptyset(&action.sa_mask);
	pthread_mutex_lock(&lock);
	if (!sigaction(SIGBUS, NULL, &now) && now.sa_sigaction != on_sigbus) {
		old_action = now;
		sigaction(SIGBUS, &action, NULL);
	}
	pthread_mutex_unlock(&lock);
}

/* In each thread the signal must not be blocked, or the kernel ends the program. */
static void guard_prepare(struct mapped *m)
{
	sigset_t set;

	install_handler();
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &m->signals);
}

/* ---- a context ---- */

static void mmap_fini(void *ctx)
{
	struct mapped *m = ctx;

	if (!m)
		return;
	if (m->base)
		munmap(m->base, m->map_bytes);
	free(m);
}

/* The size of the target now; as it was where that cannot be told. */
static uint64_t size_now(const struct mapped *m)
{
	struct stat st;
	uint64_t bytes;

	if (fstat(m->fd, &st))
		return m->size_bytes;
	if (S_ISBLK(st.st_mode))
		return ioctl(m->fd, BLKGETSIZE64, &bytes) ? m->size_bytes : bytes;
	return (uint64_t)st.st_size;
}

/* A mapping to be written to needs a file that is open for both. */
static int map(struct mapped *m, bool writable)
{
	int prot = PROT_READ | (writable ? PROT_WRITE : 0), fd, err = 0;
	void *base;

	if (!m->map_bytes)
		return 0;
	fd = fileopen_again(m->fd, writable ? O_RDWR : O_RDONLY);
	if (fd < 0)
		return fd;
	base = mmap(NULL, m->map_bytes, prot, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		err = -errno;
	else
		m->base = base;
	close(fd);
	return err;
}

static int mmap_init(void **ctx, const struct engine_params *params)
{
	const struct mmap_options *o = params->target->engine_options;
	struct mapped *m = engine_alloc(sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->fd = params->fd;
	m->touch = o->touch;
	m->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	m->size_bytes = size_now(m);
	m->map_bytes = m->size_bytes;
	err = map(m, plan_writes(params->target));
	if (err) {
		mmap_fini(m);
		return err_set(params->why, err, "%s",
			       err == -ENOMEM ?
				       "no room in the address space to map the target, once "
				       "for each QThread" :
			       err == -ENODEV ? "its file system or driver cannot map it" :
						strerror(-err));
	}
	guard_prepare(m);
	*ctx = m;
	return 0;
}

/* ---- transfers ---- */

/* Read, or write as it is in the buffer, the first byte of each page. */
static void touch(const struct mapped *m, const struct io_request *req, volatile char *at,
		  uint64_t bytes)
{
	const char *buf = req->buf;

	for (uint64_t i = 0; i < bytes; i += m->page_bytes - (req->offset + i) % m->page_bytes) {
		if (req->dir == DIR_READ)
			(void)at[i];
		else
			at[i] = buf[i];
	}
}

/*
 * Move the first `bytes` of the request. Returns `bytes`, or how many lie before the page that
 * could not be had; then nothing is known of those moved.
 */
static uint64_t move(const struct mapped *m, const struct io_request *req, uint64_t bytes)
{
	char *at = m->base + req->offset;
	sigjmp_buf env;

	if (sigsetjmp(env, 0)) {
		uint64_t fault = (uint64_t)(guard_fault - m->base) & ~(m->page_bytes - 1);

		guard = NULL;
		pthread_sigmask(SIG_SETMASK, &m->signals, NULL); /* the handler did not return */
		return fault > req->offset && fault < req->offset + bytes ? fault - req->offset : 0;
	}
	guard = &env;
	atomic_signal_fence(memory_order_seq_cst);
	if (m->touch)
		touch(m, req, at, bytes);
	else if (req->dir == DIR_READ)
		memcpy(req->buf, at, bytes);
	else
		memcpy(at, req->buf, bytes);
	atomic_signal_fence(memory_order_seq_cst);
	guard = NULL;
	return bytes;
}

static uint64_t bytes_there(const struct mapped *m, const struct io_request *req)
{
	if (req->offset >= m->size_bytes)
		return 0;
	return req->size < m->size_bytes - req->offset ? req->size : m->size_bytes - req->offset;
}

/*
 * Why the page at `offset` cannot be had. The signal does not tell. For a write the file system
 * does when it is asked for the block; where it cannot be asked, it is full when it has no blocks
 * left.
 */
static int fault_error(const struct mapped *m, const struct io_request *req, uint64_t offset)
{
	uint64_t page = offset / m->page_bytes * m->page_bytes;
	struct statvfs fs;
	struct stat st;

	if (req->dir != DIR_WRITE || fstat(m->fd, &st) || !S_ISREG(st.st_mode))
		return -EIO;
	if (fallocate(m->fd, FALLOC_FL_KEEP_SIZE, (off_t)page, (off_t)m->page_bytes) == 0)
		return -EIO;
	if (errno == ENOSPC || errno == EDQUOT)
		return -errno;
	return errno == EOPNOTSUPP && fstatvfs(m->fd, &fs) == 0 && fs.f_bavail == 0 ? -ENOSPC :
										      -EIO;
}

static int mmap_submit(void *ctx, struct io_request *req)
{
	struct mapped *m = ctx;
	uint64_t bytes, moved;

	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		return 0;
	}
	bytes = bytes_there(m, req);
	while (bytes && (moved = move(m, req, bytes)) < bytes) {
		uint64_t size = size_now(m);

		if (size < req->offset + bytes) {
			m->size_bytes = size;
			bytes = bytes_there(m, req);
		} else {
			req->error = fault_error(m, req, req->offset + moved);
			bytes = moved;
		}
	}
	req->done = bytes;
	if (!req->error && bytes < req->size)
		req->error = req->dir == DIR_READ ? -ENODATA : -ENOSPC;
	return 0;
}

static const struct option mmap_keywords[] = {
	ENGINE_KEYWORD("touch", struct mmap_options, touch,
		       "touch one byte of each page instead of copying"),
	{ 0 },
};

static unsigned mmap_caps(const void *options)
{
	const struct mmap_options *o = options;

	return ENGINE_MAPS | (o->touch ? ENGINE_NO_DATA | ENGINE_NO_PATTERN : 0);
}

const struct engine engine_mmap = {
	.info = { ENGINE_NAMED("mmap",
			       "the target is mapped and its data copied to or from the buffer"),
		  .caps = ENGINE_MAPS, .caps_with = mmap_caps, .keywords = mmap_keywords,
		  .options_size = sizeof(struct mmap_options) },
	.check = mmap_check,
	.init = mmap_init,
	.submit = mmap_submit,
	.fini = mmap_fini,
};
