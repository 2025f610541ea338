/*
 * The time server's datagrams. Called by time_server.c.
 */
#include <errno.h>
#include <linux/filter.h>
#include <string.h>

#include "net/time_server_internal.h"

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

void time_udp_prepare(int fd, int family)
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

void time_udp_serve(struct time_server *s, int fd)
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
