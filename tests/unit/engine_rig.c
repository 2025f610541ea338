/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contexts of engine_rig.h, and the functions that replace those of libaio and liburing.
 */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine_rig.h"
#include "engines.h"
#include "xdd/io/engine.h"
#include "xdd/sys/clock.h"

char path[] = "/tmp/xdd-test-queues-XXXXXX";
unsigned char *data, *memory;
struct fake_kernel kernel;

/* A completion, as io_getevents returns it. */
struct event {
	void *data;
	void *iocb;
	long res;
	long res2;
};

int io_setup(int depth, void **ctx);
int io_getevents(void *ctx, long min, long n, struct event *events, struct timespec *timeout);

void kernel_reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.room = 1 << 20;
	kernel.ring_flags = UINT32_MAX;
}

int io_setup(int depth, void **ctx)
{
	long ret = syscall(SYS_io_setup, depth, ctx);

	kernel.contexts += ret == 0;
	return ret ? -errno : 0;
}

int io_submit(void *ctx, long n, void **iocbs)
{
	long taken = n < kernel.room ? n : kernel.room, ret;

	kernel.submits++;
	if (kernel.refusals) {
		kernel.refusals--;
		return kernel.refuse;
	}
	if (kernel.hold) {
		for (long i = 0; i < taken; i++)
			kernel.held[kernel.n_held++] = iocbs[i];
		return (int)taken;
	}
	ret = syscall(SYS_io_submit, ctx, taken, iocbs);
	kernel.taken += ret > 0 ? (int)ret : 0;
	return ret < 0 ? -errno : (int)ret;
}

int io_getevents(void *ctx, long min, long n, struct event *events, struct timespec *timeout)
{
	long ret = syscall(SYS_io_getevents, ctx, min, n, events, timeout);

	for (long i = 0; i < ret; i++)
		if (kernel.cut && events[i].res > kernel.cut)
			events[i].res = kernel.cut;
	return ret < 0 ? -errno : (int)ret;
}

struct io_uring;

/* liburing's function of that name. */
#define NEXT(name) ((typeof(&(name)))dlsym(RTLD_NEXT, #name))

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
int io_uring_register_files(struct io_uring *ring, const int *files, unsigned n);
int io_uring_register_buffers(struct io_uring *ring, const struct iovec *buffers, unsigned n);
int io_uring_submit(struct io_uring *ring);
int io_uring_submit_and_get_events(struct io_uring *ring);

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	return flags & ~kernel.ring_flags ? -EINVAL :
					    NEXT(io_uring_queue_init)(entries, ring, flags);
}

int io_uring_register_files(struct io_uring *ring, const int *files, unsigned n)
{
	return kernel.no_files ? -EINVAL : NEXT(io_uring_register_files)(ring, files, n);
}

int io_uring_register_buffers(struct io_uring *ring, const struct iovec *buffers, unsigned n)
{
	return kernel.no_buffers ? -EINVAL : NEXT(io_uring_register_buffers)(ring, buffers, n);
}

int io_uring_submit(struct io_uring *ring)
{
	int ret;

	kernel.submits++;
	if (kernel.refusals) {
		kernel.refusals--;
		return kernel.refuse;
	}
	ret = NEXT(io_uring_submit)(ring);
	kernel.taken += ret > 0 ? ret : 0;
	return ret;
}

int io_uring_submit_and_get_events(struct io_uring *ring)
{
	kernel.asked++;
	return NEXT(io_uring_submit_and_get_events)(ring);
}

void rig_prepare(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct)
{
	memset(r, 0, sizeof(*r));
	r->engine = engine_find(v->engine);
	r->plan = (struct target_plan){
		.path = path,
		.kind = TARGET_FILE,
		.op = OP_MIXED,
		.engine = engine_named(v->engine),
		.engine_options = engine_options(v->engine, v->keywords),
		.queue_depth = depth,
		.direct_io = direct,
		.req_bytes = 2 * BLOCK,
		.size_bytes = SIZE,
		.threads = 1,
	};
	r->fd = fd;
	r->depth = depth;
	for (unsigned i = 0; i < depth; i++) {
		r->buffers[i].iov_base = memory + (size_t)i * 2 * BLOCK;
		r->buffers[i].iov_len = (size_t)2 * BLOCK;
		r->requests[i].slot = i;
		r->requests[i].buf = r->buffers[i].iov_base;
	}
	memset(memory, 0, (size_t)DEPTH * 2 * BLOCK);
}

