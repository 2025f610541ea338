/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time server: its socket, its clock and its loop; and the message and the time stamps, which
 * both sides of an exchange use. Called by the commands timeserver and multi, and by time_client.c.
 *
 * One UDP socket, and no state for any peer: each request is answered with what is in it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net/time_exchange.h"
#include "xdd/base/codec.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sys/clock.h"

/* ---- the message ---- */

/* Zeros before the checksum. */
#define SPARE_BYTES 12

void time_message_encode(const struct time_message *m, uint8_t out[TIME_MESSAGE_BYTES])
{
	struct encoder e = enc_begin(out, TIME_MESSAGE_BYTES);

	enc_put(&e, 4, TIME_MESSAGE_MAGIC);
	enc_put(&e, 2, TIME_MESSAGE_VERSION);
	enc_put(&e, 2, m->type);
	enc_put(&e, 8, m->nonce);
	enc_put(&e, 8, m->client_ns);
	enc_put(&e, 8, m->received_ns);
	enc_put(&e, 8, m->sent_ns);
	enc_put(&e, 8, m->server_id);
	enc_zeros(&e, SPARE_BYTES);
	enc_put(&e, 4, crc32c(out, e.used));
}

static bool in_range(const struct time_message *m)
{
	if (m->client_ns > TIME_MESSAGE_MAX_NS)
		return false;
	if (m->type == TIME_REQUEST)
		return !m->received_ns && !m->sent_ns && !m->server_id;
	return m->type == TIME_REPLY && m->server_id && m->received_ns <= m->sent_ns &&
	       m->sent_ns <= TIME_MESSAGE_MAX_NS;
}

bool time_message_decode(const uint8_t *in, size_t size, struct time_message *m)
{
	struct decoder d = dec_begin(in, size);
	size_t checked;

	/* Cheapest checks first, to limit the cost of a flood. */
	if (size != TIME_MESSAGE_BYTES || dec_get(&d, 4) != TIME_MESSAGE_MAGIC ||
	    dec_get(&d, 2) != TIME_MESSAGE_VERSION)
		return false;
	m->type = (enum time_message_type)dec_get(&d, 2);
	m->nonce = dec_get(&d, 8);
	m->client_ns = dec_get(&d, 8);
	m->received_ns = dec_get(&d, 8);
	m->sent_ns = dec_get(&d, 8);
	m->server_id = dec_get(&d, 8);
	dec_zeros(&d, SPARE_BYTES);
	checked = (size_t)(d.at - in);
	return !d.bad && in_range(m) && dec_get(&d, 4) == crc32c(in, checked) && dec_end(&d);
}

/* ---- time stamps ---- */

/* Two readings of the same wall clock differ by less, beyond the time that they took. */
#define SAME_WALL_NS 1000

/* The two clocks hardly differ in rate for so long; an older stamp is not used. */
#define OLDEST_NS (10 * NS_PER_MS)

bool time_same_wall(const struct time_reading *a, const struct time_reading *b)
{
	int64_t a_least = (int64_t)(a->wall_ns - a->after_ns);
	int64_t a_most = (int64_t)(a->wall_ns - a->before_ns);
	int64_t b_least = (int64_t)(b->wall_ns - b->after_ns);
	int64_t b_most = (int64_t)(b->wall_ns - b->before_ns);

	return a_least <= b_most + SAME_WALL_NS && b_least <= a_most + SAME_WALL_NS;
}

void time_stamp_enable(int fd)
{
	const int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
}

uint64_t time_stamp_of(struct msghdr *h)
{
	struct timespec ts;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
	}
	return 0;
}

uint64_t time_stamp_arrival(uint64_t stamp_ns, const struct time_reading *now, uint64_t since_ns)
{
	/* Very large without a stamp, and of a stamp that is later than the reading. */
	const uint64_t age_ns = now->wall_ns - stamp_ns;

	if (age_ns > OLDEST_NS || now->after_ns - age_ns < since_ns)
		return now->before_ns;
	/* Rounded up: too late an arrival widens a bound, too early a one breaks it. */
	return ns_earlier(now->before_ns, now->after_ns - age_ns);
}

/* ---- the clock ---- */

#define START_READINGS 32

/* The clock of a server. */
struct time_source {
	uint64_t base_ns;	  /* global time minus CLOCK_MONOTONIC; const */
	uint64_t id;		  /* const */
	struct time_reading last; /* the latest */
	uint64_t steady_ns;	  /* since then the wall clock was not set */
};

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

static int time_source_start(struct time_source *s)
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

/* ---- requests and answers ---- */

#define TIME_BATCH 64 /* datagrams of a system call */

/* A request, then the answer in its place. */
struct time_datagram {
	uint8_t bytes[TIME_MESSAGE_BYTES + 1]; /* one more, which shows that one is longer */
	struct sockaddr_storage peer;
	struct iovec iov;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct timespec)) +
			   CMSG_SPACE(sizeof(struct in6_pktinfo)) + 64];
	} control;
};

struct time_server {
	int fd;
	uint16_t port;
	struct time_source source;
	struct time_datagram datagrams[TIME_BATCH];
	struct mmsghdr in[TIME_BATCH], out[TIME_BATCH];
};

static void prepare_requests(struct time_server *s)
{
	for (size_t i = 0; i < TIME_BATCH; i++) {
		struct time_datagram *d = &s->datagrams[i];

		d->iov = (struct iovec){ d->bytes, sizeof(d->bytes) };
		s->in[i].msg_hdr = (struct msghdr){ .msg_name = &d->peer,
						    .msg_namelen = sizeof(d->peer),
						    .msg_iov = &d->iov,
						    .msg_iovlen = 1,
						    .msg_control = &d->control,
						    .msg_controllen = sizeof(d->control) };
	}
}

