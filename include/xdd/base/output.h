/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outputs: files, pipes, devices and terminals that results and messages are written to.
 */
#ifndef XDD_BASE_OUTPUT_H
#define XDD_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "xdd/base/units.h"

/*
 * Files, pipes and devices that results and messages are written to. An output is never written to
 * a block device or a socket, and opening a pipe never waits for long. The functions keep no
 * state; any thread.
 *
 * Errors are -errno, and of these three -ENOTBLK: a block device, -EPROTOTYPE: a socket,
 * -ENOTCONN: a pipe that no process reads. output_strerror() has texts for all.
 */

#define OUTPUT_WHY_SIZE 512

/*
 * The standard stream that `path` names: STDOUT_FILENO for "-" and /dev/stdout, STDERR_FILENO for
 * /dev/stderr, else -1.
 */
int output_standard(const char *path);

/*
 * Check if output_open() could open `path`, without opening it. Returns 0 or -errno, with a
 * message in `why` (OUTPUT_WHY_SIZE bytes). The readers of a pipe are not checked.
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

/*
 * Writing to outputs whose reader may stall: pipes, terminals and sockets. A regular file is
 * written to at once.
 *
 * A write waits for room as long as the reader takes, until a signal asks the run to end: from
 * then on an output that accepts nothing for OUTWAIT_GRACE_NS is cut, and the rest of its data is
 * dropped. Any thread.
 */

#define OUTWAIT_GRACE_NS (3 * NS_PER_SEC / 2)

/*
 * Write all `size` bytes. Returns how many were written before `*err` happened: a positive errno,
 * ECANCELED when the output was cut, 0: none.
 */
size_t outwait_write(int fd, const char *data, size_t size, int *err);

/*
 * A stream that writes by outwait_write() and closes `fd`, which it owns from here on. NULL with
 * errno on failure.
 */
FILE *outwait_stream(int fd);

/* The run is to end: from now on outputs that accept nothing are cut. */
void outwait_end(void);

/* True if an output was cut because the run is to end. */
bool outwait_was_cut(void);

/*
 * Limit the waits of the calling thread: until clock_kernel_ns() reaches `deadline_ns`. Data
 * without room by then is dropped.
 */
void outwait_limit(uint64_t deadline_ns);

/*
 * The terminal that a file descriptor may be.
 */

/* The width of the terminal `fd`, or 0: not a terminal, or its width is unknown. */
static inline unsigned terminal_columns(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

#endif