int rig_init(struct rig *r)
{
	struct engine_params params = {
		.target = &r->plan,
		.fd = r->fd,
		.depth = r->depth,
		.buffers = r->buffers,
		.why = &r->why,
	};

	return r->engine->init(&r->ctx, &params);
}

int rig_try(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct)
{
	rig_prepare(r, v, fd, depth, direct);
	return rig_init(r);
}

void rig_open(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct)
{
	assert_int_equal(rig_try(r, v, fd, depth, direct), 0);
}

void rig_close(struct rig *r)
{
	r->engine->fini(r->ctx);
	close(r->fd);
}

int reap(struct rig *r, unsigned min, unsigned max, uint64_t timeout_ns, int want,
	 uint64_t *last_ns)
{
	int n = 0;

	for (int calls = 0; calls < 1000; calls++) {
		uint64_t before = clock_now_ns(), ns;
		unsigned got = (unsigned)n;
		int some = r->engine->reap(r->ctx, r->done + got, min > got ? min - got : 0,
					   max - got, timeout_ns);

		ns = clock_now_ns() - before;
		if (last_ns)
			*last_ns = ns;
		if (some < 0)
			return some;
		n += some;
		if (n >= (int)min || ns >= timeout_ns || (timeout_ns == UINT64_MAX && n >= want))
			break;
	}
	return n;
}

uint64_t reap_ns(struct rig *r, unsigned min, uint64_t timeout_ns, int want)
{
	uint64_t ns;

	assert_int_equal(reap(r, min, r->depth, timeout_ns, want, &ns), want);
	return ns;
}

struct io_request *start(struct rig *r, unsigned slot, enum op_dir dir, uint64_t offset,
			 uint64_t size)
{
	struct io_request *req = &r->requests[slot];

	req->dir = dir;
	req->offset = offset;
	req->size = size;
	io_request_reset(req);
	assert_int_equal(r->engine->submit(r->ctx, req), 0);
	return req;
}

bool offered(const struct variant *v)
{
	const struct target_plan plan = {
		.path = path,
		.kind = TARGET_FILE,
		.engine = engine_named(v->engine),
		.queue_depth = DEPTH,
		.req_bytes = BLOCK,
		.engine_options = engine_options(v->engine, v->keywords),
	};
	struct err why;

	return engine_check(&plan, &why) == 0;
}

int open_file(int flags)
{
	return open(path, flags | O_CLOEXEC);
}

int make_file(void **state)
{
	void *aligned;
	int fd = mkstemp(path);

	data = malloc(SIZE);
	if (fd < 0 || !data || posix_memalign(&aligned, BLOCK, (size_t)DEPTH * 2 * BLOCK))
		return -1;
	memory = aligned;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i * 7 + i / 256 + i / BLOCK);
	return close(fd);
}

int remove_file(void **state)
{
	free(data);
	free(memory);
	return unlink(path);
}

int refill(void **state)
{
	int fd = open_file(O_WRONLY | O_TRUNC);
	bool ok = write(fd, data, SIZE) == SIZE;

	kernel_reset();
	return close(fd) || !ok;
}

void fill_depth(const struct variant *v, int flags)
{
	const unsigned ops = 2000;
	unsigned issued = 0, completed = 0;
	struct rig r;

	rig_open(&r, v, open_file(flags), DEPTH, flags & O_DIRECT);
	for (; issued < DEPTH; issued++)
		start(&r, issued, DIR_READ, issued * 37 % BLOCKS * BLOCK, BLOCK);
	while (completed < ops) {
		int n = reap(&r, 1, DEPTH, UINT64_MAX, 1, NULL);

		assert_in_range(n, 1, DEPTH);
		for (int i = 0; i < n; i++, completed++) {
			struct io_request *req = r.done[i];

			assert_int_equal(req->error, 0);
			assert_int_equal(req->done, BLOCK);
			assert_memory_equal(req->buf, data + req->offset, BLOCK);
			if (issued == ops)
				continue;
			memset(req->buf, 0, BLOCK);
			start(&r, req->slot, DIR_READ, issued * 37 % BLOCKS * BLOCK, BLOCK);
			issued++;
		}
	}
	assert_int_equal(reap(&r, 1, DEPTH, 0, 0, NULL), 0);
	rig_close(&r);
}
