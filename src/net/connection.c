/*
 * Sending and receiving on a connection. Called by sessions and by the listener.
 *
 * Without TLS a call is one system call where all of it fits: the socket blocks, and the kernel
 * keeps the time limit (SO_SNDTIMEO, SO_RCVTIMEO), so there is no poll(2) per call. With TLS the
 * socket does not block, because one OpenSSL object serves both directions under a lock, which no
 * thread may hold while it waits.
 */
#include "net/connection_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

static bool aborted(const struct connection *c)
{
	return atomic_load_explicit(&c->aborted, memory_order_relaxed);
}

int connection_errno(const struct connection *c, int err)
{
	if (aborted(c))
		return -ECONNABORTED;
	if (err == -EPIPE)
		return -ECONNRESET;
	if (err == -EAGAIN)
		return -ETIMEDOUT;
	return err;
}

static void set_time_limits(struct connection *c)
{
	struct timeval tv = {
		.tv_sec = (time_t)(c->timeout_ns / NS_PER_SEC),
		.tv_usec = (suseconds_t)(c->timeout_ns % NS_PER_SEC / NS_PER_US),
	};

	/* Zero stands for no limit. */
	if (!tv.tv_sec && !tv.tv_usec)
		tv.tv_usec = 1;
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}

struct connection *connection_new(int fd, const struct connection_options *options)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct sockaddr_storage a = { 0 }, b = { 0 };
	socklen_t size = sizeof(a);

	if (!c)
		return NULL;
	c->fd = fd;
	c->timeout_ns = options->timeout_ns;
	atomic_init(&c->aborted, false);
	if (getsockname(fd, (struct sockaddr *)&a, &size) == 0)
		connection_address_text(&a, c->local, sizeof(c->local));
	size = sizeof(b);
	if (getpeername(fd, (struct sockaddr *)&b, &size) == 0)
		connection_address_text(&b, c->peer, sizeof(c->peer));
	connection_keep_in_cache(fd, options, &a, &b);
	set_time_limits(c);
	return c;
}

