/*
 * A file that gets its name only once it is complete: until then it has no name, or, where the file
 * system has no unnamed files, a temporary name in the same directory. A program that is killed
 * leaves the old file unchanged. The file gets the owner and permissions of the file that it
 * replaces (fileattr.h). A link that another user has planted is not followed (fileopen_follow()).
 * An output that is not a regular file, such as a pipe or /dev/null, is written directly.
 *
 * A newfile belongs to one thread at a time.
 */
#ifndef XDD_BASE_NEWFILE_H
#define XDD_BASE_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct newfile {
	FILE *f;	  /* the stream to write to; NULL: not open */
	bool unnamed;	  /* it has no name yet */
	bool replace_all; /* also a link, pipe or device that is at `path` */
	char *path;	  /* its final name */
	char *temporary;  /* its temporary name; or NULL */
	/*
	 * set by the caller before the commit: also a power failure leaves the old file or the
	 * whole new one
	 */
	bool durable;
};

/*
 * The permissions that the mask of the process leaves of 0777. Files that other threads create
 * meanwhile have no mask.
 */
mode_t newfile_mask(void);

/*
 * Open a file that is to become `path`. Returns 0 or -errno, then with nothing to close. -ENOTUNIQ,
 * also of the commit: the name leads to something other than a regular file by now, which is
 * neither replaced nor written to.
 */
int newfile_open(struct newfile *n, const char *path);

/*
 * As newfile_open(), in a directory whose names others may choose: a link, pipe or device that is
 * at `path` when the file gets its name is replaced, not followed or written to.
 */
int newfile_open_replace(struct newfile *n, const char *path);

/*
 * Close the file and give it its name. Returns 0, or the first -errno since it was opened; the old
 * file at `path` is then unchanged, and the new one is removed. Only where a durable file cannot
 * flush its directory, an error leaves the new one.
 */
int newfile_commit(struct newfile *n);

/*
 * Commit where `err`, the outcome of writing, is 0; discard where it is -errno. Returns `err`, or
 * the result of the commit.
 */
int newfile_close(struct newfile *n, int err);

/* Close the file and remove it. Safe on a file that is not open. */
void newfile_discard(struct newfile *n);

#endif
