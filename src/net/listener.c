/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The listening sockets of a run and the thread that accepts connections.
 *
 * One epoll(7) loop serves all strangers without waiting for any of them. When their number is at
 * its limit, the next one replaces the oldest of the address that has most of them.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/listener_internal.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/status.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

/*
 * The limits of a peer before a session knows it: a TLS handshake, one message of limited size,
 * and nothing else. Nothing here waits.
 */

#define NO_KEY "the destination has a key, the source has none: give both sides the same -e2e key"

/* A step: 0: the state has changed; -EAGAIN: wait; anything else ends the connection. */
typedef int step(struct listener *l, struct stranger *s, short *events);

/* Have the peer get `why` as an ERROR, or close without a word. */
static int stranger_send_away(struct stranger *s, const char *why)
{
	struct wire_header h = {
		.type = WIRE_ERROR,
		.target = s->header.target,
		.connection = s->header.connection,
	};
	struct wire_error e = { .status = XDD_IO_ERROR };

	s->until_ns = ns_earlier(s->until_ns, clock_now_ns() + LISTENER_LAST_WORDS_NS);
	s->done = 0;
	s->size = 0;
	s->state = STRANGER_DRAIN;
	if (!*why)
		return shutdown(s->c->fd, SHUT_WR) == 0 ? 0 : -errno;
	snprintf(e.text, sizeof(e.text), "%s", why);
	h.length = wire_encode_error(&e, s->message + WIRE_HEADER_BYTES);
	h.digest = digest_data(s->message + WIRE_HEADER_BYTES, (size_t)h.length);
	wire_encode(&h, NULL, s->message);
	s->size = WIRE_HEADER_BYTES + (size_t)h.length;
	s->state = STRANGER_ANSWER;
	return 0;
}

/* Send away a peer that no session knows, and count it. */
static int stranger_refuse(struct listener *l, struct stranger *s, const char *why)
{
	atomic_fetch_add(&l->refused, 1);
	return stranger_send_away(s, why);
}

static int first_byte(struct listener *l, struct stranger *s, short *events)
{
	uint8_t byte;
	ssize_t n = recv(s->c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	*events = POLLIN;
	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	s->size = WIRE_HEADER_BYTES;
	s->state = STRANGER_HEADER;
	if (byte != TLS_FIRST_BYTE)
		return 0;
	if (!l->tls)
		return stranger_refuse(l, s, "");
	s->c->tls = tls_new(l->tls, s->c->fd);
	s->state = STRANGER_HANDSHAKE;
	s->tls = true;
	return s->c->tls ? 0 : -ENOMEM;
}

static int stranger_handshake(struct listener *l, struct stranger *s, short *events)
{
	int err = tls_handshake(s->c->tls, events);

	if (err == -EACCES || err == -EBADMSG)
		return stranger_refuse(l, s, "");
	if (!err)
		s->state = STRANGER_HEADER;
	return err;
}

/* Receive up to `s->size` bytes of the message. */
static int stranger_receive(struct stranger *s, short *events)
{
	while (s->done < s->size) {
		ssize_t n = connection_try_receive(s->c, s->message + s->done, s->size - s->done,
						   events);

		if (n < 0)
			return (int)n;
		s->done += (size_t)n;
	}
	return 0;
}

static int header(struct listener *l, struct stranger *s, short *events)
{
	int err = stranger_receive(s, events);
	unsigned version = 0;
	enum wire_fault fault;
	struct err why;

	if (err)
		return err;
	s->header.connection = WIRE_NO_CONNECTION;
	fault = wire_decode_first(s->message, &s->header, &version);
	if (fault == WIRE_BAD_VERSION) {
		err_set(&why, -EPROTO,
			"the source speaks version %u of the protocol, the destination version %u",
			version, WIRE_VERSION);
		return stranger_refuse(l, s, why.text);
	}
	if (fault != WIRE_OK || s->header.length > WIRE_MAX_HELLO_BYTES)
		return stranger_refuse(l, s, "");
	s->size += (size_t)s->header.length;
	s->state = STRANGER_BODY;
	return 0;
}

/* Offer the connection to the sessions. Returns 0: it is theirs. */
static int stranger_offer(struct listener *l, struct stranger *s, const struct wire_hello *hello,
			  struct err *why)
{
	struct listener_guest guest = {
		.connection = s->c,
		.tls = s->tls,
		.header = s->header,
		.hello = *hello,
	};

	memcpy(guest.raw, s->message, sizeof(guest.raw));
	if (l->tls && !s->tls && hello->purpose == WIRE_CONTROL)
		return err_set(why, -EACCES, "%s", NO_KEY);
	/* From here on it is watched by the session. */
	if (epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->c->fd, NULL) != 0 ||
	    connection_set_blocking(s->c, true) != 0)
		return -EIO;
	if (l->offer(l->arg, &guest, why))
		return 0;
	connection_set_blocking(s->c, false);
	epoll_ctl(l->epoll, EPOLL_CTL_ADD, s->c->fd,
		  &(struct epoll_event){ .data.u64 = (uint64_t)(s - l->strangers) });
	return -EACCES;
}

