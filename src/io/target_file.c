/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets as files: checks, opening, reshaping, closing and removing them. Called by target
 * threads, and between passes by the last QThread to leave a pass.
 */
#include "xdd/io/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/io/guard.h"
#include "xdd/plan/plan.h"

/* Opened for reading: every target that does more than write or discard. */
static inline bool target_file_is_readable(const struct target_plan *plan)
{
	return plan->op != OP_WRITE && plan->op != OP_DISCARD;
}

/* A target that reads has no use for a new file. */
static inline bool target_file_may_create(const struct target_plan *plan)
{
	return plan->op == OP_WRITE;
}

/*
 * Checks of targets as files, before any is opened, so that a run which cannot start leaves
 * nothing behind. Called by main through target_file_check().
 */

static int check_directory(const char *directory, struct err *why)
{
	struct stat st;

	if (stat(directory, &st)) {
		if (errno == ENOENT)
			return err_set(why, -ENOENT, "its directory does not exist");
		return -errno;
	}
	if (!S_ISDIR(st.st_mode))
		return err_set(why, -ENOTDIR, "the path before its name is not a directory");
	if (guard_among_devices(&st))
		return err_set(why, -ENODEV, "no such device, and no file is made among devices");
	if (fileopen_access(AT_FDCWD, directory, W_OK | X_OK)) {
		if (errno == EROFS)
			return err_set(why, -EROFS, "its file system is read-only");
		if (errno == EACCES)
			return err_set(why, -EACCES,
				       "no permission to create files in its directory");
		return -errno;
	}
	return 0;
}

/* Of the directory that a file of that name is created in, or removed from. */
static int check_directory_of(const char *name, struct err *why)
{
	char *directory = path_directory(name);
	int ret = directory ? check_directory(directory, why) : -ENOMEM;

	free(directory);
	return ret;
}

/* Of the file that symbolic links lead to. */
static int check_directory_behind(const char *path, struct err *why)
{
	char *name;
	int ret = fileopen_follow(path, &name);

	if (ret == -EACCES)
		return err_set(
			why, -EPERM,
			"is a symbolic link of another user in a directory for all; no file is "
			"created or removed through it");
	if (ret)
		return ret;
	ret = check_directory_of(name, why);
	free(name);
	return ret;
}

/* The target is not there. */
static int check_missing(const struct target_plan *plan, struct err *why)
{
	if (plan->writer || (plan->foreseen && plan->kind == TARGET_FILE))
		return 0;
	if (!target_file_may_create(plan))
		return err_set(why, -ENOENT, "no such file");
	return check_directory_behind(plan->path, why);
}

static int check_access(const struct target_plan *plan, struct err *why)
{
	if (target_file_is_readable(plan) && fileopen_access(AT_FDCWD, plan->path, R_OK)) {
		if (errno == EACCES)
			return err_set(why, -EACCES, "no permission to read it");
		return -errno;
	}
	if (plan_changes(plan) && fileopen_access(AT_FDCWD, plan->path, W_OK)) {
		if (errno == EROFS)
			return err_set(why, -EROFS, "its file system is read-only");
		if (errno == EACCES)
			return err_set(why, -EACCES, "no permission to write to it");
		return -errno;
	}
	return 0;
}

/* `ret` is the verdict on the directory of a file that is to be removed. */
static int check_removal(int ret, struct err *why)
{
	return ret == -EACCES ?
		       err_set(why, ret, "no permission to remove files from its directory") :
		       ret;
}

/*
 * Check that `name` can become the file of a pass: a regular file or nothing has that name. Returns
 * 0, or -errno with a message in `why` where the errno does not say it all.
 */