int connection_set_blocking(struct connection *c, bool blocking)
{
	int flags = fcntl(c->fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (c->tls)
		blocking = false;
	flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	return fcntl(c->fd, F_SETFL, flags) < 0 ? -errno : 0;
}

void connection_close(struct connection *c)
{
	if (!c)
		return;
	tls_free(c->tls);
	close(c->fd);
	free(c);
}

void connection_abort(struct connection *c)
{
	atomic_store(&c->aborted, true);
	shutdown(c->fd, SHUT_RDWR);
}

const char *connection_peer(const struct connection *c)
{
	return c->peer;
}

bool connection_encrypted(const struct connection *c)
{
	return c->tls != NULL;
}

int connection_export_key(struct connection *c, const char *label, uint8_t out[WIRE_KEY_BYTES])
{
	if (!c->tls)
		return -ENOTSUP;
	return tls_export_key(c->tls, label, out, WIRE_KEY_BYTES);
}

/* ---- one attempt ---- */

ssize_t connection_try_receive(struct connection *c, void *buf, size_t size, short *events)
{
	ssize_t n;

	if (c->tls)
		return tls_read(c->tls, buf, size, events);
	do
		n = recv(c->fd, buf, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*events = POLLIN;
	if (n == 0)
		return -ECONNRESET;
	return n < 0 ? -errno : n;
}

ssize_t connection_try_send(struct connection *c, const void *buf, size_t size, short *events)
{
	ssize_t n;

	if (c->tls)
		return tls_write(c->tls, buf, size, events);
	do
		n = send(c->fd, buf, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	*events = POLLOUT;
	return n < 0 ? -errno : n;
}

/* ---- with TLS ---- */

/* Wait for `events`. Returns 0; -EAGAIN after the time limit; or another -errno. */
static int wait_for(struct connection *c, short events)
{
	struct pollfd p = { .fd = c->fd, .events = events };
	struct timespec limit = clock_timespec(c->timeout_ns);
	int n;

	do
		n = ppoll(&p, 1, &limit, NULL);
	while (n < 0 && errno == EINTR);
	if (aborted(c))
		return -ECONNABORTED;
	if (n < 0)
		return -errno;
	return n ? 0 : -EAGAIN;
}

static int tls_send_part(struct connection *c, const char *data, size_t size)
{
	while (size) {
		short events = 0;
		ssize_t n = tls_write(c->tls, data, size, &events);
		int err = n < 0 ? (int)n : 0;

		if (aborted(c))
			return -ECONNABORTED;
		if (err == -EAGAIN)
			err = wait_for(c, events);
		if (err)
			return connection_errno(c, err);
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

static int tls_send(struct connection *c, struct iovec *iov, int n)
{
	for (int i = 0; i < n; i++) {
		int err = tls_send_part(c, iov[i].iov_base, iov[i].iov_len);

		if (err)
			return err;
	}
	return 0;
}

/* As receive_part(). */
static ssize_t tls_receive_part(struct connection *c, char *buf, size_t size)
{
	for (;;) {
		short events = 0;
		ssize_t n = tls_read(c->tls, buf, size, &events);
		int err;

		if (n != -EAGAIN)
			return n;
		err = wait_for(c, events);
		if (err)
			return err;
	}
}

/* ---- without ---- */

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

int connection_send(struct connection *c, struct iovec *iov, int n)
{
	if (c->tls)
		return tls_send(c, iov, n);
	n = advance(&iov, n, 0);
	while (n) {
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)n };
		ssize_t done = sendmsg(c->fd, &m, MSG_NOSIGNAL);

		if (aborted(c))
			return -ECONNABORTED;
		if (done >= 0)
			n = advance(&iov, n, (size_t)done);
		else if (errno != EINTR)
			return connection_errno(c, -errno);
	}
	return 0;
}

/* Receive something. Returns the number of bytes; -EAGAIN after the time limit; or -errno. */
static ssize_t receive_part(struct connection *c, char *buf, size_t size)
{
	ssize_t n;

	if (c->tls)
		return tls_receive_part(c, buf, size);
	do
		n = recv(c->fd, buf, size, MSG_WAITALL);
	while (n < 0 && errno == EINTR && !aborted(c));
	if (n == 0)
		return -ECONNRESET;
	return n < 0 ? -errno : n;
}

int connection_receive(struct connection *c, void *buf, size_t size)
{
	char *to = buf;

	while (size) {
		ssize_t n = receive_part(c, to, size);

		if (n < 0 || aborted(c))
			return connection_errno(c, (int)n);
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

int connection_receive_first(struct connection *c, void *buf, size_t size)
{
	ssize_t n = receive_part(c, buf, size);

	if (n == -EAGAIN && !aborted(c))
		return -EAGAIN;
	if (n < 0 || aborted(c))
		return connection_errno(c, (int)n);
	return connection_receive(c, (char *)buf + n, size - (size_t)n);
}

int connection_wait(struct connection *c, int wake_fd, uint64_t timeout_ns)
{
	struct pollfd p[2] = {
		{ .fd = c->fd, .events = POLLIN },
		{ .fd = wake_fd, .events = POLLIN },
	};
	const bool limited = timeout_ns != UINT64_MAX;
	const uint64_t until_ns = limited ? clock_now_ns() + timeout_ns : 0;
	int n;

	if (c->tls && tls_pending(c->tls) && !aborted(c))
		return 1;
	do {
		uint64_t now_ns = clock_now_ns();
		struct timespec left;

		left = clock_timespec(limited && until_ns > now_ns ? until_ns - now_ns : 0);
		n = ppoll(p, 2, limited ? &left : NULL, NULL);
	} while (n < 0 && errno == EINTR);
	if (aborted(c))
		return -ECONNABORTED;
	if (n < 0)
		return -errno;
	return p[0].revents != 0;
}
