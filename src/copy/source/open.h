/*
 * Files of the source, opened for reading: the file that the walk has found, and no other.
 */
#ifndef COPY_SOURCE_OPEN_H
#define COPY_SOURCE_OPEN_H

#include "copy/source/books.h"

/*
 * A directory that is held and borrowed: consecutive files are often in the same one. All zero at
 * first, except for the effective user of the process.
 */
struct held_dir {
	uid_t self;
	struct dirs *dirs;
	struct dir_node *node;
	int fd;
};

/*
 * Open the file of `e` with O_RDONLY and `flags`. Returns a descriptor, or -errno. -ESTALE: there
 * is another file now.
 */
int source_open(struct held_dir *held, const struct entry *e, int flags);
void source_let_go(struct held_dir *held);

enum file_state {
	FILE_SAME,    /* as the walk found it, or as `*ctime_ns` says */
	FILE_TOUCHED, /* the same, except for its ctime, now in `*ctime_ns` */
	FILE_CHANGED, /* other contents, or another file */
	FILE_UNKNOWN, /* errno says why */
};

/* Compare an open file with what the walk found. `*ctime_ns` is e->ctime_ns at first. */
enum file_state source_compare(int fd, const struct entry *e, int64_t *ctime_ns);

/*
 * Why a file is not copied of which `more` or fewer bytes were read than its size, while it is
 * FILE_SAME: the kernel makes the contents of such a file when it is read.
 */
void source_size_text(char *text, size_t size, const struct entry *e, bool more);

#endif
