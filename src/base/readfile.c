/*
 * Reading whole files. Called by the readers of setup files, data patterns and dumps.
 */
#include "xdd/base/readfile.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES (64u << 10)

ssize_t readfile_part(int fd, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)buf + done, size - done);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

ssize_t readfile_at(int fd, void *buf, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)buf + done, size - done, (off_t)(offset + done));

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

/* The bytes to expect. One more than a file has, so that the first read sees its end. */
static size_t guess_size(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		return (size_t)st.st_size + 1;
	return PIPE_BYTES;
}

static int fail(char *data, int err)
{
	free(data);
	return err;
}

int readfile(int fd, size_t limit, char **data, size_t *size)
{
	size_t room = guess_size(fd), n = 0;
	char *buf = NULL;

	*data = NULL;
	*size = 0;
	if (room > limit && limit < SIZE_MAX)
		room = limit + 1;
	for (;;) {
		char *more = realloc(buf, room + 1);
		ssize_t got;

		if (!more)
			return fail(buf, -ENOMEM);
		buf = more;
		got = readfile_part(fd, buf + n, room - n);
		if (got < 0)
			return fail(buf, (int)got);
		n += (size_t)got;
		if (n > limit)
			return fail(buf, -EFBIG);
		if (n < room)
			break;
		room *= 2;
	}
	buf[n] = '\0';
	*data = buf;
	*size = n;
	return 0;
}
