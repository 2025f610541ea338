/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The proxy of net_proxy.h: one thread, which polls.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_proxy.h"
#include "net_rig.h"

#define MAX_PAIRS 64

/* fd[0] is the client's. The two directions close one after the other. */
struct pair {
	int fd[2];
	bool open[2]; /* still sends */
	_Atomic uint64_t bytes[2];
};

struct proxy {
	struct proxy_fault fault;
	int listener;
	uint16_t port, to_port;
	pthread_t thread;
	struct pair pairs[MAX_PAIRS];
	unsigned n;
	bool frozen;
	atomic_bool done, end;
};

static void close_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->fd[i] >= 0)
			close(p->fd[i]);
		p->fd[i] = -1;
		p->open[i] = false;
	}
}

static void kill_all(struct proxy *p)
{
	for (unsigned i = 0; i < p->n; i++)
		close_pair(&p->pairs[i]);
	if (p->listener >= 0)
		close(p->listener);
	p->listener = -1;
}

static void accept_pair(struct proxy *p)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(p->to_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct pair *pair = &p->pairs[p->n];
	int one = 1;

	pair->fd[0] = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	if (pair->fd[0] < 0)
		return;
	pair->fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (int i = 0; i < 2; i++) {
		setsockopt(pair->fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		pair->open[i] = true;
	}
	if (connect(pair->fd[1], (struct sockaddr *)&to, sizeof(to)) < 0)
		close_pair(pair);
	p->n++;
}

/* Do the harm if it belongs to these `n` bytes. Returns how many of them are sent on. */
static ssize_t harm(struct proxy *p, unsigned i, int from, uint8_t *buf, ssize_t n)
{
	const struct proxy_fault *f = &p->fault;
	uint64_t before = p->pairs[i].bytes[from];

	if (p->done || f->connection != i || f->upstream != (from == 0) || f->at < before ||
	    f->at >= before + (uint64_t)n)
		return n;
	p->done = true;
	if (f->harm == PROXY_FLIP) {
		buf[f->at - before] ^= 0x10;
		return n;
	}
	return (ssize_t)(f->at - before);
}

static void forward(struct proxy *p, unsigned i, int from)
{
	struct pair *pair = &p->pairs[i];
	uint8_t buf[16384];
	ssize_t n = recv(pair->fd[from], buf, sizeof(buf), 0), pass;
	bool was_done = p->done;

	if (n <= 0) {
		pair->open[from] = false;
		shutdown(pair->fd[!from], SHUT_WR);
		if (n < 0 || !pair->open[!from])
			close_pair(pair);
		return;
	}
	pass = harm(p, i, from, buf, n);
	pair->bytes[from] += (uint64_t)pass;
	for (ssize_t done = 0, sent; done < pass; done += sent) {
		sent = send(pair->fd[!from], buf + done, (size_t)(pass - done), MSG_NOSIGNAL);
		if (sent <= 0) {
			close_pair(pair);
			return;
		}
	}
	if (was_done || !p->done)
		return;
	if (p->fault.harm == PROXY_CUT)
		close_pair(pair);
	else if (p->fault.harm == PROXY_KILL)
		kill_all(p);
	else if (p->fault.harm == PROXY_FREEZE)
		p->frozen = true;
}

static void *run(void *arg)
{
	struct proxy *p = arg;

	while (!p->end) {
		struct pollfd fds[1 + 2 * MAX_PAIRS];
		unsigned n = p->n;

		fds[0] = (struct pollfd){ .fd = p->frozen ? -1 : p->listener, .events = POLLIN };
		for (unsigned i = 0; i < n; i++)
			for (int k = 0; k < 2; k++) {
				bool on = p->pairs[i].open[k] && !p->frozen;

				fds[1 + 2 * i + (unsigned)k] =
					(struct pollfd){ .fd = on ? p->pairs[i].fd[k] : -1,
							 .events = POLLIN };
			}
		if (poll(fds, 1 + 2 * n, 5) <= 0)
			continue;
		for (unsigned i = 0; i < n && !p->frozen; i++)
			for (int k = 0; k < 2; k++)
				if (fds[1 + 2 * i + (unsigned)k].revents && p->pairs[i].open[k] &&
				    !p->frozen)
					forward(p, i, k);
		if (fds[0].revents && p->listener >= 0 && p->n < MAX_PAIRS)
			accept_pair(p);
	}
	return NULL;
}

struct proxy *proxy_start(uint16_t to_port, const struct proxy_fault *fault)
{
	struct proxy *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->fault = *fault;
	p->to_port = to_port;
	p->listener = rig_listen("127.0.0.1", &p->port);
	assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
	return p;
}

uint16_t proxy_port(const struct proxy *p)
{
	return p->port;
}

bool proxy_done(const struct proxy *p)
{
	return p->done;
}

uint64_t proxy_bytes(const struct proxy *p, unsigned connection, bool upstream)
{
	return p->pairs[connection].bytes[upstream ? 0 : 1];
}

void proxy_stop(struct proxy *p)
{
	p->end = true;
	pthread_join(p->thread, NULL);
	kill_all(p);
	free(p);
}
