/*
 * The io_uring engine: submission and completion rings shared with the kernel, by way of liburing.
 *
 * What the kernel does not have or does not allow is done without, step by step, and described; only
 * what the user asked for by keyword must be had.
 */
#include <errno.h>

#include "config.h"
#include "xdd/io/engine.h"

#ifdef HAVE_LIBURING

#include <fcntl.h>
#include <liburing.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "xdd/base/clock.h"

#define MAX_ENTRIES 32768u /* IORING_MAX_ENTRIES of the kernel */
#define MAX_FIXED_BUFS 16384u
#define MAX_FIXED_BUF_BYTES (1ull << 30)
#define TRIAL_BYTES 4096u
#define TRIAL_TIMEOUT_NS 5000000000ull

/* A way to set a ring up; one that the kernel does not know gives way to the next. */
struct rung {
	unsigned flags;
	const char *text;
};

static const struct rung rungs[] = {
	{ IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
	  "single issuer, deferred task work" },
	{ IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL, "cooperative task work" },
	{ 0, "no hints on task work" },
};

/* The same where a thread of the kernel takes the requests in: task work is its own affair. */
static const struct rung sqpoll_rungs[] = {
	{ IORING_SETUP_SQPOLL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SUBMIT_ALL,
	  "polled submission, single issuer" },
	{ IORING_SETUP_SQPOLL, "polled submission" },
};

/* The context of one QThread. */
struct uring {
	/* const after init */
	struct io_uring ring; /* its contents are liburing's affair */
	int fd;
	unsigned depth;
	unsigned group;	    /* requests that are handed over together */
	uint8_t sqe_flags;  /* of every request */
	uint8_t opcodes[2]; /* of reads and writes, by enum op_dir */
	bool fixed_bufs;
	bool sqpoll;
	bool polls;	     /* completions are polled for, by us */
	bool asks;	     /* completions that are due appear when they are asked for */
	const char *task_work; /* what was got, for describe */
	int fixed_bufs_err;
	int fixed_files_err;
	int ring_fd_err;
	struct io_request **ready; /* one a slot: completed without the kernel */

	unsigned n_ready;
	unsigned unsent;      /* requests in the submission ring that the kernel has not seen */
	unsigned outstanding; /* requests in the kernel and unsent ones */
};

static int fail(int err, const char **why, const char *text)
{
	if (why)
		*why = text;
	return err;
}

/* ---- before the run ---- */

/* io_uring_setup() was not allowed. */
static const char *why_forbidden(void)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int value = 0;

	if (f) {
		if (fscanf(f, "%d", &value) != 1)
			value = 0;
		fclose(f);
	}
	if (value == 2)
		return "io_uring is switched off: the sysctl kernel.io_uring_disabled is 2";
	if (value == 1)
		return "io_uring is for the administrator and one group: the sysctl "
		       "kernel.io_uring_disabled is 1";
	return "a seccomp filter forbids io_uring, as that of a container may";
}

static const char *why_no_ring(int err)
{
	switch (err) {
	case -ENOSYS:
		return "this kernel has no io_uring (5.6 or later is wanted), or a seccomp filter hides "
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
		return NULL;
	}
}

static int uring_available(const char **why)
{
	struct io_uring_probe *probe;
	struct io_uring ring;
	bool complete;
	int ret = io_uring_queue_init(1, &ring, 0);

	if (ret)
		return fail(ret, why, why_no_ring(ret));
	probe = io_uring_get_probe_ring(&ring);
	complete = probe && io_uring_opcode_supported(probe, IORING_OP_READ) &&
		   io_uring_opcode_supported(probe, IORING_OP_WRITE);
	io_uring_free_probe(probe);
	io_uring_queue_exit(&ring);
	return complete ? 0 :
			  fail(-EOPNOTSUPP, why,
			       "the io_uring of this kernel is too old: 5.6 or later is wanted");
}

