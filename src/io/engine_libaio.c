/*
 * The libaio engine: Linux native asynchronous I/O. Truly asynchronous with O_DIRECT only; buffered
 * requests are carried out inside io_submit().
 *
 * Completions are read from the ring that the kernel shares with user space, as QEMU and fio do too:
 * io_getevents() makes a system call even for events that are already there.
 */
#include <errno.h>

#include "config.h"
#include "xdd/io/engine.h"

#ifdef HAVE_LIBAIO

#include <inttypes.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>

#include "xdd/base/clock.h"

#define RING_MAGIC 0xa10a10a1u

/* What an io_context_t points to; see fs/aio.c of the kernel. */
struct ring {
	unsigned id;
	unsigned nr;
	unsigned head; /* ours */
	unsigned tail; /* the kernel's */
	unsigned magic;
	unsigned compat_features;
	unsigned incompat_features;
	unsigned header_bytes;
	struct io_event events[];
};

/* The context of one QThread; the arrays behind it have `depth` entries each. */
struct aio {
	/* const after init */
	io_context_t kernel;
	struct ring *ring; /* NULL: not of the layout we know */
	int fd;
	unsigned depth;
	unsigned batch; /* requests that are handed over together; 1: each at once */
	struct iocb *iocbs; /* one a slot */
	struct io_event *events;

	struct iocb **unsent; /* not handed to the kernel yet, oldest first */
	unsigned n_unsent;
	struct io_request **ready; /* completed without the kernel */
	unsigned n_ready;
	unsigned in_kernel;
};

/* ---- before the run ---- */

static int aio_available(const char **why)
{
	io_context_t kernel = NULL;
	int ret = io_setup(1, &kernel);

	if (!ret)
		io_destroy(kernel);
	if (ret == -ENOSYS)
		*why = "this kernel was built without asynchronous I/O, or a seccomp filter hides it";
	else if (ret == -EPERM)
		*why = "a seccomp filter forbids asynchronous I/O";
	/* All contexts of the machine may be taken just now: that depends on the depth. */
	return ret == -EAGAIN ? 0 : ret;
}

/* A number of /proc/sys/fs; UINT64_MAX when it cannot be read. */
static uint64_t read_sysctl(const char *path)
{
	FILE *f = fopen(path, "re");
	uint64_t value;

	if (!f)
		return UINT64_MAX;
	if (fscanf(f, "%" SCNu64, &value) != 1)
		value = UINT64_MAX;
	fclose(f);
	return value;
}

static int aio_check(const struct target_plan *target, const char **why)
{
	uint64_t most = read_sysctl("/proc/sys/fs/aio-max-nr");
	uint64_t taken = read_sysctl("/proc/sys/fs/aio-nr");

	if (most == UINT64_MAX || taken == UINT64_MAX)
		return 0;
	if (target->queue_depth > most) {
		*why = "the queue depth is more than the kernel allows; see the sysctl fs.aio-max-nr";
		return -EAGAIN;
	}
	if (target->queue_depth > most - taken) {
		*why = "the queue depth is more than other programs leave; see the sysctls fs.aio-nr and "
		       "fs.aio-max-nr";
		return -EAGAIN;
	}
	return 0;
}

/* ---- a context ---- */

static void aio_fini(void *ctx)
{
	struct aio *a = ctx;

	if (!a)
		return;
	if (a->kernel)
		io_destroy(a->kernel);
	free(a->iocbs);
	free(a->events);
	free(a->unsent);
	free(a->ready);
	free(a);
}

static int allocate(struct aio *a)
{
	a->iocbs = engine_alloc(a->depth * sizeof(*a->iocbs));
	a->events = engine_alloc(a->depth * sizeof(*a->events));
	a->unsent = engine_alloc(a->depth * sizeof(struct iocb *));
	a->ready = engine_alloc(a->depth * sizeof(struct io_request *));
	return a->iocbs && a->events && a->unsent && a->ready ? 0 : -ENOMEM;
}

static int aio_init(void **ctx, const struct engine_params *params)
{
	struct aio *a = engine_alloc(sizeof(*a));
	int ret;

	if (!a)
		return -ENOMEM;
	a->fd = params->fd;
	a->depth = params->depth;
	a->batch = params->options->batch ? (unsigned)params->options->batch : 1;
	ret = allocate(a);
	if (!ret)
		ret = io_setup((int)a->depth, &a->kernel);
	if (ret == -EAGAIN && params->why)
		*params->why = "the kernel has no room for a queue of this depth; see the sysctls "
			       "fs.aio-nr and fs.aio-max-nr";
	if (ret) {
		aio_fini(a);
		return ret;
	}
	a->ring = (struct ring *)a->kernel;
	if (a->ring->magic != RING_MAGIC || a->ring->incompat_features)
		a->ring = NULL;
	*ctx = a;
	return 0;
}

static void aio_describe(const void *ctx, char *buf, size_t size)
{
	const struct aio *a = ctx;

	snprintf(buf, size, "queue of %u, completions read %s", a->depth,
		 a->ring ? "from the shared ring" : "by system call");
}

/* ---- transfers ---- */

static void complete(struct aio *a, struct io_request *req)
{
	a->ready[a->n_ready++] = req;
}

/* Get what is left of the request ready for the kernel. */
static void queue(struct aio *a, struct io_request *req)
{
	struct iocb *iocb = &a->iocbs[req->slot];
	char *buf = (char *)req->buf + req->done;
	size_t size = req->size - req->done;
	long long offset = (long long)(req->offset + req->done);

	if (req->dir == DIR_READ)
		io_prep_pread(iocb, a->fd, buf, size, offset);
	else
		io_prep_pwrite(iocb, a->fd, buf, size, offset);
	iocb->data = req;
	a->unsent[a->n_unsent++] = iocb;
}

