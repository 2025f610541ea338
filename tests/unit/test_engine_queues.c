/*
 * Engines that queue, and all engines side by side: src/io/engine_libaio.c, engine_io_uring.c,
 * uring_check.c.
 *
 * io_setup, io_submit and io_getevents are this file's own: they can be told to fail, to hold
 * requests back and to move less than asked for. What io_uring is set up and submitted with goes
 * through this file to liburing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines.h"
#include "xdd/io/engine.h"
#include "xdd/sys/clock.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BLOCK 4096u
#define BLOCKS 256u
#define TAIL 700u /* the file does not end at a block */
#define SIZE (BLOCKS * BLOCK + TAIL)
#define DEPTH 128u
#define NOBODY 65534
#define QUICK_NS 1000000000u /* nothing was waited for, on a busy machine */

static char path[] = "/tmp/xdd-test-queues-XXXXXX";
static unsigned char *data, *memory;

/* ---- what the kernel does with asynchronous I/O ---- */

struct event {
	void *data;
	void *iocb;
	long res;
	long res2;
};

int io_setup(int depth, void **ctx);
int io_submit(void *ctx, long n, void **iocbs);
int io_getevents(void *ctx, long min, long n, struct event *events, struct timespec *timeout);

static struct {
	long room;  /* requests that are taken in one call */
	int refuse; /* the next calls: -errno, so many times */
	int refusals;
	bool hold; /* take requests without carrying them out */
	void *held[DEPTH];
	long n_held;
	long cut; /* bytes: the most that a transfer moves; 0: no limit */
	unsigned submits;
	unsigned contexts; /* that were made */

	/* of io_uring; `refuse` and `refusals` are for it, too */
	unsigned ring_flags; /* that the kernel knows */
	bool no_files;	     /* it takes none */
	bool no_buffers;
	int taken;	/* requests */
	unsigned asked; /* for completions, by io_uring without a wait */
} kernel;

static void kernel_reset(void)
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

/* ---- engines ---- */

/* An engine with keywords. */
struct variant {
	const char *engine;
	const char *keywords;
};

static const struct variant variants[] = {
	{ "psync", "" },
	{ "libaio", "" },
	{ "libaio", "batch 1" },
	{ "libaio", "batch 5" },
	{ "libaio", "batch 100000" },
	{ "io_uring", "" },
	{ "io_uring", "batch 1" },
	{ "io_uring", "batch 5" },
	{ "io_uring", "batch 100000" },
	{ "io_uring", "fixedbufs fixedfiles" },
	{ "io_uring", "sqpoll" },
	{ "mmap", "" },
};

/* A context, its requests and their buffers. */
struct rig {
	const struct engine *engine;
	struct target_plan plan;
	void *ctx;
	int fd;
	unsigned depth;
	struct iovec buffers[DEPTH];
	struct io_request requests[DEPTH];
	struct io_request *done[DEPTH];
	const char *why;
};

/* All but the context. */
static void rig_prepare(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct)
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

/* Returns what init does. */
static int rig_init(struct rig *r)
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

static int rig_try(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct)
{
	rig_prepare(r, v, fd, depth, direct);
	return rig_init(r);
}

static void rig_open(struct rig *r, const struct variant *v, int fd, unsigned depth, bool direct)
{
	assert_int_equal(rig_try(r, v, fd, depth, direct), 0);
}

static void rig_close(struct rig *r)
{
	r->engine->fini(r->ctx);
	close(r->fd);
}

/*
 * Reap like a caller that ignores signals: until `min` have come, or `want` where there is no time
 * limit, or one call has lasted for `timeout_ns`. The rings of the tests before are taken apart by
 * and by, and that wakes the thread that had them. Returns how many came, in `r->done`; `*last_ns`,
 * which may be NULL, says how long the last call was.
 */
