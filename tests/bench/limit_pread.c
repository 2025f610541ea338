/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limit of synchronous reads: pread() after pread(), each thread in an extent of its own.
 */
#include "limit.h"

#include <errno.h>
#include <unistd.h>

static int run(struct limit_thread *t)
{
	const size_t size = t->args->size;
	uint64_t done = 0;
	int ret = 0;

	while (!limit_over(t, done)) {
		ssize_t n = pread(t->fd, t->buf, size, (off_t)limit_next(t));

		if (n != (ssize_t)size) {
			ret = n < 0 ? -errno : -ENODATA;
			break;
		}
		done++;
	}
	t->done = done;
	return ret;
}

int main(int argc, char **argv)
{
	static const struct limit_loop loop = { .run = run };

	return limit_main(argc, argv, &loop);
}
