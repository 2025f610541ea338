/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides what the name of a destination means; see the header. Called once, with the first entry.
 *
 * A device as the destination of a copy is written in place. A block device in use is refused, and
 * one that carries data unless -force is given; it is claimed while the copy lasts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "copy/destination/commit.h"
#include "copy/destination/destination.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/text.h"
#include "xdd/io/guard.h"

/* The argument of the judge. */
struct expected {
	const struct stat *st; /* as it was found */
	struct err *why;
};

static int device_judge(void *arg, int fd, const struct stat *st)
{
	struct expected *e = arg;

	(void)fd;
	if ((st->st_mode & S_IFMT) == (e->st->st_mode & S_IFMT) && st->st_rdev == e->st->st_rdev)
		return 0;
	return err_set(e->why, -ESTALE, "its name no longer leads to the same device");
}

/* Claim a block device, and look at what is on it. */
static int device_claim(struct root *r, const struct copy_job *job, const char *path,
			const struct stat *st, struct expected *e)
{
	int err;

	if (guard_in_use("", st->st_rdev, e->why))
		return -EBUSY;
	r->claim = fileopen_judged(path, O_RDONLY | O_EXCL, device_judge, e);
	if (r->claim < 0) {
		err = r->claim;
		r->claim = -1;
		if (err == -EBUSY)
			err_set(e->why, err,
				"it is in use: the kernel or another program has it open "
				"exclusively");
		return err;
	}
	if (job->settings->force)
		return 0;
	err = guard_signature(r->claim, e->why);
	if (err == -EEXIST)
		err_add(e->why, "; to overwrite it all the same, say -force");
	return err;
}

static int device_refuse(const char *path, int err, const struct err *cause, struct err *why)
{
	return err_set(why, COPY_NOT_WRITABLE, "%s: %s%s", path, err_text(cause, err),
		       err == -EBUSY ? "; a device in use is not written to, not even with -force" :
				       "");
}

static int check_size(const struct root *r, const char *path, uint64_t size_bytes, struct err *why)
{
	uint64_t bytes;

	if (ioctl(r->device, BLKGETSIZE64, &bytes) || size_bytes <= bytes)
		return 0;
	return err_set(why, COPY_BAD_SIZE, "%s: the device has %llu bytes, the source %llu", path,
		       (unsigned long long)bytes, (unsigned long long)size_bytes);
}

/* The kernel opens it for writing all the same, and then fails each write. */
static int device_check_writable(const struct root *r, const char *path, struct err *why)
{
	int read_only = 0;

	if (ioctl(r->device, BLKROGET, &read_only) || !read_only)
		return 0;
	return err_set(why, COPY_NOT_WRITABLE, "%s: the device is read-only", path);
}

/* root.c: the same for a device; `st` is of `path`. */
static int device_open(struct root *r, const struct copy_job *job, const char *path,
		       const struct stat *st, uint64_t size_bytes, struct err *why)
{
	const struct copy_settings *settings = job->settings;
	bool reads = copy_reads_only(job);
	struct err cause = { 0 };
	struct expected e = { .st = st, .why = &cause };
	int err = 0, status = 0;

	r->block = S_ISBLK(st->st_mode);
	if (r->block && !settings->verify)
		err = device_claim(r, job, path, st, &e);
	if (err)
		return device_refuse(path, err, &cause, why);
	r->device = r->claim >= 0 ? fileopen_again(r->claim, reads ? O_RDONLY : O_RDWR) :
				    fileopen_judged(path, (reads ? O_RDONLY : O_WRONLY) | O_NOCTTY,
						    device_judge, &e);
	if (r->device < 0) {
		err = r->device;
		r->device = -1;
		return device_refuse(path, err, &cause, why);
	}
	if (r->block && !settings->verify)
		status = device_check_writable(r, path, why);
	if (r->block && !status)
		status = check_size(r, path, size_bytes, why);
	return status;
}

/* The arguments of root_open(), and what was found. */
struct question {
	struct root *r;
	const struct copy_job *job;
	const struct copy_entry *first;
	char *path; /* without slashes at its end */
	bool into;  /* it must be a directory that files are copied into */
	struct err *why;
};

void root_init(struct root *r)
{
	*r = (struct root){ .fd = -1, .device = -1, .claim = -1, .old_mode = META_KEEP_MODE };
}