static int body(struct listener *l, struct stranger *s, short *events)
{
	const uint8_t *data = s->message + WIRE_HEADER_BYTES;
	struct err why = { 0 };
	struct wire_hello hello;
	int err = stranger_receive(s, events);

	if (err)
		return err;
	if (wire_check_body(&s->header, data) != WIRE_OK ||
	    wire_decode_hello(data, (size_t)s->header.length, &hello) != WIRE_OK)
		return stranger_refuse(l, s, "");
	if ((hello.purpose == WIRE_CONTROL) != (s->header.connection == WIRE_NO_CONNECTION))
		return stranger_refuse(l, s, "");
	if (stranger_offer(l, s, &hello, &why) != 0)
		return why.no == -ESHUTDOWN ? stranger_send_away(s, why.text) :
					      stranger_refuse(l, s, why.text);
	s->c = NULL;
	return 0;
}

static int stranger_answer(struct listener *l, struct stranger *s, short *events)
{
	(void)l;
	while (s->done < s->size) {
		ssize_t n =
			connection_try_send(s->c, s->message + s->done, s->size - s->done, events);

		if (n < 0)
			return (int)n;
		s->done += (size_t)n;
	}
	s->state = STRANGER_DRAIN;
	/* Fails where the connection is broken, as the next step sees. */
	shutdown(s->c->fd, SHUT_WR);
	return 0;
}

/*
 * Closing a socket with unread bytes resets the connection, and the peer may lose the answer: read
 * and discard, below TLS.
 */
static int stranger_drain(struct listener *l, struct stranger *s, short *events)
{
	(void)l;
	for (unsigned i = 0; i < 4; i++) {
		ssize_t n = recv(s->c->fd, s->message, sizeof(s->message), MSG_DONTWAIT);

		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR) {
			*events = POLLIN;
			return -errno;
		}
	}
	/* Others first. */
	*events = POLLIN;
	return -EAGAIN;
}

/* Go on with `s` as far as it goes without waiting. Thread of the listener. */
static enum stranger_end stranger_step(struct listener *l, struct stranger *s, short *events)
{
	static step *const steps[] = {
		[STRANGER_FIRST_BYTE] = first_byte,  [STRANGER_HANDSHAKE] = stranger_handshake,
		[STRANGER_HEADER] = header,	     [STRANGER_BODY] = body,
		[STRANGER_ANSWER] = stranger_answer, [STRANGER_DRAIN] = stranger_drain,
	};

	for (;;) {
		int err = steps[s->state](l, s, events);

		if (err == -EAGAIN)
			return STRANGER_WAITS;
		if (err)
			return STRANGER_GONE;
		if (!s->c)
			return STRANGER_TAKEN;
	}
}

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

static int bind_socket(int fd, const struct listener *l, const struct addrinfo *a, struct err *why)
{
	int on = 1, err;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* Accepted sockets inherit these. */
	err = connection_prepare_socket(fd, l->options, why);
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

static int add_address(struct listener *l, const struct addrinfo *a, struct err *why)
{
	int fd, err;

	if (is_bound(l, a))
		return 0;
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (fd < 0)
		return -errno;
	err = bind_socket(fd, l, a, why);
	if (!err)
		err = keep_socket(l, fd);
	if (err)
		close(fd);
	return err;
}

int listener_add(struct listener *l, const char *host, uint16_t port, struct err *why)
{
	struct addrinfo *list;
	bool any = false;
	int err;

	err_clear(why);
	err = connection_resolve(host, port, AI_PASSIVE, &list, why);
	if (err)
		return err;
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		err = add_address(l, a, why);
		any = any || !err;
		if (err && !connection_is_absent(err))
			break;
	}
	freeaddrinfo(list);
	if (any && connection_is_absent(err))
		err = 0;
	if (err && !err_is_set(why))
		return connection_say_not_bound(err, host, port, why);
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

static void listener_watch(struct listener *l, struct stranger *s, short events, int how)
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
		listener_watch(l, s, events, how);
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
	listener_watch(l, s, POLLIN, EPOLL_CTL_ADD);
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
 * Strangers first, then new ones: an event of a slot belongs to the stranger who has it now.
 * Returns false when the thread is to end.
 */
static bool listener_serve(struct listener *l, const struct epoll_event *events, int n)
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

		if (n > 0 && !listener_serve(l, events, n))
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
