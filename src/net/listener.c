/*
 * The listening sockets of a run and the thread that accepts connections: listener.h.
 *
 * One epoll(7) loop serves all strangers without waiting for any of them. When their number is at
 * its limit, the next one replaces the oldest of the address that has most of them.
 */
#include "net/listener_internal.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

#define BACKLOG 1024

/* Connections that are accepted from one socket before strangers get their turn. */
#define ACCEPT_BATCH 32

/* After an accept(2) that failed for want of descriptors or memory, and between quiet ones. */
#define PAUSE_NS (100 * NS_PER_MS)
#define QUIET_BATCH (LISTENER_QUIET_PER_SECOND * PAUSE_NS / NS_PER_SEC)

/* epoll_event.data: a stranger's slot, or one of these. */
enum {
	EVENT_WAKE = LISTENER_MAX_STRANGERS,
	EVENT_SOCKET
};

#define MAX_EVENTS (LISTENER_MAX_STRANGERS + 16)

struct listener *listener_new(const struct connection_options *options, const struct net_key *key)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->options = options;
	atomic_init(&l->refused, 0);
	atomic_init(&l->quiet, false);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (key && key->present)
		l->tls = tls_context_new(key, true);
	if (l->epoll >= 0 && l->wake >= 0 && (l->tls || !key || !key->present))
		return l;
	listener_free(l);
	return NULL;
}

uint64_t listener_refused(const struct listener *l)
{
	return atomic_load(&l->refused);
}

void listener_set_quiet(struct listener *l, bool quiet)
{
	atomic_store(&l->quiet, quiet);
}

/* ---- sockets ---- */

static bool is_bound(const struct listener *l, const struct addrinfo *a)
{
	for (size_t i = 0; i < l->n_sockets; i++) {
		const struct listener_socket *s = &l->sockets[i];

		if (s->size == a->ai_addrlen && memcmp(&s->address, a->ai_addr, s->size) == 0)
			return true;
	}
	return false;
}

static int bind_socket(int fd, const struct listener *l, const struct addrinfo *a, char *why,
		       size_t size)
{
	int on = 1, err;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* Accepted sockets inherit these. */
	err = connection_prepare_socket(fd, l->options, why, size);
	if (err)
		return err;
	if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
		return -errno;
	return 0;
}

static int keep_socket(struct listener *l, int fd)
{
	struct listener_socket *s = array_room(l->sockets, l->n_sockets, sizeof(*s));

	if (!s)
		return -ENOMEM;
	l->sockets = s;
	s += l->n_sockets++;
	s->fd = fd;
	s->size = sizeof(s->address);
	memset(&s->address, 0, sizeof(s->address));
	return getsockname(fd, (struct sockaddr *)&s->address, &s->size) == 0 ? 0 : -errno;
}

static int add_address(struct listener *l, const struct addrinfo *a, char *why, size_t size)
{
	int fd, err;

	if (is_bound(l, a))
		return 0;
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (fd < 0)
		return -errno;
	err = bind_socket(fd, l, a, why, size);
	if (!err)
		err = keep_socket(l, fd);
	if (err)
		close(fd);
	return err;
}

static void say_not_bound(int err, const char *host, uint16_t port, char *why, size_t size)
{
	char text[300];

	if (*why)
		return;
	connection_host_text(host, port, text, sizeof(text));
	snprintf(why, size, "cannot listen on %s (%s)%s", text, strerror(-err),
		 err == -EADDRINUSE    ? "; another program has this port" :
		 err == -EADDRNOTAVAIL ? "; it must be an address of this host" :
					 "");
}

/* A name may have several addresses, and not all families are there. */
static bool is_absent(int err)
{
	return err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT;
}

int listener_add(struct listener *l, const char *host, uint16_t port, char *why, size_t size)
{
	struct addrinfo *list;
	bool any = false;
	int err;

	*why = '\0';
	err = connection_resolve(host, port, AI_PASSIVE, &list, why, size);
	if (err)
		return err;
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		err = add_address(l, a, why, size);
		any = any || !err;
		if (err && !is_absent(err))
			break;
	}
	freeaddrinfo(list);
	if (any && is_absent(err))
		err = 0;
	if (err)
		say_not_bound(err, host, port, why, size);
	return err;
}

