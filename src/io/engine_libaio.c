/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The libaio engine: Linux native asynchronous I/O. Truly asynchronous with O_DIRECT only; buffered
 * requests are carried out inside io_submit().
 */
#include <errno.h>

#include "config.h"
#include "xdd/base/err.h"
#include "xdd/io/engine.h"

struct aio_options {
	uint64_t batch; /* requests that io_submit() gets at a time; 0: the engine decides */
};

static const struct option aio_keywords[] = {
	ENGINE_BATCH(struct aio_options),
	{ 0 },
};

#define AIO_INFO                                                                              \
	{                                                                                     \
		ENGINE_NAMED("libaio",                                                        \
			     "Linux native asynchronous I/O; asynchronous only with -dio"),   \
			.available = aio_available, .caps = ENGINE_QUEUES | ENGINE_DIRECT,    \
			.keywords = aio_keywords, .options_size = sizeof(struct aio_options), \
	}

#ifdef HAVE_LIBAIO

#include <inttypes.h>
#include <libaio.h>
#include <stdlib.h>

#include "xdd/sys/sysfile.h"

/* The context of one QThread; its arrays have `depth` entries each. */
struct aio {
	/* const after init */
	io_context_t kernel;
	int fd;
	int buffered_fd;
	struct engine_tail tail;
	unsigned depth;
	bool in_turn;	    /* submit keeps nothing back */
	struct iocb *iocbs; /* one a slot */
	struct io_event *events;

	struct engine_batch batch;
	struct iocb **unsent; /* not handed to the kernel yet, oldest first */
	unsigned n_unsent;
	struct engine_ready ready;
	unsigned in_kernel;
};

extern const struct engine engine_libaio;

/* ---- before the run ---- */

/*
 * A context without room for anything is refused by a kernel that has the call. One that is made
 * takes 30 ms to be taken apart, as the kernel waits for a grace period.
 */
static int aio_available(struct err *why)
{
	io_context_t kernel = NULL;
	int ret = io_setup(0, &kernel);

	if (ret == -ENOSYS)
		err_set(why, ret,
			"this kernel was built without asynchronous I/O, or a seccomp filter hides it");
	else if (ret == -EPERM)
		err_set(why, ret, "a seccomp filter forbids asynchronous I/O");
	return ret == -EINVAL ? 0 : ret;
}

static int aio_check(const struct target_plan *target, struct err *why)
{
	const struct aio_options *o = target->engine_options;

	return engine_check_batch(target, o->batch, why);
}

/* A context takes as much of what the machine has as its depth says. */
static int aio_check_all(const struct plan *plan, struct err *why)
{
	uint64_t most, taken, want = 0, left;

	if (!sysfile_number("/proc/sys/fs/aio-max-nr", &most) ||
	    !sysfile_number("/proc/sys/fs/aio-nr", &taken))
		return 0;
	for (size_t i = 0; i < plan->n_targets; i++)
		if (plan_engine(&plan->targets[i]) == &engine_libaio.info)
			want += plan->targets[i].queue_depth;
	left = most > taken ? most - taken : 0;
	if (want <= left)
		return 0;
	return err_set(why, -EAGAIN,
		       "the queue depths of its targets come to %" PRIu64
		       ", and the sysctl fs.aio-max-nr, %" PRIu64 ", leaves %" PRIu64
		       " (fs.aio-nr: %" PRIu64 " are taken)",
		       want, most, left, taken);
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
	free(a->ready.requests);
	free(a);
}

static int allocate(struct aio *a)
{
	a->iocbs = engine_alloc(a->depth * sizeof(*a->iocbs));
	a->events = engine_alloc(a->depth * sizeof(*a->events));
	a->unsent = engine_alloc(a->depth * sizeof(struct iocb *));
	a->ready.requests = engine_alloc(a->depth * sizeof(struct io_request *));
	return a->iocbs && a->events && a->unsent && a->ready.requests ? 0 : -ENOMEM;
}

static int aio_init(void **ctx, const struct engine_params *params)
{
	const struct aio_options *o = params->target->engine_options;
	struct aio *a = engine_alloc(sizeof(*a));
	int ret;

	if (!a)
		return -ENOMEM;
	a->fd = params->fd;
	a->buffered_fd = params->buffered_fd;
	engine_tail_init(&a->tail, params);
	a->depth = params->depth;
	engine_batch_init(&a->batch, params, o->batch);
	a->in_turn = engine_in_turn(params);
	ret = allocate(a);
	if (!ret)
		ret = io_setup((int)a->depth, &a->kernel);
	if (ret == -EAGAIN)
		err_set(params->why, ret,
			"the kernel has no room for a queue of this depth; see the sysctls "
			"fs.aio-nr and fs.aio-max-nr");
	if (ret) {
		aio_fini(a);
		return ret;
	}
	*ctx = a;
	return 0;
}