static int reap(struct rig *r, unsigned min, unsigned max, uint64_t timeout_ns, int want,
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

static bool is_sync(const struct rig *r)
{
	return !(r->engine->info.caps & ENGINE_QUEUES);
}

static struct io_request *start(struct rig *r, unsigned slot, enum op_dir dir, uint64_t offset,
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

/* True if this build and this kernel have the engine and its keywords. */
static bool offered(const struct variant *v)
{
	const struct target_plan plan = {
		.path = path,
		.kind = TARGET_FILE,
		.engine = engine_named(v->engine),
		.queue_depth = DEPTH,
		.req_bytes = BLOCK,
		.engine_options = engine_options(v->engine, v->keywords),
	};
	const char *why;

	return engine_check(&plan, &why) == 0;
}

static int open_file(int flags)
{
	return open(path, flags | O_CLOEXEC);
}

static int make_file(void **state)
{
	void *aligned;
	int fd = mkstemp(path);

	(void)state;
	data = malloc(SIZE);
	if (fd < 0 || !data || posix_memalign(&aligned, BLOCK, (size_t)DEPTH * 2 * BLOCK))
		return -1;
	memory = aligned;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i * 7 + i / 256 + i / BLOCK);
	return close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	free(data);
	free(memory);
	return unlink(path);
}

/* The file as it is at the start of each test. */
static int refill(void **state)
{
	int fd = open_file(O_WRONLY | O_TRUNC);
	bool ok = write(fd, data, SIZE) == SIZE;

	(void)state;
	kernel_reset();
	return close(fd) || !ok;
}

/* ---- the same on all engines ---- */

struct step {
	enum op_dir dir;
	uint64_t offset;
	uint64_t size;
	uint64_t done;
	int error;
};

/* All outstanding together, except with engines that complete at once. */
static void run_steps(const struct variant *v, int flags, const struct step *steps, unsigned n)
{
	struct io_request *seen[DEPTH] = { NULL };
	struct rig r;
	int got = 0;

	rig_open(&r, v, open_file(flags), DEPTH, flags & O_DIRECT);
	for (unsigned i = 0; i < n; i++) {
		memset(r.requests[i].buf, (int)('a' + i), (size_t)2 * BLOCK);
		start(&r, i, steps[i].dir, steps[i].offset, steps[i].size);
	}
	while (!is_sync(&r) && got < (int)n) {
		int some = reap(&r, 1, 3, UINT64_MAX, 1, NULL);

		assert_in_range(some, 1, 3);
		for (int i = 0; i < some; i++)
			seen[got++] = r.done[i];
	}
	for (unsigned i = 0; i < n; i++) {
		const struct step *s = &steps[i];
		unsigned times = 0;

		for (int k = 0; k < got; k++)
			times += seen[k] == &r.requests[i];
		assert_int_equal(times, is_sync(&r) ? 0 : 1);
		assert_int_equal(r.requests[i].done, s->done);
		assert_int_equal(r.requests[i].error, s->error);
		if (s->dir == DIR_READ && s->done)
			assert_memory_equal(r.requests[i].buf, data + s->offset, s->done);
	}
	if (!is_sync(&r))
		assert_int_equal(reap(&r, 1, DEPTH, UINT64_MAX, 0, NULL), 0);
	rig_close(&r);
}

static void check_written(const struct step *steps, unsigned n)
{
	unsigned char *back = malloc(SIZE), *want = malloc(SIZE);
	int fd = open_file(O_RDONLY);

	memcpy(want, data, SIZE);
	for (unsigned i = 0; i < n; i++)
		if (steps[i].dir == DIR_WRITE)
			memset(want + steps[i].offset, (int)('a' + i), steps[i].done);
	assert_int_equal(read(fd, back, SIZE), SIZE);
	assert_memory_equal(back, want, SIZE);
	close(fd);
	free(back);
	free(want);
}

static const struct step mixture[] = {
	{ DIR_READ, 0, BLOCK, BLOCK, 0 },
	{ DIR_WRITE, 100 * BLOCK, 2 * BLOCK, 2 * BLOCK, 0 },
	{ DIR_NOOP, 1ull << 40, 2 * BLOCK, 2 * BLOCK, 0 },
	{ DIR_READ, 5 * BLOCK, 2 * BLOCK, 2 * BLOCK, 0 },
	{ DIR_READ, (BLOCKS - 1) * BLOCK, 2 * BLOCK, BLOCK + TAIL, -ENODATA },
	{ DIR_READ, BLOCKS *BLOCK, BLOCK, TAIL, -ENODATA },
	{ DIR_READ, (BLOCKS + 1) * BLOCK, BLOCK, 0, -ENODATA },
	{ DIR_WRITE, 110 * BLOCK, BLOCK, BLOCK, 0 },
	{ DIR_READ, 1ull << 40, BLOCK, 0, -ENODATA },
	{ DIR_NOOP, 0, 0, 0, 0 },
	{ DIR_READ, 6 * BLOCK, BLOCK, BLOCK, 0 },
};

static void test_mixture(void **state)
{
	unsigned tried = 0;

	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]))
			continue;
		assert_int_equal(refill(state), 0);
		run_steps(&variants[i], O_RDWR, mixture, COUNT(mixture));
		check_written(mixture, COUNT(mixture));
		tried++;
	}
	assert_true(tried >= 2);
}

