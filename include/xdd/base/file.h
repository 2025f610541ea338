/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files: opened safely, read whole, replaced once they are complete, and temporary ones.
 */
#ifndef XDD_BASE_FILE_H
#define XDD_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opening files whose names may lead to another file by the time they are opened: a link was
 * moved, a device was plugged in, or another user may write to the directory. No state; any
 * thread.
 */

/*
 * Make room for `n` open files of this process, by raising the soft limit if needed. False: the
 * hard limit is lower. `*limit` is the limit then in force, in files. Any thread.
 */
bool fileopen_make_room(uint64_t n, uint64_t *limit);

/*
 * Decides if a file may be opened: returns 0, or the -errno that refuses it. `fd` may be of
 * O_PATH, which only fstat(2) and fstatfs(2) accept.
 */
typedef int (*fileopen_judge)(void *arg, int fd, const struct stat *st);

/*
 * Open an existing file with the flags of open(2) once `judge` has accepted it; never creates or
 * truncates one. The file that is judged is the one that is opened, however its name changes
 * meanwhile. A file that is refused is not opened: no device is started, and no pipe gets a reader
 * or a writer. Opening a pipe never waits: for writing, a pipe without a reader is -ENXIO.
 * Returns the descriptor (O_CLOEXEC) or -errno.
 *
 * Without /proc the file is opened first (O_NONBLOCK) and judged then.
 */
int fileopen_judged(const char *path, int flags, fileopen_judge judge, void *arg);

/*
 * Open the file of a descriptor once more. Returns a descriptor (O_CLOEXEC) or -errno; -ENOENT
 * without /proc.
 */
int fileopen_again(int fd, int flags);

/*
 * The path that open(2) with O_CREAT would create for `path`, or has opened: if the last name is a
 * symbolic link, it is followed, also where it leads to no file. A link of another user in a sticky
 * directory that all may write to is not followed, whatever fs.protected_symlinks says. Returns 0
 * with `*name` to be freed, or -errno: -EACCES for such a link, -ELOOP.
 */
int fileopen_follow(const char *path, char **name);

/*
 * As faccessat(2) with AT_EACCESS: 0, or -1 with errno. Where a container runtime answers EPERM to
 * a system call that it does not know, the older call answers.
 */
int fileopen_access(int dir_fd, const char *path, int mode);

/*
 * Times that prove that a file did not change while it was read. Any thread; no state.
 *
 * An equal ctime before and after the read proves nothing while a change would give that ctime
 * again: within the granularity of the file system's times. Nor does it where the kernel is in the
 * middle of a write: it sets the time first, and copies the bytes after it.
 */

#define FILEAGE_SLICE_NS 20000000ull /* a caller that waits looks at the file again after it */

/*
 * How long to wait until each change gives the open file `fd` another ctime than `ctime_ns`, which
 * it has, and no write that began before is still going on. That is 0 or less where the ctime is
 * some seconds old; otherwise until the next tick of the clock, the next second or two where the
 * file system keeps seconds, and a second where the file is open for writing or where that is not
 * known. It cannot help where the clock of a file server is ahead by more than two seconds, nor
 * where a single write lasts longer than a second.
 */
int64_t fileage_wait_ns(int fd, int64_t ctime_ns);

/*
 * Read files, pipes and devices to their end. Any thread.
 */

/*
 * Read from `fd` until `size` bytes are in `buf` or the file ends. Returns the number of bytes, or
 * -errno.
 */
ssize_t readfile_part(int fd, void *buf, size_t size);

/* As readfile_part(), from `offset` on, whatever the offset of `fd` is. */
ssize_t readfile_at(int fd, void *buf, size_t size, uint64_t offset);

/*
 * Read `fd` to its end. Returns 0 with `*data`, which the caller frees, and its `*size`; a NUL
 * follows the last byte. Returns -EFBIG where there are more than `limit` bytes, or another -errno;
 * `*data` is then NULL.
 */
int readfile(int fd, size_t limit, char **data, size_t *size);

/*
 * A file that gets its name only once it is complete: until then it has no name, or, where the
 * file system has no unnamed files, a temporary name in the same directory. A program that is
 * killed leaves the old file unchanged. The file gets the owner and permissions of the file that
 * it replaces. A link that another user has planted is not followed
 * (fileopen_follow()). An output that is not a regular file, such as a pipe or /dev/null, is
 * written directly.
 *
 * A newfile belongs to one thread at a time.
 */

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

/*
 * A temporary file without a name, for what is too long for memory until it is copied to where it
 * belongs. It disappears with the process, however that ends.
 */

/*
 * Open one in the directory of `near`, or, if `near` is NULL, in $TMPDIR or /tmp; in
 * memory where files cannot be created there. Returns a stream to write, rewind and read, or NULL
 * with errno. Close it with fclose(). Any thread.
 */
FILE *spool_open(const char *near);

/*
 * Call `take` with all that is in `spool`, a piece at a time, until it returns an error. Returns 0,
 * or -errno of what cannot be read, or the error.
 */
int spool_read(FILE *spool, int (*take)(void *arg, const char *piece, size_t size), void *arg);

/*
 * Copy all of `spool` to `to`. Returns 0 or -errno of what cannot be read or, as far as it is
 * known before a flush, written.
 */
int spool_copy(FILE *spool, FILE *to);

#endif