/* Memory that may be locked; UINT64_MAX when there is no limit to it. */
static uint64_t memlock_bytes(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };
	struct rlimit limit;

	if (!syscall(SYS_capget, &header, caps) &&
	    (caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)))
		return UINT64_MAX;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

static int check_fixed_bufs(const struct target_plan *target, uint64_t depth, const char **why)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t each = (target->req_bytes + page - 1) / page * page;

	if (each > MAX_FIXED_BUF_BYTES)
		return fail(-EINVAL, why, "fixedbufs: a request is larger than 1 GiB");
	if (depth > MAX_FIXED_BUFS)
		return fail(-EINVAL, why,
			    "fixedbufs: a ring takes 16384 buffers at most: use more -threads");
	if (target->queue_depth > memlock_bytes() / each)
		return fail(-ENOMEM, why,
			    "fixedbufs: the memlock limit (ulimit -l) is below queue depth times "
			    "request size");
	return 0;
}

static int check_sqpoll(const char **why)
{
	struct io_uring ring;
	int ret = io_uring_queue_init(1, &ring, IORING_SETUP_SQPOLL);

	if (ret == -EPERM)
		return fail(ret, why, "sqpoll: this kernel wants the administrator for it");
	if (ret)
		return fail(ret, why, "sqpoll: this kernel does not offer it");
	io_uring_queue_exit(&ring);
	return 0;
}

/* Whether the device has queues to poll, as far as the kernel says so. */
static bool can_poll(int fd)
{
	struct stat st;
	char path[64];
	int value = 1;
	dev_t dev;
	FILE *f;

	if (fstat(fd, &st))
		return true;
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/io_poll", major(dev), minor(dev));
	f = fopen(path, "re");
	if (!f) { /* a partition: the queue is its disk's */
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../queue/io_poll", major(dev),
			 minor(dev));
		f = fopen(path, "re");
	}
	if (f) {
		if (fscanf(f, "%d", &value) != 1)
			value = 1;
		fclose(f);
	}
	return value != 0;
}

/* One read with a ring that polls. Returns its result; a device that never answers is given up. */
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

static int check_iopoll_fd(int fd, const char **why)
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
		return fail(ret, why, "iopoll: the file system or the device cannot poll");
	if (ret < 0)
		return fail(ret, why, "iopoll: a read to try it failed");
	if (!can_poll(fd))
		return fail(-EOPNOTSUPP, why, "iopoll: the device has no queues for polling");
	return 0;
}

/* By a read of what is there; a target that is yet to be made is tried when it has been. */
static int check_iopoll(const struct target_plan *target, const char **why)
{
	int fd, err;

	if (!target->direct_io)
		return fail(-EINVAL, why, "iopoll: only requests with -dio can be polled for");
	if (target->kind == TARGET_CHAR)
		return fail(-EINVAL, why, "iopoll: only files and block devices can be polled for");
	fd = open(target->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	err = check_iopoll_fd(fd, why);
	close(fd);
	return err;
}

static int uring_check(const struct target_plan *target, const char **why)
{
	const struct engine_options *o = &target->engine_options;
	uint64_t threads = target->threads ? target->threads : 1;
	uint64_t depth = (target->queue_depth + threads - 1) / threads;
	int err = 0;

	if (depth > MAX_ENTRIES)
		return fail(-EINVAL, why, "a ring holds 32768 requests at most: use more -threads");
	if (o->fixed_bufs)
		err = check_fixed_bufs(target, depth, why);
	if (!err && o->sqpoll)
		err = check_sqpoll(why);
	if (!err && o->iopoll)
		err = check_iopoll(target, why);
	return err;
}

/* ---- a context ---- */

static void uring_fini(void *ctx)
{
	struct uring *u = ctx;

	if (!u)
		return;
	if (u->ring.ring_fd >= 0)
		io_uring_queue_exit(&u->ring);
	free(u->ready);
	free(u);
}

static int set_up_ring(struct uring *u, const struct engine_options *o)
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
		u->asks = u->polls || (flags & IORING_SETUP_DEFER_TASKRUN);
	}
	if (ret)
		u->ring.ring_fd = -1;
	return ret;
}

