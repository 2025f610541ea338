/*
 * Files that get their names once they are complete; see the header. Called where lists and
 * documents are written.
 */
#include "xdd/base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileattr.h"
#include "xdd/base/fileopen.h"
#include "xdd/base/nstime.h"
#include "xdd/base/output.h"
#include "xdd/base/outwait.h"
#include "xdd/base/path.h"

/* Without the suffix that makes it unique. */
#define SUFFIX "XXXXXX"

/* The path by which an unnamed file gets a name. */
static void self_path(int fd, char *path, size_t size)
{
	snprintf(path, size, "/proc/self/fd/%d", fd);
}

/* Without /proc, as in a chroot, the complete file could not get a name. */
static bool can_get_name(int fd)
{
	char self[64];

	self_path(fd, self, sizeof(self));
	return access(self, F_OK) == 0;
}

/* -EOPNOTSUPP: the file system or the kernel has no unnamed files, or no way to name one. */
static int open_unnamed(const char *path)
{
	char *directory = path_directory(path);
	int fd;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		fd = errno == EISDIR ? -EOPNOTSUPP : -errno;
	free(directory);
	if (fd >= 0 && !can_get_name(fd)) {
		close(fd);
		fd = -EOPNOTSUPP;
	}
	return fd;
}

/* For its owner only, until it is complete. */
static int open_temporary(char *path)
{
	int fd = mkostemp(path, O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

mode_t newfile_mask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0777 & ~mask;
}

/* The permissions of a file that open(2) has just created. */
static void set_usual_mode(int fd)
{
	fchmod(fd, 0666 & newfile_mask());
}

/* Give the unnamed file its temporary name, which it has for a moment only. */
static int name_file(const struct newfile *n)
{
	char *suffix = n->temporary + strlen(n->temporary) - strlen(SUFFIX);
	char self[64];

	self_path(fileno(n->f), self, sizeof(self));
	for (int tries = 0; tries < 100; tries++) {
		snprintf(suffix, sizeof(SUFFIX), "%06x",
			 (unsigned)(clock_kernel_ns() / 1000) & 0xffffff);
		if (linkat(AT_FDCWD, self, AT_FDCWD, n->temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static void forget(struct newfile *n)
{
	free(n->path);
	free(n->temporary);
	*n = (struct newfile){ .f = NULL };
}

/* A pipe or a device is written to, not replaced. */
static int open_in_place(struct newfile *n, const char *path)
{
	int fd = output_open(path, 0), err;

	*n = (struct newfile){ .f = fd < 0 ? NULL : outwait_stream(fd) };
	if (n->f)
		return 0;
	err = fd < 0 ? fd : -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Open the file that is to become n->path; where that fails, nothing is left to close. */
static int open_new(struct newfile *n)
{
	int fd, err;

	if (asprintf(&n->temporary, "%s." SUFFIX, n->path) < 0) {
		n->temporary = NULL;
		forget(n);
		return -ENOMEM;
	}
	fd = open_unnamed(n->path);
	n->unnamed = fd >= 0;
	if (fd == -EOPNOTSUPP)
		fd = open_temporary(n->temporary);
	n->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (n->f)
		return 0;
	err = fd < 0 ? fd : -errno;
	if (fd >= 0) {
		close(fd);
		if (!n->unnamed)
			unlink(n->temporary);
	}
	forget(n);
	return err;
}

/*
 * A name that has changed, for example to a device, is left as it is. A link that another user has
 * planted since the file was opened must not prevent the results: the file replaces it.
 */
static int check_replaced(const char *path, bool opened)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) || (opened && S_ISLNK(st.st_mode)) ? 0 : -ENOTUNIQ;
}

int newfile_open(struct newfile *n, const char *path)
{
	struct stat st;
	int err;

	*n = (struct newfile){ .f = NULL };
	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return open_in_place(n, path);
	} else if (errno != ENOENT) {
		/* For example a link that fs.protected_symlinks does not allow to be followed. */
		return -errno;
	}
	err = fileopen_follow(path, &n->path);
	if (err)
		return err;
	/* The name may have led to another file when it was resolved. */
	err = check_replaced(n->path, false);
	if (!err)
		return open_new(n);
	forget(n);
	return err;
}

int newfile_open_replace(struct newfile *n, const char *path)
{
	*n = (struct newfile){ .path = strdup(path), .replace_all = true };
	return n->path ? open_new(n) : -ENOMEM;
}

/* Not every file system can flush a directory, or needs it. */
static int flush_directory(const char *path)
{
	char *directory = path_directory(path);
	int fd, err = 0;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != EROFS)
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(directory);
	return err;
}

int newfile_commit(struct newfile *n)
{
	bool in_place = !n->temporary, named = !n->unnamed && !in_place;
	int err = 0;

	errno = 0;
	if (fflush(n->f) || ferror(n->f))
		err = errno ? -errno : -EIO;
	if (!err && n->durable && !in_place && fsync(fileno(n->f)))
		err = -errno;
	/* A private file has at no moment more rights under its temporary name. */
	if (!err && !in_place && !fileattr_keep(fileno(n->f), n->path) && named)
		set_usual_mode(fileno(n->f));
	if (n->unnamed && !err) {
		err = name_file(n);
		named = !err;
	}
	if (fclose(n->f) && !err)
		err = -errno;
	if (!err && !in_place && !n->replace_all)
		err = check_replaced(n->path, true);
	if (!err && !in_place && rename(n->temporary, n->path))
		err = -errno;
	if (err && named)
		unlink(n->temporary);
	if (!err && n->durable && !in_place)
		err = flush_directory(n->path);
	forget(n);
	return err;
}

void newfile_discard(struct newfile *n)
{
	if (!n->f)
		return;
	fclose(n->f);
	if (n->temporary && !n->unnamed)
		unlink(n->temporary);
	forget(n);
}

int newfile_close(struct newfile *n, int err)
{
	if (!err)
		return newfile_commit(n);
	newfile_discard(n);
	return err;
}
