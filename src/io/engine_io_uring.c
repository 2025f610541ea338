/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The io_uring engine: submission and completion rings shared with the kernel, by way of liburing.
 *
 * What the kernel does not have or does not allow is done without, step by step, and described;
 * only what the user asked for by keyword must be had.
 */
#include <errno.h>

#include "config.h"
#include "xdd/base/err.h"
#include "xdd/io/engine.h"

extern const struct engine engine_io_uring;

/* The keywords of the engine. */
struct uring_options {
	uint64_t batch;	  /* requests that the kernel gets in one call; 0: the engine decides */
	bool fixed_bufs;  /* buffers registered with the kernel */
	bool fixed_files; /* files registered with the kernel */
	bool sqpoll;	  /* a kernel thread takes requests in */
	bool iopoll;	  /* completions are polled for */
};

static const struct option uring_keywords[] = {
	ENGINE_BATCH(struct uring_options),
	ENGINE_KEYWORD("fixedbufs", struct uring_options, fixed_bufs,
		       "register the buffers with the kernel"),
	ENGINE_KEYWORD("fixedfiles", struct uring_options, fixed_files,
		       "register the file with the kernel"),
	ENGINE_KEYWORD("sqpoll", struct uring_options, sqpoll,
		       "a thread of the kernel takes the requests in"),
	ENGINE_KEYWORD("iopoll", struct uring_options, iopoll, "poll the device for completions"),
	{ 0 },
};

static int uring_available(struct err *why);

#define URING_INFO                                                                                \
	{                                                                                         \
		ENGINE_NAMED("io_uring",                                                          \
			     "submission and completion rings shared with the kernel"),           \
			.available = uring_available,                                             \
			.caps = ENGINE_QUEUES | ENGINE_DIRECT | ENGINE_REORDERS | ENGINE_OPENS |  \
				ENGINE_DISCARDS,                                                  \
			.keywords = uring_keywords, .options_size = sizeof(struct uring_options), \
	}

#ifdef HAVE_LIBURING

#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/engine_internal.h"
#include "xdd/base/file.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/machine.h"
#include "xdd/sys/sysfile.h"

#define MAX_ENTRIES 32768u /* IORING_MAX_ENTRIES of the kernel */
#define MAX_FIXED_BUFS 16384u
#define MAX_FIXED_BUF_BYTES (1ull << 30)
/* BLOCK_URING_CMD_DISCARD of Linux 6.12, which older headers lack. */
#define BLOCK_DISCARD _IO(0x12, 0)

#define TRIAL_BYTES 4096u
#define TRIAL_TIMEOUT_NS 5000000000ull

/* ---- checks before a run: kernels, limits, permissions, devices ---- */

/* io_uring_setup(2) was not allowed. */
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

/* Why a ring could not be set up with `err`, -errno. */
static const char *uring_why_no_ring(int err)
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

/*
 * Check that this kernel has io_uring, with all features that the engine needs. Waiting for a
 * limited time came with 5.11; before that it took requests of its own.
 */
static int uring_available(struct err *why)
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

/*
 * Check that the buffers that all targets register fit into the memlock limit. Returns 0 or -errno
 * with a message in `why`.
 */
