/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Making a connection: names of hosts, options of sockets, attempts until a deadline, and the
 * client's part of TLS. Called by sessions of a source, and by the listener.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/connection_internal.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/sysfile.h"

/*
 * Of a socket whose peer is on this host. The kernel would let it grow to megabytes, and data would
 * leave the cache before it is received: copies between two tmpfs took 15 % less processor time
 * with 128 KiB than with buffers that the kernel adapts, and 30 % less from null to null.
 */
#define LOCAL_BUFFER_BYTES (128 << 10)

void connection_host_text(const char *host, uint16_t port, char *buf, size_t size)
{
	char *safe = printable_dup(host, false);
	const char *text = safe ? safe : "?";

	if (strchr(text, ':') && *text != '[')
		snprintf(buf, size, "[%s]:%u", text, port);
	else
		snprintf(buf, size, "%s:%u", text, port);
	free(safe);
}

void connection_address_text(const struct sockaddr_storage *a, char *buf, size_t size)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];
	socklen_t length = a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						      sizeof(struct sockaddr_in);

	if (getnameinfo((const struct sockaddr *)a, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(buf, size, "?");
	else
		connection_host_text(host, (uint16_t)atoi(port), buf, size);
}

/* The IPv6 number that `host` has in brackets, in `number`; else `host`, which may be NULL. */
static const char *without_brackets(const char *host, char *number, size_t size)
{
	const size_t len = host ? strlen(host) : 0;

	if (len < 2 || len - 2 >= size || host[0] != '[' || host[len - 1] != ']')
		return host;
	memcpy(number, host + 1, len - 2);
	number[len - 2] = '\0';
	return strchr(number, ':') ? number : host;
}

/* "host:2000" or "[fe80::1]:2000": the port is not part of a host. */
static bool ends_with_port(const char *host)
{
	const char *colon = host ? strrchr(host, ':') : NULL;

	return colon && colon > host && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] &&
	       (colon[-1] == ']' || strchr(host, ':') == colon);
}

int connection_resolve(const char *host, uint16_t port, int flags, struct addrinfo **list,
		       struct err *why)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags | AI_NUMERICSERV,
	};
	const char *reason;
	char service[8], number[NI_MAXHOST], *safe;
	int err, no;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(without_brackets(host, number, sizeof(number)), service, &hints, list);
	if (!err)
		return 0;
	reason = err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err);
	no = err == EAI_MEMORY ? -ENOMEM : -ENXIO;
	if (!host)
		return err_set(why, no, "cannot find the addresses of this host (%s)", reason);
	safe = printable_dup(host, false);
	err_set(why, no, "cannot find the host \"%s\" (%s)%s", safe ? safe : "?", reason,
		ends_with_port(host) ? "; give its port by the option or word \"port\"" : "");
	free(safe);
	return no;
}

int connection_say_not_bound(int err, const char *host, uint16_t port, struct err *why)
{
	char text[300];

	if (host)
		connection_host_text(host, port, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "port %u", port);
	return err_set(why, err, "cannot listen on %s (%s)%s", text, strerror(-err),
		       err == -EADDRINUSE    ? "; another program has this port" :
		       err == -EADDRNOTAVAIL ? "; it must be an address of this host" :
					       "");
}

bool connection_is_absent(int err)
{
	return err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT;
}

/* ---- socket options ---- */

static int no_congestion(int err, const char *name, struct err *why)
{
	const char *path = err == -EPERM ? "/proc/sys/net/ipv4/tcp_allowed_congestion_control" :
					   "/proc/sys/net/ipv4/tcp_available_congestion_control";
	char line[256], *safe = printable_dup(name, false);
	const char *list = sysfile_line(path, line, sizeof(line));

	err_set(why, err, "cannot use the congestion control \"%s\" (%s); %s: %s",
		safe ? safe : "?", err == -EPERM ? "not permitted" : strerror(-err),
		err == -EPERM ? "permitted" : "available", list ? list : "unknown");
	free(safe);
	return err;
}

static int set_buffer(int fd, int which, const char *name, uint64_t bytes, struct err *why)
{
	int value = bytes > INT32_MAX ? INT32_MAX : (int)bytes;

	if (!bytes || setsockopt(fd, SOL_SOCKET, which, &value, sizeof(value)) == 0)
		return 0;
	return err_sys(why, -errno, "cannot set the %s buffer of a socket to %" PRIu64 " bytes",
		       name, bytes);
}

