/*
 * Opening outputs; see the header. Called where outputs are checked before a run, and by the
 * writers of outputs.
 */
#include "xdd/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "xdd/base/array.h"
#include "xdd/base/fileopen.h"
#include "xdd/base/outwait.h"
#include "xdd/base/path.h"

/* Patience: a reader that was started in the background opens its pipe a little later. */
#define READER_TRIES 100
#define READER_PAUSE_NS 10000000

int output_standard(const char *path)
{
	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	return strcmp(path, "/dev/stderr") == 0 ? STDERR_FILENO : -1;
}

const char *output_strerror(int err)
{
	switch (err < 0 ? -err : err) {
	case ENOTBLK:
		return "is a block device, and an output would destroy what it holds; name a file";
	case EPROTOTYPE:
		return "is a socket; name a file or a pipe";
	case ENOTCONN:
		return "is a pipe that no process reads; start its reader first";
	case ENOTUNIQ:
		return "its name now leads to something other than a regular file; use a name that "
		       "does not change";
	default:
		return strerror(err < 0 ? -err : err);
	}
}

static int judge(const struct stat *st)
{
	if (S_ISBLK(st->st_mode))
		return -ENOTBLK;
	if (S_ISSOCK(st->st_mode))
		return -EPROTOTYPE;
	return S_ISDIR(st->st_mode) ? -EISDIR : 0;
}

static int check_directory(const char *path, char *why)
{
	char *directory = path_directory(path);
	struct stat st;
	int err = 0;

	if (!directory)
		err = -ENOMEM;
	else if (stat(directory, &st) < 0)
		err = -errno;
	else if (!S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (err == -ENOENT) {
		snprintf(why, OUTPUT_WHY_SIZE, "there is no directory %s", directory);
	} else if (err) {
		snprintf(why, OUTPUT_WHY_SIZE, "%s", strerror(-err));
	} else if (fileopen_access(AT_FDCWD, directory, W_OK | X_OK) < 0) {
		err = -errno;
		snprintf(why, OUTPUT_WHY_SIZE, "cannot create a file in the directory %s (%s)",
			 directory, strerror(-err));
	}
	free(directory);
	return err;
}

/* Check the directory of the file that is to be created or replaced, after following links. */
static int check_place(const char *path, char *why)
{
	char *name = NULL;
	int err = fileopen_follow(path, &name);

	if (err)
		snprintf(why, OUTPUT_WHY_SIZE, "%s", strerror(-err));
	else
		err = check_directory(name, why);
	free(name);
	return err;
}

int output_check(const char *path, char *why)
{
	struct stat st;
	int err = 0;

	if (output_standard(path) >= 0)
		return 0;
	if (stat(path, &st) == 0) {
		err = judge(&st);
		if (!err && fileopen_access(AT_FDCWD, path, W_OK) < 0)
			err = -errno;
	} else if (errno == ENOENT) {
		return check_place(path, why);
	} else {
		err = -errno;
	}
	if (err)
		snprintf(why, OUTPUT_WHY_SIZE, "%s", output_strerror(err));
	return err;
}

int output_check_new(const char *path, char *why)
{
	int err = output_check(path, why);
	struct stat st;

	if (err || output_standard(path) >= 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return err;
	return check_place(path, why);
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = READER_PAUSE_NS }, NULL);
}

/* Let writes wait, although the open did not. */
static int set_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

/* Accept or refuse the open file; nothing was changed so far. */
static int accept_open(int fd, bool cut)
{
	struct stat st;
	int err = fstat(fd, &st) < 0 ? -errno : judge(&st);

	if (!err)
		err = set_blocking(fd);
	if (!err && cut && S_ISREG(st.st_mode) && st.st_size && ftruncate(fd, 0) < 0)
		err = -errno;
	return err;
}

/* A pipe without a reader; or a file that another process has leased, and has to return. */
static bool may_open_later(int err, bool pipe)
{
	return (err == ENXIO && pipe) || err == EWOULDBLOCK;
}

/* O_CREAT also for an existing file: the kernel then applies fs.protected_regular and its like. */
static int open_soon(const char *path, int flags, bool pipe)
{
	int fd = open(path, flags, 0666), tries = READER_TRIES;

	while (fd < 0 && may_open_later(errno, pipe) && tries-- && !outwait_is_ending()) {
		pause_briefly();
		fd = open(path, flags, 0666);
	}
	if (fd < 0)
		return errno == ENXIO && pipe ? -ENOTCONN : -errno;
	return fd;
}

int output_open(const char *path, int flags)
{
	const int how = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (flags & O_APPEND);
	struct stat st = { .st_mode = 0 };
	int fd, err = 0;

	if (stat(path, &st) == 0)
		err = judge(&st);
	else if (errno != ENOENT)
		err = -errno;
	if (err)
		return err;
	fd = open_soon(path, how, S_ISFIFO(st.st_mode));
	if (fd < 0)
		return fd;
	err = accept_open(fd, flags & O_TRUNC);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int output_pipes_hold(struct output_pipes *pipes, const char *path)
{
	struct stat st;
	int *fds, fd;

	if (output_standard(path) >= 0 || stat(path, &st) < 0 || !S_ISFIFO(st.st_mode))
		return 0;
	fds = array_room(pipes->fds, pipes->n, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	pipes->fds = fds;
	fd = output_open(path, 0);
	if (fd < 0)
		return fd;
	fds[pipes->n++] = fd;
	return 0;
}

void output_pipes_release(struct output_pipes *pipes)
{
	for (size_t i = 0; i < pipes->n; i++)
		close(pipes->fds[i]);
	free(pipes->fds);
	*pipes = (struct output_pipes){ .n = 0 };
}
