/*
 * The time server: its sockets, its clock and its loop. Called by the command timeserver.
 *
 * One epoll(7) loop; no call in it waits for a peer.
 *
 * When all slots are in use, a new TCP connection replaces the one that has been silent for
 * longest, of the address that has most of them.
 */
#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net/time_exchange.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sys/clock.h"

#define TIME_MAX_SOCKETS 32  /* of either kind */
#define TIME_BATCH 64	     /* datagrams of a system call */
#define TIME_MAX_CLIENTS 256 /* TCP connections */

/* Limits of a TCP connection. */
#define TIME_IDLE_NS 60000000000ull   /* between messages */
#define TIME_PARTIAL_NS 5000000000ull /* from the first to the last byte of a message */
#define TIME_MAX_MESSAGES (1u << 20)

/* Its clock. */
struct time_source {
	uint64_t base_ns;	  /* global time minus CLOCK_MONOTONIC; const */
	uint64_t id;		  /* const */
	struct time_reading last; /* the latest */
	uint64_t steady_ns;	  /* since then the wall clock was not set */
};

/* A datagram, and the room that its answer needs as well. */
struct time_datagram {
	uint8_t bytes[TIME_MESSAGE_BYTES + 1]; /* one more, which shows that one is longer */
	struct sockaddr_storage from;
	struct iovec iov;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct timespec)) +
			   CMSG_SPACE(sizeof(struct in6_pktinfo)) + 64];
	} control;
};

struct time_batch {
	struct time_datagram datagrams[TIME_BATCH];
	struct mmsghdr in[TIME_BATCH], out[TIME_BATCH];
};

/* A TCP connection; `fd` is -1 in a free slot. */
struct time_tcp {
	int fd;
	uint8_t address[16]; /* of its peer; of IPv6 the network */
	unsigned same;	     /* connections of this address, including this one */
	uint64_t heard_ns;   /* its latest message, or its begin */
	uint64_t partial_ns; /* the first byte of an incomplete message */
	unsigned messages;
	size_t have;
	uint8_t bytes[TIME_MESSAGE_BYTES];
};

struct time_server {
	int epoll;
	int udp[TIME_MAX_SOCKETS], listening[TIME_MAX_SOCKETS];
	size_t n_udp, n_listening;
	uint16_t port;
	struct time_source source;
	struct time_batch batch;
	size_t max_clients, n_clients;
	struct time_tcp clients[TIME_MAX_CLIENTS];
};

/* epoll_event.data: the number of an entry in one of the arrays, plus one of these. */
enum {
	TIME_EVENT_UDP = 0,
	TIME_EVENT_LISTENING = 1000,
	TIME_EVENT_CLIENT = 2000,
	TIME_EVENT_END = 3000,
};

/* Room for datagrams that wait; the kernel allows less without privileges. */
#define RECEIVE_BUFFER_BYTES (4 << 20)

#define UDP_HEADER_BYTES 8

/* Have the kernel drop datagrams of a wrong size or kind: a flood of them shall cost little. */
static void attach_filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UDP_HEADER_BYTES + TIME_MESSAGE_BYTES, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UDP_HEADER_BYTES),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __builtin_bswap32(TIME_MESSAGE_MAGIC), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT16_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static void time_udp_prepare(int fd, int family)
{
	const int on = 1, bytes = RECEIVE_BUFFER_BYTES;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	else
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
	time_stamp_enable(fd);
	attach_filter(fd);
}

/* ---- a batch ---- */

static void prepare_in(struct time_batch *b)
{
	for (size_t i = 0; i < TIME_BATCH; i++) {
		struct time_datagram *d = &b->datagrams[i];

		d->iov = (struct iovec){ d->bytes, sizeof(d->bytes) };
		b->in[i].msg_hdr = (struct msghdr){ .msg_name = &d->from,
						    .msg_namelen = sizeof(d->from),
						    .msg_iov = &d->iov,
						    .msg_iovlen = 1,
						    .msg_control = &d->control,
						    .msg_controllen = sizeof(d->control) };
	}
}

/* The address that a request was sent to: its answer has to come from there. */
struct own_address {
	int level, type;
	size_t size;
	union {
		struct in_pktinfo v4;
		struct in6_pktinfo v6;
	} info;
};

static bool find_own_address(struct msghdr *h, struct own_address *a)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		a->level = c->cmsg_level;
		a->type = c->cmsg_type;
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			a->size = sizeof(a->info.v4);
			memcpy(&a->info, CMSG_DATA(c), a->size);
			/* The route decides about the device. */
			a->info.v4.ipi_ifindex = 0;
			return true;
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			a->size = sizeof(a->info.v6);
			memcpy(&a->info, CMSG_DATA(c), a->size);
			if (!IN6_IS_ADDR_LINKLOCAL(&a->info.v6.ipi6_addr))
				a->info.v6.ipi6_ifindex = 0;
			return true;
		}
	}
	return false;
}