uint16_t listener_port(const struct listener *l)
{
	const struct sockaddr_storage *a = &l->sockets[0].address;

	if (a->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)a)->sin6_port);
	return ntohs(((const struct sockaddr_in *)a)->sin_port);
}

/* ---- strangers ---- */

static void free_slot(struct stranger *s)
{
	connection_close(s->c);
	s->c = NULL;
}

static void watch(struct listener *l, struct stranger *s, short events, int how)
{
	struct epoll_event e = { .data.u64 = (uint64_t)(s - l->strangers) };

	e.events = events & POLLOUT ? EPOLLOUT : EPOLLIN;
	if (epoll_ctl(l->epoll, how, s->c->fd, &e) != 0)
		free_slot(s);
}

static void go_on(struct listener *l, struct stranger *s, int how)
{
	short events = POLLIN;

	switch (stranger_step(l, s, &events)) {
	case STRANGER_WAITS:
		watch(l, s, events, how);
		break;
	case STRANGER_GONE:
		free_slot(s);
		break;
	case STRANGER_TAKEN:
		break;
	}
}

static unsigned neighbours(const struct listener *l, const struct stranger *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++) {
		const struct stranger *o = &l->strangers[i];

		n += o->c && memcmp(&o->from, &s->from, sizeof(s->from)) == 0;
	}
	return n;
}

/* Free the slot of the oldest of the address with most strangers. */
static struct stranger *evict(struct listener *l)
{
	struct stranger *victim = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++) {
		struct stranger *s = &l->strangers[i];
		unsigned n = s->c ? neighbours(l, s) : 0;

		if (n > most || (n && n == most && s->number < victim->number)) {
			most = n;
			victim = s;
		}
	}
	if (victim) {
		atomic_fetch_add(&l->refused, 1);
		free_slot(victim);
	}
	return victim;
}

static struct stranger *slot(struct listener *l)
{
	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++)
		if (!l->strangers[i].c)
			return &l->strangers[i];
	return evict(l);
}

static void set_origin(struct stranger *s, const struct sockaddr_storage *a)
{
	memset(&s->from, 0, sizeof(s->from));
	if (a->ss_family == AF_INET6)
		s->from = ((const struct sockaddr_in6 *)a)->sin6_addr;
	else
		memcpy(&s->from.s6_addr[12], &((const struct sockaddr_in *)a)->sin_addr, 4);
}

static void welcome(struct listener *l, int fd, const struct sockaddr_storage *from)
{
	struct stranger *s = slot(l);
	struct connection *c = connection_new(fd, l->options);

	if (!c) {
		close(fd);
		return;
	}
	memset(s, 0, offsetof(struct stranger, message));
	s->c = c;
	s->state = STRANGER_FIRST_BYTE;
	s->number = l->accepted++;
	s->until_ns = clock_now_ns() + LISTENER_STRANGER_NS;
	set_origin(s, from);
	watch(l, s, POLLIN, EPOLL_CTL_ADD);
}

static void end_late(struct listener *l, uint64_t now_ns)
{
	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++) {
		struct stranger *s = &l->strangers[i];

		if (!s->c || s->until_ns > now_ns)
			continue;
		if (s->state < STRANGER_ANSWER) {
			hold(HOLD_STRANGER_LATE);
			atomic_fetch_add(&l->refused, 1);
		}
		free_slot(s);
	}
}

/* ---- the thread ---- */

static int watch_sockets(struct listener *l, bool accepting)
{
	for (size_t i = 0; i < l->n_sockets; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u64 = EVENT_SOCKET + i };

		if (epoll_ctl(l->epoll, accepting ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, l->sockets[i].fd,
			      &e) != 0)
			return -errno;
	}
	return 0;
}

