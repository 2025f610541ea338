/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals; see the header. Called by sweeps and by the destination of copies.
 */
#include "xdd/base/journal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES (256u << 10) /* at first */

static bool is_at(int fd, int dir_fd, const char *name, int flags)
{
	struct stat own, now;

	return fstat(fd, &own) == 0 && fstatat(dir_fd, name, &now, flags) == 0 &&
	       now.st_dev == own.st_dev && now.st_ino == own.st_ino;
}

int journal_lock(int fd, int dir_fd, const char *name, int flags)
{
	int err;

	do {
		err = flock(fd, LOCK_EX | LOCK_NB) ? errno : 0;
	} while (err == EINTR);
	/* Another may have removed it, and a new one may have come, before it was locked. */
	if (err == EWOULDBLOCK || (name && !is_at(fd, dir_fd, name, flags)))
		return -EBUSY;
	return err ? -ENOLCK : 0;
}

int journal_append(struct journal *j, const void *data, size_t size)
{
	const char *bytes = data;
	size_t at = 0;
	int err = 0;

	if (j->broken)
		return -EIO;
	while (at < size && !err) {
		ssize_t n = write(j->fd, bytes + at, size - at);

		if (n > 0)
			at += (size_t)n;
		else if (n == 0 || errno != EINTR)
			err = n ? -errno : -EIO;
	}
	if (!err)
		j->size += size;
	else if (ftruncate(j->fd, (off_t)j->size))
		j->broken = true;
	return err;
}

int journal_flush(struct journal *j)
{
	if (fdatasync(j->fd) == 0)
		return 0;
	j->broken = true;
	return -errno;
}

int journal_continue(struct journal *j, uint64_t end)
{
	if (ftruncate(j->fd, (off_t)end))
		return -errno;
	j->size = end;
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

/* ---- reading ---- */

void journal_read(struct journal_reader *r, int fd, uint64_t begin)
{
	*r = (struct journal_reader){ .fd = fd, .end = begin };
}

static int journal_grow(struct journal_reader *r)
{
	size_t room = r->room ? r->room * 2 : READ_BYTES;
	uint8_t *more = realloc(r->buf, room);

	if (!more)
		return -ENOMEM;
	r->buf = more;
	r->room = room;
	return 0;
}

/* Move what is left to the front, and read more. Returns the bytes read, or -errno. */
static ssize_t journal_fill(struct journal_reader *r)
{
	size_t left = r->n - r->at;
	ssize_t n;
	int err;

	if (left)
		memmove(r->buf, r->buf + r->at, left);
	r->at = 0;
	r->n = left;
	if (r->end + left >= JOURNAL_MAX_BYTES)
		return -EFBIG;
	err = left == r->room ? journal_grow(r) : 0;
	if (err)
		return err;
	do {
		n = pread(r->fd, r->buf + left, r->room - left, (off_t)(r->end + left));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r->n += (size_t)n;
	return n;
}

int journal_read_next(struct journal_reader *r, journal_decode_fn *decode, void *arg)
{
	for (;;) {
		size_t used = 0;
		int got = r->n > r->at ? decode(arg, r->buf + r->at, r->n - r->at, &used) : 0;
		ssize_t n;

		if (got > 0) {
			r->at += used;
			r->end += used;
		}
		if (got)
			return got;
		n = journal_fill(r);
		if (n <= 0)
			return (int)n;
	}
}

void journal_read_end(struct journal_reader *r)
{
	free(r->buf);
	r->buf = NULL;
}
