/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections with TLS: src/net/tls.c.
 */
#include "config.h"

#include "unit.h"

#include <stdio.h>

#ifdef HAVE_OPENSSL
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "net_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

#define HOST "127.0.0.1"
#define BIG_BYTES (8u << 20)

static const struct connection_options usual = { .timeout_ns = 20 * SECOND_NS };
static const struct connection_options hasty = { .timeout_ns = 200 * MS_NS };

static void pair(struct rig_pair *p, const struct connection_options *options)
{
	struct net_key key = rig_key(7);

	rig_pair(p, HOST, options, &key, &key);
}

/* ---- transfers ---- */

struct transfer {
	struct connection *c;
	char *data;
	bool send;
	int err;
	pthread_t thread;
};

static void *do_transfer(void *arg)
{
	struct transfer *t = arg;
	struct iovec iov[2] = {
		{ t->data, 96 },
		{ t->data + 96, BIG_BYTES - 96 },
	};

	t->err = t->send ? connection_send(t->c, iov, 2) :
			   connection_receive(t->c, t->data, BIG_BYTES);
	return NULL;
}

static char *pattern(unsigned seed)
{
	char *data = malloc(BIG_BYTES);

	assert_non_null(data);
	for (size_t i = 0; i < BIG_BYTES; i++)
		data[i] = (char)(i * 13 + i / 257 + seed);
	return data;
}

/* Both sides send and receive at the same time. */
TEST(test_both_ways)
{
	struct connection_info info;
	struct transfer t[4];
	struct rig_pair p;

	pair(&p, &usual);
	for (unsigned i = 0; i < 4; i++) {
		t[i] = (struct transfer){
			.c = i % 2 ? p.server : p.client,
			.send = i < 2,
			.data = i < 2 ? pattern(i) : malloc(BIG_BYTES),
		};
		assert_non_null(t[i].data);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i].thread, NULL, do_transfer, &t[i]), 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(t[i].thread, NULL);
		assert_int_equal(t[i].err, 0);
	}
	assert_memory_equal(t[0].data, t[3].data, BIG_BYTES);
	assert_memory_equal(t[1].data, t[2].data, BIG_BYTES);
	connection_info(p.client, &info);
	assert_int_equal(strncmp(info.cipher, "TLS_", 4), 0);
	assert_true(info.sent_bytes > BIG_BYTES);
	rig_close(&p);
	for (unsigned i = 0; i < 4; i++)
		free(t[i].data);
}

TEST(test_small)
{
	char a[3] = "abc", b[2] = "de", none[1], got[5];
	struct iovec iov[3] = { { a, 3 }, { none, 0 }, { b, 2 } };
	struct rig_pair p;

	pair(&p, &usual);
	assert_int_equal(connection_send(p.client, iov, 3), 0);
	assert_int_equal(connection_receive(p.server, got, 5), 0);
	assert_memory_equal(got, "abcde", 5);
	rig_close(&p);
}

/* Bytes that TLS has read already are something to receive. */
TEST(test_wait)
{
	char data[8] = "abcdefgh", got[4];
	struct iovec iov = { data, 8 };
	struct rig_pair p;

	pair(&p, &usual);
	assert_int_equal(connection_wait(p.server, -1, 50 * MS_NS), 0);
	assert_int_equal(connection_send(p.client, &iov, 1), 0);
	assert_int_equal(connection_wait(p.server, -1, UINT64_MAX), 1);
	assert_int_equal(connection_receive(p.server, got, 4), 0);
	assert_int_equal(connection_wait(p.server, -1, UINT64_MAX), 1);
	assert_int_equal(connection_receive(p.server, got, 4), 0);
	assert_memory_equal(got, "efgh", 4);
	assert_int_equal(connection_wait(p.server, -1, 50 * MS_NS), 0);
	rig_close(&p);
}

/* ---- ends ---- */

TEST(test_time_limits)
{
	char *data = calloc(1, BIG_BYTES), got[8];
	struct iovec iov = { data, 8 };
	struct rig_pair p;

	assert_non_null(data);
	/* A handshake of a busy machine may take longer than the limit of the calls below. */
	pair(&p, &usual);
	p.client->timeout_ns = hasty.timeout_ns;
	p.server->timeout_ns = hasty.timeout_ns;
	assert_int_equal(connection_receive_first(p.server, got, 8), -EAGAIN);
	assert_int_equal(connection_send(p.client, &iov, 1), 0);
	assert_int_equal(connection_receive_first(p.server, got, 8), 0);
	iov = (struct iovec){ data, 4 };
	assert_int_equal(connection_send(p.client, &iov, 1), 0);
	assert_int_equal(connection_receive_first(p.server, got, 8), -ETIMEDOUT);
	iov = (struct iovec){ data, BIG_BYTES };
	assert_int_equal(connection_send(p.client, &iov, 1), -ETIMEDOUT);
	rig_close(&p);
	free(data);
}

