/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The io_uring engine: src/io/engine_io_uring.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "engine_rig.h"
#include "xdd/io/engine.h"

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

TEST_SETUP(test_uring_timeouts, refill)
{
	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	pipe_timeouts("");
	pipe_timeouts("batch 4");
	pipe_timeouts("fixedbufs fixedfiles");
	if (offered(&(struct variant){ "io_uring", "sqpoll" }))
		pipe_timeouts("sqpoll");
}

/* Requests that are outstanding do not delay the end of their context. */
TEST_SETUP(test_uring_given_up, refill)
{
	struct rig r;
	int out;

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

TEST_SETUP(test_uring_signal, refill)
{
	/* Again: the first may come before the wait. */
	const struct itimerval soon = { { .tv_usec = 50000 }, { .tv_usec = 50000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm }, old;
	struct rig r;
	int out;

	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	pipe_open(&r, "", &out);
	start(&r, 0, DIR_READ, 0, 1000);
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	reap_ns(&r, 1, UINT64_MAX, 0);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	close(out);
	reap_ns(&r, 1, UINT64_MAX, 1);
	rig_close(&r);
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
	char text[ENGINE_TEXT_BYTES] = "";

	r->engine->describe(r->ctx, text, sizeof(text));
	if (!strstr(text, part) == wanted)
		fail_msg("\"%s\": %s", part, text);
}

/* A kernel that does not know all ways to set a ring up gets the best that it does know. */
TEST_SETUP(test_uring_older_kernels, refill)
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
TEST_SETUP(test_uring_looks, refill)
{
	static const struct {
		unsigned knows;
		unsigned wants;
	} kernels[] = {
		{ UINT32_MAX, SINGLE_ISSUER | DEFER_TASKRUN },
		{ ~DEFER_TASKRUN, COOP_TASKRUN | SUBMIT_ALL },
	};
	const struct variant v = { "io_uring", "" };

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
TEST_SETUP(test_uring_not_registered, refill)
{
	const struct variant plain = { "io_uring", "" };
	const struct variant files = { "io_uring", "fixedfiles" };
	const struct variant buffers = { "io_uring", "fixedbufs" };
	int fd = open_file(O_RDONLY);
	unsigned char block[BLOCK];
	struct rig r;

	if (!offered(&plain))
		skip();
	kernel.no_files = true;
	kernel.no_buffers = true;
	rig_open(&r, &plain, open_file(O_RDONLY), 8, false);
	described(&r, " file", false);
	described(&r, "not the buffers: ", true);
	rig_close(&r);
	fill_depth(&plain, O_RDONLY);
	rig_open(&r, &plain, open_file(O_RDWR), 1, false);
	memset(r.requests[0].buf, 0xa5, BLOCK);
	start(&r, 0, DIR_WRITE, BLOCK, BLOCK);
	reap_ns(&r, 1, UINT64_MAX, 1);
	assert_int_equal(r.requests[0].error, 0);
	assert_int_equal(pread(fd, block, BLOCK, BLOCK), BLOCK);
	assert_memory_equal(block, r.requests[0].buf, BLOCK);
	rig_close(&r);
	assert_int_equal(rig_try(&r, &files, fd, 8, false), -EINVAL);
	assert_string_equal(r.why.text, "fixedfiles: the kernel did not take the file");
	assert_int_equal(rig_try(&r, &buffers, fd, 8, false), -EINVAL);
	assert_string_equal(r.why.text, "fixedbufs: the kernel did not take the buffers");
	close(fd);
}

/* Several at once, which carry no data and may complete in any order. */
TEST_SETUP(test_uring_discard, refill)
{
	int fd = open_file(O_RDWR);
	unsigned char block[BLOCK];
	struct rig r;

	if (!offered(&(struct variant){ "io_uring", "" }))
		skip();
	rig_open(&r, &(struct variant){ "io_uring", "" }, fd, 8, false);
	for (unsigned i = 0; i < 8; i++)
		start(&r, i, DIR_DISCARD, 4 * i * BLOCK, BLOCK);
	reap_ns(&r, 8, UINT64_MAX, 8);
	for (unsigned i = 0; i < 8; i++) {
		struct io_request *req = &r.requests[i];

		if (req->error == -EOPNOTSUPP)
			break;
		assert_int_equal(req->error, 0);
		assert_int_equal(req->done, BLOCK);
		assert_int_equal(pread(fd, block, BLOCK, 4 * i * BLOCK), BLOCK);
		for (unsigned k = 0; k < BLOCK; k++)
			assert_int_equal(block[k], 0);
		assert_int_equal(pread(fd, block, BLOCK, (4 * i + 1) * BLOCK), BLOCK);
		assert_memory_equal(block, data + (4 * i + 1) * BLOCK, BLOCK);
	}
	rig_close(&r);
}

RUN_TESTS(make_file, remove_file)
