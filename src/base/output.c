/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outputs. Called where outputs are checked before a run, and by the writers of outputs, messages,
 * lists and documents.
 */
#include "xdd/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/*
 * Outputs whose reader may stall.
 *
 * Nothing here waits inside write(2): poll(2) tells when there is room for a piece, and a lock
 * keeps other threads from taking that room. Only another process that writes to the same pipe can
 * still make a write block.
 */

/* A pipe that poll() calls writable has room for this much, which is written at once. */
#define PIECE_BYTES PIPE_BUF

/* How often waits check if the run is to end. */
#define SLICE_NS (NS_PER_SEC / 20)

/*
 * Time for the other outputs once one was cut: all together delay the end by less than 2 s.
 */
#define AFTER_CUT_NS (NS_PER_SEC * 3 / 10)

/* atomic: clock at which outwait_end() was called, and of the first cut; 0: not yet */
static _Atomic uint64_t end_ns, cut_ns;

/* held from finding room in an output until it is filled */
static pthread_mutex_t room_lock = PTHREAD_MUTEX_INITIALIZER;

/* owned by its thread: outwait_limit() */
static _Thread_local uint64_t limit_ns = UINT64_MAX;

void outwait_end(void)
{
	uint64_t never = 0;

	atomic_compare_exchange_strong(&end_ns, &never, clock_kernel_ns());
}

bool outwait_was_cut(void)
{
	return atomic_load(&cut_ns) != 0;
}

/* True if the run is to end. */
static bool outwait_is_ending(void)
{
	return atomic_load(&end_ns) != 0;
}

void outwait_limit(uint64_t deadline_ns)
{
	limit_ns = deadline_ns;
}

/* The end of a wait that began at `begin_ns`; UINT64_MAX: none. */
static uint64_t deadline(uint64_t begin_ns)
{
	uint64_t end = atomic_load(&end_ns), cut = atomic_load(&cut_ns), until;

	if (!end)
		return limit_ns;
	until = (begin_ns > end ? begin_ns : end) + OUTWAIT_GRACE_NS;
	if (cut && cut + AFTER_CUT_NS < until)
		until = cut + AFTER_CUT_NS;
	return until < limit_ns ? until : limit_ns;
}

/* True if a wait may continue; records the first that was cut because the run is to end. */
static bool may_wait(uint64_t begin_ns, uint64_t now)
{
	uint64_t never = 0;

	if (now < deadline(begin_ns))
		return true;
	if (now < limit_ns)
		atomic_compare_exchange_strong(&cut_ns, &never, now);
	return false;
}

static bool has_room(int fd, int timeout_ms)
{
	struct pollfd look = { .fd = fd, .events = POLLOUT };
	int n = poll(&look, 1, timeout_ms);

	/* If the output cannot be polled, write(2) reports why. */
	return n > 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

static int wait_for_room(int fd)
{
	uint64_t begin = clock_kernel_ns(), now = begin;

	if (has_room(fd, 0))
		return 0;
	hold(HOLD_OUTPUT_FULL);
	while (!has_room(fd, 0)) {
		uint64_t until = deadline(begin), left = until > now ? until - now : 0;

		if (has_room(fd, (int)((left < SLICE_NS ? left : SLICE_NS) / 1000000)))
			break;
		now = clock_kernel_ns();
		if (!may_wait(begin, now))
			return ECANCELED;
	}
	return 0;
}

/*
 * Write a piece of `data` as soon as there is room for it. Returns as write(2) does.
 */
static ssize_t write_piece(int fd, const char *data, size_t size)
{
	int err = wait_for_room(fd);
	ssize_t n = -1;

	if (err) {
		errno = err;
		return -1;
	}
	pthread_mutex_lock(&room_lock);
	if (has_room(fd, 0))
		n = write(fd, data, size < PIECE_BYTES ? size : PIECE_BYTES);
	else
		errno = EAGAIN;
	err = errno;
	pthread_mutex_unlock(&room_lock);
	errno = err;
	return n;
}

size_t outwait_write(int fd, const char *data, size_t size, int *err)
{
	struct stat st;
	bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	size_t done = 0;

	*err = 0;
	while (done < size) {
		ssize_t n = regular ? write(fd, data + done, size - done) :
				      write_piece(fd, data + done, size - done);

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno != EINTR && errno != EAGAIN) {
			*err = errno;
			break;
		}
	}
	return done;
}

struct stream {
	int fd;
	off64_t written;
};

static ssize_t stream_write(void *cookie, const char *data, size_t size)
{
	struct stream *s = cookie;
	int err;
	size_t done = outwait_write(s->fd, data, size, &err);

	s->written += (off64_t)done;
	/* stdio takes a short write for an error. */
	errno = err;
	return (ssize_t)done;
}

/* For ftell(3), which tells how much was written. */
static int stream_seek(void *cookie, off64_t *offset, int whence)
{
	const struct stream *s = cookie;

	if (whence != SEEK_CUR || *offset) {
		errno = ESPIPE;
		return -1;
	}
	*offset = s->written;
	return 0;
}

static int stream_close(void *cookie)
{
	struct stream *s = cookie;
	int ret = close(s->fd);

	free(s);
	return ret;
}

FILE *outwait_stream(int fd)
{
	const cookie_io_functions_t functions = { .write = stream_write,
						  .seek = stream_seek,
						  .close = stream_close };
	struct stream *s = malloc(sizeof(*s));
	FILE *f = NULL;

	if (s) {
		*s = (struct stream){ .fd = fd };
		f = fopencookie(s, "w", functions);
	}
	if (!f)
		free(s);
	return f;
}

