/*
 * Files, pipes and devices that results and messages are written to. An output is never written to
 * a block device or a socket, and opening a pipe never waits for long. The functions keep no state;
 * any thread.
 *
 * Errors are -errno, and of these three -ENOTBLK: a block device, -EPROTOTYPE: a socket,
 * -ENOTCONN: a pipe that no process reads. output_strerror() has texts for all.
 */
#ifndef XDD_BASE_OUTPUT_H
#define XDD_BASE_OUTPUT_H

#include <stddef.h>

#define OUTPUT_WHY_SIZE 512

/*
 * The standard stream that `path` names: STDOUT_FILENO for "-" and /dev/stdout, STDERR_FILENO for
 * /dev/stderr, else -1.
 */
int output_standard(const char *path);

/*
 * Check if output_open() could open `path`, without opening it. Returns 0 or -errno, with a text
 * for people in `why` (OUTPUT_WHY_SIZE bytes). The readers of a pipe are not checked.
 */
int output_check(const char *path, char *why);

/*
 * As output_check(), for newfile_open(), which also creates a file beside the one that it replaces.
 */
int output_check_new(const char *path, char *why);

/*
 * Open `path` for writing, and create it where it is missing. `flags`: O_APPEND, O_TRUNC. The
 * checks apply to the file that was opened, not to the one that had the name before. A pipe has one
 * second to find its reader. Returns the descriptor (O_CLOEXEC) or -errno.
 */
int output_open(const char *path, int flags);

/* The error as the end of a message. `err` is an errno, positive or negative. */
const char *output_strerror(int err);

/*
 * Pipes that are held open for writing, from a check to the end of a run. A reader of a pipe sees
 * its end when the last writer closes it, so a pipe cannot be opened for a trial.
 *
 * Belongs to one thread. All zeros are valid: nothing is held.
 */
struct output_pipes {
	int *fds;
	size_t n;
};

/* Hold `path` if it is a pipe. Returns 0, also when it is not a pipe, or -errno. */
int output_pipes_hold(struct output_pipes *pipes, const char *path);

/* Close them all. */
void output_pipes_release(struct output_pipes *pipes);

#endif
