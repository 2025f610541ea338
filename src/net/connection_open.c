/*
 * Making a connection: attempts until a deadline, and the client's part of TLS. Called by sessions
 * of a source.
 */
#include "net/connection_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

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
	char *why;
	size_t size;
};

/* ---- attempts ---- */

static bool stopped(const struct stop *stop)
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

		if (stopped(stop))
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
	int err = connection_prepare_socket(fd, at->options, at->why, at->size), result = 0;
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

		if (fd >= 0 || fd == -ECANCELED || *at->why)
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
		if (fd >= 0 || *at->why || !worth_retrying(fd) || over || at->once)
			return fd;
		before = fd;
		wait_until(-1, 0, at->stop, ns_earlier(at->until_ns, clock_now_ns() + pause_ns));
		if (stopped(at->stop))
			return -ECANCELED;
		pause_ns = ns_earlier(2 * pause_ns, LAST_PAUSE_NS);
	}
}

static void say_not_connected(int err, const char *host, uint16_t port, const struct attempt *at)
{
	char peer[300];

	if (*at->why || err == -ECANCELED)
		return;
	connection_host_text(host, port, peer, sizeof(peer));
	snprintf(at->why, at->size, "cannot connect to %s (%s)", peer, strerror(-err));
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
	snprintf(at->why, at->size, "%s did not prove that it has the key (%s)", c->peer, why);
	return err;
}

static int handshake(struct connection *c, const struct net_key *key, const struct attempt *at)
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
		err = handshake(n, key, at);
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

	*at->why = '\0';
	err = connection_resolve(host, port, 0, &list, at->why, at->size);
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
		    struct stop *stop, uint64_t until_ns, char *why, size_t size)
{
	const struct attempt at = { options, stop, until_ns, false, why, size };

	return open_at(c, host, port, key, &at);
}

int connection_try(struct connection **c, const char *host, uint16_t port,
		   const struct connection_options *options, const struct net_key *key,
		   struct stop *stop, uint64_t until_ns, char *why, size_t size)
{
	const struct attempt at = { options, stop, until_ns, true, why, size };

	return open_at(c, host, port, key, &at);
}
