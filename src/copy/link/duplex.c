/*
 * Bytes over two descriptors: duplex.h. Each call tries first and waits with poll(2) only where it
 * has to, together with a descriptor that becomes readable when the calls are to end.
 */
#include "copy/link/duplex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

struct duplex {
	/* const until duplex_free() */
	int read_fd, write_fd;
	int read_flags, write_flags; /* as they were */
	int end_fd;		     /* readable once it is aborted */
	bool terminal;		     /* the descriptor that is read */
	struct termios modes;	     /* of the terminal, as they were */

	/* atomic */
	atomic_bool aborted;
	atomic_bool timed_out;
	_Atomic uint64_t timeout_ns;
	_Atomic uint64_t received_ns; /* the last time that bytes arrived */
};

static int unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return flags;
}

/* Have a terminal pass all bytes as they are. */
static void make_raw(struct duplex *d)
{
	struct termios raw;

	d->terminal = tcgetattr(d->read_fd, &d->modes) == 0;
	if (!d->terminal)
		return;
	raw = d->modes;
	cfmakeraw(&raw);
	tcsetattr(d->read_fd, TCSANOW, &raw);
}

struct duplex *duplex_new(int read_fd, int write_fd, uint64_t timeout_ns)
{
	struct duplex *d = calloc(1, sizeof(*d));
	int end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!d || end_fd < 0) {
		if (end_fd >= 0)
			close(end_fd);
		close(read_fd);
		if (write_fd != read_fd)
			close(write_fd);
		free(d);
		return NULL;
	}
	d->read_fd = read_fd;
	d->write_fd = write_fd;
	d->end_fd = end_fd;
	atomic_init(&d->timeout_ns, timeout_ns);
	atomic_init(&d->aborted, false);
	atomic_init(&d->timed_out, false);
	atomic_init(&d->received_ns, clock_now_ns());
	d->read_flags = unblock(read_fd);
	d->write_flags = unblock(write_fd);
	make_raw(d);
	return d;
}

void duplex_free(struct duplex *d)
{
	if (!d)
		return;
	if (d->terminal)
		tcsetattr(d->read_fd, TCSANOW, &d->modes);
	/* In this order: both may belong to one open file. */
	fcntl(d->write_fd, F_SETFL, d->write_flags);
	fcntl(d->read_fd, F_SETFL, d->read_flags);
	close(d->read_fd);
	if (d->write_fd != d->read_fd)
		close(d->write_fd);
	close(d->end_fd);
	free(d);
}

void duplex_set_timeout(struct duplex *d, uint64_t timeout_ns)
{
	atomic_store(&d->timeout_ns, timeout_ns);
}

uint64_t duplex_timeout(const struct duplex *d)
{
	return atomic_load(&d->timeout_ns);
}

bool duplex_timed_out(const struct duplex *d)
{
	return atomic_load(&d->timed_out);
}

void duplex_abort(struct duplex *d)
{
	atomic_store(&d->aborted, true);
	eventfd_write(d->end_fd, 1);
}

static bool aborted(const struct duplex *d)
{
	return atomic_load_explicit(&d->aborted, memory_order_relaxed);
}

/*
 * Wait for `events` on `fd`, or only for the time where `fd` is -1. Returns 0; -ETIMEDOUT at
 * `until_ns`; or -ECONNABORTED.
 */
static int wait_until(struct duplex *d, int fd, short events, uint64_t until_ns)
{
	struct pollfd p[2] = {
		{ .fd = d->end_fd, .events = POLLIN },
		{ .fd = fd, .events = events },
	};

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		struct timespec left = clock_timespec(until_ns > now_ns ? until_ns - now_ns : 0);
		int n = ppoll(p, 2, &left, NULL);

		if (aborted(d))
			return -ECONNABORTED;
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && clock_now_ns() >= until_ns)
			return -ETIMEDOUT;
	}
}

int duplex_sleep(struct duplex *d, uint64_t until_ns)
{
	int err = wait_until(d, -1, 0, until_ns);

	return err == -ETIMEDOUT ? 0 : err;
}

/* Remember that a call fails because of the time limit. Returns `err`. */
static int failed(struct duplex *d, int err)
{
	if (err == -ETIMEDOUT)
		atomic_store(&d->timed_out, true);
	return err;
}

/* -errno of read(2) or write(2). The end of a terminal is EIO. */
static int lost(int err)
{
	return err == -EPIPE || err == -EIO ? -ECONNRESET : err;
}

/* ---- sending ---- */

/* Wait until there is room, and longer while the other side sends. */
static int wait_for_room(struct duplex *d)
{
	uint64_t since_ns = clock_now_ns();

	for (;;) {
		int err = wait_until(d, d->write_fd, POLLOUT, since_ns + duplex_timeout(d));
		uint64_t heard_ns = atomic_load(&d->received_ns);

		if (err != -ETIMEDOUT || heard_ns <= since_ns)
			return err;
		since_ns = heard_ns;
	}
}

/* Leave out the first `done` bytes of `iov`. Returns the number of parts that are left. */
static int advance(struct iovec **iov, int n, size_t done)
{
	while (n && done >= (*iov)->iov_len) {
		done -= (*iov)->iov_len;
		(*iov)++;
		n--;
	}
	if (n) {
		(*iov)->iov_base = (char *)(*iov)->iov_base + done;
		(*iov)->iov_len -= done;
	}
	return n;
}

int duplex_send(struct duplex *d, struct iovec *iov, int n)
{
	n = advance(&iov, n, 0);
	while (n) {
		ssize_t done;
		int err = 0;

		if (aborted(d))
			return -ECONNABORTED;
		done = writev(d->write_fd, iov, n < IOV_MAX ? n : IOV_MAX);
		if (done >= 0)
			n = advance(&iov, n, (size_t)done);
		else if (errno == EAGAIN)
			err = wait_for_room(d);
		else if (errno != EINTR)
			err = lost(-errno);
		if (err)
			return failed(d, err);
	}
	return 0;
}

/* ---- receiving ---- */

int duplex_receive(struct duplex *d, void *buf, size_t size)
{
	char *to = buf;

	while (size) {
		ssize_t n;
		int err = 0;

		if (aborted(d))
			return -ECONNABORTED;
		n = read(d->read_fd, to, size);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno == EAGAIN)
			err = wait_until(d, d->read_fd, POLLIN, clock_now_ns() + duplex_timeout(d));
		else if (n < 0 && errno != EINTR)
			err = lost(-errno);
		if (err)
			return failed(d, err);
		if (n > 0) {
			to += n;
			size -= (size_t)n;
			atomic_store(&d->received_ns, clock_now_ns());
		}
	}
	return 0;
}