void root_close(struct root *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->device >= 0)
		close(r->device);
	if (r->claim >= 0)
		close(r->claim);
	if (r->guarded)
		guard_loops_free(&r->loops);
	free(r->name);
	root_init(r);
}

int root_guard(const struct root *r, int fd, struct err *why)
{
	struct stat st;

	err_clear(why);
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return r->guarded ? guard_file(&r->loops, fd, &st, why) : 0;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
	struct {
		uint64_t before;
		uint64_t of_text;
	} both = { hash, digest_short(text, strlen(text)) };

	return digest_short(&both, sizeof(both));
}

uint64_t root_tree_id(const struct copy_job *job)
{
	uint64_t hash = add_text(0, job->peer_host ? job->peer_host : "");

	for (size_t i = 0; i < job->n_sources; i++)
		hash = add_text(hash, job->sources[i]);
	return add_text(hash, job->destination);
}

bool copy_is_directory(const char *destination)
{
	struct stat st;

	return !stat(*destination ? destination : ".", &st) && S_ISDIR(st.st_mode);
}

static int root_refuse(struct question *q, int status, const char *what, int err)
{
	return err_set(q->why, status, "%s: %s%s%s%s", q->path, what, err ? " (" : "",
		       err ? strerror(-err) : "", err ? ")" : "");
}

static int refuse_errno(struct question *q, const char *what, int err)
{
	if (err == -ENOENT || err == -ENOTDIR)
		return root_refuse(q, COPY_NO_DESTINATION, "its directory does not exist", 0);
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		return root_refuse(q, COPY_NOT_WRITABLE, what, err);
	return root_refuse(q, COPY_FAILED, what, err);
}

static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A root into which nothing can be written is refused before anything is sent. */
static int root_check_writable(struct question *q)
{
	const struct copy_settings *settings = q->job->settings;
	struct stat st;
	int err;

	if (copy_reads_only(q->job) || settings->in_place ||
	    !fileopen_access(q->r->fd, ".", W_OK | X_OK))
		return 0;
	err = -errno;
	if (err == -EACCES && !stat(q->path, &st) && S_ISREG(st.st_mode) &&
	    !fileopen_access(AT_FDCWD, q->path, W_OK))
		return root_refuse(
			q, COPY_NOT_WRITABLE,
			"no permission to write into its directory; -i writes into the file "
			"itself",
			0);
	return refuse_errno(q, "cannot write into the directory", err);
}

static bool is_contents(const struct question *q)
{
	return q->first && q->first->kind == COPY_DIR && !*q->first->name;
}

/* The root gets the attributes of the source at the end. */
static bool is_source(const struct question *q)
{
	return q->r->renamed || (is_contents(q) && !(q->first->flags & COPY_IMPLIED));
}

static bool is_dir(const struct question *q)
{
	return q->first && q->first->kind == COPY_DIR;
}

/* An existing directory. */
static int into_directory(struct question *q)
{
	const struct copy_settings *settings = q->job->settings;

	q->r->fd = open_directory(q->path);
	if (q->r->fd < 0) {
		int err = q->r->fd;

		q->r->fd = -1;
		return refuse_errno(q, "cannot open the directory", err);
	}
	q->r->renamed =
		!is_contents(q) && !q->into && is_dir(q) &&
		(settings->new_name || commit_root_was_renamed(q->r->fd, root_tree_id(q->job)));
	q->r->is_entry = q->r->renamed;
	if (!copy_reads_only(q->job) && is_source(q))
		q->r->old_mode = directory_open_up(q->r->fd);
	return root_check_writable(q);
}

static bool is_missing_device(const struct root *r)
{
	struct stat st;

	return !fstat(r->fd, &st) && guard_among_devices(&st) &&
	       fstatat(r->fd, r->name, &st, AT_SYMLINK_NOFOLLOW) != 0;
}

/* The file `path` in its directory. */
static int new_name(struct question *q)
{
	char *parent = path_directory(q->path);
	int err;

	q->r->name = strdup(path_last(q->path));
	if (!parent || !q->r->name) {
		free(parent);
		return root_refuse(q, COPY_FAILED, "cannot open", -ENOMEM);
	}
	err = open_directory(parent);
	free(parent);
	if (err < 0)
		return refuse_errno(q, "cannot open its directory", err);
	q->r->fd = err;
	if (is_missing_device(q->r))
		return root_refuse(q, COPY_NOT_WRITABLE,
				   "no such device, and no file is made among devices", 0);
	return root_check_writable(q);
}