static void test_mixture_direct(void **state)
{
	int fd = open_file(O_RDONLY | O_DIRECT);

	if (fd < 0)
		skip();
	close(fd);
	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]) || !strcmp(variants[i].engine, "mmap"))
			continue;
		assert_int_equal(refill(state), 0);
		run_steps(&variants[i], O_RDWR | O_DIRECT, mixture, COUNT(mixture));
		check_written(mixture, COUNT(mixture));
	}
}

/*
 * A request that fails does not harm its neighbours, whether the kernel finds out at once or later.
 */
static void test_error_in_the_middle(void **state)
{
	static const struct step steps[] = {
		{ DIR_READ, 0, BLOCK, BLOCK, 0 },
		{ DIR_READ, BLOCK, BLOCK, BLOCK, 0 },
		{ DIR_WRITE, 0, BLOCK, 0, -EBADF },
		{ DIR_READ, 2 * BLOCK, BLOCK, BLOCK, 0 },
		{ DIR_READ, 1ull << 63, BLOCK, 0, -EINVAL },
		{ DIR_WRITE, 0, BLOCK, 0, -EBADF },
		{ DIR_READ, 3 * BLOCK, BLOCK, BLOCK, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]) || !strcmp(variants[i].engine, "mmap"))
			continue;
		run_steps(&variants[i], O_RDONLY, steps, COUNT(steps));
	}
}

/* ---- engines that queue ---- */

static const char *const queues[] = { "libaio", "io_uring" };

/* Keep the depth filled, and check every byte. */
static void fill_depth(const struct variant *v, int flags)
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

static void test_depth_filled(void **state)
{
	int fd = open_file(O_RDONLY | O_DIRECT);

	(void)state;
	for (size_t i = 0; i < COUNT(variants); i++) {
		if (!offered(&variants[i]) || !engine_find(variants[i].engine)->reap)
			continue;
		fill_depth(&variants[i], O_RDONLY);
		if (fd >= 0)
			fill_depth(&variants[i], O_RDONLY | O_DIRECT);
	}
	if (fd >= 0)
		close(fd);
}

static void test_noop_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(queues); i++) {
		struct variant v = { queues[i], "" };
		struct rig r;

		if (!offered(&v))
			continue;
		rig_open(&r, &v, open_file(O_RDONLY), 4, false);
		for (unsigned k = 0; k < 4; k++)
			start(&r, k, DIR_NOOP, 0, 1ull << 40);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 1, 3, UINT64_MAX), 3);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 1, 3, 0), 1);
		assert_int_equal(r.done[0]->done, 1ull << 40);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 4, 4, UINT64_MAX), 0);
		rig_close(&r);
		r.engine->fini(NULL);
	}
}

static uint64_t reap_ns(struct rig *r, unsigned min, uint64_t timeout_ns, int want)
{
	uint64_t ns;

	assert_int_equal(reap(r, min, r->depth, timeout_ns, want, &ns), want);
	return ns;
}

/* A pipe is a device that does not answer until the test wants it to. */
static void pipe_open(struct rig *r, const char *keywords, int *write_end)
{
	struct variant v = { "io_uring", keywords };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	*write_end = ends[1];
	rig_open(r, &v, ends[0], 4, false);
}

static void pipe_timeouts(const char *keywords)
{
	struct io_request *req;
	struct rig r;
	int out;

	pipe_open(&r, keywords, &out);
	req = start(&r, 1, DIR_READ, 0, 1000);
	start(&r, 2, DIR_NOOP, 0, 8);
	assert_true(reap_ns(&r, 0, 0, 1) < QUICK_NS);
	assert_true(reap_ns(&r, 1, 0, 0) < QUICK_NS);
	assert_true(reap_ns(&r, 1, 50000000, 0) >= 50000000);

	/* a short transfer goes on by itself */
	assert_int_equal(write(out, data, 300), 300);
	assert_true(reap_ns(&r, 1, 50000000, 0) >= 50000000);
	assert_int_equal(write(out, data + 300, 300), 300);
	assert_true(reap_ns(&r, 0, 0, 0) < QUICK_NS);
	assert_int_equal(write(out, data + 600, 400), 400);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_ptr_equal(r.done[0], req);
	assert_int_equal(req->error, 0);
	assert_int_equal(req->done, 1000);
	assert_memory_equal(req->buf, data, 1000);

	/* and ends where there is no more */
	start(&r, 1, DIR_READ, 0, 1000);
	assert_int_equal(write(out, data, 10), 10);
	close(out);
	reap_ns(&r, 1, UINT64_MAX - 1, 1);
	assert_int_equal(req->done, 10);
	assert_int_equal(req->error, -ENODATA);
	rig_close(&r);
}