/*
 * Opening outputs; see the header. Called where outputs are checked before a run, and by the
 * writers of outputs.
 */

/* Patience: a reader that was started in the background opens its pipe a little later. */
#define READER_TRIES 100
#define READER_PAUSE_NS 10000000

int output_standard(const char *path)
{
	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	return strcmp(path, "/dev/stderr") == 0 ? STDERR_FILENO : -1;
}

const char *output_strerror(int err)
{
	switch (err < 0 ? -err : err) {
	case ENOTBLK:
		return "is a block device, and an output would destroy what it holds; name a file";
	case EPROTOTYPE:
		return "is a socket; name a file or a pipe";
	case ENOTCONN:
		return "is a pipe that no process reads; start its reader first";
	case ENOTUNIQ:
		return "its name now leads to something other than a regular file; use a name that "
		       "does not change";
	default:
		return strerror(err < 0 ? -err : err);
	}
}

static int output_judge(const struct stat *st)
{
	if (S_ISBLK(st->st_mode))
		return -ENOTBLK;
	if (S_ISSOCK(st->st_mode))
		return -EPROTOTYPE;
	return S_ISDIR(st->st_mode) ? -EISDIR : 0;
}

static int check_directory(const char *path, char *why)
{
	char *directory = path_directory(path);
	struct stat st;
	int err = 0;

	if (!directory)
		err = -ENOMEM;
	else if (stat(directory, &st) < 0)
		err = -errno;
	else if (!S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (err == -ENOENT) {
		snprintf(why, OUTPUT_WHY_SIZE, "there is no directory %s", directory);
	} else if (err) {
		snprintf(why, OUTPUT_WHY_SIZE, "%s", strerror(-err));
	} else if (fileopen_access(AT_FDCWD, directory, W_OK | X_OK) < 0) {
		err = -errno;
		snprintf(why, OUTPUT_WHY_SIZE, "cannot create a file in the directory %s (%s)",
			 directory, strerror(-err));
	}
	free(directory);
	return err;
}

/* Check the directory of the file that is to be created or replaced, after following links. */
static int check_place(const char *path, char *why)
{
	char *name = NULL;
	int err = fileopen_follow(path, &name);

	if (err)
		snprintf(why, OUTPUT_WHY_SIZE, "%s", strerror(-err));
	else
		err = check_directory(name, why);
	free(name);
	return err;
}

int output_check(const char *path, char *why)
{
	struct stat st;
	int err = 0;

	if (output_standard(path) >= 0)
		return 0;
	if (stat(path, &st) == 0) {
		err = output_judge(&st);
		if (!err && fileopen_access(AT_FDCWD, path, W_OK) < 0)
			err = -errno;
	} else if (errno == ENOENT) {
		return check_place(path, why);
	} else {
		err = -errno;
	}
	if (err)
		snprintf(why, OUTPUT_WHY_SIZE, "%s", output_strerror(err));
	return err;
}

int output_check_new(const char *path, char *why)
{
	int err = output_check(path, why);
	struct stat st;

	if (err || output_standard(path) >= 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return err;
	return check_place(path, why);
}

static void pause_briefly(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = READER_PAUSE_NS }, NULL);
}

/* Let writes wait, although the open did not. */
static int set_blocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

/* Accept or refuse the open file; nothing was changed so far. */
static int accept_open(int fd, bool cut)
{
	struct stat st;
	int err = fstat(fd, &st) < 0 ? -errno : output_judge(&st);

	if (!err)
		err = set_blocking(fd);
	if (!err && cut && S_ISREG(st.st_mode) && st.st_size && ftruncate(fd, 0) < 0)
		err = -errno;
	return err;
}

/* A pipe without a reader; or a file that another process has leased, and has to return. */
static bool may_open_later(int err, bool pipe)
{
	return (err == ENXIO && pipe) || err == EWOULDBLOCK;
}

/* O_CREAT also for an existing file: the kernel then applies fs.protected_regular and its like. */
static int open_soon(const char *path, int flags, bool pipe)
{
	int fd = open(path, flags, 0666), tries = READER_TRIES;

	while (fd < 0 && may_open_later(errno, pipe) && tries-- && !outwait_is_ending()) {
		pause_briefly();
		fd = open(path, flags, 0666);
	}
	if (fd < 0)
		return errno == ENXIO && pipe ? -ENOTCONN : -errno;
	return fd;
}

int output_open(const char *path, int flags)
{
	const int how = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (flags & O_APPEND);
	struct stat st = { .st_mode = 0 };
	int fd, err = 0;

	if (stat(path, &st) == 0)
		err = output_judge(&st);
	else if (errno != ENOENT)
		err = -errno;
	if (err)
		return err;
	fd = open_soon(path, how, S_ISFIFO(st.st_mode));
	if (fd < 0)
		return fd;
	err = accept_open(fd, flags & O_TRUNC);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int output_pipes_hold(struct output_pipes *pipes, const char *path)
{
	struct stat st;
	int *fds, fd;

	if (output_standard(path) >= 0 || stat(path, &st) < 0 || !S_ISFIFO(st.st_mode))
		return 0;
	fds = array_room(pipes->fds, pipes->n, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	pipes->fds = fds;
	fd = output_open(path, 0);
	if (fd < 0)
		return fd;
	fds[pipes->n++] = fd;
	return 0;
}

void output_pipes_release(struct output_pipes *pipes)
{
	for (size_t i = 0; i < pipes->n; i++)
		close(pipes->fds[i]);
	free(pipes->fds);
	*pipes = (struct output_pipes){ .n = 0 };
}
