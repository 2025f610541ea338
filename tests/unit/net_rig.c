/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections for unit tests: net_rig.h.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

socklen_t rig_address(const char *host, uint16_t port, struct sockaddr_storage *a)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)a;
	struct sockaddr_in *v4 = (struct sockaddr_in *)a;

	memset(a, 0, sizeof(*a));
	if (strchr(host, ':')) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		assert_int_equal(inet_pton(AF_INET6, host, &v6->sin6_addr), 1);
		return sizeof(*v6);
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	assert_int_equal(inet_pton(AF_INET, host, &v4->sin_addr), 1);
	return sizeof(*v4);
}

int rig_listen(const char *host, uint16_t *port)
{
	struct sockaddr_storage a;
	socklen_t size = rig_address(host, 0, &a);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
	assert_int_equal(listen(fd, 128), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
	*port = ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port :
						((struct sockaddr_in *)&a)->sin_port);
	return fd;
}

uint16_t rig_free_port(const char *host)
{
	uint16_t port;

	close(rig_listen(host, &port));
	return port;
}

bool rig_has_ipv6(void)
{
	struct sockaddr_storage a;
	socklen_t size = rig_address("::1", 0, &a);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && bind(fd, (struct sockaddr *)&a, size) == 0;

	if (fd >= 0)
		close(fd);
	return has;
}

bool rig_has_tls(void)
{
	const char *why;

	return net_key_available(&why);
}

struct net_key rig_key(uint8_t byte)
{
	struct net_key key = { .present = true };

	memset(key.bytes, byte, sizeof(key.bytes));
	return key;
}

static int handshake(struct connection *c, const struct net_key *key)
{
	struct tls_context *ctx = tls_context_new(key, true);
	int err;

	c->tls = tls_new(ctx, c->fd);
	do {
		struct pollfd p = { .fd = c->fd };

		err = tls_handshake(c->tls, &p.events);
		if (err == -EAGAIN && poll(&p, 1, 10000) != 1)
			err = -ETIMEDOUT;
	} while (err == -EAGAIN);
	tls_context_free(ctx);
	return err;
}

struct connection *rig_accept(int fd, const struct connection_options *options,
			      const struct net_key *key, int *err)
{
	int s = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c = s >= 0 ? connection_new(s, options) : NULL;

	*err = -ENOMEM;
	if (!c)
		return NULL;
	*err = key ? handshake(c, key) : 0;
	if (!*err)
		*err = connection_set_blocking(c, true);
	if (!*err)
		return c;
	connection_close(c);
	return NULL;
}

struct accepting {
	int fd;
	const struct connection_options *options;
	const struct net_key *key;
	struct connection *c;
	int err;
};

static void *accept_one(void *arg)
{
	struct accepting *a = arg;

	a->c = rig_accept(a->fd, a->options, a->key, &a->err);
	return NULL;
}

void rig_pair(struct rig_pair *p, const char *host, const struct connection_options *options,
	      const struct net_key *client, const struct net_key *server)
{
	struct accepting a = { .options = options, .key = server };
	struct err why;
	pthread_t thread;
	uint16_t port;
	int err;

	a.fd = rig_listen(host, &port);
	assert_int_equal(pthread_create(&thread, NULL, accept_one, &a), 0);
	err = connection_open(&p->client, host, port, options, client, NULL,
			      clock_now_ns() + 10 * SECOND_NS, &why);
	pthread_join(thread, NULL);
	close(a.fd);
	if (err)
		fail_msg("connection_open(): %d, %s", err, why.text);
	assert_int_equal(a.err, 0);
	p->server = a.c;
}

void rig_close(struct rig_pair *p)
{
	connection_close(p->client);
	connection_close(p->server);
}

/* ---- checks for connections with TLS and without ---- */

void rig_check_peer_closes(struct rig_pair *p)
{
	char got[8], data[4] = "half";
	struct iovec iov = { data, 4 };
	int err = 0;

	assert_int_equal(connection_send(p->client, &iov, 1), 0);
	connection_close(p->client);
	p->client = NULL;
	assert_int_equal(connection_receive(p->server, got, 8), -ECONNRESET);
	for (unsigned i = 0; i < 1000 && !err; i++) {
		iov = (struct iovec){ data, 4 };
		err = connection_send(p->server, &iov, 1);
		usleep(1000);
	}
	assert_int_equal(err, -ECONNRESET);
	rig_close(p);
}

struct blocked {
	struct connection *c;
	enum rig_call in;
	int err;
};

static void *block(void *arg)
{
	struct blocked *b = arg;
	size_t size = 64u << 20;
	char *buf = calloc(1, size);
	struct iovec iov = { buf, size };

	if (b->in == RIG_SEND)
		b->err = connection_send(b->c, &iov, 1);
	else if (b->in == RIG_RECEIVE)
		b->err = connection_receive(b->c, buf, size);
	else if (b->in == RIG_FIRST)
		b->err = connection_receive_first(b->c, buf, size);
	else
		b->err = connection_wait(b->c, -1, UINT64_MAX);
	free(buf);
	return NULL;
}

void rig_check_abort(struct rig_pair *p, enum rig_call in)
{
	struct blocked b = { .c = p->client, .in = in };
	uint64_t start_ns;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, block, &b), 0);
	usleep(100 * 1000);
	start_ns = clock_now_ns();
	connection_abort(p->client);
	pthread_join(thread, NULL);
	assert_int_equal(b.err, -ECONNABORTED);
	assert_true(clock_now_ns() - start_ns < 10 * SECOND_NS);
	rig_close(p);
}