/* Spares each request the look-up of the file. */
static int register_file(struct uring *u, bool wanted)
{
	int err = io_uring_register_files(&u->ring, &u->fd, 1);

	u->fixed_files_err = err;
	if (err)
		return wanted ? err : 0;
	u->sqe_flags = IOSQE_FIXED_FILE;
	u->fd = 0; /* its place among the registered files */
	return 0;
}

/* Spares each request the look-up and pinning of its pages. */
static int register_buffers(struct uring *u, const struct engine_params *params)
{
	bool wanted = params->options->fixed_bufs;
	int err;

	u->fixed_bufs_err = -ECANCELED;
	if (!params->buffers || !params->buffers[0].iov_base)
		return 0;
	if (!wanted && !params->target->direct_io)
		return 0;
	err = io_uring_register_buffers(&u->ring, params->buffers, u->depth);
	u->fixed_bufs_err = err;
	if (err)
		return wanted ? err : 0;
	u->fixed_bufs = true;
	u->opcodes[DIR_READ] = IORING_OP_READ_FIXED;
	u->opcodes[DIR_WRITE] = IORING_OP_WRITE_FIXED;
	return 0;
}

/* The file and the buffers become the ring's own, as far as the kernel lets them. */
static int register_all(struct uring *u, const struct engine_params *params)
{
	int err;

	u->opcodes[DIR_READ] = IORING_OP_READ;
	u->opcodes[DIR_WRITE] = IORING_OP_WRITE;
	err = register_file(u, params->options->fixed_files);
	if (err)
		return fail(err, params->why, "fixedfiles: the kernel did not take the file");
	if (u->fixed_files_err && u->sqpoll && !(u->ring.features & IORING_FEAT_SQPOLL_NONFIXED))
		return fail(u->fixed_files_err, params->why,
			    "sqpoll: the kernel did not take the file");
	err = register_buffers(u, params);
	if (err == -ENOMEM)
		return fail(err, params->why,
			    "fixedbufs: the memlock limit (ulimit -l) does not allow it");
	if (err)
		return fail(err, params->why, "fixedbufs: the kernel did not take the buffers");
	u->ring_fd_err = io_uring_register_ring_fd(&u->ring);
	return 0;
}