/*
 * The address that a request was sent to, as control data for its answer, which must come from
 * there. The route selects the device, except for a link-local address. NULL: the socket has one
 * address only.
 */
static struct cmsghdr *own_address(struct msghdr *h)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		struct in_pktinfo v4;
		struct in6_pktinfo v6;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&v4, CMSG_DATA(c), sizeof(v4));
			v4.ipi_ifindex = 0;
			memcpy(CMSG_DATA(c), &v4, sizeof(v4));
			return c;
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(&v6, CMSG_DATA(c), sizeof(v6));
			if (!IN6_IS_ADDR_LINKLOCAL(&v6.ipi6_addr))
				v6.ipi6_ifindex = 0;
			memcpy(CMSG_DATA(c), &v6, sizeof(v6));
			return c;
		}
	}
	return NULL;
}

static void prepare_answer(struct mmsghdr *out, struct msghdr *in)
{
	struct cmsghdr *own = own_address(in);

	in->msg_iov->iov_len = TIME_MESSAGE_BYTES;
	out->msg_hdr = (struct msghdr){ .msg_name = in->msg_name,
					.msg_namelen = in->msg_namelen,
					.msg_iov = in->msg_iov,
					.msg_iovlen = 1,
					.msg_control = own,
					.msg_controllen = own ? CMSG_ALIGN(own->cmsg_len) : 0 };
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

/* Answer what has arrived, a batch at most. */
static void answer_batch(struct time_server *s)
{
	unsigned n_out = 0;
	int n;

	prepare_requests(s);
	n = recvmmsg(s->fd, s->in, TIME_BATCH, MSG_DONTWAIT, NULL);
	if (n > 0)
		time_source_read(&s->source);
	for (int i = 0; i < n; i++) {
		struct msghdr *h = &s->in[i].msg_hdr;

		if (time_source_answer(&s->source, s->datagrams[i].bytes, s->in[i].msg_len,
				       time_stamp_of(h)))
			prepare_answer(&s->out[n_out++], h);
	}
	send_answers(s->fd, s->out, n_out);
}

int time_server_serve(struct time_server *s, int end_fd)
{
	struct pollfd p[2] = { { .fd = s->fd, .events = POLLIN },
			       { .fd = end_fd, .events = POLLIN } };

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return 0;
		answer_batch(s);
	}
}

/* ---- the socket ---- */

/* Room for datagrams that wait; the kernel allows less without privileges. */
#define RECEIVE_BUFFER_BYTES (4 << 20)

#define UDP_HEADER_BYTES 8

/* Have the kernel drop datagrams of a wrong size or kind, to limit the cost of a flood. */
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

/* A socket bound to `a`, or -errno. `dual`: an IPv6 socket that has the addresses of IPv4 too. */
static int bound_socket(const struct addrinfo *a, bool dual)
{
	const int on = 1, only = !dual, bytes = RECEIVE_BUFFER_BYTES;
	/* Without SO_REUSEADDR: two servers would share a port silently. */
	int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (a->ai_family == AF_INET6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
	} else {
		setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
	}
	time_stamp_enable(fd);
	attach_filter(fd);
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static void warn_of_others(const char *host, const struct sockaddr_storage *own,
			   const struct addrinfo *bound, const struct addrinfo *list)
{
	char text[CONNECTION_PEER_SIZE];

	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		if (a->ai_addrlen == bound->ai_addrlen &&
		    memcmp(a->ai_addr, bound->ai_addr, a->ai_addrlen) == 0)
			continue;
		connection_address_text(own, text, sizeof(text));
		log_warning("timeserver -bind %.128s: is the name of several addresses; the server "
			    "answers on %s only",
			    host, text);
		return;
	}
}

/* Listen on the first address in `list` that this host has. Returns 0 or -errno. */
static int listen_on(struct time_server *s, const char *host, const struct addrinfo *list)
{
	struct sockaddr_storage own = { 0 };
	socklen_t size = sizeof(own);
	const struct addrinfo *a = list;

	do {
		s->fd = bound_socket(a, !host);
	} while (connection_is_absent(s->fd) && (a = a->ai_next));
	if (s->fd < 0)
		return s->fd;
	if (getsockname(s->fd, (struct sockaddr *)&own, &size) != 0)
		return -errno;
	/* sin_port and sin6_port have the same offset. */
	s->port = ntohs(((struct sockaddr_in *)&own)->sin_port);
	warn_of_others(host, &own, a, list);
	return 0;
}

/* `host` is NULL for all addresses, which are the address `name`. */
static int open_socket(struct time_server *s, const char *host, const char *name, uint16_t port,
		       struct err *why)
{
	struct addrinfo *list;
	int err = connection_resolve(name, port, AI_PASSIVE, &list, why);

	if (err)
		return err;
	err = listen_on(s, host, list);
	freeaddrinfo(list);
	return err ? connection_say_not_bound(err, host, port, why) : 0;
}

int time_server_open(struct time_server **out, const char *host, uint16_t port, struct err *why)
{
	struct time_server *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return err_errno(why, -ENOMEM);
	s->fd = -1;
	err = time_source_start(&s->source);
	if (err)
		err_errno(why, err);
	else
		err = open_socket(s, host, host ? host : "::", port, why);
	/* A kernel without IPv6. */
	if (!host && connection_is_absent(err))
		err = open_socket(s, NULL, "0.0.0.0", port, why);
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

void time_server_close(struct time_server *s)
{
	if (s && s->fd >= 0)
		close(s->fd);
	free(s);
}
