/*
 * Temporary files without a name; see the header. Called by jsonout.c.
 */
#include "xdd/base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xdd/base/path.h"

#define COPY_BYTES 65536

/* For file systems without unnamed files. Returns a descriptor, or -1. */
static int open_removed(const char *directory)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/xdd-XXXXXX", directory) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static int open_in(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? open_removed(directory) : fd;
}

static char *directory_of(const char *near)
{
	const char *tmpdir = getenv("TMPDIR");

	if (near)
		return path_directory(near);
	return strdup(tmpdir && *tmpdir ? tmpdir : "/tmp");
}

FILE *spool_open(const char *near)
{
	char *directory = directory_of(near);
	FILE *f;
	int fd;

	if (!directory) {
		errno = ENOMEM;
		return NULL;
	}
	fd = open_in(directory);
	free(directory);
	if (fd < 0)
		fd = memfd_create("spool", MFD_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

int spool_copy(FILE *spool, FILE *to)
{
	char *buf;
	size_t n;
	int err = 0;

	if (fflush(spool) || fseeko(spool, 0, SEEK_SET))
		return -errno;
	buf = malloc(COPY_BYTES);
	if (!buf)
		return -ENOMEM;
	while ((n = fread(buf, 1, COPY_BYTES, spool)) > 0 && !err) {
		if (fwrite(buf, 1, n, to) < n)
			err = errno ? -errno : -EIO;
	}
	if (!err && ferror(spool))
		err = -EIO;
	free(buf);
	return err;
}
