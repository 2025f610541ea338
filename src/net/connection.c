/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sending and receiving on a connection, messages on it, and its facts for reports. Called by
 * sessions and by the listener.
 *
 * Without TLS a call is one system call where all of it fits: the socket blocks, and the kernel
 * keeps the time limit (SO_SNDTIMEO, SO_RCVTIMEO), so there is no poll(2) per call. With TLS the
 * socket does not block, because one OpenSSL object serves both directions under a lock, which no
 * thread may hold while it waits.
 *
 * <netinet/tcp.h> is not included: its struct tcp_info is the old one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

static bool aborted(const struct connection *c)
{
	return atomic_load_explicit(&c->aborted, memory_order_relaxed);
}

/* -errno of a socket call as connection_send() reports it. */
static int connection_errno(const struct connection *c, int err)
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

int connection_advance(struct iovec **iov, int n, size_t done)
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
	n = connection_advance(&iov, n, 0);
	while (n) {
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)n };
		ssize_t done = sendmsg(c->fd, &m, MSG_NOSIGNAL);

		if (aborted(c))
			return -ECONNABORTED;
		if (done >= 0)
			n = connection_advance(&iov, n, (size_t)done);
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

static void debug_message(const char *what, const struct connection *c, const struct wire_header *h)
{
	char number[16] = "control";

	if (h->connection != WIRE_NO_CONNECTION)
		snprintf(number, sizeof(number), "%" PRIu32, h->connection);
	debug_print(DEBUG_E2E,
		    "%s %s %s: target %" PRIu32 ", connection %s, pass %" PRIu32
		    ", sequence %" PRIu64 ", offset %" PRIu64 ", %" PRIu64 " bytes",
		    wire_type_name(h->type), what, connection_peer(c), h->target, number, h->pass,
		    h->sequence, h->offset, h->length);
}

int connection_send_message(struct connection *c, const struct wire_header *h, struct wire_key *key,
			    const void *body)
{
	uint8_t header[WIRE_HEADER_BYTES];
	struct iovec iov[2] = {
		{ .iov_base = header, .iov_len = sizeof(header) },
		{ .iov_base = (void *)body, .iov_len = h->length },
	};

	if (debug_on(DEBUG_E2E))
		debug_message("to", c, h);
	wire_encode(h, key, header);
	return connection_send(c, iov, h->length ? 2 : 1);
}

int connection_receive_header(struct connection *c, struct wire_key *key, uint64_t max_data,
			      struct wire_header *h, enum wire_fault *fault)
{
	uint8_t header[WIRE_HEADER_BYTES];
	int err = connection_receive_first(c, header, sizeof(header));

	*fault = WIRE_OK;
	if (err)
		return err;
	*fault = wire_decode(header, key, max_data, h, NULL);
	if (*fault != WIRE_OK)
		return -EBADMSG;
	if (debug_on(DEBUG_E2E))
		debug_message("from", c, h);
	return 0;
}

/* The kernel doubles what is asked for, and keeps one half for its own data. */
static uint64_t buffer_bytes(int fd, int which)
{
	int value = 0;
	socklen_t size = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, which, &value, &size) != 0 || value < 0)
		return 0;
	return (uint64_t)value / 2;
}

/* Where nothing was measured yet the kernel says that the least was the most possible. */
static uint64_t least_ns(uint32_t us)
{
	return us == UINT32_MAX ? 0 : us * NS_PER_US;
}

/* Kernels before 4.9 leave zeros. */
static uint64_t transit_ns(const struct tcp_info *ti)
{
	const uint64_t busy_us = ti->tcpi_busy_time, full_us = ti->tcpi_rwnd_limited;

	return busy_us > full_us ? (busy_us - full_us) * NS_PER_US : 0;
}

static void from_kernel(int fd, struct connection_info *info)
{
	struct tcp_info ti;
	socklen_t size = sizeof(ti);

	memset(&ti, 0, sizeof(ti));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &size) != 0)
		return;
	info->rtt_ns = ti.tcpi_rtt * NS_PER_US;
	info->rtt_min_ns = least_ns(ti.tcpi_min_rtt);
	info->rtt_variance_ns = ti.tcpi_rttvar * NS_PER_US;
	info->window_segments = ti.tcpi_snd_cwnd;
	info->segment_bytes = ti.tcpi_snd_mss;
	info->retransmits = ti.tcpi_total_retrans;
	info->transit_ns = transit_ns(&ti);
	info->sent_bytes = ti.tcpi_bytes_sent - ti.tcpi_bytes_retrans;
	info->received_bytes = ti.tcpi_bytes_received;
}

void connection_info(struct connection *c, struct connection_info *info)
{
	socklen_t size = sizeof(info->congestion);

	memset(info, 0, sizeof(*info));
	memcpy(info->local, c->local, sizeof(info->local));
	memcpy(info->peer, c->peer, sizeof(info->peer));
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, info->congestion, &size) != 0)
		info->congestion[0] = '\0';
	info->congestion[sizeof(info->congestion) - 1] = '\0';
	info->send_buffer_bytes = buffer_bytes(c->fd, SO_SNDBUF);
	info->receive_buffer_bytes = buffer_bytes(c->fd, SO_RCVBUF);
	from_kernel(c->fd, info);
	if (c->tls) {
		snprintf(info->cipher, sizeof(info->cipher), "%s", tls_cipher(c->tls));
		info->kernel_tls = tls_kernel(c->tls);
	}
}
