/*
 * Opening one directory; see the header. Called by dirs.c.
 */
#include "copy/tree/opendir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOW (O_DIRECTORY | O_CLOEXEC)
#define NO_LINKS (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static bool is_component(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int open_no_links(int at, const char *name, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags, .resolve = NO_LINKS };
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	/*
	 * A kernel before 5.6, or a filter of system calls that does not know it. One component
	 * without O_NOFOLLOW's exceptions is as safe.
	 */
	if (errno == ENOSYS || errno == EPERM)
		fd = openat(at, name, flags | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int opendir_below(int at, const char *name)
{
	int fd;

	if (!is_component(name))
		return -EINVAL;
	fd = open_no_links(at, name, O_RDONLY | HOW);
	return fd == -EACCES ? open_no_links(at, name, O_PATH | HOW) : fd;
}

int opendir_path(int at, const char *path)
{
	int fd;

	if (!*path)
		path = ".";
	fd = openat(at, path, O_RDONLY | HOW);
	if (fd < 0 && errno == EACCES)
		fd = openat(at, path, O_PATH | HOW);
	return fd < 0 ? -errno : fd;
}
