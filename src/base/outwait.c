/*
 * Outputs whose reader may stall; see the header. Called by log.c, newfile.c and
 * src/report/outfile.c.
 *
 * Nothing here waits inside write(2): poll(2) tells when there is room for a piece, and a lock
 * keeps other threads from taking that room. Only another process that writes to the same pipe can
 * still make a write block.
 */
#include "xdd/base/outwait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/hold.h"
#include "xdd/base/nstime.h"

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

bool outwait_is_ending(void)
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
