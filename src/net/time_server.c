/*
 * The time server: its sockets, its clock and its loop. Called by the command timeserver.
 *
 * One epoll(7) loop; no call in it waits for a peer.
 */
#include "xdd/net/time_server.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net/time_server_internal.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define BACKLOG 128
#define MAX_EVENTS 64
#define SWEEP_MS 1000

/* Descriptors for everything but connections. */
#define SPARE_DESCRIPTORS 80

#define START_READINGS 32

/* How often a port that the kernel chose is found to be in use with another address. */
#define PORT_TRIES 64

/* ---- the clock ---- */

static struct time_reading read_clocks(void)
{
	struct time_reading r;

	r.before_ns = clock_kernel_ns();
	r.wall_ns = clock_wall_ns();
	r.after_ns = clock_kernel_ns();
	return r;
}

/* The readings that took the least time: an interruption would be an error for ever. */
static struct time_reading read_clocks_well(void)
{
	struct time_reading best = read_clocks();

	for (int i = 0; i < START_READINGS; i++) {
		struct time_reading r = read_clocks();

		if (r.after_ns - r.before_ns < best.after_ns - best.before_ns)
			best = r;
	}
	return best;
}

static int start_clock(struct time_source *s)
{
	do {
		if (getrandom(&s->id, sizeof(s->id), 0) != sizeof(s->id))
			return -EIO;
	} while (!s->id);
	s->last = read_clocks_well();
	s->steady_ns = s->last.after_ns;
	s->base_ns = s->last.wall_ns - s->last.before_ns;
	return 0;
}

void time_source_read(struct time_source *s)
{
	struct time_reading now = read_clocks();

	if (!time_same_wall(&s->last, &now))
		s->steady_ns = now.after_ns;
	s->last = now;
}

bool time_source_answer(struct time_source *s, uint8_t *bytes, size_t size, uint64_t stamp_ns)
{
	struct time_message m;

	if (!time_message_decode(bytes, size, &m) || m.type != TIME_REQUEST)
		return false;
	m.type = TIME_REPLY;
	m.server_id = s->id;
	m.received_ns = s->base_ns + time_stamp_arrival(stamp_ns, &s->last, s->steady_ns);
	m.sent_ns = s->base_ns + clock_kernel_ns();
	time_message_encode(&m, bytes);
	return true;
}

/* ---- sockets ---- */

static int bound_socket(const struct addrinfo *a, int type, uint16_t port)
{
	struct sockaddr_storage to = { 0 };
	const int on = 1;
	int fd = socket(a->ai_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	memcpy(&to, a->ai_addr, a->ai_addrlen);
	/* sin_port and sin6_port have the same offset. */
	((struct sockaddr_in *)&to)->sin_port = htons(port);
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* Two servers with the same UDP port would share it silently with this option. */
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	else
		time_udp_prepare(fd, a->ai_family);
	if (bind(fd, (struct sockaddr *)&to, a->ai_addrlen) == 0 &&
	    (type != SOCK_STREAM || listen(fd, BACKLOG) == 0))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage a = { 0 };
	socklen_t size = sizeof(a);

	getsockname(fd, (struct sockaddr *)&a, &size);
	return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

static void close_sockets(struct time_server *s)
{
	while (s->n_udp)
		close(s->udp[--s->n_udp]);
	while (s->n_listening)
		close(s->listening[--s->n_listening]);
}

/* Listen on one address; the first one settles the port. */
static int add_address(struct time_server *s, const struct addrinfo *a)
{
	int fd = bound_socket(a, SOCK_DGRAM, s->port);

	if (fd < 0)
		return fd;
	s->udp[s->n_udp++] = fd;
	s->port = port_of(fd);
	fd = bound_socket(a, SOCK_STREAM, s->port);
	if (fd < 0)
		return fd;
	s->listening[s->n_listening++] = fd;
	return 0;
}

/* A name may have several addresses, and not all families are there. */
static bool is_absent(int err)
{
	return err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT;
}

static int add_addresses(struct time_server *s, const struct addrinfo *list)
{
	int err = 0;

	for (const struct addrinfo *a = list; a && s->n_udp < TIME_MAX_SOCKETS; a = a->ai_next) {
		int result = add_address(s, a);

		if (result && !is_absent(result))
			return result;
		err = result ? result : err;
	}
	return s->n_udp ? 0 : err;
}

/* A free port of one address may be in use with another. */
static int listen_on(struct time_server *s, const struct addrinfo *list, uint16_t port)
{
	int err = 0;

	for (int i = 0; i < PORT_TRIES; i++) {
		s->port = port;
		err = add_addresses(s, list);
		if (err != -EADDRINUSE || port)
			break;
		close_sockets(s);
	}
	return err;
}

static int watch(const struct time_server *s, int fd, uint64_t what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = what };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

static int watch_all(const struct time_server *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->n_udp; i++)
		err = watch(s, s->udp[i], TIME_EVENT_UDP + i);
	for (size_t i = 0; !err && i < s->n_listening; i++)
		err = watch(s, s->listening[i], TIME_EVENT_LISTENING + i);
	return err;
}

/* Connections that the limit on descriptors leaves room for. */
static size_t max_clients(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur >= TIME_MAX_CLIENTS + SPARE_DESCRIPTORS)
		return TIME_MAX_CLIENTS;
	return limit.rlim_cur > SPARE_DESCRIPTORS ? limit.rlim_cur - SPARE_DESCRIPTORS : 0;
}