static int uring_init(void **ctx, const struct engine_params *params)
{
	struct uring *u = engine_alloc(sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->ring.ring_fd = -1;
	u->fd = params->fd;
	u->depth = params->depth;
	u->group = engine_group(params);
	u->ready = engine_alloc(u->depth * sizeof(struct io_request *));
	err = u->ready ? 0 : -ENOMEM;
	if (!err && params->options->iopoll)
		err = check_iopoll(params->target, params->why);
	if (!err) {
		err = set_up_ring(u, params->options);
		if (err)
			fail(err, params->why, why_no_ring(err));
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

	snprintf(buf, size, "%s%s; file %s%s, buffers %s%s, ring %s", u->task_work,
		 u->ring.flags & IORING_SETUP_IOPOLL ? ", polled completions" : "",
		 u->fixed_files_err ? "not registered: " : "registered",
		 u->fixed_files_err ? strerror(-u->fixed_files_err) : "",
		 u->fixed_bufs_err ? "not registered" : "registered", "",
		 u->ring_fd_err < 0 ? "not registered" : "registered");
}

/* ---- transfers ---- */

/* Get what is left of the request ready for the kernel. */
static void queue(struct uring *u, struct io_request *req)
{
	struct io_uring_sqe *sqe;

	/* There is room for every slot; only a polling kernel thread may be slow to make it. */
	while (!(sqe = io_uring_get_sqe(&u->ring)))
		io_uring_submit(&u->ring);
	io_uring_prep_rw(u->opcodes[req->dir], sqe, u->fd, (char *)req->buf + req->done,
			 (unsigned)(req->size - req->done), req->offset + req->done);
	sqe->flags = u->sqe_flags;
	sqe->buf_index = u->fixed_bufs ? (uint16_t)req->slot : 0;
	io_uring_sqe_set_data(sqe, req);
	u->unsent++;
}

/* What the kernel did not take of the unsent requests; it has no room, or one of them was refused. */
static unsigned left_unsent(const struct uring *u)
{
	return u->sqpoll ? 0 : io_uring_sq_ready(&u->ring);
}

/* Errors that pass when something has come back, or by themselves. */
static bool passes(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -EINTR || err == -ETIME;
}

static int uring_submit(void *ctx, struct io_request *req)
{
	struct uring *u = ctx;
	int ret;

	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		u->ready[u->n_ready++] = req;
		return 0;
	}
	queue(u, req);
	u->outstanding++;
	if (u->unsent < u->group)
		return 0;
	ret = io_uring_submit(&u->ring);
	u->unsent = left_unsent(u);
	return ret < 0 && !passes(ret) ? ret : 0;
}

static unsigned take_ready(struct uring *u, struct io_request **done, unsigned max)
{
	unsigned n = 0;

	while (n < max && u->n_ready)
		done[n++] = u->ready[--u->n_ready];
	return n;
}

/* Take what is in the completion ring, without a system call. */
static unsigned take_ring(struct uring *u, struct io_request **done, unsigned max)
{
	struct io_uring_cqe *cqe;
	unsigned head, seen = 0, n = 0;

	io_uring_for_each_cqe(&u->ring, head, cqe) {
		struct io_request *req = io_uring_cqe_get_data(cqe);

		if (n == max)
			break;
		seen++;
		/* Kernels before 5.11: how liburing makes them wait for a limited time. */
		if (cqe->user_data == LIBURING_UDATA_TIMEOUT)
			continue;
		if (io_request_result(req, cqe->res))
			done[n++] = req;
		else
			queue(u, req);
	}
	io_uring_cq_advance(&u->ring, seen);
	u->outstanding -= n;
	return n;
}

/* Hand over what is unsent, and wait for `want` completions if there are any to wait for. */
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
	uint64_t now = 0, end = UINT64_MAX;
	bool asked = false;
	unsigned n = 0;

	if (!timeout_ns)
		min = 0;
	else if (min > max)
		min = max;
	for (;;) {
		unsigned want;
		int ret;

		n += take_ready(u, done + n, max - n);
		n += take_ring(u, done + n, max - n);
		want = n < min ? min - n : 0;
		if (want > u->outstanding)
			want = u->outstanding;
		if (!want && !u->unsent && (n || asked || !u->asks || !u->outstanding))
			return (int)n;
		if (want && timeout_ns != UINT64_MAX) {
			now = clock_now_ns();
			if (now >= end)
				return (int)n;
			if (end == UINT64_MAX && timeout_ns < UINT64_MAX - now)
				end = now + timeout_ns;
		}
		ret = enter(u, want, end == UINT64_MAX ? UINT64_MAX : end - now);
		asked = true;
		if (ret == -EINTR)
			return (int)n;
		if (ret < 0 && !passes(ret))
			return n ? (int)n : ret;
	}
}

const struct engine engine_io_uring = {
	.name = "io_uring",
	.help = "submission and completion rings shared with the kernel",
	.caps = ENGINE_QUEUES,
	.available = uring_available,
	.check = uring_check,
	.init = uring_init,
	.submit = uring_submit,
	.reap = uring_reap,
	.describe = uring_describe,
	.fini = uring_fini,
};

#else /* !HAVE_LIBURING */

static int uring_available(const char **why)
{
	*why = "this xdd was built without liburing";
	return -ENOSYS;
}

const struct engine engine_io_uring = {
	.name = "io_uring",
	.help = "submission and completion rings shared with the kernel",
	.caps = ENGINE_QUEUES,
	.available = uring_available,
};

#endif