static void test_uring_timeouts(void **state)
{
	(void)state;
	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	pipe_timeouts("");
	pipe_timeouts("batch 4");
	pipe_timeouts("fixedbufs fixedfiles");
	if (offered(&(struct variant){ "io_uring", "sqpoll" }))
		pipe_timeouts("sqpoll");
}

/* Requests that are outstanding do not delay the end of their context. */
static void test_uring_given_up(void **state)
{
	struct rig r;
	int out;

	(void)state;
	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	pipe_open(&r, "", &out);
	start(&r, 0, DIR_READ, 0, 1000);
	start(&r, 1, DIR_READ, 0, 1000);
	rig_close(&r);
	close(out);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_uring_signal(void **state)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	struct sigaction action = { .sa_handler = on_alarm }, old;
	struct rig r;
	int out;

	(void)state;
	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	pipe_open(&r, "", &out);
	start(&r, 0, DIR_READ, 0, 1000);
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	reap_ns(&r, 1, UINT64_MAX, 0);
	sigaction(SIGALRM, &old, NULL);
	close(out);
	reap_ns(&r, 1, UINT64_MAX, 1);
	rig_close(&r);
}

static void test_aio_timeouts(void **state)
{
	struct variant v = { "libaio", "" };
	struct rig r;

	(void)state;
	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 4, false);
	kernel.hold = true;
	start(&r, 0, DIR_READ, 0, BLOCK);
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	assert_int_equal(kernel.n_held, 2);
	assert_true(reap_ns(&r, 1, 0, 0) < QUICK_NS);
	assert_true(reap_ns(&r, 1, 50000000, 0) >= 50000000);

	kernel.hold = false;
	assert_int_equal(io_submit(*(void **)r.ctx, 1, kernel.held), 1);
	assert_true(reap_ns(&r, 2, 50000000, 1) >= 50000000);
	assert_ptr_equal(r.done[0], &r.requests[0]);
	assert_int_equal(io_submit(*(void **)r.ctx, 1, kernel.held + 1), 1);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_memory_equal(r.requests[1].buf, data + BLOCK, BLOCK);
	rig_close(&r);
}

static void test_aio_short(void **state)
{
	struct variant v = { "libaio", "batch 3" };
	struct rig r;

	(void)state;
	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	kernel.cut = 1000;
	for (unsigned i = 0; i < 8; i++)
		start(&r, i, DIR_READ, i * BLOCK, BLOCK);
	for (unsigned left = 8; left;) {
		int n = reap(&r, 1, 8, UINT64_MAX, 1, NULL);

		assert_true(n > 0);
		left -= (unsigned)n;
	}
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(r.requests[i].error, 0);
		assert_int_equal(r.requests[i].done, BLOCK);
		assert_memory_equal(r.requests[i].buf, data + (size_t)i * BLOCK, BLOCK);
	}
	rig_close(&r);
}

/* The kernel takes some of a batch, or has no room at all for a while. */
static void test_aio_no_room(void **state)
{
	struct variant v = { "libaio", "batch 8" };
	struct rig r;

	(void)state;
	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	kernel.room = 3;
	for (unsigned i = 0; i < 8; i++)
		start(&r, i, DIR_READ, i * BLOCK, BLOCK);
	assert_int_equal(kernel.submits, 3);
	reap_ns(&r, 8, UINT64_MAX, 8);

	kernel_reset();
	v.keywords = "batch 1";
	rig_close(&r);
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	start(&r, 0, DIR_READ, 0, BLOCK);
	kernel.refuse = -EAGAIN;
	kernel.refusals = 2;
	start(&r, 1, DIR_READ, BLOCK, BLOCK); /* stays */
	start(&r, 2, DIR_READ, 2 * BLOCK, BLOCK);
	reap_ns(&r, 3, UINT64_MAX, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(r.requests[i].error, 0);
		assert_memory_equal(r.requests[i].buf, data + (size_t)i * BLOCK, BLOCK);
	}

	/* nothing is outstanding that could make room: then it is an error */
	kernel.refusals = 1;
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_int_equal(r.requests[1].error, -EAGAIN);

	/* an interrupted call is made again */
	kernel.refuse = -EINTR;
	kernel.refusals = 1;
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_int_equal(r.requests[1].error, 0);
	rig_close(&r);
}