static struct time_server *new_server(void)
{
	struct time_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	for (size_t i = 0; i < TIME_MAX_CLIENTS; i++)
		s->clients[i].fd = -1;
	s->max_clients = max_clients();
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	return s;
}

static int open_sockets(struct time_server *s, const char *host, uint16_t port, char *why,
			size_t size)
{
	struct addrinfo *list;
	char text[300];
	int err = connection_resolve(host, port, AI_PASSIVE, &list, why, size);

	if (err)
		return err;
	err = listen_on(s, list, port);
	freeaddrinfo(list);
	if (!err)
		return 0;
	if (host)
		connection_host_text(host, port, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "port %u", port);
	snprintf(why, size, "cannot listen on %s (%s)%s", text, strerror(-err),
		 err == -EADDRINUSE    ? "; another program has this port" :
		 err == -EADDRNOTAVAIL ? "; it must be an address of this host" :
					 "");
	return err;
}

int time_server_open(struct time_server **out, const char *host, uint16_t port, char *why,
		     size_t size)
{
	struct time_server *s = new_server();
	int err = s ? 0 : -ENOMEM;

	*out = NULL;
	if (!err && s->epoll < 0)
		err = -EMFILE;
	if (!err)
		err = start_clock(&s->source);
	if (err) {
		snprintf(why, size, "%s", strerror(-err));
		time_server_close(s);
		return err;
	}
	err = open_sockets(s, host, port, why, size);
	if (!err && (err = watch_all(s)))
		snprintf(why, size, "%s", strerror(-err));
	if (err) {
		time_server_close(s);
		return err;
	}
	*out = s;
	return 0;
}

uint16_t time_server_port(const struct time_server *s)
{
	return s->port;
}

/* ---- the loop ---- */

/* Returns true at the end. */
static bool handle(struct time_server *s, uint64_t what)
{
	if (what >= TIME_EVENT_END)
		return true;
	if (what >= TIME_EVENT_CLIENT)
		time_tcp_serve(s, &s->clients[what - TIME_EVENT_CLIENT]);
	else if (what >= TIME_EVENT_LISTENING)
		time_tcp_accept(s, s->listening[what - TIME_EVENT_LISTENING]);
	else
		time_udp_serve(s, s->udp[what - TIME_EVENT_UDP]);
	return false;
}

int time_server_serve(struct time_server *s, int end_fd)
{
	struct epoll_event events[MAX_EVENTS];
	int err = watch(s, end_fd, TIME_EVENT_END);
	bool end = false;

	while (!err && !end) {
		int n = epoll_wait(s->epoll, events, MAX_EVENTS, s->n_clients ? SWEEP_MS : -1);

		if (n < 0 && errno != EINTR)
			err = -errno;
		for (int i = 0; i < n; i++)
			end = handle(s, events[i].data.u64) || end;
		if (s->n_clients)
			time_tcp_sweep(s, clock_kernel_ns());
	}
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, end_fd, NULL);
	return err;
}

void time_server_close(struct time_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < TIME_MAX_CLIENTS; i++)
		time_tcp_close(s, &s->clients[i]);
	close_sockets(s);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}
