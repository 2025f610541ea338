/*
 * A device as the destination of a copy: it is written in place. A block device in use is refused,
 * and one that carries data unless -force is given; it is claimed while the copy lasts. Called by
 * root.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "copy/destination/root.h"
#include "xdd/base/file.h"
#include "xdd/io/guard.h"

/* The argument of the judge. */
struct expected {
	const struct stat *st; /* as it was found */
	char *why;
	size_t size;
};

static int judge(void *arg, int fd, const struct stat *st)
{
	struct expected *e = arg;

	(void)fd;
	if ((st->st_mode & S_IFMT) == (e->st->st_mode & S_IFMT) && st->st_rdev == e->st->st_rdev)
		return 0;
	snprintf(e->why, e->size, "its name no longer leads to the same device");
	return -ESTALE;
}

/* Claim a block device, and look at what is on it. */
static int claim(struct root *r, const struct copy_job *job, const char *path,
		 const struct stat *st, struct expected *e)
{
	int err;

	if (guard_in_use("", st->st_rdev, e->why, e->size))
		return -EBUSY;
	r->claim = fileopen_judged(path, O_RDONLY | O_EXCL, judge, e);
	if (r->claim < 0) {
		err = r->claim;
		r->claim = -1;
		if (err == -EBUSY)
			snprintf(e->why, e->size,
				 "it is in use: the kernel or another program has it open "
				 "exclusively");
		return err;
	}
	if (job->settings->force)
		return 0;
	err = guard_signature(r->claim, e->why, e->size);
	if (err == -EEXIST && strlen(e->why) + 64 < e->size)
		strcat(e->why, "; to overwrite it all the same, say -force");
	return err;
}

static int refuse(const char *path, int err, const char *text, char *why, size_t size)
{
	snprintf(why, size, "%s: %s%s", path, *text ? text : strerror(-err),
		 err == -EBUSY ? "; a device in use is not written to, not even with -force" : "");
	return COPY_NOT_WRITABLE;
}

static int check_size(const struct root *r, const char *path, uint64_t size_bytes, char *why,
		      size_t size)
{
	uint64_t bytes;

	if (ioctl(r->device, BLKGETSIZE64, &bytes) || size_bytes <= bytes)
		return 0;
	snprintf(why, size, "%s: the device has %llu bytes, the source %llu", path,
		 (unsigned long long)bytes, (unsigned long long)size_bytes);
	return COPY_BAD_SIZE;
}

/* The kernel opens it for writing all the same, and then fails each write. */
static int check_writable(const struct root *r, const char *path, char *why, size_t size)
{
	int read_only = 0;

	if (ioctl(r->device, BLKROGET, &read_only) || !read_only)
		return 0;
	snprintf(why, size, "%s: the device is read-only", path);
	return COPY_NOT_WRITABLE;
}

int device_open(struct root *r, const struct copy_job *job, const char *path, const struct stat *st,
		uint64_t size_bytes, char *why, size_t size)
{
	const struct copy_settings *settings = job->settings;
	bool reads = settings->verify || settings->dry_run;
	char text[GUARD_WHY_SIZE] = "";
	struct expected e = { .st = st, .why = text, .size = sizeof(text) };
	int err = 0, status = 0;

	r->block = S_ISBLK(st->st_mode);
	if (r->block && !settings->verify)
		err = claim(r, job, path, st, &e);
	if (err)
		return refuse(path, err, text, why, size);
	r->device = r->claim >= 0 ? fileopen_again(r->claim, reads ? O_RDONLY : O_RDWR) :
				    fileopen_judged(path, (reads ? O_RDONLY : O_WRONLY) | O_NOCTTY,
						    judge, &e);
	if (r->device < 0) {
		err = r->device;
		r->device = -1;
		return refuse(path, err, text, why, size);
	}
	if (r->block && !settings->verify)
		status = check_writable(r, path, why, size);
	if (r->block && !status)
		status = check_size(r, path, size_bytes, why, size);
	return status;
}