/*
 * The kernel has no memory for a request just now. In strict order by several QThreads it must have
 * the request when submit returns: the next to hand one over is another. (libaio does not ask again
 * when nothing is outstanding that could make room: then it is an error.)
 */
static void in_turn(const char *engine, int refusals, bool others)
{
	const struct variant v = { engine, "" };
	struct rig r;

	kernel_reset();
	rig_prepare(&r, &v, open_file(O_RDONLY), DEPTH, false);
	r.plan.ordering = ORDERING_STRICT;
	r.plan.qthreads = others ? 2 : 1;
	r.plan.engine_options = engine_options(engine, "batch 1");
	assert_int_equal(rig_init(&r), 0);
	start(&r, 0, DIR_READ, 0, BLOCK);
	start(&r, 1, DIR_READ, BLOCK, BLOCK);
	assert_int_equal(kernel.taken, 2);
	kernel.refuse = -EAGAIN;
	kernel.refusals = refusals;
	start(&r, 2, DIR_READ, 2 * BLOCK, BLOCK);
	assert_int_equal(kernel.refusals, others ? 0 : refusals - 1);
	assert_int_equal(kernel.taken, others ? 3 : 2);
	kernel.refusals = 0;
	start(&r, 3, DIR_READ, 3 * BLOCK, BLOCK);
	assert_int_equal(kernel.taken, 4);
	reap_ns(&r, 4, UINT64_MAX, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(r.requests[i].error, 0);
		assert_memory_equal(r.requests[i].buf, data + (size_t)i * BLOCK, BLOCK);
	}
	rig_close(&r);
}

static void test_in_turn(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(queues); i++) {
		if (!offered(&(struct variant){ queues[i], "" }))
			continue;
		in_turn(queues[i], i ? 3 : 1, true);
		in_turn(queues[i], i ? 3 : 1, false);
	}
}

static void test_batches(void **state)
{
	struct variant v = { "libaio", "batch 3" };
	struct rig r;

	(void)state;
	if (!offered(&v))
		skip();
	rig_open(&r, &v, open_file(O_RDONLY), 8, false);
	start(&r, 0, DIR_READ, 0, BLOCK);
	start(&r, 1, DIR_READ, 0, BLOCK);
	assert_int_equal(kernel.submits, 0);
	start(&r, 2, DIR_READ, 0, BLOCK);
	assert_int_equal(kernel.submits, 1);
	start(&r, 3, DIR_READ, 0, BLOCK);
	assert_int_equal(kernel.submits, 1);
	reap_ns(&r, 4, UINT64_MAX, 4);
	assert_int_equal(kernel.submits, 2);
	rig_close(&r);
}

static void test_describe(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(queues); i++) {
		struct variant v = { queues[i], "" };
		char text[160] = "";
		struct rig r;

		if (!offered(&v))
			continue;
		rig_open(&r, &v, open_file(O_RDONLY), 4, true);
		r.engine->describe(r.ctx, text, sizeof(text));
		assert_true(strlen(text) > 10 && strlen(text) < sizeof(text) - 1);
		assert_null(strchr(text, '\n'));
		rig_close(&r);
	}
}

/* IORING_SETUP_*, which older headers do not have. */
#define SQPOLL (1u << 1)
#define SUBMIT_ALL (1u << 7)	 /* 5.18 */
#define COOP_TASKRUN (1u << 8)	 /* 5.19 */
#define SINGLE_ISSUER (1u << 12) /* 6.0 */
#define DEFER_TASKRUN (1u << 13) /* 6.1 */

static bool ring_known(unsigned flags)
{
	struct io_uring_params params = { .flags = flags };
	long fd = syscall(SYS_io_uring_setup, 1, &params);

	return fd >= 0 && !close((int)fd);
}

static void described(struct rig *r, const char *part, bool wanted)
{
	char text[160] = "";

	r->engine->describe(r->ctx, text, sizeof(text));
	if (!strstr(text, part) == wanted)
		fail_msg("\"%s\": %s", part, text);
}