/* The answer is in the place of the request. */
static void prepare_out(struct mmsghdr *out, struct msghdr *in, struct time_datagram *d)
{
	struct own_address a;
	bool found = find_own_address(in, &a);
	struct cmsghdr *c;

	d->iov.iov_len = TIME_MESSAGE_BYTES;
	out->msg_hdr = (struct msghdr){ .msg_name = &d->from,
					.msg_namelen = in->msg_namelen,
					.msg_iov = &d->iov,
					.msg_iovlen = 1 };
	if (!found)
		return;
	memset(&d->control, 0, sizeof(d->control));
	out->msg_hdr.msg_control = &d->control;
	out->msg_hdr.msg_controllen = CMSG_SPACE(a.size);
	c = CMSG_FIRSTHDR(&out->msg_hdr);
	c->cmsg_level = a.level;
	c->cmsg_type = a.type;
	c->cmsg_len = CMSG_LEN(a.size);
	memcpy(CMSG_DATA(c), &a.info, a.size);
}

/* One that cannot be sent is dropped, as the network might drop it. */
static void send_answers(int fd, struct mmsghdr *out, unsigned n)
{
	while (n) {
		int sent = sendmmsg(fd, out, n, MSG_DONTWAIT);
		unsigned skipped = sent > 0 ? (unsigned)sent : 1;

		if (sent < 0 && errno == EINTR)
			continue;
		out += skipped;
		n -= skipped;
	}
}

static void time_source_read(struct time_source *s);
static bool time_source_answer(struct time_source *s, uint8_t *bytes, size_t size,
			       uint64_t stamp_ns);

/* Prepare a UDP socket, and answer what has arrived on one, a batch at most. */
static void time_udp_serve(struct time_server *s, int fd)
{
	struct time_batch *b = &s->batch;
	unsigned n_out = 0;
	int n;

	prepare_in(b);
	n = recvmmsg(fd, b->in, TIME_BATCH, MSG_DONTWAIT, NULL);
	if (n > 0)
		time_source_read(&s->source);
	for (int i = 0; i < n; i++) {
		struct msghdr *h = &b->in[i].msg_hdr;
		struct time_datagram *d = &b->datagrams[i];

		if (time_source_answer(&s->source, d->bytes, b->in[i].msg_len, time_stamp_of(h)))
			prepare_out(&b->out[n_out++], h, d);
	}
	send_answers(fd, b->out, n_out);
}

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

static void time_tcp_close(struct time_server *s, struct time_tcp *t)
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

static void time_server_tcp_take(struct time_server *s, int fd, const struct sockaddr_storage *from)
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

static void time_tcp_accept(struct time_server *s, int fd)
{
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t size = sizeof(from);
		int c = accept4(fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (c < 0)
			return;
		time_server_tcp_take(s, c, &from);
	}
}

/* Answer the message of `t`. False: it is none, or the peer does not read. */
static bool time_server_tcp_answer(struct time_server *s, struct time_tcp *t)
{
	time_source_read(&s->source);
	t->have = 0;
	t->heard_ns = s->source.last.after_ns;
	return ++t->messages <= TIME_MAX_MESSAGES &&
	       time_source_answer(&s->source, t->bytes, sizeof(t->bytes), 0) &&
	       send(t->fd, t->bytes, sizeof(t->bytes), MSG_NOSIGNAL | MSG_DONTWAIT) ==
		       sizeof(t->bytes);
}

static void time_tcp_serve(struct time_server *s, struct time_tcp *t)
{
	for (int i = 0; t->fd >= 0 && i < MESSAGE_BATCH; i++) {
		ssize_t n =
			recv(t->fd, t->bytes + t->have, sizeof(t->bytes) - t->have, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0 && !t->have)
			t->partial_ns = clock_kernel_ns();
		t->have += n > 0 ? (size_t)n : 0;
		if (n <= 0 || (t->have == sizeof(t->bytes) && !time_server_tcp_answer(s, t)))
			time_tcp_close(s, t);
	}
}

/*
 * Accept connections, serve one, and close those whose time is over. time_tcp_close() leaves a free
 * slot as it is.
 */
static void time_tcp_sweep(struct time_server *s, uint64_t now_ns)
{
	for (size_t i = 0; i < TIME_MAX_CLIENTS; i++) {
		struct time_tcp *t = &s->clients[i];

		if (t->fd >= 0 && (now_ns - t->heard_ns > TIME_IDLE_NS ||
				   (t->have && now_ns - t->partial_ns > TIME_PARTIAL_NS)))
			time_tcp_close(s, t);
	}
}

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

/* Read both clocks; call it after something was received. */
static void time_source_read(struct time_source *s)
{
	struct time_reading now = read_clocks();

	if (!time_same_wall(&s->last, &now))
		s->steady_ns = now.after_ns;
	s->last = now;
}

/*
 * Turn the request in `bytes` (`size`), which arrived with `stamp_ns` (0: not known), into its
 * answer. False: it is no valid request.
 */
static bool time_source_answer(struct time_source *s, uint8_t *bytes, size_t size,
			       uint64_t stamp_ns)
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

static int time_server_watch(const struct time_server *s, int fd, uint64_t what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = what };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

static int watch_all(const struct time_server *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->n_udp; i++)
		err = time_server_watch(s, s->udp[i], TIME_EVENT_UDP + i);
	for (size_t i = 0; !err && i < s->n_listening; i++)
		err = time_server_watch(s, s->listening[i], TIME_EVENT_LISTENING + i);
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
	int err = time_server_watch(s, end_fd, TIME_EVENT_END);
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