/* Have the kernel end a connection whose peer does not answer for the time limit, also if idle. */
static void set_liveness(int fd, uint64_t timeout_ns)
{
	uint64_t ms = timeout_ns / NS_PER_MS, third_s = timeout_ns / NS_PER_SEC / 3;
	unsigned limit_ms = ms > INT32_MAX ? INT32_MAX : ms < 1 ? 1 : (unsigned)ms;
	int on = 1, count = 3;
	int seconds = third_s > 3600 ? 3600 : third_s < 1 ? 1 : (int)third_s;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
}

int connection_prepare_socket(int fd, const struct connection_options *options, struct err *why)
{
	int on = 1, err;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	set_liveness(fd, options->timeout_ns);
	if (options->congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options->congestion,
					      (socklen_t)strlen(options->congestion)) != 0)
		return no_congestion(-errno, options->congestion, why);
	err = set_buffer(fd, SO_SNDBUF, "send", options->send_buffer_bytes, why);
	if (err)
		return err;
	return set_buffer(fd, SO_RCVBUF, "receive", options->receive_buffer_bytes, why);
}

/* Both are addresses of this host: a socket has the same one as its peer. */
static bool is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->ss_family == AF_INET6 && a6->sin6_scope_id == b6->sin6_scope_id &&
	       IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

void connection_keep_in_cache(int fd, const struct connection_options *options,
			      const struct sockaddr_storage *local,
			      const struct sockaddr_storage *peer)
{
	const int bytes = LOCAL_BUFFER_BYTES;

	if (!is_same_host(local, peer))
		return;
	if (!options->send_buffer_bytes)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (!options->receive_buffer_bytes)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

/* Of one attempt: the kernel repeats a lost SYN ever more slowly, so a new attempt is sooner. */
#define ATTEMPT_NS (5 * NS_PER_SEC)

/* Between attempts, growing. */
#define FIRST_PAUSE_NS (100 * NS_PER_MS)
#define LAST_PAUSE_NS (500 * NS_PER_MS)

/* How often a wait looks whether the run stops. */
#define LOOK_NS (50 * NS_PER_MS)

struct attempt {
	const struct connection_options *options;
	struct stop *stop;
	uint64_t until_ns;
	bool once;
	struct err *why;
};

/* ---- attempts ---- */

static bool connection_open_stopped(const struct stop *stop)
{
	return stop && stop_requested(stop);
}

/* Wait for `events` on `fd`. Returns 0; -ETIMEDOUT at `until_ns`; or -ECANCELED. */
static int wait_until(int fd, short events, struct stop *stop, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		uint64_t now_ns = clock_now_ns();
		struct timespec limit;
		int n;

		if (connection_open_stopped(stop))
			return -ECANCELED;
		limit = clock_timespec(until_ns > now_ns ? ns_earlier(until_ns - now_ns, LOOK_NS) :
							   0);
		n = ppoll(&p, 1, &limit, NULL);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (now_ns >= until_ns)
			return -ETIMEDOUT;
	}
}

/*
 * While nothing listens on a port of this host from which the kernel also takes ports for clients,
 * an attempt may be given that very port, and is then connected to itself.
 */
static bool is_self(int fd)
{
	struct sockaddr_storage a = { 0 }, b = { 0 };
	socklen_t a_size = sizeof(a), b_size = sizeof(b);

	return getsockname(fd, (struct sockaddr *)&a, &a_size) == 0 &&
	       getpeername(fd, (struct sockaddr *)&b, &b_size) == 0 && a_size == b_size &&
	       memcmp(&a, &b, a_size) == 0;
}

/* Close it without TIME_WAIT, which would keep the destination from listening on the port. */
static void close_self(int fd)
{
	struct linger l = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

static int connect_socket(int fd, const struct addrinfo *a, const struct attempt *at)
{
	int err = connection_prepare_socket(fd, at->options, at->why), result = 0;
	socklen_t size = sizeof(result);

	if (err)
		return err;
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	err = wait_until(fd, POLLOUT, at->stop,
			 ns_earlier(at->until_ns, clock_now_ns() + ATTEMPT_NS));
	if (err)
		return err;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size) != 0)
		return -errno;
	return -result;
}

/* Returns a connected socket, which does not block, or -errno. */
static int try_address(const struct addrinfo *a, const struct attempt *at)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	int err;

	if (fd < 0)
		return -errno;
	err = connect_socket(fd, a, at);
	if (!err && is_self(fd)) {
		close_self(fd);
		return -ECONNREFUSED;
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* True: the other side, or the network, may be up later. */
static bool worth_retrying(int err)
{
	switch (-err) {
	case ECONNREFUSED:
	case ECONNRESET:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENETDOWN:
	case ENETUNREACH:
	case ETIMEDOUT:
	case EADDRNOTAVAIL: /* no port for a client is free now */
	case EAGAIN:
		return true;
	default:
		return false;
	}
}

/* Try each address once. Returns a socket, or the -errno that is the most hopeful. */
static int try_all(const struct addrinfo *list, const struct attempt *at)
{
	int worst = -ENXIO;

	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		int fd = try_address(a, at);

		if (fd >= 0 || fd == -ECANCELED || err_is_set(at->why))
			return fd;
		if (worst == -ENXIO || worth_retrying(fd))
			worst = fd;
	}
	return worst;
}

