/*
 * Opening files whose names may lead to another file; see the header. Called where targets and
 * outputs are opened.
 */
#include "xdd/base/fileopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xdd/base/path.h"

#define MAX_LINKS 40 /* the kernel's own limit */

int fileopen_again(int fd, int flags)
{
	char link[32];
	int again;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

static int judge_file(int fd, fileopen_judge judge, void *arg, struct stat *st)
{
	return fstat(fd, st) ? -errno : judge(arg, fd, st);
}

/* Let transfers wait, unless `flags` says otherwise. */
static int set_blocking(int fd, int flags)
{
	if (fd < 0 || flags & O_NONBLOCK)
		return fd;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
		return fd;
	close(fd);
	return -EIO;
}

static int open_first(const char *path, int flags, fileopen_judge judge, void *arg)
{
	int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = judge_file(fd, judge, arg, &st);
	if (!err)
		return set_blocking(fd, flags);
	close(fd);
	return err;
}

int fileopen_judged(const char *path, int flags, fileopen_judge judge, void *arg)
{
	int at = open(path, O_PATH | O_CLOEXEC), err, fd, extra;
	struct stat st;

	if (at < 0)
		return -errno;
	err = judge_file(at, judge, arg, &st);
	if (err) {
		close(at);
		return err;
	}
	extra = S_ISFIFO(st.st_mode) ? O_NONBLOCK : 0;
	fd = fileopen_again(at, flags | extra);
	close(at);
	if (fd == -ENOENT)
		return open_first(path, flags, judge, arg);
	return extra ? set_blocking(fd, flags) : fd;
}

/* The rule of fs.protected_symlinks and fs.protected_regular, for files of other users. */
int fileopen_is_planted(const char *path)
{
	char *directory = path_directory(path);
	struct stat st, directory_st;
	int planted;

	if (!directory)
		return -ENOMEM;
	if (lstat(path, &st) || stat(directory, &directory_st))
		planted = -errno;
	else
		planted = (directory_st.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
			  st.st_uid != geteuid() && st.st_uid != directory_st.st_uid;
	free(directory);
	return planted;
}

static int may_follow(const char *link)
{
	int planted = fileopen_is_planted(link);

	return planted > 0 ? -EACCES : planted;
}

/* The path that a link with the text `to` leads to; NULL when memory is short. */
static char *step(const char *link, const char *to)
{
	int length = *to == '/' ? 0 : (int)(path_last(link) - link);
	char *next;

	return asprintf(&next, "%.*s%s", length, link, to) < 0 ? NULL : next;
}

int fileopen_follow(const char *path, char **name)
{
	char *at = strdup(path);
	int err = 0;

	for (int links = 0; at && !err; links++) {
		char to[PATH_MAX], *next;
		ssize_t n = readlink(at, to, sizeof(to) - 1);

		if (n < 0 && (errno == EINVAL || errno == ENOENT)) {
			*name = at;
			return 0;
		}
		err = n < 0 ? -errno : links >= MAX_LINKS ? -ELOOP : may_follow(at);
		if (err)
			break;
		to[n] = '\0';
		next = step(at, to);
		free(at);
		at = next;
	}
	free(at);
	return err ? err : -ENOMEM;
}

int fileopen_access(int dir_fd, const char *path, int mode)
{
	if (faccessat(dir_fd, path, mode, AT_EACCESS) == 0)
		return 0;
	if (errno != EPERM)
		return -1;
	/* The older call looks at the real user; with another one in effect, open(2) tells. */
	if (getuid() != geteuid() || getgid() != getegid())
		return 0;
	return (int)syscall(SYS_faccessat, dir_fd, path, mode);
}

bool fileopen_make_room(uint64_t n, uint64_t *limit)
{
	struct rlimit files;

	*limit = 0;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return true; /* unknown: open() tells */
	if (n > files.rlim_cur && n <= files.rlim_max) {
		files.rlim_cur = n;
		if (setrlimit(RLIMIT_NOFILE, &files))
			getrlimit(RLIMIT_NOFILE, &files);
	}
	*limit = n <= files.rlim_cur ? files.rlim_cur : files.rlim_max;
	return n <= files.rlim_cur;
}
