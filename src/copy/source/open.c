/*
 * Opening and checking files of the source. Called by data threads.
 */
#include "copy/source/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "xdd/base/fileopen.h"
#include "xdd/base/nstime.h"

static int hold(struct held_dir *held, const struct entry *e)
{
	int fd;

	if (held->node == e->dir && held->dirs == e->dirs)
		return held->fd;
	source_let_go(held);
	fd = dirs_fd(e->dirs, e->dir);
	if (fd < 0)
		return fd;
	held->dirs = e->dirs;
	held->node = e->dir;
	held->fd = fd;
	return fd;
}

void source_let_go(struct held_dir *held)
{
	if (held->node)
		dirs_done(held->dirs, held->node);
	held->node = NULL;
}

/*
 * A symbolic link that leads to the file: the user may have named a link as a source. Nothing is
 * opened before it is known to be that file.
 */
static int open_behind_link(int dir, const struct entry *e, int flags)
{
	int path_fd = openat(dir, e->name, O_PATH | O_CLOEXEC);
	struct stat st;
	int fd;

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st) < 0)
		fd = -errno;
	else if (st.st_dev != e->dev || st.st_ino != e->ino)
		fd = -ESTALE;
	else
		fd = fileopen_again(path_fd, flags);
	close(path_fd);
	return fd;
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
	return errno == ELOOP ? open_behind_link(dir, e, flags) : -errno;
}

static int64_t time_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * (int64_t)NS_PER_SEC + t->tv_nsec;
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
	if ((uint64_t)st.st_size != e->file_bytes || time_ns(&st.st_mtim) != e->mtime_ns)
		return FILE_CHANGED;
	now_ns = time_ns(&st.st_ctim);
	if (now_ns == *ctime_ns)
		return FILE_SAME;
	*ctime_ns = now_ns;
	return FILE_TOUCHED;
}