static int uring_check_all(const struct plan *plan, struct err *why)
{
	uint64_t limit = memlock_limit_bytes(), want = 0;

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
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
static int uring_check_iopoll(const struct target_plan *target, struct err *why)
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

/* Fill in a request that discards a range of the block device `fd` (Linux 6.12). */
static void uring_prep_block_discard(struct io_uring_sqe *sqe, int fd, uint64_t offset,
				     uint64_t bytes)
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

/* Check that it can drive `target` as planned. Opens nothing for writing, changes nothing. */
static int uring_check(const struct target_plan *target, struct err *why)
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

/* A way to set a ring up; one that the kernel does not know gives way to the next. */
struct rung {
	unsigned flags;
	const char *text;
};

static const struct rung rungs[] = {
	{ IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
	  "single issuer, deferred task work" },
	{ IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL,
	  "cooperative task work, as this kernel cannot defer it" },
	{ 0, "task work as this old kernel does it" },
};

/* Flags for a ring whose requests a kernel thread takes in: it does the task work itself. */
static const struct rung sqpoll_rungs[] = {
	{ IORING_SETUP_SQPOLL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SUBMIT_ALL,
	  "polled submission, single issuer" },
	{ IORING_SETUP_SQPOLL, "polled submission, no single issuer in this old kernel" },
};

/* The context of one QThread. */
struct uring {
	/* const after init */
	struct io_uring ring; /* its contents are liburing's affair */
	int fd;
	int buffered_fd;
	int file; /* the descriptor, also when `fd` is an index */
	struct engine_tail tail;
	unsigned depth;
	bool is_device;	    /* a block device */
	uint8_t sqe_flags;  /* of every request */
	uint8_t opcodes[2]; /* of reads and writes, by enum op_dir */
	bool buffers;	    /* are registered: requests name their slot */
	bool sqpoll;
	bool in_turn; /* submit keeps nothing back */
	bool polls;   /* we poll for completions */
	bool asks;    /* completions that are due appear when they are asked for */

	/* const after init, for describe */
	const char *task_work;
	int buffers_err;
	bool ring_registered;
	bool executes_in_threads; /* the file does not support requests that must not wait */

	struct engine_batch batch;
	struct engine_ready ready;
	unsigned unsent;      /* in the submission ring, not seen by the kernel */
	unsigned outstanding; /* requests in the kernel and unsent ones */
};

/* ---- a context ---- */

static void uring_fini(void *ctx)
{
	struct uring *u = ctx;

	if (!u)
		return;
	/*
	 * The kernel takes the ring apart some time later, and would keep the file open until then.
	 */
	if (u->sqe_flags & IOSQE_FIXED_FILE && !u->outstanding)
		io_uring_unregister_files(&u->ring);
	if (u->ring.ring_fd >= 0)
		io_uring_queue_exit(&u->ring);
	free(u->ready.requests);
	free(u);
}

static int set_up_ring(struct uring *u, const struct uring_options *o)
{
	const struct rung *ladder = o->sqpoll ? sqpoll_rungs : rungs;
	size_t n = o->sqpoll ? sizeof(sqpoll_rungs) / sizeof(*ladder) :
			       sizeof(rungs) / sizeof(*ladder);
	int ret = -EINVAL;

	for (size_t i = 0; i < n && ret == -EINVAL; i++) {
		unsigned flags = ladder[i].flags | (o->iopoll ? IORING_SETUP_IOPOLL : 0);

		ret = io_uring_queue_init(u->depth, &u->ring, flags);
		if (ret)
			continue;
		u->task_work = ladder[i].text;
		u->sqpoll = o->sqpoll;
		u->polls = o->iopoll && !o->sqpoll;
		/*
		 * Task work that does not interrupt the thread is done when the thread enters the
		 * kernel.
		 */
		u->asks = u->polls ||
			  (flags & (IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN));
	}
	if (ret)
		u->ring.ring_fd = -1;
	return ret;
}

/* Spares each request the look-up of the file. */
static int register_file(struct uring *u)
{
	const int files[] = { u->fd, u->buffered_fd };
	int err = io_uring_register_files(&u->ring, files, u->tail.op_bytes ? 2 : 1);

	if (err)
		return err;
	u->sqe_flags = IOSQE_FIXED_FILE;
	u->fd = 0; /* their indices among the registered files */
	u->buffered_fd = 1;
	return 0;
}

/*
 * Spares each request the look-up and pinning of its pages. Not unasked where memory to be locked
 * is scarce: the rings of other QThreads may need it.
 */
static int register_buffers(struct uring *u, const struct iovec *buffers, bool wanted)
{
	if (!buffers || !buffers[0].iov_base)
		return 0;
	u->buffers_err = !wanted && memlock_limit_bytes() != UINT64_MAX ?
				 -EDQUOT :
				 io_uring_register_buffers(&u->ring, buffers, u->depth);
	if (u->buffers_err)
		return u->buffers_err;
	u->buffers = true;
	u->opcodes[DIR_READ] = IORING_OP_READ_FIXED;
	u->opcodes[DIR_WRITE] = IORING_OP_WRITE_FIXED;
	return 0;
}

/*
 * The threads of the kernel that carry out what would have to wait run where this one may: left
 * alone, they run anywhere. An older kernel that cannot be told is no reason not to run.
 */
static void bind_workers(struct uring *u)
{
	struct idset own;

	if (topology_processors(&own) == 0)
		io_uring_register_iowq_aff(&u->ring, sizeof(own.words), (cpu_set_t *)own.words);
}

/* The file and the buffers become the ring's own, as far as the kernel lets them. */
static int register_all(struct uring *u, const struct engine_params *params)
{
	const struct uring_options *o = params->target->engine_options;
	int err;

	u->opcodes[DIR_READ] = IORING_OP_READ;
	u->opcodes[DIR_WRITE] = IORING_OP_WRITE;
	err = register_file(u);
	if (err && o->fixed_files)
		return err_set(params->why, err, "fixedfiles: the kernel did not take the file");
	err = register_buffers(u, params->buffers, o->fixed_bufs);
	if (err && o->fixed_bufs)
		return err_set(
			params->why, err, "%s",
			err == -ENOMEM ?
				"fixedbufs: the memlock limit (ulimit -l) does not allow it" :
				"fixedbufs: the kernel did not take the buffers");
	bind_workers(u);
	u->ring_registered = io_uring_register_ring_fd(&u->ring) == 1;
	return 0;
}

/*
 * Without support for NOWAIT the kernel cannot try a request before it gives it to a thread of its
 * own. A read of nothing after the largest file shows that: the flag is checked before anything
 * else.
 */
static bool supports_nowait(int fd)
{
	const off_t end = (off_t)(INT64_MAX & ~4095);
	char byte;
	struct iovec one = { &byte, sizeof(byte) };
	int readable = fd, err;

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		readable = fileopen_again(fd, O_RDONLY | O_NONBLOCK);
	err = preadv2(readable, &one, 1, end, RWF_NOWAIT) < 0 ? errno : 0;
	if (readable >= 0 && readable != fd)
		close(readable);
	return err != EOPNOTSUPP;
}

static int uring_init(void **ctx, const struct engine_params *params)
{
	const struct uring_options *o = params->target->engine_options;
	struct uring *u = engine_alloc(sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->ring.ring_fd = -1;
	u->fd = params->fd;
	u->buffered_fd = params->buffered_fd;
	u->file = params->fd;
	engine_tail_init(&u->tail, params);
	u->depth = params->depth;
	u->is_device = params->target->kind == TARGET_BLOCK;
	engine_batch_init(&u->batch, params, o->batch);
	u->in_turn = engine_in_turn(params);
	u->executes_in_threads = !supports_nowait(params->fd);
	u->ready.requests = engine_alloc(u->depth * sizeof(struct io_request *));
	err = u->ready.requests ? 0 : -ENOMEM;
	if (!err && o->iopoll)
		err = uring_check_iopoll(params->target, params->why);
	if (!err) {
		err = set_up_ring(u, o);
		if (err)
			err_set(params->why, err, "%s", uring_why_no_ring(err));
		else
			err = register_all(u, params);
	}
	if (err) {
		uring_fini(u);
		return err;
	}
	*ctx = u;
	return 0;
}

static void uring_describe(const void *ctx, char *buf, size_t size)
{
	const struct uring *u = ctx;
	const char *buffers = "";
	char batch[64];

	if (u->buffers)
		buffers = " buffers";
	else if (u->buffers_err == -EDQUOT)
		buffers = "; not the buffers: there is a memlock limit";
	else if (u->buffers_err)
		buffers = "; not the buffers: the kernel did not take them";
	engine_batch_describe(&u->batch, batch, sizeof(batch));
	snprintf(buf, size, "%s%s; %s%s; registered:%s%s%s", u->task_work,
		 u->ring.flags & IORING_SETUP_IOPOLL ? ", polled completions" : "",
		 u->executes_in_threads ? "kernel threads execute all requests (no NOWAIT); " : "",
		 batch, u->ring_registered ? " ring" : "", u->sqe_flags ? " file" : "", buffers);
}

/* ---- transfers ---- */

/* One call for all of its range. */
static void prepare_discard(const struct uring *u, struct io_uring_sqe *sqe,
			    const struct io_request *req)
{
	if (u->is_device)
		uring_prep_block_discard(sqe, u->fd, req->offset, req->size);
	else
		io_uring_prep_fallocate(sqe, u->fd, DISCARD_MODE, (off_t)req->offset,
					(off_t)req->size);
}

static void prepare_transfer(const struct uring *u, struct io_uring_sqe *sqe,
			     const struct io_request *req)
{
	io_uring_prep_rw(u->opcodes[req->dir], sqe,
			 engine_in_tail(&u->tail, req) ? u->buffered_fd : u->fd,
			 (char *)req->buf + req->done, (unsigned)engine_bytes_left(&u->tail, req),
			 req->offset + req->done);
	sqe->buf_index = u->buffers ? (uint16_t)req->slot : 0;
}

/* Get what is left of the request ready for the kernel. */
static void queue(struct uring *u, struct io_request *req)
{
	struct io_uring_sqe *sqe;

	/* There is room for every slot; only a polling kernel thread may be slow to make it. */
	while (!(sqe = io_uring_get_sqe(&u->ring)))
		io_uring_submit(&u->ring);
	if (__builtin_expect(req->dir == DIR_DISCARD, 0))
		prepare_discard(u, sqe, req);
	else
		prepare_transfer(u, sqe, req);
	sqe->flags = u->sqe_flags;
	io_uring_sqe_set_data(sqe, req);
	u->unsent++;
}

/* The unsent requests that the kernel did not accept: it has no room, or it refused one of them. */
static unsigned left_unsent(const struct uring *u)
{
	return u->sqpoll ? 0 : io_uring_sq_ready(&u->ring);
}

/* Errors that end when a request completes, or by themselves. */
static bool passes(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -EINTR || err == -ETIME;
}

/*
 * Submit the unsent requests. Retry those that the kernel has no room for only if none may be kept.
 */
static int submit_unsent(struct uring *u)
{
	int ret = io_uring_submit(&u->ring);

	while ((u->unsent = left_unsent(u)) && u->in_turn && (ret >= 0 || passes(ret))) {
		io_uring_get_events(&u->ring); /* completions make room */
		sched_yield();
		ret = io_uring_submit(&u->ring);
	}
	return ret < 0 && !passes(ret) ? ret : 0;
}

static int uring_submit(void *ctx, struct io_request *req)
{
	struct uring *u = ctx;
	int err = 0;

	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		engine_ready_put(&u->ready, req);
		return 0;
	}
	if (engine_batch_ends(&u->batch, req) && u->unsent)
		err = submit_unsent(u);
	if (err)
		return err;
	queue(u, req);
	u->outstanding++;
	return engine_batch_is_due(&u->batch, u->unsent, u->outstanding - u->unsent) ?
		       submit_unsent(u) :
		       0;
}

/*
 * The result of a request. The kernel writes dirty pages before a discard of a device; the discard
 * of a range to which another target writes meanwhile is repeated, which is rare enough for this
 * thread.
 */
static int result_of(const struct uring *u, const struct io_request *req, int res)
{
	if (__builtin_expect(res == -EBUSY && req->dir == DIR_DISCARD && u->is_device, 0))
		return discard_now(u->file, true, req);
	return res;
}

/* Take what is in the completion ring; except for a discard again, without a system call. */
static unsigned take_ring(struct uring *u, struct io_request **done, unsigned max, bool waited)
{
	struct io_uring_cqe *cqe;
	const unsigned in_kernel = u->outstanding - u->unsent;
	unsigned head, seen = 0, n = 0;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		struct io_request *req = io_uring_cqe_get_data(cqe);

		if (n == max)
			break;
		seen++;
		if (io_request_result(req, result_of(u, req, cqe->res)))
			done[n++] = req;
		else
			queue(u, req);
	}
	io_uring_cq_advance(&u->ring, seen);
	u->outstanding -= n;
	if (in_kernel && !waited)
		engine_batch_adapt(&u->batch, seen, in_kernel);
	return n;
}

