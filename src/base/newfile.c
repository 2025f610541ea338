/*
 * Files that appear when they are complete; see the header. Called by whoever writes a file at once.
 */
#include "xdd/base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/clock.h"

/*
 * A file that has no name yet, in the folder of `path`: it goes with the process, however that ends.
 * Returns the descriptor or -errno; -EOPNOTSUPP where the file system has no such files.
 */
static int open_unnamed(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) :
			       strdup(".");
	int fd;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		fd = errno == EISDIR ? -EOPNOTSUPP : -errno;
	free(folder);
	return fd;
}

/* Without unnamed files. mkostemp() makes one for its owner only; give it the usual permissions. */
static int open_temporary(char *path)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	fchmod(fd, 0666 & ~mask);
	return fd;
}

/* Give the unnamed file `fd` the name `temporary`; it stands there for a moment only. */
static int name_file(int fd, char *temporary)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int tries = 0; tries < 100; tries++) {
		char *suffix = temporary + strlen(temporary) - 6;

		snprintf(suffix, 7, "%06x", (unsigned)(clock_now_ns() / 1000) & 0xffffff);
		if (linkat(AT_FDCWD, self, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static void forget(struct newfile *f)
{
	free(f->path);
	free(f->temporary);
	memset(f, 0, sizeof(*f));
}

int newfile_open(struct newfile *f, const char *path)
{
	int fd, err;

	memset(f, 0, sizeof(*f));
	f->path = strdup(path);
	if (!f->path || asprintf(&f->temporary, "%s.XXXXXX", path) < 0) {
		f->temporary = NULL;
		forget(f);
		return -ENOMEM;
	}
	fd = open_unnamed(path);
	f->unnamed = fd >= 0;
	if (fd == -EOPNOTSUPP)
		fd = open_temporary(f->temporary);
	f->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (f->stream)
		return 0;
	err = fd < 0 ? fd : -errno;
	if (fd >= 0) {
		close(fd);
		if (!f->unnamed)
			unlink(f->temporary);
	}
	forget(f);
	return err;
}

int newfile_close(struct newfile *f, int err)
{
	errno = 0;
	if ((fflush(f->stream) || ferror(f->stream)) && !err)
		err = errno ? -errno : -EIO;
	if (f->unnamed && !err) {
		err = name_file(fileno(f->stream), f->temporary);
		f->unnamed = err != 0;
	}
	if (fclose(f->stream) && !err)
		err = -errno;
	if (!err && rename(f->temporary, f->path))
		err = -errno;
	if (err && !f->unnamed)
		unlink(f->temporary);
	forget(f);
	return err;
}