static void aio_describe(const void *ctx, char *buf, size_t size)
{
	const struct aio *a = ctx;

	engine_batch_describe(&a->batch, buf, size);
}

/* ---- transfers ---- */

/* Get what is left of the request ready for the kernel. */
static inline void queue(struct aio *a, struct io_request *req)
{
	struct iocb *iocb = &a->iocbs[req->slot];

	/* The other fields are zero since the start. */
	iocb->data = req;
	iocb->aio_lio_opcode = req->dir == DIR_READ ? IO_CMD_PREAD : IO_CMD_PWRITE;
	iocb->aio_fildes = engine_in_tail(&a->tail, req) ? a->buffered_fd : a->fd;
	iocb->u.c.buf = (char *)req->buf + req->done;
	iocb->u.c.nbytes = engine_bytes_left(&a->tail, req);
	iocb->u.c.offset = (long long)(req->offset + req->done);
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
	engine_ready_put(&a->ready, req);
}

/* Take in what `n` events say; returns how many requests are complete, in `done`. */
static unsigned take_in(struct aio *a, unsigned n, struct io_request **done)
{
	const struct io_event *end = a->events + n;
	unsigned complete = 0;

	a->in_kernel -= n;
	for (const struct io_event *event = a->events; event < end; event++) {
		struct io_request *req = event->data;

		if (io_request_result(req, (long)event->res))
			done[complete++] = req;
		else
			queue(a, req);
	}
	return complete;
}

/* Wait for a completion, which makes room in the kernel. Returns 0 or -errno. */
static int make_room(struct aio *a)
{
	int ret = io_getevents(a->kernel, 1, a->depth, a->events, NULL);

	if (ret > 0)
		a->ready.n += take_in(a, (unsigned)ret, a->ready.requests + a->ready.n);
	return ret < 0 && ret != -EINTR ? ret : 0;
}

/*
 * Requests that the kernel has no room for wait for a completion: in strict order, inside this
 * function.
 */
static void submit_unsent(struct aio *a)
{
	while (a->n_unsent) {
		int ret = io_submit(a->kernel, a->n_unsent, a->unsent);

		if (ret > 0) {
			a->in_kernel += (unsigned)ret;
			drop_unsent(a, (unsigned)ret);
		} else if (ret == -EAGAIN && a->in_kernel) {
			if (!a->in_turn || make_room(a))
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
		engine_ready_put(&a->ready, req);
		return 0;
	}
	if (engine_batch_ends(&a->batch, req) && a->n_unsent)
		submit_unsent(a);
	queue(a, req);
	if (engine_batch_is_due(&a->batch, a->n_unsent, a->in_kernel))
		submit_unsent(a);
	return 0;
}

/* Take completed requests; wait for `want` of them, but not longer than `timeout_ns`. */
static int take_events(struct aio *a, struct io_request **done, unsigned want, unsigned max,
		       uint64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / 1000000000u),
		.tv_nsec = (long)(timeout_ns % 1000000000u),
	};
	struct timespec none = { 0 };
	unsigned most = max < a->depth ? max : a->depth;
	int ret;

	if (want > a->in_kernel)
		want = a->in_kernel;
	/* libaio answers this without a system call where nothing is complete. */
	ret = io_getevents(a->kernel, 0, most, a->events, &none);
	if (ret >= 0)
		engine_batch_adapt(&a->batch, (unsigned)ret, a->in_kernel);
	if (!ret && want)
		ret = io_getevents(a->kernel, want, most, a->events,
				   timeout_ns == UINT64_MAX ? NULL : &ts);
	if (ret <= 0)
		return ret;
	return (int)take_in(a, (unsigned)ret, done);
}

static int aio_reap(void *ctx, struct io_request **done, unsigned min, unsigned max,
		    uint64_t timeout_ns)
{
	struct aio *a = ctx;
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

		submit_unsent(a);
		n += engine_ready_take(&a->ready, done + n, max - n);
		if (n == max || !a->in_kernel || (asked && n >= min))
			return (int)n;
		want = n < min ? min - n : 0;
		if (want && !(left = engine_time_left(timeout_ns, &end)))
			return (int)n;
		ret = take_events(a, done + n, want, max - n, left);
		asked = true;
		if (ret == -EINTR)
			return (int)n;
		if (ret < 0)
			return n ? (int)n : ret;
		n += (unsigned)ret;
	}
}

const struct engine engine_libaio = {
	.info = AIO_INFO,
	.check = aio_check,
	.check_all = aio_check_all,
	.init = aio_init,
	.submit = aio_submit,
	.reap = aio_reap,
	.describe = aio_describe,
	.fini = aio_fini,
};

#else /* !HAVE_LIBAIO */

static int aio_available(struct err *why)
{
	return err_set(why, -ENOSYS, "this xdd was built without libaio");
}

const struct engine engine_libaio = {
	.info = AIO_INFO,
};

#endif