static int target_file_check_name(const char *name, struct err *why)
{
	struct stat st;

	if (lstat(name, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return err_set(why, -EEXIST,
			       "-createnewfiles: what has the name of its first file is no regular "
			       "file");
	return 0;
}

static char *target_file_name_of_pass(const struct target_plan *plan, uint64_t pass);

static int check_new_files(const struct target_plan *plan, struct err *why)
{
	char *name = target_file_name_of_pass(plan, 1);
	int ret = name ? target_file_check_name(name, why) : -ENOMEM;

	free(name);
	if (ret == -ENAMETOOLONG)
		err_set(why, ret,
			"-createnewfiles: its name is too long for the number of the pass after it");
	return ret ? ret : check_removal(check_directory_of(plan->path, why), why);
}

int target_file_check(const struct target_plan *plan, struct err *why)
{
	struct stat st;
	int ret;

	err_clear(why);
	if (plan->kind == TARGET_NULL)
		return 0;
	if (plan->create_new_files)
		return check_new_files(plan, why);
	if (stat(plan->path, &st)) {
		if (errno == ENOENT)
			return check_missing(plan, why);
		return -errno;
	}
	if (S_ISDIR(st.st_mode))
		return err_set(why, -EISDIR, "is a directory");
	/* Opening a pipe waits for its other end, and neither can be read at an offset. */
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return err_set(why, -ESPIPE, "is a pipe or a socket");
	ret = 0;
	if (plan->delete_file || plan->recreate_files)
		ret = check_removal(check_directory_behind(plan->path, why), why);
	return ret ? ret : check_access(plan, why);
}

/* A file that existed and is gone was moved or removed by a user: xdd must not create it again. */
static bool creates_for(const struct target_plan *plan, uint64_t pass)
{
	return target_file_may_create(plan) && (plan->create_new_files || plan->recreate_files ||
						(plan->kind == TARGET_MISSING && pass == 1));
}

/*
 * The name of the file of a pass with -createnewfiles, to be freed; NULL when memory is short.
 *
 * The name of the file of a pass, to be freed; NULL when memory is short.
 */
static char *target_file_name_of_pass(const struct target_plan *plan, uint64_t pass)
{
	char *name;

	return asprintf(&name, "%s.%08" PRIu64, plan->path, pass) < 0 ? NULL : name;
}

static int sync_flags(const struct target_plan *plan)
{
	static const int flags[] = {
		[OPEN_SYNC_NONE] = 0,
		[OPEN_SYNC_FILE] = O_SYNC,
		[OPEN_SYNC_DATA] = O_DSYNC,
		[OPEN_SYNC_READ] = O_RSYNC,
	};

	return flags[plan->open_sync];
}

static int open_flags(const struct target_plan *plan)
{
	int flags = O_CLOEXEC | sync_flags(plan);

	/* Character devices have no page cache to pass by; /dev/sg* refuses the flag. */
	if (plan->direct_io && plan->kind != TARGET_CHAR)
		flags |= O_DIRECT;
	if (!plan_changes(plan))
		return flags | O_RDONLY;
	return flags | (target_file_is_readable(plan) ? O_RDWR : O_WRONLY);
}

const char *target_file_path(const struct target_file *file, const struct target_plan *plan)
{
	return file->path ? file->path : plan->path;
}

/* `result` is the descriptor or -errno. */
static void debug_open(const struct target_plan *plan, const char *path, int flags, int result)
{
	int access = flags & O_ACCMODE;
	char outcome[128];

	if (result < 0)
		snprintf(outcome, sizeof(outcome), "%s", strerror(-result));
	else
		snprintf(outcome, sizeof(outcome), "descriptor %d", result);
	debug_print(DEBUG_OPEN, "target %u: open %s, %s%s%s%s%s: %s", plan->number, path,
		    access == O_RDONLY ? "O_RDONLY" :
		    access == O_WRONLY ? "O_WRONLY" :
					 "O_RDWR",
		    flags & O_CREAT ? "|O_CREAT" : "", flags & O_EXCL ? "|O_EXCL" : "",
		    flags & O_DIRECT ? "|O_DIRECT" : "",
		    /* O_SYNC has the bit of O_DSYNC and one more. */
		    (flags & O_SYNC) == O_SYNC ? "|O_SYNC" :
		    flags & O_DSYNC	       ? "|O_DSYNC" :
						 "",
		    outcome);
}

/* open(2), of which -debug tells. Returns a descriptor or -errno. */
static int open_new(const struct target_plan *plan, const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, fd = open(path, flags, 0666);

	if (fd < 0)
		fd = -errno;
	if (debug_on(DEBUG_OPEN))
		debug_open(plan, path, flags, fd);
	return fd;
}

/* The input of the judgement on a file before it is opened, and the verdict. */
struct opening {
	const struct target_file *file;
	const struct target_plan *plan;
	struct err *why;
};

static bool is_as_planned(const struct target_plan *plan, const struct stat *st)
{
	if (plan->create_new_files)
		return S_ISREG(st->st_mode);
	switch (plan->kind) {
	case TARGET_BLOCK:
		return S_ISBLK(st->st_mode) && st->st_rdev == plan->device;
	case TARGET_CHAR:
		return S_ISCHR(st->st_mode) && st->st_rdev == plan->device;
	default:
		return S_ISREG(st->st_mode);
	}
}

/* The file that was open before, or that was created just now. */
static bool is_known(const struct target_file *file, const struct stat *st)
{
	return S_ISREG(st->st_mode) && file->ino && st->st_dev == file->dev &&
	       st->st_ino == file->ino;
}

static void know(struct target_file *file, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
}

static int judge(void *arg, int fd, const struct stat *st)
{
	struct opening *o = arg;

	if (S_ISDIR(st->st_mode))
		return err_set(o->why, -EISDIR, "is a directory");
	if (!is_as_planned(o->plan, st))
		return err_set(
			o->why, -ESTALE, "%s",
			o->plan->kind == TARGET_BLOCK || o->plan->kind == TARGET_CHAR ?
				"its name no longer leads to the same device; use a name that "
				"does not change during a run" :
				"its name now leads to something other than a regular file; use "
				"a name that does not change during a run");
	if (!plan_changes(o->plan) || is_known(o->file, st))
		return 0;
	return guard_allows(o->file->guard, o->plan, fd, st, o->why);
}

/* Open what is there. Returns 0 or -errno. */
static int open_existing(struct target_file *file, const struct target_plan *plan, const char *path,
			 struct err *why)
{
	struct opening o = { .file = file, .plan = plan, .why = why };
	int flags = open_flags(plan);

	file->fd = fileopen_judged(path, flags, judge, &o);
	if (debug_on(DEBUG_OPEN))
		debug_open(plan, path, flags, file->fd);
	return file->fd < 0 ? file->fd : 0;
}

/* close(2), with a debug line. Returns 0 or -errno. */
static int close_fd(const struct target_plan *plan, int fd)
{
	int err = close(fd) ? -errno : 0;

	debug_line(DEBUG_OPEN, "target %u: close descriptor %d: %s", plan->number, fd,
		   err ? strerror(-err) : "ok");
	return err;
}

/*
 * Create the file, without O_DIRECT: where that is not supported, the kernel creates the file all
 * the same and then fails. Sets `created` when it was this call that did it. Nothing that exists is
 * opened here, so the caller has yet to judge and open what is there then.
 */
static int create(struct target_file *file, const struct target_plan *plan, const char *path)
{
	int fd = open_new(plan, path);
	char *name;

	file->created = fd >= 0;
	if (fd == -EEXIST && !plan->create_new_files) {
		/* another target was faster, or this is a symbolic link to nothing */
		fd = fileopen_follow(path, &name);
		if (fd)
			return fd;
		fd = open_new(plan, name);
		free(name);
		if (fd == -EEXIST)
			return 0;
	}
	if (fd < 0)
		return fd;
	know(file, fd);
	close_fd(plan, fd);
	return 0;
}

/* -createnewfiles: the name for this pass, and nothing of that name. */
static int start_new(struct target_file *file, const struct target_plan *plan, uint64_t pass,
		     struct err *why)
{
	int ret;

	free(file->path);
	file->path = target_file_name_of_pass(plan, pass);
	if (!file->path)
		return -ENOMEM;
	ret = target_file_check_name(file->path, why);
	if (!ret && unlink(file->path) && errno != ENOENT)
		ret = -errno;
	return ret;
}

static int open_path(struct target_file *file, const struct target_plan *plan, uint64_t pass,
		     struct err *why)
{
	const char *path = target_file_path(file, plan);
	int ret = -ENOENT;

	/* A file that appears under the name of a new file of a pass is not the run's. */
	if (!plan->create_new_files)
		ret = open_existing(file, plan, path, why);
	if (ret == -ENOENT && creates_for(plan, pass)) {
		ret = create(file, plan, path);
		if (!ret)
			ret = open_existing(file, plan, path, why);
	}
	if (!ret)
		return 0;
	if (file->created)
		unlink(path);
	file->created = false;
	file->fd = -1;
	if (ret == -EINVAL && plan->direct_io)
		err_set(why, ret, "the file system does not support -dio");
	else if (ret == -ENOENT)
		err_set(why, ret, "no such %s",
			plan->kind == TARGET_BLOCK || plan->kind == TARGET_CHAR ? "device" :
										  "file");
	return ret;
}

/* Of the very file that is open, whatever has its name by now. */
static int open_buffered(struct target_file *file, const struct target_plan *plan, struct err *why)
{
	int flags = fcntl(file->fd, F_GETFL);

	if (flags < 0)
		return -errno;
	file->buffered_fd = fileopen_again(file->fd, flags & (O_ACCMODE | O_SYNC));
	debug_line(DEBUG_OPEN, "target %u: open /proc/self/fd/%d without O_DIRECT: %s",
		   plan->number, file->fd,
		   file->buffered_fd < 0 ? strerror(-file->buffered_fd) : "ok");
	if (file->buffered_fd >= 0)
		return 0;
	return err_set(why, file->buffered_fd,
		       "-dio: cannot open it a second time for the last bytes, which are no whole "
		       "sector (/proc/self/fd)");
}

int target_file_open(struct target_file *file, const struct target_plan *plan, uint64_t pass,
		     struct err *why)
{
	int ret;

	err_clear(why);
	file->fd = file->buffered_fd = -1;
	file->created = false;
	file->made_bytes = 0;
	if (plan->kind == TARGET_NULL)
		return 0;
	if (plan->create_new_files) {
		ret = start_new(file, plan, pass, why);
		if (ret)
			return ret;
	}
	ret = open_path(file, plan, pass, why);
	if (ret)
		return ret;
	file->pass = pass;
	know(file, file->fd);
	ret = plan->tail_bytes ? open_buffered(file, plan, why) : 0;
	if (ret)
		target_file_close(file, plan, true);
	return ret;
}

static int target_file_allocate(int fd, uint64_t bytes, struct err *why)
{
	int ret;

	do
		ret = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
	while (ret && errno == EINTR);
	if (!ret)
		return 0;
	if (errno == EOPNOTSUPP || errno == ENOSYS)
		return err_set(why, -EOPNOTSUPP, "the file system cannot allocate space");
	return -errno;
}

int target_file_reshape(struct target_file *file, const struct target_plan *plan, const char **what,
			struct err *why)
{
	struct stat st;

	err_clear(why);
	*what = plan->pretruncate ? "-pretruncate" : "-preallocate";
	if (file->fd < 0 || !plan_reshapes(plan))
		return 0;
	if (fstat(file->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (plan->pretruncate) {
		if (ftruncate(file->fd, (off_t)plan->pretruncate_bytes))
			return -errno;
		file->made_bytes = plan->pretruncate_bytes;
	}
	*what = "-preallocate";
	return plan->preallocate_bytes ?
		       target_file_allocate(file->fd, plan->preallocate_bytes, why) :
		       0;
}

/* True if the path still leads to the open file, and the file is empty. */
static bool is_ours_and_empty(const struct target_file *file, const char *path)
{
	struct stat open_st, path_st;

	return !fstat(file->fd, &open_st) && !lstat(path, &path_st) &&
	       open_st.st_dev == path_st.st_dev && open_st.st_ino == path_st.st_ino &&
	       (uint64_t)open_st.st_size == file->made_bytes;
}

int target_file_close(struct target_file *file, const struct target_plan *plan, bool discard)
{
	const char *path = target_file_path(file, plan);
	int ret = 0, err;

	if (file->fd < 0)
		return 0;
	if (discard && file->created && is_ours_and_empty(file, path))
		unlink(path);
	if (file->buffered_fd >= 0)
		ret = close_fd(plan, file->buffered_fd);
	err = close_fd(plan, file->fd);
	file->fd = file->buffered_fd = -1;
	return err ? err : ret;
}

/* Remove the file that `path` leads to through links, if it is this file. */
static int remove_same(const struct target_file *file, const char *path)
{
	char *name;
	struct stat st;
	int ret = fileopen_follow(path, &name);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	if (lstat(name, &st))
		ret = -errno;
	else if (S_ISREG(st.st_mode) && st.st_dev == file->dev && st.st_ino == file->ino &&
		 unlink(name))
		ret = -errno;
	free(name);
	return ret == -ENOENT ? 0 : ret;
}

int target_file_remove(const struct target_file *file, const struct target_plan *plan)
{
	return remove_same(file, target_file_path(file, plan));
}

/* The files of the passes before were made by this run, each in the place of what was there. */
static int remove_earlier(const struct target_file *file, const struct target_plan *plan)
{
	int ret = 0;

	for (uint64_t pass = 1; pass < file->pass; pass++) {
		char *name = target_file_name_of_pass(plan, pass);

		if (!name)
			return -ENOMEM;
		if (!target_file_check_name(name, NULL) && unlink(name) && errno != ENOENT)
			ret = -errno;
		free(name);
	}
	return ret;
}

int target_file_delete(const struct target_file *file, const struct target_plan *plan)
{
	int ret = plan->create_new_files ? remove_earlier(file, plan) : 0;
	int last = target_file_remove(file, plan);

	return last ? last : ret;
}

void target_file_free(struct target_file *file)
{
	free(file->path);
	file->path = NULL;
}