/* A kernel that does not know all ways to set a ring up gets the best that it does know. */
static void test_uring_older_kernels(void **state)
{
	static const struct {
		unsigned knows;
		unsigned wants;
		bool sqpoll;
		const char *text;
	} kernels[] = {
		{ UINT32_MAX, SINGLE_ISSUER | DEFER_TASKRUN, false,
		  "single issuer, deferred task work" },
		{ ~DEFER_TASKRUN, COOP_TASKRUN | SUBMIT_ALL, false, "cooperative task work" },
		{ SUBMIT_ALL - 1, 0, false, "as this old kernel does it" },
		{ UINT32_MAX, SQPOLL | SINGLE_ISSUER, true, "polled submission, single issuer" },
		{ SUBMIT_ALL - 1, SQPOLL, true, "no single issuer in this old kernel" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		const struct variant v = { "io_uring", kernels[i].sqpoll ? "sqpoll" : "" };
		struct rig r;

		if (!offered(&v) || !ring_known(kernels[i].wants))
			continue;
		kernel.ring_flags = kernels[i].knows;
		rig_open(&r, &v, open_file(O_RDONLY), 8, false);
		described(&r, kernels[i].text, true);
		rig_close(&r);
		fill_depth(&v, O_RDONLY);
	}
}

/*
 * Where task work waits until the thread enters the kernel, a look without a wait enters it: what
 * is complete would appear with the next tick otherwise. A read from a pipe is outstanding as long
 * as the pipe is empty.
 */
static void test_uring_looks(void **state)
{
	static const struct {
		unsigned knows;
		unsigned wants;
	} kernels[] = {
		{ UINT32_MAX, SINGLE_ISSUER | DEFER_TASKRUN },
		{ ~DEFER_TASKRUN, COOP_TASKRUN | SUBMIT_ALL },
	};
	const struct variant v = { "io_uring", "" };

	(void)state;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		struct rig r;
		int ends[2];

		if (!offered(&v) || !ring_known(kernels[i].wants))
			continue;
		kernel.ring_flags = kernels[i].knows;
		assert_int_equal(pipe(ends), 0);
		rig_open(&r, &v, ends[0], 1, false);
		r.requests[0].dir = DIR_READ;
		r.requests[0].size = 1;
		assert_int_equal(r.engine->submit(r.ctx, &r.requests[0]), 0);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 1, 1, 0), 0);
		kernel.asked = 0;
		assert_int_equal(r.engine->reap(r.ctx, r.done, 1, 1, 0), 0);
		assert_int_equal(kernel.asked, 1);
		assert_int_equal(write(ends[1], "x", 1), 1);
		assert_int_equal(r.engine->reap(r.ctx, r.done, 1, 1, UINT64_MAX), 1);
		assert_int_equal(r.requests[0].error, 0);
		close(ends[1]);
		rig_close(&r);
	}
}

/*
 * If the kernel does not register buffers or files, the engine works without, unless the user asked
 * for it.
 */
static void test_uring_not_registered(void **state)
{
	const struct variant plain = { "io_uring", "" };
	const struct variant files = { "io_uring", "fixedfiles" };
	const struct variant buffers = { "io_uring", "fixedbufs" };
	int fd = open_file(O_RDONLY);
	struct rig r;

	(void)state;
	if (!offered(&plain))
		skip();
	kernel.no_files = true;
	kernel.no_buffers = true;
	rig_open(&r, &plain, open_file(O_RDONLY), 8, false);
	described(&r, " file", false);
	described(&r, "not the buffers: ", true);
	rig_close(&r);
	fill_depth(&plain, O_RDONLY);
	assert_int_equal(rig_try(&r, &files, fd, 8, false), -EINVAL);
	assert_string_equal(r.why, "fixedfiles: the kernel did not take the file");
	assert_int_equal(rig_try(&r, &buffers, fd, 8, false), -EINVAL);
	assert_string_equal(r.why, "fixedbufs: the kernel did not take the buffers");
	close(fd);
}

/* ---- checks ---- */

static void check(const char *engine, const struct target_plan *changes, int ret, const char *part)
{
	struct target_plan plan = *changes;
	const char *why = NULL;

	plan.path = plan.path ? plan.path : path;
	plan.kind = TARGET_FILE;
	plan.engine = engine_named(engine);
	if (!plan.engine_options)
		plan.engine_options = engine_options(engine, "");
	plan.req_bytes = plan.req_bytes ? plan.req_bytes : BLOCK;
	plan.size_bytes = SIZE;
	assert_int_equal(engine_check(&plan, &why), ret);
	if (part) {
		assert_non_null(why);
		assert_non_null(strstr(why, part));
	}
}