static void pause_until(struct listener *l, uint64_t until_ns)
{
	l->paused_until_ns = until_ns;
	watch_sockets(l, false);
}

/*
 * False: enough was accepted for now. What waits in the queue of the kernel costs nothing; when it
 * is full, the kernel slows down those who connect.
 */
static bool may_accept(struct listener *l)
{
	uint64_t now_ns;

	if (!atomic_load(&l->quiet))
		return true;
	now_ns = clock_now_ns();
	if (now_ns - l->window_ns >= PAUSE_NS) {
		l->window_ns = now_ns;
		l->in_window = 0;
	}
	if (l->in_window++ < QUIET_BATCH)
		return true;
	pause_until(l, l->window_ns + PAUSE_NS);
	return false;
}

static void accept_some(struct listener *l, int listening)
{
	for (unsigned i = 0; i < ACCEPT_BATCH && may_accept(l); i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t size = sizeof(from);
		int fd = accept4(listening, (struct sockaddr *)&from, &size,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			welcome(l, fd, &from);
			continue;
		}
		/* Free a descriptor, and do not spin. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			evict(l);
			pause_until(l, clock_now_ns() + PAUSE_NS);
		}
		/* Errors of the network belong to the connection that was lost. */
		return;
	}
}

/* Milliseconds until something is late; -1: nothing will be. */
static int next_wait_ms(const struct listener *l, uint64_t now_ns)
{
	uint64_t until_ns = l->paused_until_ns ? l->paused_until_ns : UINT64_MAX;

	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++)
		if (l->strangers[i].c)
			until_ns = ns_earlier(until_ns, l->strangers[i].until_ns);
	if (until_ns == UINT64_MAX)
		return -1;
	return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / NS_PER_MS) + 1;
}

/*
 * Strangers first, then new ones: an event of a slot is that of the stranger who has it now.
 * Returns false when the thread is to end.
 */
static bool serve(struct listener *l, const struct epoll_event *events, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t which = events[i].data.u64;

		if (which == EVENT_WAKE)
			return false;
		if (which < LISTENER_MAX_STRANGERS && l->strangers[which].c)
			go_on(l, &l->strangers[which], EPOLL_CTL_MOD);
	}
	for (int i = 0; i < n; i++)
		if (events[i].data.u64 >= EVENT_SOCKET && !l->paused_until_ns)
			accept_some(l, l->sockets[events[i].data.u64 - EVENT_SOCKET].fd);
	return true;
}

static void *listener_thread(void *arg)
{
	struct listener *l = arg;
	struct epoll_event events[MAX_EVENTS];

	for (;;) {
		int n = epoll_wait(l->epoll, events, MAX_EVENTS, next_wait_ms(l, clock_now_ns()));
		uint64_t now_ns;

		if (n > 0 && !serve(l, events, n))
			return NULL;
		now_ns = clock_now_ns();
		end_late(l, now_ns);
		if (l->paused_until_ns && l->paused_until_ns <= now_ns) {
			l->paused_until_ns = 0;
			watch_sockets(l, true);
		}
	}
}

int listener_start(struct listener *l, listener_offer *offer, void *arg)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = EVENT_WAKE };
	int err;

	l->offer = offer;
	l->arg = arg;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &e) != 0)
		return -errno;
	err = watch_sockets(l, true);
	if (!err)
		err = thread_start(&l->thread, listener_thread, l);
	l->started = !err;
	return err;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	if (l->started) {
		eventfd_write(l->wake, 1);
		pthread_join(l->thread, NULL);
	}
	for (unsigned i = 0; i < LISTENER_MAX_STRANGERS; i++)
		free_slot(&l->strangers[i]);
	for (size_t i = 0; i < l->n_sockets; i++)
		close(l->sockets[i].fd);
	if (l->epoll >= 0)
		close(l->epoll);
	if (l->wake >= 0)
		close(l->wake);
	tls_context_free(l->tls);
	free(l->sockets);
	free(l);
}
