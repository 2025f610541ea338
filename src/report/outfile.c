/*
 * Output files: which file a name is, opening, writing; see the header. Called by check.c and
 * report.c.
 */
#include "xdd/report/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"

/* `path` may be NULL, for standard output. */
static int standard_fd(const char *path)
{
	return path ? output_standard(path) : STDOUT_FILENO;
}

static void identify_missing(struct outfile_id *id, const char *path)
{
	char *name = NULL, *directory;
	struct stat st;

	if (fileopen_follow(path, &name))
		name = NULL;
	if (name)
		path = name;
	directory = path_directory(path);
	if (directory && stat(directory, &st) == 0) {
		*id = (struct outfile_id){ .known = true, .dev = st.st_dev, .ino = st.st_ino };
		snprintf(id->missing, sizeof(id->missing), "%s", path_last(path));
	}
	free(directory);
	free(name);
}

void outfile_identify_stream(struct outfile_id *id, int fd)
{
	struct stat st;

	*id = (struct outfile_id){ .known = false };
	if (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		*id = (struct outfile_id){ .known = true, .dev = st.st_dev, .ino = st.st_ino };
}

void outfile_identify(struct outfile_id *id, const char *path)
{
	struct stat st;

	*id = (struct outfile_id){ .known = false };
	if (!path) {
		if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode))
			outfile_identify_stream(id, STDOUT_FILENO);
	} else if (standard_fd(path) < 0 && strcmp(path, "/dev/null") != 0) {
		if (stat(path, &st) == 0)
			*id = (struct outfile_id){ .known = true,
						   .dev = st.st_dev,
						   .ino = st.st_ino };
		else
			identify_missing(id, path);
	}
}

bool outfile_is_same(const struct outfile_id *a, const struct outfile_id *b)
{
	return a->known && b->known && a->dev == b->dev && a->ino == b->ino &&
	       strcmp(a->missing, b->missing) == 0;
}

/* True if a file of `size` bytes ends without a newline; false if it cannot be read. */
static bool ends_mid_line(int written, off_t size)
{
	int fd = fileopen_again(written, O_RDONLY);
	char last = '\n';

	if (fd < 0)
		return false;
	if (pread(fd, &last, 1, size - 1) != 1)
		last = '\n';
	close(fd);
	return last != '\n';
}

int outfile_open(struct outfile *o, const char *path)
{
	struct stat st;
	int fd;

	*o = (struct outfile){ .fd = standard_fd(path), .empty = true };
	if (o->fd >= 0) {
		o->shared = true;
		return 0;
	}
	fd = output_open(path, O_APPEND);
	if (fd < 0)
		return fd;
	o->fd = fd;
	if (fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		o->empty = false;
		o->mid_line = ends_mid_line(o->fd, st.st_size);
	}
	return 0;
}

void outfile_write(struct outfile *o, const char *data, size_t size)
{
	size_t done;
	int err;

	if (o->fd < 0 || size == 0)
		return;
	/* A pipe, too: its reader may write to the terminal that has the line of progress. */
	if (o->shared)
		log_transient(NULL);
	if (o->mid_line) {
		outwait_write(o->fd, "\n", 1, &err);
		if (err)
			goto failed;
		o->mid_line = false;
	}
	done = outwait_write(o->fd, data, size, &err);
	if (!err)
		return;
	if (done)
		o->mid_line = data[done - 1] != '\n';
failed:
	if (!o->error)
		o->error = err;
}

int outfile_close(struct outfile *o)
{
	int err = o->error;

	if (o->fd >= 0 && !o->shared && close(o->fd) < 0 && !err)
		err = errno;
	o->fd = -1;
	return -err;
}