/* The kernel took the first `n`, or they are done with otherwise. */
static void drop_unsent(struct aio *a, unsigned n)
{
	a->n_unsent -= n;
	for (unsigned i = 0; i < a->n_unsent; i++)
		a->unsent[i] = a->unsent[n + i];
}

/* The kernel refuses the first: then that one is done, and the others may still go. */
static void refuse_first(struct aio *a, int err)
{
	struct io_request *req = a->unsent[0]->data;

	if (!io_request_result(req, err))
		return;
	drop_unsent(a, 1);
	complete(a, req);
}

/* What the kernel has no room for stays until something has come back. */
static void hand_over(struct aio *a)
{
	while (a->n_unsent) {
		int ret = io_submit(a->kernel, a->n_unsent, a->unsent);

		if (ret > 0) {
			a->in_kernel += (unsigned)ret;
			drop_unsent(a, (unsigned)ret);
		} else if (ret == -EAGAIN && a->in_kernel) {
			return;
		} else {
			refuse_first(a, ret ? ret : -EIO);
		}
	}
}

static int aio_submit(void *ctx, struct io_request *req)
{
	struct aio *a = ctx;

	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		complete(a, req);
		return 0;
	}
	queue(a, req);
	if (a->n_unsent >= a->batch)
		hand_over(a);
	return 0;
}

/* Take in one event. Returns the request when it is complete, and queues the rest of it otherwise. */
static struct io_request *take_event(struct aio *a, const struct io_event *event)
{
	struct io_request *req = event->data;

	a->in_kernel--;
	if (io_request_result(req, (long)event->res))
		return req;
	queue(a, req);
	return NULL;
}

static unsigned take_ready(struct aio *a, struct io_request **done, unsigned max)
{
	unsigned n = 0;

	while (n < max && a->n_ready)
		done[n++] = a->ready[--a->n_ready];
	return n;
}

/* Take what is in the shared ring, without a system call. */
static unsigned take_ring(struct aio *a, struct io_request **done, unsigned max)
{
	struct ring *ring = a->ring;
	unsigned tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	unsigned head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
	unsigned n = 0;

	if (head == tail)
		return 0;
	while (head != tail && n < max) {
		struct io_request *req = take_event(a, &ring->events[head]);

		if (req)
			done[n++] = req;
		head = head + 1 == ring->nr ? 0 : head + 1;
	}
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	return n;
}

/* Take by system call: at least `min` events if that does not last longer than `timeout_ns`. */
static int take_call(struct aio *a, struct io_request **done, unsigned min, unsigned max,
		     uint64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / 1000000000u),
		.tv_nsec = (long)(timeout_ns % 1000000000u),
	};
	unsigned least = min < a->in_kernel ? min : a->in_kernel;
	unsigned most = max < a->depth ? max : a->depth;
	int ret = io_getevents(a->kernel, least, most, a->events,
			       timeout_ns == UINT64_MAX ? NULL : &ts);
	int n = 0;

	for (int i = 0; i < ret; i++) {
		struct io_request *req = take_event(a, &a->events[i]);

		if (req)
			done[n++] = req;
	}
	return ret < 0 ? ret : n;
}

/* Everything that can be had without waiting. */
static unsigned take_now(struct aio *a, struct io_request **done, unsigned max)
{
	unsigned n = take_ready(a, done, max);
	int ret;

	if (a->ring)
		return n + take_ring(a, done + n, max - n);
	if (!a->in_kernel || n == max)
		return n;
	ret = take_call(a, done + n, 0, max - n, 0);
	return ret > 0 ? n + (unsigned)ret : n;
}

static int aio_reap(void *ctx, struct io_request **done, unsigned min, unsigned max,
		    uint64_t timeout_ns)
{
	const bool timed = timeout_ns && timeout_ns != UINT64_MAX;
	struct aio *a = ctx;
	uint64_t now = 0, end = UINT64_MAX;
	unsigned n = 0;

	if (min > max)
		min = max;
	for (;;) {
		int ret;

		hand_over(a);
		n += take_now(a, done + n, max - n);
		hand_over(a); /* the rest of short transfers */
		if (n >= min)
			return (int)n;
		if (a->n_ready)
			continue;
		if (!a->in_kernel || !timeout_ns || now >= end)
			return (int)n;
		if (timed) {
			now = clock_now_ns();
			if (end == UINT64_MAX && timeout_ns < UINT64_MAX - now)
				end = now + timeout_ns;
		}
		ret = take_call(a, done + n, min - n, max - n,
				timed ? (now < end ? end - now : 0) : UINT64_MAX);
		if (ret == -EINTR)
			return (int)n;
		if (ret < 0)
			return n ? (int)n : ret;
		n += (unsigned)ret;
	}
}

const struct engine engine_libaio = {
	.name = "libaio",
	.help = "Linux native asynchronous I/O; asynchronous with -dio only",
	.caps = ENGINE_QUEUES,
	.available = aio_available,
	.check = aio_check,
	.init = aio_init,
	.submit = aio_submit,
	.reap = aio_reap,
	.describe = aio_describe,
	.fini = aio_fini,
};

#else /* !HAVE_LIBAIO */

static int aio_available(const char **why)
{
	*why = "this xdd was built without libaio";
	return -ENOSYS;
}

const struct engine engine_libaio = {
	.name = "libaio",
	.help = "Linux native asynchronous I/O; asynchronous with -dio only",
	.caps = ENGINE_QUEUES,
	.available = aio_available,
};

#endif