TEST(test_peer_closes)
{
	struct rig_pair p;

	pair(&p, &usual);
	rig_check_peer_closes(&p);
}

TEST(test_abort)
{
	for (enum rig_call in = 0; in < RIG_CALLS; in++) {
		struct rig_pair p;

		pair(&p, &usual);
		rig_check_abort(&p, in);
	}
}

/* ---- keys ---- */

TEST(test_export)
{
	uint8_t a[WIRE_KEY_BYTES], b[WIRE_KEY_BYTES];
	struct rig_pair p, q;

	pair(&p, &usual);
	assert_int_equal(connection_export_key(p.client, "EXPORTER-one", a), 0);
	assert_int_equal(connection_export_key(p.server, "EXPORTER-one", b), 0);
	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(connection_export_key(p.server, "EXPORTER-two", b), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	pair(&q, &usual);
	assert_int_equal(connection_export_key(q.client, "EXPORTER-one", b), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	rig_close(&q);
	rig_close(&p);

	rig_pair(&p, HOST, &usual, NULL, NULL);
	assert_int_equal(connection_export_key(p.client, "EXPORTER-one", a), -ENOTSUP);
	rig_close(&p);
}

/* A destination that does as `serve` says with the one connection that it accepts. */
struct false_server {
	int fd;
	void (*serve)(int fd);
	pthread_t thread;
};

static void *false_server(void *arg)
{
	struct false_server *f = arg;
	int fd = accept4(f->fd, NULL, NULL, SOCK_CLOEXEC);

	f->serve(fd);
	close(fd);
	return NULL;
}

/* Connect to it with a key. Returns what connection_open() does, with its text in `why`. */
static int connect_to(void (*serve)(int fd), const struct connection_options *options,
		      struct err *why)
{
	struct false_server f = { .serve = serve };
	struct net_key key = rig_key(7);
	struct connection *c = NULL;
	uint16_t port;
	int err;

	f.fd = rig_listen(HOST, &port);
	assert_int_equal(pthread_create(&f.thread, NULL, false_server, &f), 0);
	err = connection_open(&c, HOST, port, options, &key, NULL, clock_now_ns() + 20 * SECOND_NS,
			      why);
	connection_close(c);
	pthread_join(f.thread, NULL);
	close(f.fd);
	return err;
}

/* A certificate that signs itself. */
static void certify(SSL_CTX *ctx)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();

	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)HOST, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	X509_sign(x, key, EVP_sha256());
	SSL_CTX_use_certificate(ctx, x);
	SSL_CTX_use_PrivateKey(ctx, key);
	X509_free(x);
	EVP_PKEY_free(key);
}

static void serve_certificate(int fd)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	SSL *ssl;
	char byte;

	certify(ctx);
	ssl = SSL_new(ctx);
	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1)
		SSL_read(ssl, &byte, 1);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

static void serve_garbage(int fd)
{
	char buf[4096];

	if (recv(fd, buf, sizeof(buf), 0) > 0)
		send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL);
	recv(fd, buf, sizeof(buf), 0);
}

static void serve_nothing(int fd)
{
	char buf[4096];

	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
}

static void serve_end(int fd)
{
	char byte;

	recv(fd, &byte, 1, 0);
	shutdown(fd, SHUT_RDWR);
}

TEST(test_false_servers)
{
	static const struct {
		void (*serve)(int fd);
		const struct connection_options *options;
		int err;
		const char *why;
	} cases[] = {
		{ serve_certificate, &usual, -EACCES,
		  "it has another key: give both sides the same -e2e key" },
		{ serve_garbage, &usual, -EBADMSG,
		  "it does not answer with TLS; it may not be xdd" },
		{ serve_nothing, &hasty, -ETIMEDOUT, "it does not answer; it may not be xdd" },
		{ serve_end, &usual, -ECONNRESET,
		  "it ended the connection; it may have no key: give both sides the same -e2e "
		  "key" },
	};
	char text[ERR_TEXT_SIZE];
	struct err why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(connect_to(cases[i].serve, cases[i].options, &why), cases[i].err);
		snprintf(text, sizeof(text), " did not prove that it has the key (%s)",
			 cases[i].why);
		assert_non_null(strchr(why.text, ' '));
		assert_string_equal(strchr(why.text, ' '), text);
	}
}

/* ---- a proxy that records and damages ---- */

