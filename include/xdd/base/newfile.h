/*
 * A file that takes its name only once it is complete: until then it has none, or, where the file system
 * has no unnamed files, a name of its own beside its place. A program that is killed leaves what was
 * there before. It gets the owner and permissions of the file that it replaces (fileattr.h). A link that
 * another user has planted is not followed (fileopen_follow()). What is no regular file, such as a pipe
 * or /dev/null, is written to as it is.
 *
 * A newfile belongs to one thread at a time.
 */
#ifndef XDD_BASE_NEWFILE_H
#define XDD_BASE_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct newfile {
	FILE *f;	 /* what is written; NULL: not open */
	bool unnamed;	 /* it has no name yet */
	char *path;	 /* where it belongs; links were followed */
	char *temporary; /* the name it has meanwhile, or for the moment of renaming; or NULL */
};

/* Open a file that is to become `path`. Returns 0 or -errno; then nothing is to be closed. */
int newfile_open(struct newfile *n, const char *path);

/*
 * Close it and put it in its place. Returns 0, or -errno of whatever went wrong with it since it was
 * opened; then what was at `path` before is still there, and the new file is gone.
 */
int newfile_commit(struct newfile *n);

/* The one or the other, by the outcome `err` (0 or -errno) of writing it. Returns `err`, or what commit says. */
int newfile_close(struct newfile *n, int err);

/* Close it and leave nothing of it. Safe on one that is not open. */
void newfile_discard(struct newfile *n);

#endif
