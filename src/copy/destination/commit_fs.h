/*
 * Kinds of file systems, by the way in which files in them become durable, and files without names.
 * Callers: commit_place.c, commit_thread.c, destination.c, journal_file.c.
 */
#ifndef COPY_DESTINATION_COMMIT_FS_H
#define COPY_DESTINATION_COMMIT_FS_H

#include <stdbool.h>

enum commit_flush {
	COMMIT_FLUSH_NONE, /* it is in memory only */
	COMMIT_FLUSH_ALL,  /* syncfs(2) makes all of it durable, names too, and reports errors */
	COMMIT_FLUSH_EACH, /* each file and directory needs fsync(2) */
};

/* Of the file system of an open file or directory. Any thread. */
enum commit_flush commit_fs_flush(int fd);

/* True if other hosts may have it mounted, as far as its kind tells. Any thread. */
bool commit_fs_is_shared(int fd);

/*
 * Give an unnamed file (O_TMPFILE) its name in a directory. -EEXIST: there is one; or another
 * -errno. Any thread.
 */
int commit_fs_link(int fd, int dir_fd, const char *name);

#endif