/* Submit the unsent requests, and wait for `want` completions. */
static int enter(struct uring *u, unsigned want, uint64_t timeout_ns)
{
	struct __kernel_timespec ts = {
		.tv_sec = (long long)(timeout_ns / 1000000000u),
		.tv_nsec = (long long)(timeout_ns % 1000000000u),
	};
	struct io_uring_cqe *cqe;
	int ret;

	if (u->polls || (u->asks && !want))
		ret = io_uring_submit_and_get_events(&u->ring);
	else if (!want)
		ret = io_uring_submit(&u->ring);
	else if (timeout_ns == UINT64_MAX)
		ret = io_uring_submit_and_wait(&u->ring, want);
	else
		ret = io_uring_submit_and_wait_timeout(&u->ring, &cqe, want, &ts, NULL);
	u->unsent = left_unsent(u);
	return ret;
}

static int uring_reap(void *ctx, struct io_request **done, unsigned min, unsigned max,
		      uint64_t timeout_ns)
{
	struct uring *u = ctx;
	uint64_t end = UINT64_MAX;
	bool asked = false;
	unsigned n = 0;

	if (!timeout_ns)
		min = 0;
	else if (min > max)
		min = max;
	for (;;) {
		uint64_t left = 0;
		unsigned want;
		int ret;

		n += engine_ready_take(&u->ready, done + n, max - n);
		n += take_ring(u, done + n, max - n, asked);
		want = n < min ? min - n : 0;
		if (want > u->outstanding)
			want = u->outstanding;
		if (!want && !u->unsent && (n || asked || !u->asks || !u->outstanding))
			return (int)n;
		if (want && !(left = engine_time_left(timeout_ns, &end)))
			return (int)n;
		ret = enter(u, want, left);
		asked = true;
		if (ret == -EINTR)
			return (int)n;
		if (ret < 0 && !passes(ret))
			return n ? (int)n : ret;
		if (ret == -EAGAIN || ret == -EBUSY) {
			if (!want)
				return (int)n;
			io_uring_get_events(&u->ring); /* completions make room */
		}
	}
}

static void uring_explain(const void *ctx, const struct io_request *req, char *buf, size_t size)
{
	const struct uring *u = ctx;

	discard_explain(req, u->is_device, buf, size);
}

const struct engine engine_io_uring = {
	.info = URING_INFO,
	.check = uring_check,
	.check_all = uring_check_all,
	.init = uring_init,
	.submit = uring_submit,
	.reap = uring_reap,
	.describe = uring_describe,
	.explain = uring_explain,
	.fini = uring_fini,
};

#else /* !HAVE_LIBURING */

static int uring_available(struct err *why)
{
	return err_set(why, -ENOSYS, "this xdd was built without liburing");
}

const struct engine engine_io_uring = {
	.info = URING_INFO,
};

#endif
