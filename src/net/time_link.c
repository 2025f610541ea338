/*
 * Sockets of clients of global time: time_link.h. Called by time_client.c.
 */
#include "net/time_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "xdd/base/units.h"
#include "xdd/sync/stop.h"
#include "xdd/sys/clock.h"

/* How often a wait looks whether the run stops. */
#define LOOK_NS (50 * NS_PER_MS)

/* ---- waits ---- */

int time_wait(const struct time_wait *w, int fd, short events, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p[2] = { { .fd = fd, .events = events },
				       { .fd = w->wake_fd, .events = POLLIN } };
		uint64_t now_ns = clock_now_ns(), left_ns;
		struct timespec limit;

		if (w->stop && stop_requested(w->stop))
			return -ECANCELED;
		left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		limit = clock_timespec(w->stop ? ns_earlier(left_ns, LOOK_NS) : left_ns);
		if (ppoll(p, 2, &limit, NULL) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return -ECANCELED;
		if (p[0].revents)
			return 1;
		if (now_ns >= until_ns)
			return 0;
	}
}

/* ---- times ---- */

struct time_reading time_reading(void)
{
	struct time_reading r;

	r.before_ns = clock_now_ns();
	r.wall_ns = clock_wall_ns();
	r.after_ns = clock_now_ns();
	return r;
}

uint64_t time_arrival_ns(const struct time_arrival *a, const struct time_reading *sent)
{
	const bool usable = time_same_wall(sent, &a->read);

	return time_stamp_arrival(usable ? a->stamp_ns : 0, &a->read, sent->after_ns);
}

/* ---- links ---- */

static int connect_link(int fd, const struct sockaddr_storage *to, socklen_t size,
			const struct time_wait *w, uint64_t until_ns)
{
	int result = 0;
	socklen_t result_size = sizeof(result);

	if (connect(fd, (const struct sockaddr *)to, size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	result = time_wait(w, fd, POLLOUT, until_ns);
	if (result <= 0)
		return result ? result : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &result_size) != 0)
		return -errno;
	return -result;
}

int time_link_open(struct time_link *l, const struct sockaddr_storage *to, socklen_t size, bool tcp,
		   const struct time_wait *w, uint64_t until_ns)
{
	const int type = (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, on = 1;
	int fd = socket(to->ss_family, type, 0), err;

	if (fd < 0)
		return -errno;
	if (tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	else
		time_stamp_enable(fd);
	err = connect_link(fd, to, size, w, until_ns);
	if (err) {
		close(fd);
		return err;
	}
	*l = (struct time_link){ .fd = fd, .tcp = tcp };
	return 0;
}

void time_link_close(struct time_link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int time_link_send(struct time_link *l, const uint8_t bytes[TIME_MESSAGE_BYTES])
{
	ssize_t n = send(l->fd, bytes, TIME_MESSAGE_BYTES, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	/* The buffers of a connection have room for all messages that may be in flight. */
	return n == TIME_MESSAGE_BYTES ? 0 : -ECONNRESET;
}

int time_link_receive(struct time_link *l, struct time_message *m, struct time_arrival *a)
{
	/* A datagram that is longer than a message is none: the spare byte shows it. */
	uint8_t spare;
	struct iovec iov[2] = { { l->buffer + l->have, sizeof(l->buffer) - l->have },
				{ &spare, 1 } };
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct msghdr h = { .msg_iov = iov,
			    .msg_iovlen = l->tcp ? 1 : 2,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(l->fd, &h, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0 && l->tcp)
		return -ECONNRESET;
	a->read = time_reading();
	a->stamp_ns = l->tcp ? 0 : time_stamp_of(&h);
	if (!l->tcp)
		return time_message_decode(l->buffer, (size_t)n, m);
	l->have += (size_t)n;
	if (l->have < sizeof(l->buffer))
		return 0;
	l->have = 0;
	return time_message_decode(l->buffer, sizeof(l->buffer), m) ? 1 : -EBADMSG;
}