static void test_checks(void **state)
{
	void *fixed = engine_options("io_uring", "fixedbufs");
	void *poll = engine_options("io_uring", "iopoll");

	(void)state;
	if (offered(&(struct variant){ "libaio", "" })) {
		check("libaio", &(struct target_plan){ .queue_depth = 64 }, 0, NULL);
		/* It takes the kernel tens of milliseconds to give one up, for each target. */
		assert_int_equal(kernel.contexts, 0);
	}
	if (!offered(&(struct variant){ "io_uring", "" }))
		return;
	check("io_uring", &(struct target_plan){ .queue_depth = 32768 }, 0, NULL);
	check("io_uring", &(struct target_plan){ .queue_depth = 32769 }, -EINVAL, "-threads");
	check("io_uring", &(struct target_plan){ .queue_depth = 32769, .threads = 2 }, 0, NULL);
	check("io_uring", &(struct target_plan){ .queue_depth = 16385, .engine_options = fixed },
	      -EINVAL, "fixedbufs: ");
	check("io_uring",
	      &(struct target_plan){
		      .queue_depth = 1, .req_bytes = 2ull << 30, .engine_options = fixed },
	      -EINVAL, "fixedbufs: ");
	check("io_uring", &(struct target_plan){ .queue_depth = 1, .engine_options = poll },
	      -EINVAL, "-dio");
}

/*
 * Two targets that fit one by one, and not together; `other` stands between them and does not
 * count.
 */
static void check_all(const char *name, uint64_t depth, const char *other, int ret,
		      const char *part)
{
	const struct target_plan one = { .queue_depth = depth };
	struct target_plan targets[] = { one, one, one };
	const struct plan plan = { .n_targets = COUNT(targets), .targets = targets };
	const struct engine *engine = NULL;
	char why[256] = "";

	for (size_t i = 0; i < COUNT(targets); i++) {
		targets[i].engine = engine_named(i == 1 ? other : name);
		targets[i].engine_options = engine_options(i == 1 ? other : name, "");
	}
	assert_int_equal(engine_check_all(&plan, &engine, why, sizeof(why)), ret);
	if (ret) {
		assert_string_equal(engine->info.name, name);
		if (!strstr(why, part))
			fail_msg("%s", why);
	}
}

static void test_check_all(void **state)
{
	(void)state;
	if (!offered(&(struct variant){ "libaio", "" }))
		skip();
	check_all("libaio", 1ull << 40, "psync", -EAGAIN,
		  "come to 2199023255552, and the sysctl fs.aio-max-nr");
	check_all("libaio", 1, "psync", 0, NULL);
	check_all("psync", 1ull << 40, "psync", 0, NULL);
}

/* tmpfs has nothing to poll. */
static void test_iopoll_refused(void **state)
{
	char shm[] = "/dev/shm/xdd-test-queues-XXXXXX";
	void *poll = engine_options("io_uring", "iopoll");
	int fd = mkstemp(shm), direct = open(shm, O_RDONLY | O_DIRECT);

	(void)state;
	if (fd >= 0) {
		close(fd);
		unlink(shm);
	}
	if (direct < 0 || !offered(&(struct variant){ "io_uring", "" }))
		skip();
	snprintf(shm, sizeof(shm), "/proc/self/fd/%d", direct);
	check("io_uring",
	      &(struct target_plan){
		      .path = shm, .queue_depth = 1, .direct_io = true, .engine_options = poll },
	      -EOPNOTSUPP, "iopoll: ");
	close(direct);
}

