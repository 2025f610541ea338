/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limit of libaio reads: -q of them outstanding in each thread. Completions are
 * reaped at once; the replacements are submitted one by one, or with -b together.
 */
#include "limit.h"

#include <errno.h>
#include <libaio.h>
#include <stdlib.h>

struct aio {
	io_context_t ctx;
	struct iocb *blocks; /* one for each operation in flight */
	struct iocb **ready; /* to be submitted */
	struct io_event *events;
};

static int prepare(struct limit_thread *t)
{
	const unsigned depth = t->args->depth;
	struct aio *aio = calloc(1, sizeof(*aio));

	if (!aio)
		return -ENOMEM;
	aio->blocks = calloc(depth, sizeof(*aio->blocks));
	aio->ready = calloc(depth, sizeof(*aio->ready));
	aio->events = calloc(depth, sizeof(*aio->events));
	if (!aio->blocks || !aio->ready || !aio->events)
		return -ENOMEM;
	t->ctx = aio;
	return io_setup((int)depth, &aio->ctx);
}

static void fill(struct limit_thread *t, struct iocb *block)
{
	const struct aio *aio = t->ctx;
	char *buf = t->buf + (size_t)(block - aio->blocks) * t->args->size;

	io_prep_pread(block, t->fd, buf, t->args->size, (long long)limit_next(t));
}

static int submit(struct aio *aio, unsigned n)
{
	unsigned sent = 0;

	while (sent < n) {
		int ret = io_submit(aio->ctx, (long)(n - sent), aio->ready + sent);

		if (ret < 0 && ret != -EAGAIN && ret != -EINTR)
			return ret;
		if (ret > 0)
			sent += (unsigned)ret;
	}
	return 0;
}

/* Take `n` completions and start their replacements. Returns how many were started, or -errno. */
static int replace(struct limit_thread *t, int n, uint64_t started)
{
	struct aio *aio = t->ctx;
	unsigned ready = 0, before = 0;
	int ret;

	for (int i = 0; i < n; i++) {
		if (aio->events[i].res != t->args->size)
			return (long)aio->events[i].res < 0 ? (int)(long)aio->events[i].res :
							      -ENODATA;
		t->done++;
		if (limit_over(t, started + before + ready))
			continue;
		fill(t, aio->events[i].obj);
		aio->ready[ready++] = aio->events[i].obj;
		if (t->args->batch)
			continue;
		ret = submit(aio, 1);
		if (ret)
			return ret;
		before++;
		ready = 0;
	}
	ret = ready ? submit(aio, ready) : 0;
	return ret ? ret : (int)(before + ready);
}

static int run(struct limit_thread *t)
{
	const unsigned depth = t->args->depth;
	struct aio *aio = t->ctx;
	uint64_t started = 0;
	int ret;

	while (started < depth && !limit_over(t, started)) {
		aio->ready[started] = &aio->blocks[started];
		fill(t, aio->ready[started]);
		started++;
	}
	ret = submit(aio, (unsigned)started);
	while (ret >= 0 && t->done < started) {
		int n = io_getevents(aio->ctx, 1, (long)depth, aio->events, NULL);

		if (n == -EINTR)
			continue;
		ret = n < 0 ? n : replace(t, n, started);
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
