/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the kernel; see the header. Called by the unit tests of src/sys.
 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_files.h"

static char top[4096];
static const char *node_path;
static dev_t node_dev;

static const char *own(const char *path)
{
	static char name[8192];

	snprintf(name, sizeof(name), "%s%s", top, path);
	return name;
}

FILE *fopen(const char *path, const char *mode)
{
	const bool writes = *mode == 'w';
	int fd = openat(AT_FDCWD, own(path),
			O_CLOEXEC | (writes ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY), 0600);

	return fd < 0 ? NULL : fdopen(fd, writes ? "w" : "r");
}

int open(const char *path, int flags, ...)
{
	return openat(AT_FDCWD, own(path), flags, 0600);
}

DIR *opendir(const char *path)
{
	int fd = openat(AT_FDCWD, own(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopendir(fd);
}

int access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, own(path), mode, 0);
}

int stat(const char *path, struct stat *st)
{
	if (fstatat(AT_FDCWD, own(path), st, 0))
		return -1;
	if (node_path && strcmp(path, node_path) == 0) {
		st->st_mode = S_IFBLK | 0600;
		st->st_rdev = node_dev;
	}
	return 0;
}

int kernel_files_begin(void **state)
{
	const char *tmp = getenv("TMPDIR");

	node_path = NULL;
	snprintf(top, sizeof(top), "%s/xdd-kernel-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(top) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

int kernel_files_end(void **state)
{
	return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void kernel_file_put(const char *path, const char *text)
{
	char name[8192];
	FILE *f;

	snprintf(name, sizeof(name), "%s", own(path));
	for (char *slash = name + strlen(top); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(name, 0700);
		*slash = '/';
	}
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

const char *kernel_file_text(const char *path)
{
	static char text[256];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

void kernel_file_node(const char *path, dev_t dev)
{
	kernel_file_put(path, "");
	node_path = path;
	node_dev = dev;
}
