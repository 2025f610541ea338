/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limit of io_uring reads: -q of them outstanding in each thread. Each replacement is submitted
 * at once; with -b the loop waits for a completion, takes all there are, refills, and submits the
 * lot with one system call.
 */
#include "limit.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/uio.h>

static int register_all(struct limit_thread *t, struct io_uring *ring)
{
	const struct limit_args *a = t->args;
	struct iovec *iov = calloc(a->depth, sizeof(*iov));
	int ret;

	if (!iov)
		return -ENOMEM;
	for (unsigned i = 0; i < a->depth; i++)
		iov[i] = (struct iovec){ t->buf + (size_t)i * a->size, a->size };
	ret = io_uring_register_buffers(ring, iov, a->depth);
	free(iov);
	return ret ? ret : io_uring_register_files(ring, &t->fd, 1);
}

static int prepare(struct limit_thread *t)
{
	const struct limit_args *a = t->args;
	struct io_uring *ring = calloc(1, sizeof(*ring));
	unsigned flags = 0;
	int ret = -EINVAL;

	if (!ring)
		return -ENOMEM;
#ifdef IORING_SETUP_DEFER_TASKRUN
	if (a->defer)
		flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
#endif
	if (flags)
		ret = io_uring_queue_init(a->depth, ring, flags);
	if (ret == -EINVAL)
		ret = io_uring_queue_init(a->depth, ring, 0);
	if (ret)
		return ret;
	t->ctx = ring;
	return a->fixed ? register_all(t, ring) : 0;
}

/* Queue the next read into buffer `i`. */
static void queue(struct limit_thread *t, unsigned i)
{
	const struct limit_args *a = t->args;
	struct io_uring_sqe *sqe = io_uring_get_sqe(t->ctx);
	char *buf = t->buf + (size_t)i * a->size;

	if (a->fixed) {
		io_uring_prep_read_fixed(sqe, 0, buf, (unsigned)a->size, limit_next(t), (int)i);
		sqe->flags |= IOSQE_FIXED_FILE;
	} else {
		io_uring_prep_read(sqe, t->fd, buf, (unsigned)a->size, limit_next(t));
	}
	sqe->user_data = i;
}

/*
 * Take all completions there are and start their replacements. Returns how many were started, or
 * -errno.
 */
static int replace(struct limit_thread *t, uint64_t started)
{
	struct io_uring *ring = t->ctx;
	struct io_uring_cqe *cqe;
	int n = 0;

	while (io_uring_peek_cqe(ring, &cqe) == 0) {
		unsigned i = (unsigned)cqe->user_data;
		int res = cqe->res;

		io_uring_cqe_seen(ring, cqe);
		if (res != (int)t->args->size)
			return res < 0 ? res : -ENODATA;
		t->done++;
		if (limit_over(t, started + (unsigned)n))
			continue;
		queue(t, i);
		n++;
		if (!t->args->batch) {
			res = io_uring_submit(ring);
			if (res < 0)
				return res;
		}
	}
	return n;
}

static int run(struct limit_thread *t)
{
	struct io_uring *ring = t->ctx;
	uint64_t started = 0;
	int ret = 0;

	while (started < t->args->depth && !limit_over(t, started))
		queue(t, (unsigned)started++);
	while (ret >= 0 && t->done < started) {
		ret = io_uring_submit_and_wait(ring, 1);
		if (ret == -EINTR)
			ret = 0;
		if (ret >= 0)
			ret = replace(t, started);
		if (ret > 0)
			started += (unsigned)ret;
	}
	return ret < 0 ? ret : 0;
}

int main(int argc, char **argv)
{
	static const struct limit_loop loop = { .prepare = prepare, .run = run };

	return limit_main(argc, argv, &loop);
}
