/*
 * The time server's TCP connections. Called by time_server.c.
 *
 * When all slots are in use, a new connection replaces the one that has been silent for longest, of
 * the address that has most of them.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/time_server_internal.h"
#include "xdd/base/units.h"

/* In one turn, before others have theirs. */
#define ACCEPT_BATCH 16
#define MESSAGE_BATCH 16

/* The bytes that tell addresses apart. A host of IPv6 has a whole network to choose from. */
static void key_of(const struct sockaddr_storage *a, uint8_t key[16])
{
	memset(key, 0, 16);
	if (a->ss_family == AF_INET6)
		memcpy(key, &((const struct sockaddr_in6 *)a)->sin6_addr, 8);
	else
		memcpy(key + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
}

/* Count the connections of an address after one has come (1) or gone (-1). */
static unsigned recount(struct time_server *s, const uint8_t key[16], int by)
{
	unsigned same = 0;

	for (size_t i = 0; i < TIME_MAX_CLIENTS; i++) {
		struct time_tcp *t = &s->clients[i];

		if (t->fd < 0 || memcmp(t->address, key, 16) != 0)
			continue;
		t->same = (unsigned)((int)t->same + by);
		same++;
	}
	return same;
}

void time_tcp_close(struct time_server *s, struct time_tcp *t)
{
	if (t->fd < 0)
		return;
	close(t->fd);
	t->fd = -1;
	s->n_clients--;
	recount(s, t->address, -1);
}

static struct time_tcp *free_slot(struct time_server *s)
{
	struct time_tcp *victim = NULL;

	for (size_t i = 0; i < TIME_MAX_CLIENTS; i++) {
		struct time_tcp *t = &s->clients[i];

		if (t->fd < 0 && s->n_clients < s->max_clients)
			return t;
		if (t->fd >= 0 && (!victim || t->same > victim->same ||
				   (t->same == victim->same && t->heard_ns < victim->heard_ns)))
			victim = t;
	}
	if (victim)
		time_tcp_close(s, victim);
	return victim;
}

static void take(struct time_server *s, int fd, const struct sockaddr_storage *from)
{
	struct time_tcp *t = free_slot(s);
	struct epoll_event e = { .events = EPOLLIN };
	const int on = 1;

	if (!t) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	memset(t, 0, sizeof(*t));
	t->fd = -1;
	key_of(from, t->address);
	t->same = recount(s, t->address, 1) + 1;
	t->fd = fd;
	t->heard_ns = clock_kernel_ns();
	s->n_clients++;
	e.data.u64 = TIME_EVENT_CLIENT + (uint64_t)(t - s->clients);
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		time_tcp_close(s, t);
}

void time_tcp_accept(struct time_server *s, int fd)
{
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t size = sizeof(from);
		int c = accept4(fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (c < 0)
			return;
		take(s, c, &from);
	}
}

/* Answer the message of `t`. False: it is none, or the peer does not read. */
static bool answer(struct time_server *s, struct time_tcp *t)
{
	time_source_read(&s->source);
	t->have = 0;
	t->heard_ns = s->source.last.after_ns;
	return ++t->messages <= TIME_MAX_MESSAGES &&
	       time_source_answer(&s->source, t->bytes, sizeof(t->bytes), 0) &&
	       send(t->fd, t->bytes, sizeof(t->bytes), MSG_NOSIGNAL | MSG_DONTWAIT) ==
		       sizeof(t->bytes);
}

void time_tcp_serve(struct time_server *s, struct time_tcp *t)
{
	for (int i = 0; t->fd >= 0 && i < MESSAGE_BATCH; i++) {
		ssize_t n =
			recv(t->fd, t->bytes + t->have, sizeof(t->bytes) - t->have, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0 && !t->have)
			t->partial_ns = clock_kernel_ns();
		t->have += n > 0 ? (size_t)n : 0;
		if (n <= 0 || (t->have == sizeof(t->bytes) && !answer(s, t)))
			time_tcp_close(s, t);
	}
}

void time_tcp_sweep(struct time_server *s, uint64_t now_ns)
{
	for (size_t i = 0; i < TIME_MAX_CLIENTS; i++) {
		struct time_tcp *t = &s->clients[i];

		if (t->fd >= 0 && (now_ns - t->heard_ns > TIME_IDLE_NS ||
				   (t->have && now_ns - t->partial_ns > TIME_PARTIAL_NS)))
			time_tcp_close(s, t);
	}
}
