/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons against io_uring: kernels, limits, permissions, devices. Called by the io_uring engine.
 */
#include "io/uring_check.h"

#include <errno.h>

#include "config.h"

#ifdef HAVE_LIBURING

#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/err.h"
#include "xdd/io/engine.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/machine.h"
#include "xdd/sys/sysfile.h"

extern const struct engine engine_io_uring;

#define MAX_ENTRIES 32768u /* IORING_MAX_ENTRIES of the kernel */
#define MAX_FIXED_BUFS 16384u
#define MAX_FIXED_BUF_BYTES (1ull << 30)
/* BLOCK_URING_CMD_DISCARD of Linux 6.12, which older headers lack. */
#define BLOCK_DISCARD _IO(0x12, 0)

#define TRIAL_BYTES 4096u
#define TRIAL_TIMEOUT_NS 5000000000ull

/* io_uring_setup() was not allowed. */
static const char *why_forbidden(void)
{
	uint64_t value = 0;

	sysfile_number("/proc/sys/kernel/io_uring_disabled", &value);
	if (value == 2)
		return "io_uring is switched off: the sysctl kernel.io_uring_disabled is 2";
	if (value == 1)
		return "io_uring is for the administrator and one group: the sysctl "
		       "kernel.io_uring_disabled is 1";
	return "a seccomp filter forbids io_uring, as in some containers";
}

const char *uring_why_no_ring(int err)
{
	switch (err) {
	case -ENOSYS:
		return "this kernel has no io_uring (it needs 5.11 or later), or a seccomp filter hides "
		       "it";
	case -EPERM:
	case -EACCES:
		return why_forbidden();
	case -ENOMEM:
		return "the memlock limit (ulimit -l) leaves no room for the rings";
	case -EMFILE:
	case -ENFILE:
		return "no file descriptor is left for a ring (ulimit -n)";
	default:
		return strerror(-err);
	}
}

/* Waiting for a limited time came with 5.11; before that it took requests of its own. */
int uring_available(struct err *why)
{
	struct io_uring ring;
	int ret = io_uring_queue_init(1, &ring, 0);

	if (ret)
		return err_set(why, ret, "%s", uring_why_no_ring(ret));
	io_uring_queue_exit(&ring);
	if (ring.features & IORING_FEAT_EXT_ARG)
		return 0;
	return err_set(why, -EOPNOTSUPP,
		       "the io_uring of this kernel is too old: it needs 5.11 or later");
}

/* The memory that one registered buffer keeps locked, at least: whole pages. */
static uint64_t locked_bytes(const struct target_plan *target)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (target->memory.shift_bytes + target->req_bytes + page - 1) / page * page;
}

static int check_fixed_bufs(const struct target_plan *target, uint64_t depth, struct err *why)
{
	if (locked_bytes(target) > MAX_FIXED_BUF_BYTES)
		return err_set(why, -EINVAL, "fixedbufs: a request is larger than 1 GiB");
	if (depth > MAX_FIXED_BUFS)
		return err_set(why, -EINVAL,
			       "fixedbufs: a ring takes 16384 buffers at most: use more -threads");
	return 0;
}

int uring_check_all(const struct plan *plan, struct err *why)
{
	uint64_t limit = memlock_limit_bytes(), want = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		const struct uring_options *o = t->engine_options;

		if (plan_engine(t) == &engine_io_uring.info && o->fixed_bufs &&
		    t->memory.stride_bytes)
			want += t->queue_depth * locked_bytes(t);
	}
	if (want <= limit)
		return 0;
	return err_set(why, -ENOMEM,
		       "fixedbufs: the buffers of its targets lock %" PRIu64
		       " KiB, and the memlock limit (ulimit -l) is %" PRIu64 " KiB",
		       want / 1024, limit / 1024);
}

static int check_sqpoll(struct err *why)
{
	struct io_uring ring;
	int ret = io_uring_queue_init(1, &ring, IORING_SETUP_SQPOLL);

	if (ret == -EPERM)
		return err_set(why, ret, "sqpoll: this kernel wants the administrator for it");
	if (ret)
		return err_set(why, ret, "sqpoll: this kernel does not offer it");
	io_uring_queue_exit(&ring);
	return 0;
}

/* True unless the kernel says that the device has no queues to poll. */
static bool can_poll(int fd)
{
	uint64_t polls;
	struct stat st;

	if (fstat(fd, &st) ||
	    !blockdev_queue_number(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev, "io_poll", &polls))
		return true;
	return polls != 0;
}

/*
 * One read with a ring that polls. Returns its result; a device that does not answer in time is
 * -ETIMEDOUT.
 */
