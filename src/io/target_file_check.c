/*
 * Checks of targets as files, before any is opened, so that a run which cannot start leaves nothing
 * behind. Called by main through target_file_check().
 */
#include "xdd/io/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/target_file_internal.h"
#include "xdd/base/file.h"
#include "xdd/base/text.h"
#include "xdd/io/guard.h"

static int check_directory(const char *directory, const char **why)
{
	struct stat st;

	if (stat(directory, &st)) {
		if (errno == ENOENT)
			return target_file_fail(-ENOENT, why, "its directory does not exist");
		return -errno;
	}
	if (!S_ISDIR(st.st_mode))
		return target_file_fail(-ENOTDIR, why,
					"the path before its name is not a directory");
	if (guard_among_devices(&st))
		return target_file_fail(-ENODEV, why,
					"no such device, and no file is made among devices");
	if (fileopen_access(AT_FDCWD, directory, W_OK | X_OK)) {
		if (errno == EROFS)
			return target_file_fail(-EROFS, why, "its file system is read-only");
		if (errno == EACCES)
			return target_file_fail(-EACCES, why,
						"no permission to create files in its directory");
		return -errno;
	}
	return 0;
}

/* Of the directory that a file of that name is created in, or removed from. */
static int check_directory_of(const char *name, const char **why)
{
	char *directory = path_directory(name);
	int ret = directory ? check_directory(directory, why) : -ENOMEM;

	free(directory);
	return ret;
}

/* Of the file that symbolic links lead to. */
static int check_directory_behind(const char *path, const char **why)
{
	char *name;
	int ret = fileopen_follow(path, &name);

	if (ret == -EACCES)
		return target_file_fail(
			-EPERM, why,
			"is a symbolic link of another user in a directory for all; no file is "
			"created or removed through it");
	if (ret)
		return ret;
	ret = check_directory_of(name, why);
	free(name);
	return ret;
}

/* The target is not there. */
static int check_missing(const struct target_plan *plan, const char **why)
{
	if (plan->writer || (plan->foreseen && plan->kind == TARGET_FILE))
		return 0;
	if (!target_file_may_create(plan))
		return target_file_fail(-ENOENT, why, "no such file");
	return check_directory_behind(plan->path, why);
}

static int check_access(const struct target_plan *plan, const char **why)
{
	if (target_file_is_readable(plan) && fileopen_access(AT_FDCWD, plan->path, R_OK)) {
		if (errno == EACCES)
			return target_file_fail(-EACCES, why, "no permission to read it");
		return -errno;
	}
	if (plan_changes(plan) && fileopen_access(AT_FDCWD, plan->path, W_OK)) {
		if (errno == EROFS)
			return target_file_fail(-EROFS, why, "its file system is read-only");
		if (errno == EACCES)
			return target_file_fail(-EACCES, why, "no permission to write to it");
		return -errno;
	}
	return 0;
}

/* `ret` is the verdict on the directory of a file that is to be removed. */
static int check_removal(int ret, const char **why)
{
	if (ret == -EACCES)
		*why = "no permission to remove files from its directory";
	return ret;
}

int target_file_check_name(const char *name, const char **why)
{
	struct stat st;

	if (lstat(name, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return target_file_fail(
			-EEXIST, why,
			"-createnewfiles: what has the name of its first file is no regular "
			"file");
	return 0;
}

static int check_new_files(const struct target_plan *plan, const char **why)
{
	char *name = target_file_name_of_pass(plan, 1);
	int ret = name ? target_file_check_name(name, why) : -ENOMEM;

	free(name);
	if (ret == -ENAMETOOLONG)
		*why = "-createnewfiles: its name is too long for the number of the pass after it";
	return ret ? ret : check_removal(check_directory_of(plan->path, why), why);
}

int target_file_check(const struct target_plan *plan, const char **why)
{
	struct stat st;
	int ret;

	*why = NULL;
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
		return target_file_fail(-EISDIR, why, "is a directory");
	/* Opening a pipe waits for its other end, and neither can be read at an offset. */
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
		return target_file_fail(-ESPIPE, why, "is a pipe or a socket");
	ret = 0;
	if (plan->delete_file || plan->recreate_files)
		ret = check_removal(check_directory_behind(plan->path, why), why);
	return ret ? ret : check_access(plan, why);
}