struct proxy {
	int listening, server; /* sockets: to listen on, and of the server that it serves */
	size_t flip;	       /* the byte from the client to flip; SIZE_MAX: none */
	char sent[1 << 16];    /* by the client */
	size_t n;
	pthread_t thread;
};

static bool forward(int from, int to, struct proxy *record)
{
	char buf[4096];
	ssize_t n = recv(from, buf, sizeof(buf), 0);

	if (n <= 0)
		return false;
	if (record) {
		if (record->flip >= record->n && record->flip - record->n < (size_t)n)
			buf[record->flip - record->n] ^= 0x10;
		if (record->n + (size_t)n <= sizeof(record->sent))
			memcpy(record->sent + record->n, buf, (size_t)n);
		record->n += (size_t)n;
	}
	return send(to, buf, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *proxy(void *arg)
{
	struct proxy *x = arg;
	int client = accept4(x->listening, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd p[2] = { { client, POLLIN, 0 }, { x->server, POLLIN, 0 } };

	while (poll(p, 2, -1) > 0) {
		if (p[0].revents && !forward(client, x->server, x))
			break;
		if (p[1].revents && !forward(x->server, client, NULL))
			break;
	}
	shutdown(x->server, SHUT_RDWR);
	close(x->server);
	close(client);
	return NULL;
}

struct server {
	int fd;
	struct connection *c;
	int err;
	char got[100];
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	struct net_key key = rig_key(7);

	s->c = rig_accept(s->fd, &usual, &key, &s->err);
	if (!s->err)
		s->err = connection_receive(s->c, s->got, sizeof(s->got));
	return NULL;
}

static int dial(uint16_t port)
{
	struct sockaddr_storage a;
	socklen_t size = rig_address(HOST, port, &a);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, size), 0);
	return fd;
}

/* Send 100 bytes through the proxy. Returns the result of the server. */
static int send_through(struct proxy *x, struct server *s)
{
	struct net_key key = rig_key(7);
	uint16_t server_port, port;
	struct connection *c = NULL;
	char data[100];
	struct err why;
	struct iovec iov = { data, sizeof(data) };

	memset(data, 'd', sizeof(data));
	s->fd = rig_listen(HOST, &server_port);
	x->listening = rig_listen(HOST, &port);
	x->server = dial(server_port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
	assert_int_equal(pthread_create(&x->thread, NULL, proxy, x), 0);
	if (connection_open(&c, HOST, port, &usual, &key, NULL, clock_now_ns() + 20 * SECOND_NS,
			    &why) == 0)
		connection_send(c, &iov, 1);
	if (c)
		shutdown(c->fd, SHUT_WR);
	pthread_join(s->thread, NULL);
	connection_close(c);
	connection_close(s->c);
	pthread_join(x->thread, NULL);
	close(x->listening);
	close(s->fd);
	return s->err;
}

TEST(test_damage)
{
	static struct proxy whole, x;

	whole = (struct proxy){ .flip = SIZE_MAX };
	assert_int_equal(send_through(&whole, &(struct server){ 0 }), 0);
	/* Bytes of the handshake, and of the record with the data. */
	for (size_t i = 0; i < whole.n; i += 23) {
		x = (struct proxy){ .flip = i };
		assert_int_not_equal(send_through(&x, &(struct server){ 0 }), 0);
	}
	x = (struct proxy){ .flip = whole.n - 50 };
	assert_int_equal(send_through(&x, &(struct server){ 0 }), -EBADMSG);
}

TEST(test_replay)
{
	static struct proxy recorded;
	struct server s = { 0 };
	uint16_t port;
	int fd;

	recorded = (struct proxy){ .flip = SIZE_MAX };
	assert_int_equal(send_through(&recorded, &s), 0);
	assert_int_equal(s.got[99], 'd');
	assert_true(recorded.n < sizeof(recorded.sent));

	s = (struct server){ .fd = rig_listen(HOST, &port) };
	fd = dial(port);
	assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
	assert_int_equal(send(fd, recorded.sent, recorded.n, MSG_NOSIGNAL), recorded.n);
	shutdown(fd, SHUT_WR);
	pthread_join(s.thread, NULL);
	assert_int_not_equal(s.err, 0);
	assert_null(s.c);
	assert_int_equal(s.got[0], 0);
	close(fd);
	close(s.fd);
}

int main(void)
{
	/* As the program does: OpenSSL writes with write(2). */
	signal(SIGPIPE, SIG_IGN);
	clock_start();
	clock_calibrate();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	printf("1..0 # SKIP this xdd was built without OpenSSL\n");
	return 0;
}

#endif
