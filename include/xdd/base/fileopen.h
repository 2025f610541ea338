/*
 * Opening files whose names may lead to another file by the time they are opened: a link was moved,
 * a device was plugged in, or another user may write to the directory. No state; any thread.
 */
#ifndef XDD_BASE_FILEOPEN_H
#define XDD_BASE_FILEOPEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

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
 * or a writer. Opening a pipe never waits: -ENXIO when it is to be written to and has no reader.
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
 * Returns 1 if another user has put `path` itself, a link or a file, into a sticky directory that
 * all may write to, 0 if not, or -errno. Files of the owner of the directory are trusted.
 */
int fileopen_is_planted(const char *path);

/*
 * As faccessat(2) with AT_EACCESS: 0, or -1 with errno. Where a container runtime answers EPERM to
 * a system call that it does not know, the older call answers.
 */
int fileopen_access(int dir_fd, const char *path, int mode);

#endif
