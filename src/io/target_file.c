/*
 * Targets as files. target_file_check() is called by main for all targets before any is opened, so
 * that a run which cannot start leaves nothing behind; the others by target threads.
 */
#include "xdd/io/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Give a reason for people along with the error. */
static int fail(int err, const char **why, const char *text)
{
	*why = text;
	return err;
}

static bool reads(const struct target_plan *plan)
{
	return plan->op != OP_WRITE;
}

static bool writes(const struct target_plan *plan)
{
	return plan->op == OP_WRITE || plan->op == OP_MIXED;
}

/* Only what is written and nothing else is made when it is missing: there is nothing to read. */
static bool may_create(const struct target_plan *plan)
{
	return plan->op == OP_WRITE;
}

/* The folder a file is in; NULL when memory is short. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int check_folder(const char *folder, const char **why)
{
	struct stat st;

	if (stat(folder, &st)) {
		if (errno == ENOENT)
			return fail(-ENOENT, why, "its folder does not exist");
		return -errno;
	}
	if (!S_ISDIR(st.st_mode))
		return fail(-ENOTDIR, why, "its folder is not a directory");
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS)) {
		if (errno == EROFS)
			return fail(-EROFS, why, "its file system is read-only");
		if (errno == EACCES)
			return fail(-EACCES, why, "no permission to create files in its folder");
		return -errno;
	}
	return 0;
}

/* The target is not there. */
static int check_missing(const struct target_plan *plan, const char **why)
{
	struct stat st;
	char *folder;
	int ret;

	if (!may_create(plan))
		return fail(-ENOENT, why, "no such file");
	/* A symbolic link to nothing: what is made lies elsewhere. Opening it will tell. */
	if (!lstat(plan->path, &st))
		return 0;
	folder = folder_of(plan->path);
	if (!folder)
		return -ENOMEM;
	ret = check_folder(folder, why);
	free(folder);
	return ret;
}

static int check_access(const struct target_plan *plan, const char **why)
{
	if (reads(plan) && faccessat(AT_FDCWD, plan->path, R_OK, AT_EACCESS)) {
		if (errno == EACCES)
			return fail(-EACCES, why, "no permission to read it");
		return -errno;
	}
	if (writes(plan) && faccessat(AT_FDCWD, plan->path, W_OK, AT_EACCESS)) {
		if (errno == EROFS)
			return fail(-EROFS, why, "its file system is read-only");
		if (errno == EACCES)
			return fail(-EACCES, why, "no permission to write to it");
		return -errno;
	}
	return 0;
}

int target_file_check(const struct target_plan *plan, const char **why)
{
	struct stat st;

	*why = NULL;
	if (plan->kind == TARGET_NULL)
		return 0;
	if (stat(plan->path, &st)) {
		if (errno == ENOENT)
			return check_missing(plan, why);
		return -errno;
	}
	if (S_ISDIR(st.st_mode))
		return fail(-EISDIR, why, "is a directory");
	/* Opening a pipe waits for its other end, and neither can be read at an offset. */
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return fail(-ESPIPE, why, "is a pipe or a socket");
	return check_access(plan, why);
}

static int open_flags(const struct target_plan *plan)
{
	int flags = O_CLOEXEC;

	/* Character devices have no page cache to pass by; /dev/sg* refuses the flag. */
	if (plan->direct_io && plan->kind != TARGET_CHAR)
		flags |= O_DIRECT;
	if (!writes(plan))
		return flags | O_RDONLY;
	return flags | (reads(plan) ? O_RDWR : O_WRONLY);
}

/*
 * Make the file, without O_DIRECT: where that is not supported, the kernel makes the file all the same
 * and then fails. Sets `created` when it was this call that made it.
 */
static int create(struct target_file *file, const struct target_plan *plan)
{
	int fd = open(plan->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd >= 0)
		file->created = true;
	else if (errno == EEXIST) /* another target was faster, or a symbolic link to nothing */
		fd = open(plan->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int target_file_open(struct target_file *file, const struct target_plan *plan, const char **why)
{
	int flags = open_flags(plan);
	int ret;

	*why = NULL;
	file->fd = -1;
	file->created = false;
	if (plan->kind == TARGET_NULL)
		return 0;

	file->fd = open(plan->path, flags);
	if (file->fd < 0 && errno == ENOENT && may_create(plan)) {
		ret = create(file, plan);
		if (ret)
			return ret;
		file->fd = open(plan->path, flags);
	}
	if (file->fd >= 0)
		return 0;

	ret = -errno;
	if (file->created)
		unlink(plan->path);
	file->created = false;
	if (ret == -EINVAL && plan->direct_io)
		*why = "the file system does not support -dio";
	else if (ret == -ENOENT)
		*why = "no such file";
	return ret;
}

/* Whether the path still leads to the file that is open, and that is empty. */
static bool is_ours_and_empty(int fd, const char *path)
{
	struct stat open_st, path_st;

	return !fstat(fd, &open_st) && !lstat(path, &path_st) && open_st.st_dev == path_st.st_dev &&
	       open_st.st_ino == path_st.st_ino && open_st.st_size == 0;
}

int target_file_close(struct target_file *file, const struct target_plan *plan, bool discard)
{
	int ret = 0;

	if (file->fd < 0)
		return 0;
	if (discard && file->created && is_ours_and_empty(file->fd, plan->path))
		unlink(plan->path);
	if (close(file->fd))
		ret = -errno;
	file->fd = -1;
	return ret;
}