/* Run `child` in a process of its own, which may lose what it was allowed. */
static void in_child(int (*child)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define EXPECT(condition)                                                   \
	do {                                                                \
		if (!(condition)) {                                         \
			print_error("line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                           \
		}                                                           \
	} while (0)

static int child_memlock(void)
{
	const struct rlimit limit = { .rlim_cur = 256 << 10, .rlim_max = 256 << 10 };
	const struct variant forced = { "io_uring", "fixedbufs" };
	const struct variant by_itself = { "io_uring", "" };
	const struct target_plan target = {
		.path = path,
		.kind = TARGET_FILE,
		.engine = engine_named("io_uring"),
		.queue_depth = 3,
		.req_bytes = 64 << 10,
		.memory.stride_bytes = 64 << 10,
		.engine_options = engine_options("io_uring", "fixedbufs"),
	};
	struct target_plan targets[] = { target, target };
	struct plan plan = { .n_targets = 1, .targets = targets };
	const struct engine *engine;
	char text[160];
	const char *why;
	struct rig r;
	int fd = open_file(O_RDONLY);

	EXPECT(!setrlimit(RLIMIT_MEMLOCK, &limit));
	if (!geteuid() && (setgid(NOBODY) || setuid(NOBODY)))
		return 0; /* the only user of a namespace */
	/* The memory of rings that are gone is given back by and by. */
	for (int i = 0; i < 200 && engine_check(&targets[0], &why); i++)
		usleep(10000);
	EXPECT(engine_check(&targets[0], &why) == 0);
	EXPECT(engine_check_all(&plan, &engine, text, sizeof(text)) == 0);
	/* Each of two fits, and both together do not. */
	plan.n_targets = 2;
	EXPECT(engine_check_all(&plan, &engine, text, sizeof(text)) == -ENOMEM);
	EXPECT(engine == engine_find("io_uring") &&
	       strstr(text, "memlock limit (ulimit -l) is 256 KiB"));
	targets[1].engine_options = engine_options("io_uring", "");
	EXPECT(engine_check_all(&plan, &engine, text, sizeof(text)) == 0);

	EXPECT(rig_try(&r, &forced, fd, DEPTH, true) == -ENOMEM);
	EXPECT(r.why && strstr(r.why, "memlock"));
	for (int i = 0; i < 200 && rig_try(&r, &by_itself, fd, DEPTH, true); i++)
		usleep(10000);
	EXPECT(r.ctx);
	r.engine->describe(r.ctx, text, sizeof(text));
	EXPECT(strstr(text, "not the buffers: there is a memlock limit"));
	r.requests[3].size = BLOCK;
	EXPECT(r.engine->submit(r.ctx, &r.requests[3]) == 0);
	EXPECT(reap(&r, 1, DEPTH, UINT64_MAX, 1, NULL) == 1);
	EXPECT(r.done[0]->done == BLOCK && !memcmp(r.done[0]->buf, data, BLOCK));
	r.engine->fini(r.ctx);
	return 0;
}

static void test_memlock_limit(void **state)
{
	(void)state;
	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	in_child(child_memlock);
}

/* From now on the two system calls fail. */
static bool forbid(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = COUNT(code), .filter = code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void expect_forbidden(const char *engine, int err)
{
	const struct target_plan plan = { .path = path,
					  .kind = TARGET_FILE,
					  .engine = engine_named(engine),
					  .engine_options = engine_options(engine, "") };
	const char *why = NULL;

	EXPECT(engine_find(engine)->available(&why) == err);
	EXPECT(why && strstr(why, "seccomp"));
	EXPECT(engine_check(&plan, &why) == err);
}

static int child_no_permission(void)
{
	if (!forbid(EPERM))
		return 0;
	expect_forbidden("libaio", -EPERM);
	expect_forbidden("io_uring", -EPERM);
	return 0;
}

static int child_no_system_call(void)
{
	if (!forbid(ENOSYS))
		return 0;
	expect_forbidden("libaio", -ENOSYS);
	expect_forbidden("io_uring", -ENOSYS);
	return 0;
}

static void test_forbidden(void **state)
{
	(void)state;
	if (!offered(&(struct variant){ "libaio", "" }) ||
	    !offered(&(struct variant){ "io_uring", "" }))
		skip();
	in_child(child_no_permission);
	in_child(child_no_system_call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/*
		 * The first: taking a ring apart interrupts a wait of its thread, some time later.
		 */
		cmocka_unit_test_setup(test_aio_timeouts, refill),
		cmocka_unit_test_setup(test_mixture, refill),
		cmocka_unit_test_setup(test_mixture_direct, refill),
		cmocka_unit_test_setup(test_error_in_the_middle, refill),
		cmocka_unit_test_setup(test_depth_filled, refill),
		cmocka_unit_test_setup(test_noop_alone, refill),
		cmocka_unit_test_setup(test_uring_timeouts, refill),
		cmocka_unit_test_setup(test_uring_given_up, refill),
		cmocka_unit_test_setup(test_uring_signal, refill),
		cmocka_unit_test_setup(test_aio_short, refill),
		cmocka_unit_test_setup(test_aio_no_room, refill),
		cmocka_unit_test_setup(test_in_turn, refill),
		cmocka_unit_test_setup(test_batches, refill),
		cmocka_unit_test_setup(test_describe, refill),
		cmocka_unit_test_setup(test_uring_older_kernels, refill),
		cmocka_unit_test_setup(test_uring_looks, refill),
		cmocka_unit_test_setup(test_uring_not_registered, refill),
		cmocka_unit_test_setup(test_checks, refill),
		cmocka_unit_test_setup(test_iopoll_refused, refill),
		cmocka_unit_test_setup(test_memlock_limit, refill),
		cmocka_unit_test(test_check_all),
		cmocka_unit_test_setup(test_forbidden, refill),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