static int trial_read(struct io_uring *ring, int fd, void *buf)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	uint64_t end = clock_now_ns() + TRIAL_TIMEOUT_NS;
	struct io_uring_cqe *cqe;
	int ret;

	io_uring_prep_read(sqe, fd, buf, TRIAL_BYTES, 0);
	ret = io_uring_submit(ring);
	while (ret >= 0 && !io_uring_cq_ready(ring) && clock_now_ns() < end)
		ret = io_uring_get_events(ring);
	if (ret < 0)
		return ret;
	if (!io_uring_cq_ready(ring))
		return -ETIMEDOUT;
	return io_uring_peek_cqe(ring, &cqe) ? -EIO : cqe->res;
}

static int check_iopoll_fd(int fd, struct err *why)
{
	void *buf = aligned_alloc(TRIAL_BYTES, TRIAL_BYTES);
	struct io_uring ring;
	int ret;

	if (!buf)
		return -ENOMEM;
	ret = io_uring_queue_init(1, &ring, IORING_SETUP_IOPOLL);
	if (!ret) {
		ret = trial_read(&ring, fd, buf);
		io_uring_queue_exit(&ring);
	}
	/* One that is not answered may yet be: the kernel then writes to the buffer. */
	if (ret != -ETIMEDOUT)
		free(buf);
	if (ret == -EOPNOTSUPP || ret == -EINVAL)
		return err_set(why, ret, "iopoll: the file system or the device cannot poll");
	if (ret < 0)
		return err_set(why, ret, "iopoll: a read to try it failed");
	if (!can_poll(fd))
		return err_set(why, -EOPNOTSUPP, "iopoll: the device has no queues for polling");
	return 0;
}

/* By a read of what is there; a target that is yet to be made is tried when it has been. */
int uring_check_iopoll(const struct target_plan *target, struct err *why)
{
	int fd, err;

	if (!target->direct_io)
		return err_set(why, -EINVAL, "iopoll: only requests with -dio can be polled for");
	if (target->tail_bytes)
		return err_set(
			why, -EINVAL,
			"iopoll: the amount is no multiple of a sector, and its last bytes go "
			"through the page cache, which cannot be polled; make it one");
	if (target->kind == TARGET_CHAR)
		return err_set(why, -EINVAL,
			       "iopoll: only files and block devices can be polled for");
	fd = open(target->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	err = check_iopoll_fd(fd, why);
	close(fd);
	return err;
}

void uring_prep_block_discard(struct io_uring_sqe *sqe, int fd, uint64_t offset, uint64_t bytes)
{
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->addr = offset;
	sqe->addr3 = bytes;
	sqe->cmd_op = BLOCK_DISCARD;
}

/*
 * Ask a device that is open for reading to discard nothing. Returns -EBADF where the kernel knows
 * the command: it looks at the opening first, so that this changes nothing anywhere.
 */
static int trial_discard(int fd)
{
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int ret = io_uring_queue_init(1, &ring, 0);

	if (ret)
		return ret;
	uring_prep_block_discard(io_uring_get_sqe(&ring), fd, 0, 0);
	ret = io_uring_submit_and_wait(&ring, 1);
	if (ret >= 0)
		ret = io_uring_peek_cqe(&ring, &cqe) ? -EIO : cqe->res;
	io_uring_queue_exit(&ring);
	return ret;
}

static int check_discard(const struct target_plan *target, struct err *why)
{
	int fd, ret;

	if (target->kind != TARGET_BLOCK)
		return 0;
	fd = open(target->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	ret = trial_discard(fd);
	close(fd);
	return ret == -EBADF ? 0 :
			       err_set(why, -EOPNOTSUPP,
				       "this kernel cannot queue discards of a block device "
				       "(Linux 6.12 can); use -ioengine psync");
}

int uring_check(const struct target_plan *target, struct err *why)
{
	const struct uring_options *o = target->engine_options;
	uint64_t threads = target->threads ? target->threads : 1;
	uint64_t depth = (target->queue_depth + threads - 1) / threads;
	int err = engine_check_batch(target, o->batch, why);

	if (err)
		return err;
	if (depth > MAX_ENTRIES)
		return err_set(why, -EINVAL,
			       "a ring holds 32768 requests at most: use more -threads");
	if (o->sqpoll && target->ordering == ORDERING_STRICT && target->qthreads > 1)
		return err_set(
			why, -EINVAL,
			"sqpoll: with -ordering strict one kernel thread can keep the order, and "
			"several -threads have one each; leave sqpoll out, or -threads");
	if (o->iopoll && target->op == OP_DISCARD)
		return err_set(why, -EINVAL,
			       "iopoll: discards cannot be polled for; leave iopoll out");
	if (o->fixed_bufs)
		err = check_fixed_bufs(target, depth, why);
	if (!err && o->sqpoll)
		err = check_sqpoll(why);
	if (!err && o->iopoll)
		err = uring_check_iopoll(target, why);
	if (!err && target->op == OP_DISCARD)
		err = check_discard(target, why);
	return err;
}

#else /* !HAVE_LIBURING */

int uring_available(struct err *why)
{
	return err_set(why, -ENOSYS, "this xdd was built without liburing");
}

#endif