/* Try until the deadline. Returns a socket or -errno. */
static int try_until(const struct addrinfo *list, const struct attempt *at)
{
	uint64_t pause_ns = FIRST_PAUSE_NS;
	int before = 0;

	for (;;) {
		int fd = try_all(list, at);
		bool over = clock_now_ns() >= at->until_ns;

		/* The deadline may have cut the last attempt: the one before says more. */
		if (over && fd == -ETIMEDOUT && before)
			return before;
		if (fd >= 0 || err_is_set(at->why) || !worth_retrying(fd) || over || at->once)
			return fd;
		before = fd;
		wait_until(-1, 0, at->stop, ns_earlier(at->until_ns, clock_now_ns() + pause_ns));
		if (connection_open_stopped(at->stop))
			return -ECANCELED;
		pause_ns = ns_earlier(2 * pause_ns, LAST_PAUSE_NS);
	}
}

static void say_not_connected(int err, const char *host, uint16_t port, const struct attempt *at)
{
	char peer[300];

	if (err_is_set(at->why) || err == -ECANCELED)
		return;
	connection_host_text(host, port, peer, sizeof(peer));
	err_sys(at->why, err, "cannot connect to %s", peer);
}

/* ---- TLS ---- */

static int say_no_tls(int err, const struct connection *c, const struct attempt *at)
{
	const char *why = strerror(-err);

	if (err == -ECANCELED)
		return err;
	if (err == -EACCES)
		why = "it has another key: give both sides the same -e2e key";
	else if (err == -ECONNRESET)
		why = "it ended the connection; it may have no key: give both sides the same "
		      "-e2e key";
	else if (err == -ETIMEDOUT)
		why = "it does not answer; it may not be xdd";
	else if (err == -EBADMSG)
		why = "it does not answer with TLS; it may not be xdd";
	return err_set(at->why, err, "%s did not prove that it has the key (%s)", c->peer, why);
}

static int connection_open_handshake(struct connection *c, const struct net_key *key,
				     const struct attempt *at)
{
	uint64_t until_ns = at->once ? at->until_ns : clock_now_ns() + at->options->timeout_ns;
	struct tls_context *ctx = tls_context_new(key, false);
	int err = -ENOMEM;

	if (ctx)
		c->tls = tls_new(ctx, c->fd);
	while (c->tls) {
		short events = 0;

		err = tls_handshake(c->tls, &events);
		if (err != -EAGAIN)
			break;
		err = wait_until(c->fd, events, at->stop, until_ns);
		if (err)
			break;
	}
	tls_context_free(ctx);
	return err ? say_no_tls(err, c, at) : 0;
}

/* A connection on socket `fd`, which it owns. */
static int establish(struct connection **c, int fd, const struct net_key *key,
		     const struct attempt *at)
{
	struct connection *n = connection_new(fd, at->options);
	int err = 0;

	if (!n) {
		close(fd);
		return -ENOMEM;
	}
	if (key && key->present)
		err = connection_open_handshake(n, key, at);
	if (!err)
		err = connection_set_blocking(n, true);
	if (err) {
		connection_close(n);
		return err;
	}
	*c = n;
	return 0;
}

static int open_at(struct connection **c, const char *host, uint16_t port,
		   const struct net_key *key, const struct attempt *at)
{
	struct addrinfo *list;
	int fd, err;

	err_clear(at->why);
	err = connection_resolve(host, port, 0, &list, at->why);
	if (err)
		return err;
	fd = try_until(list, at);
	freeaddrinfo(list);
	err = fd < 0 ? fd : establish(c, fd, key, at);
	if (err)
		say_not_connected(err, host, port, at);
	return err;
}

int connection_open(struct connection **c, const char *host, uint16_t port,
		    const struct connection_options *options, const struct net_key *key,
		    struct stop *stop, uint64_t until_ns, struct err *why)
{
	const struct attempt at = { options, stop, until_ns, false, why };

	return open_at(c, host, port, key, &at);
}

int connection_try(struct connection **c, const char *host, uint16_t port,
		   const struct connection_options *options, const struct net_key *key,
		   struct stop *stop, uint64_t until_ns, struct err *why)
{
	const struct attempt at = { options, stop, until_ns, true, why };

	return open_at(c, host, port, key, &at);
}
