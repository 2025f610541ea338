/*
 * Opening and checking files of the source. Called by data threads.
 */
#include "copy/source/open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "xdd/base/units.h"

static int hold(struct held_dir *held, const struct entry *e)
{
	int fd;

	if (held->node == e->dir && held->dirs == e->dirs)
		return held->fd;
	source_let_go(held);
	fd = dirs_fd(e->dirs, e->dir);
	if (fd < 0)
		return fd;
	/* Its entries may be answered, and released, before it is let go. */
	dirs_hold(e->dirs, e->dir);
	held->dirs = e->dirs;
	held->node = e->dir;
	held->fd = fd;
	return fd;
}

void source_let_go(struct held_dir *held)
{
	if (!held->node)
		return;
	dirs_done(held->dirs, held->node);
	dirs_release(held->dirs, held->node);
	held->node = NULL;
}

int source_open(struct held_dir *held, const struct entry *e, int flags)
{
	int dir = hold(held, e), fd;

	if (dir < 0)
		return dir;
	flags |= O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	if (held->self == 0 || held->self == e->uid)
		flags |= O_NOATIME;
	fd = openat(dir, e->name, flags | O_NOFOLLOW);
	/* Root of a user namespace does not own all files. */
	if (fd < 0 && errno == EPERM && (flags & O_NOATIME)) {
		flags &= ~O_NOATIME;
		fd = openat(dir, e->name, flags | O_NOFOLLOW);
	}
	if (fd >= 0)
		return fd;
	return errno == ELOOP ? -ESTALE : -errno;
}

enum file_state source_compare(int fd, const struct entry *e, int64_t *ctime_ns)
{
	int64_t now_ns;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FILE_UNKNOWN;
	if (st.st_dev != e->dev || st.st_ino != e->ino || (st.st_mode & S_IFMT) != e->type)
		return FILE_CHANGED;
	if (e->flags & COPY_DEVICE)
		return FILE_SAME;
	if ((uint64_t)st.st_size != e->file_bytes || timespec_ns(&st.st_mtim) != e->mtime_ns)
		return FILE_CHANGED;
	now_ns = timespec_ns(&st.st_ctim);
	if (now_ns == *ctime_ns)
		return FILE_SAME;
	*ctime_ns = now_ns;
	return FILE_TOUCHED;
}

void source_size_text(char *text, size_t size, const struct entry *e, bool more)
{
	snprintf(text, size,
		 "cannot be copied (%s bytes can be read than its size, %" PRIu64
		 ", as from files in %s); use cat",
		 more ? "more" : "fewer", e->file_bytes, more ? "/proc" : "/sys");
}