/*
 * Trees and lists make the directories that lead to their destination, too. The destination of
 * other copies is a name of a file more often, and a wrong one is refused.
 */
static bool makes_parents(const struct question *q)
{
	return q->job->settings->recursive || q->job->settings->list;
}

/* Make the directories that lead to `path`. Returns 0 or -errno. */
static int make_parents(const char *path)
{
	char *parent = path_directory(path);
	int err = 0;

	if (!parent)
		return -ENOMEM;
	if (mkdir(parent, 0777) && errno != EEXIST)
		err = -errno;
	if (err == -ENOENT && strcmp(parent, path) != 0) {
		err = make_parents(parent);
		if (!err && mkdir(parent, 0777) && errno != EEXIST)
			err = -errno;
	}
	free(parent);
	return err;
}

/* A directory of a source gets its permissions at the end. */
static int make_root(struct question *q)
{
	const bool everything = q->job->settings->everything;
	const mode_t mode = is_dir(q) && !q->into ? directory_first_mode(q->first, everything) :
						    0777;
	int err = mkdir(q->path, mode) ? -errno : 0;

	if (err != -ENOENT || !makes_parents(q))
		return err;
	err = make_parents(q->path);
	return !err && mkdir(q->path, mode) ? -errno : err;
}

static int make_directory(struct question *q)
{
	int err = 0;

	q->r->renamed = is_dir(q) && !is_contents(q) && !q->into;
	q->r->is_entry = q->r->renamed;
	q->r->fresh = true;
	if (copy_reads_only(q->job)) {
		char *parent = path_directory(q->path);

		q->r->missing = true;
		if (!parent || access(parent, F_OK))
			err = -errno;
		free(parent);
		if (err == -ENOENT && makes_parents(q))
			err = 0;
		return err ? refuse_errno(q, "cannot open its directory", err) : 0;
	}
	err = make_root(q);
	if (err)
		return refuse_errno(q, "cannot create the directory", err);
	q->r->fd = open_directory(q->path);
	if (q->r->fd >= 0)
		return 0;
	err = q->r->fd;
	q->r->fd = -1;
	return refuse_errno(q, "cannot open the directory", err);
}

static int existing_file(struct question *q, const struct stat *st)
{
	if (q->into || !q->first || q->first->kind == COPY_DIR)
		return root_refuse(q, COPY_NO_DESTINATION, "is not a directory", 0);
	if (S_ISREG(st->st_mode))
		return new_name(q);
	if ((S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode)) && q->first->kind == COPY_FILE)
		return device_open(q->r, q->job, q->path, st, q->first->size_bytes, q->why);
	return root_refuse(q, COPY_BAD_NAMES, "is neither a file, a directory nor a device", 0);
}

static int root_answer(struct question *q)
{
	struct stat st;

	if (!stat(q->path, &st))
		return S_ISDIR(st.st_mode) ? into_directory(q) : existing_file(q, &st);
	if (errno != ENOENT)
		return refuse_errno(q, "cannot open", -errno);
	if (q->into || !q->first || q->first->kind == COPY_DIR)
		return make_directory(q);
	return new_name(q);
}

/* "" is the home directory, in which a server starts. A slash at the end asks for a directory. */
static bool take_path(struct question *q)
{
	const char *given = *q->job->destination ? q->job->destination : ".";
	size_t n = strlen(given);

	while (n > 1 && given[n - 1] == '/')
		n--;
	q->into = q->job->settings->into || given[n];
	q->path = strndup(given, n);
	return q->path;
}

int root_open(struct root *r, const struct copy_job *job, const struct copy_entry *first,
	      struct err *why)
{
	struct question q = {
		.r = r,
		.job = job,
		.first = first,
		.why = why,
	};
	int status;

	root_init(r);
	if (!take_path(&q))
		return err_set(why, COPY_FAILED, "%s: %s", job->destination, strerror(ENOMEM));
	status = root_answer(&q);
	if (!status && job->settings->in_place && !copy_reads_only(job)) {
		r->guarded = !guard_loops_read(&r->loops, "");
		if (!r->guarded)
			status = root_refuse(&q, COPY_FAILED, "cannot look at loop devices", 0);
	}
	free(q.path);
	if (status)
		root_close(r);
	return status;
}
