/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the two sides of a copy, on a channel and on data connections, over two
 * descriptors each. Called by the roles, the server and the side that the user started.
 */
#include "copy/link/link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

/*
 * Bytes over two descriptors. Each call tries first and waits with poll(2) only where it has to,
 * together with a descriptor that becomes readable when the calls are to end.
 */

struct duplex {
	/* const until duplex_free() */
	int read_fd, write_fd;
	int read_flags, write_flags; /* as they were */
	int end_fd;		     /* readable once it is aborted */
	bool terminal;		     /* the descriptor that is read */
	struct termios modes;	     /* of the terminal, as they were */

	/* atomic */
	atomic_bool aborted;
	atomic_bool timed_out;
	_Atomic uint64_t timeout_ns;
	_Atomic uint64_t received_ns; /* the last time that bytes arrived */
};

static int unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	return flags;
}

/* Have a terminal pass all bytes as they are. */
static void make_raw(struct duplex *d)
{
	struct termios raw;

	d->terminal = tcgetattr(d->read_fd, &d->modes) == 0;
	if (!d->terminal)
		return;
	raw = d->modes;
	cfmakeraw(&raw);
	tcsetattr(d->read_fd, TCSANOW, &raw);
}

/*
 * Own `read_fd` and `write_fd`, which may be the same, and have them not block; a terminal
 * becomes raw. They are closed also when this fails. Returns NULL without memory or descriptors.
 */
static struct duplex *duplex_new(int read_fd, int write_fd, uint64_t timeout_ns)
{
	struct duplex *d = calloc(1, sizeof(*d));
	int end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!d || end_fd < 0) {
		if (end_fd >= 0)
			close(end_fd);
		close(read_fd);
		if (write_fd != read_fd)
			close(write_fd);
		free(d);
		return NULL;
	}
	d->read_fd = read_fd;
	d->write_fd = write_fd;
	d->end_fd = end_fd;
	atomic_init(&d->timeout_ns, timeout_ns);
	atomic_init(&d->aborted, false);
	atomic_init(&d->timed_out, false);
	atomic_init(&d->received_ns, clock_now_ns());
	d->read_flags = unblock(read_fd);
	d->write_flags = unblock(write_fd);
	make_raw(d);
	return d;
}

/* Give the descriptors their flags and modes back and close them. Accepts NULL. */
static void duplex_free(struct duplex *d)
{
	if (!d)
		return;
	if (d->terminal)
		tcsetattr(d->read_fd, TCSANOW, &d->modes);
	/* In this order: both may belong to one open file. */
	fcntl(d->write_fd, F_SETFL, d->write_flags);
	fcntl(d->read_fd, F_SETFL, d->read_flags);
	close(d->read_fd);
	if (d->write_fd != d->read_fd)
		close(d->write_fd);
	close(d->end_fd);
	free(d);
}

/* The time limit; a new one applies to later waits. */
static uint64_t duplex_timeout(const struct duplex *d)
{
	return atomic_load(&d->timeout_ns);
}

/* Have all present and future calls return -ECONNABORTED. */
static void duplex_abort(struct duplex *d)
{
	atomic_store(&d->aborted, true);
	eventfd_write(d->end_fd, 1);
}

static bool duplex_aborted(const struct duplex *d)
{
	return atomic_load_explicit(&d->aborted, memory_order_relaxed);
}

/*
 * Wait for `events` on `fd`, or only for the time where `fd` is -1. Returns 0; -ETIMEDOUT at
 * `until_ns`; or -ECONNABORTED.
 */
static int wait_until(struct duplex *d, int fd, short events, uint64_t until_ns)
{
	struct pollfd p[2] = {
		{ .fd = d->end_fd, .events = POLLIN },
		{ .fd = fd, .events = events },
	};

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		struct timespec left = clock_timespec(until_ns > now_ns ? until_ns - now_ns : 0);
		int n = ppoll(p, 2, &left, NULL);

		if (duplex_aborted(d))
			return -ECONNABORTED;
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && clock_now_ns() >= until_ns)
			return -ETIMEDOUT;
	}
}

/* Sleep until clock_now_ns() reaches `until_ns`. Returns 0 or -ECONNABORTED. */
static int duplex_sleep(struct duplex *d, uint64_t until_ns)
{
	int err = wait_until(d, -1, 0, until_ns);

	return err == -ETIMEDOUT ? 0 : err;
}

/* Remember that a call fails because of the time limit. Returns `err`. */
static int duplex_failed(struct duplex *d, int err)
{
	if (err == -ETIMEDOUT)
		atomic_store(&d->timed_out, true);
	return err;
}

/* -errno of read(2) or write(2). The end of a terminal is EIO. */
static int lost(int err)
{
	return err == -EPIPE || err == -EIO ? -ECONNRESET : err;
}

/* ---- sending ---- */

/* Wait until there is room, and longer while the other side sends. */
static int wait_for_room(struct duplex *d)
{
	uint64_t since_ns = clock_now_ns();

	for (;;) {
		int err = wait_until(d, d->write_fd, POLLOUT, since_ns + duplex_timeout(d));
		uint64_t heard_ns = atomic_load(&d->received_ns);

		if (err != -ETIMEDOUT || heard_ns <= since_ns)
			return err;
		since_ns = heard_ns;
	}
}

static int duplex_send(struct duplex *d, struct iovec *iov, int n)
{
	n = connection_advance(&iov, n, 0);
	while (n) {
		ssize_t done;
		int err = 0;

		if (duplex_aborted(d))
			return -ECONNABORTED;
		done = writev(d->write_fd, iov, n < IOV_MAX ? n : IOV_MAX);
		if (done >= 0)
			n = connection_advance(&iov, n, (size_t)done);
		else if (errno == EAGAIN)
			err = wait_for_room(d);
		else if (errno != EINTR)
			err = lost(-errno);
		if (err)
			return duplex_failed(d, err);
	}
	return 0;
}

/* ---- receiving ---- */

/*
 * Send all of `n` parts, or receive `size` bytes. Return 0; -ECONNRESET when the other side has
 * closed it; -ECONNABORTED; -ETIMEDOUT; or another -errno. Receiving fails after the time limit
 * without a byte. Sending fails when for as long no byte could be sent and none was received: a
 * peer that sends is there, and only slow to receive. `iov` is changed.
 */
static int duplex_receive(struct duplex *d, void *buf, size_t size)
{
	char *to = buf;

	while (size) {
		ssize_t n;
		int err = 0;

		if (duplex_aborted(d))
			return -ECONNABORTED;
		n = read(d->read_fd, to, size);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno == EAGAIN)
			err = wait_until(d, d->read_fd, POLLIN, clock_now_ns() + duplex_timeout(d));
		else if (n < 0 && errno != EINTR)
			err = lost(-errno);
		if (err)
			return duplex_failed(d, err);
		if (n > 0) {
			to += n;
			size -= (size_t)n;
			atomic_store(&d->received_ns, clock_now_ns());
		}
	}
	return 0;
}

#define ALIVE_NS NS_PER_SEC

/* Parts of a body that share a system call with the header. */
#define FIRST_PARTS 15

struct link {
	/* const until link_close(); one of the first three is there */
	struct duplex *duplex;
	struct connection *connection;
	struct link *channel;
	struct wire_key *key;
	uint32_t number; /* of its messages */
	bool has_thread;
	pthread_t thread; /* sends ALIVE */

	/* owned by the thread that receives */
	struct digest_stream *received_sum;
	uint64_t received;    /* messages */
	uint64_t deadline_ns; /* for one that is no sign of life; 0: none */

	/* guarded by lock */
	pthread_mutex_t lock;
	struct digest_stream *sent_sum;
	uint64_t sent; /* messages */
	int broken;    /* -errno of the first that could not be sent */

	/* atomic: nothing more is sent on a link inside of a channel */
	_Atomic bool aborted;

	/* atomic: when something was sent last; 0: nothing was */
	_Atomic uint64_t sent_ns;
};

/* ---- life ---- */

static struct link *new_link(uint32_t number)
{
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	l->number = number;
	l->received_sum = digest_stream_new();
	l->sent_sum = digest_stream_new();
	if (l->received_sum && l->sent_sum)
		return l;
	link_close(l);
	return NULL;
}

/* Let the other side know that this one is there, whatever the threads of the copy do. */
static void *send_alive(void *arg)
{
	struct link *l = arg;
	uint64_t next_ns = clock_now_ns() + ALIVE_NS;

	while (duplex_sleep(l->duplex, next_ns) == 0) {
		uint64_t sent_ns = atomic_load(&l->sent_ns);
		uint64_t due_ns = sent_ns + ALIVE_NS, now_ns = clock_now_ns();

		/* An error is found by those who send and receive. */
		if (sent_ns && due_ns <= now_ns)
			link_send_body(l, WIRE_ALIVE, NULL, 0);
		next_ns = due_ns <= now_ns ? now_ns + ALIVE_NS : due_ns;
	}
	return NULL;
}

struct link *link_on_fds(int read_fd, int write_fd, uint64_t timeout_ns)
{
	struct duplex *d = duplex_new(read_fd, write_fd, timeout_ns);
	struct link *l = d ? new_link(WIRE_NO_CONNECTION) : NULL;

	if (!l) {
		duplex_free(d);
		return NULL;
	}
	l->duplex = d;
	atomic_init(&l->sent_ns, 0);
	l->has_thread = thread_start(&l->thread, send_alive, l) == 0;
	if (l->has_thread)
		return l;
	link_close(l);
	return NULL;
}

struct link *link_on_connection(struct connection *c, struct wire_key *key, unsigned number)
{
	struct link *l = new_link(number);

	if (!l) {
		connection_close(c);
		wire_key_free(key);
		return NULL;
	}
	l->connection = c;
	l->key = key;
	/* HELLO and WELCOME */
	l->sent = l->received = 1;
	return l;
}

struct link *link_inside(struct link *channel)
{
	struct link *l = new_link(0);

	if (l)
		l->channel = channel;
	return l;
}

void link_close(struct link *l)
{
	if (!l)
		return;
	if (l->has_thread) {
		duplex_abort(l->duplex);
		pthread_join(l->thread, NULL);
	}
	duplex_free(l->duplex);
	connection_close(l->connection);
	wire_key_free(l->key);
	digest_stream_free(l->received_sum);
	digest_stream_free(l->sent_sum);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void link_abort(struct link *l)
{
	if (l->channel)
		atomic_store(&l->aborted, true);
	else if (l->duplex)
		duplex_abort(l->duplex);
	else
		connection_abort(l->connection);
}

void link_set_timeout(struct link *channel, uint64_t timeout_ns)
{
	atomic_store(&channel->duplex->timeout_ns, timeout_ns);
}

void link_set_deadline(struct link *channel, uint64_t deadline_ns)
{
	channel->deadline_ns = deadline_ns;
}

bool link_timed_out(const struct link *channel)
{
	return atomic_load(&channel->duplex->timed_out);
}

bool link_is_channel(const struct link *l)
{
	return !l->connection;
}

void link_info(struct link *l, struct connection_info *info)
{
	memset(info, 0, sizeof(*info));
	if (l->connection)
		connection_info(l->connection, info);
}

/* ---- sending ---- */

static int send_parts(struct link *l, struct iovec *iov, int n)
{
	return l->duplex ? duplex_send(l->duplex, iov, n) : connection_send(l->connection, iov, n);
}

/* Add the time since `*start_ns` to `*sum`, and start again. */
static void add_time(uint64_t *sum, uint64_t *start_ns)
{
	uint64_t now_ns;

	if (!sum)
		return;
	now_ns = clock_now_ns();
	*sum += now_ns - *start_ns;
	*start_ns = now_ns;
}

/* Set length and digest of `h`. */
static void link_measure(struct digest_stream *sum, struct wire_header *h, const struct iovec *iov,
			 int n)
{
	h->length = 0;
	for (int i = 0; i < n; i++)
		h->length += iov[i].iov_len;
	if (n == 1) {
		h->digest = digest_data(iov->iov_base, iov->iov_len);
		return;
	}
	digest_stream_start(sum);
	for (int i = 0; i < n; i++)
		digest_stream_add(sum, iov[i].iov_base, iov[i].iov_len);
	h->digest = digest_stream_end(sum);
}

/* Send the header with as many parts as fit, then the others. */
static int send_message(struct link *l, const struct wire_header *h, struct iovec *iov, int n)
{
	uint8_t header[WIRE_HEADER_BYTES];
	struct iovec first[1 + FIRST_PARTS] = { { header, sizeof(header) } };
	int n_first = n < FIRST_PARTS ? n : FIRST_PARTS;
	int err;

	wire_encode(h, l->key, header);
	if (n_first)
		memcpy(first + 1, iov, (size_t)n_first * sizeof(*iov));
	err = send_parts(l, first, 1 + n_first);
	for (int done = n_first, more; !err && done < n; done += more) {
		more = n - done < IOV_MAX ? n - done : IOV_MAX;
		err = send_parts(l, iov + done, more);
	}
	return err;
}

int link_send(struct link *l, struct wire_header *h, struct iovec *iov, int n, uint64_t ns[2])
{
	struct link *to = l->channel ? l->channel : l;
	uint64_t start_ns = ns ? clock_now_ns() : 0;
	int err;

	pthread_mutex_lock(&to->lock);
	err = l != to && atomic_load(&l->aborted) ? -ECONNABORTED : to->broken;
	if (!err) {
		h->connection = l->number;
		h->sequence = to->sent++;
		link_measure(to->sent_sum, h, iov, n);
		add_time(ns ? &ns[0] : NULL, &start_ns);
		err = send_message(to, h, iov, n);
		/* Half of a message may be out. */
		to->broken = err;
	}
	atomic_store_explicit(&to->sent_ns, clock_now_ns(), memory_order_relaxed);
	pthread_mutex_unlock(&to->lock);
	add_time(ns ? &ns[1] : NULL, &start_ns);
	return err;
}

int link_send_body(struct link *l, enum wire_type type, const void *body, size_t length)
{
	struct wire_header h = { .type = type };
	struct iovec iov = { .iov_base = (void *)body, .iov_len = length };

	return link_send(l, &h, &iov, length ? 1 : 0, NULL);
}

int link_send_text(struct link *channel, const char *text)
{
	struct iovec iov = { .iov_base = (void *)text, .iov_len = strlen(text) };
	int err;

	pthread_mutex_lock(&channel->lock);
	err = duplex_send(channel->duplex, &iov, 1);
	channel->broken = err;
	atomic_store(&channel->sent_ns, clock_now_ns());
	pthread_mutex_unlock(&channel->lock);
	return err;
}

/* ---- receiving ---- */

/* "the other side sent ...", with its address. Returns `err`. */
__attribute__((format(printf, 4, 5))) static int say(const struct link *l, struct err *why, int err,
						     const char *fmt, ...)
{
	va_list ap;

	if (!why)
		return err;
	va_start(ap, fmt);
	err_vset(why, err, fmt, ap);
	va_end(ap);
	if (l->connection)
		err_prefix(why, "data connection %" PRIu32 " (%s): ", l->number,
			   connection_peer(l->connection));
	return err;
}

/* Explain why nothing more can be received. Returns `err`. */
static int say_lost(const struct link *l, struct err *why, int err)
{
	switch (err) {
	case -ECONNRESET:
		return say(l, why, err, "the other side has closed the connection");
	case -ECONNABORTED:
		return say(l, why, err, "the connection was ended");
	case -ETIMEDOUT:
		if (l->connection)
			return say(l, why, err, "the other side stopped in a message");
		return say(l, why, err, "nothing came from the other side for %g s",
			   (double)duplex_timeout(l->duplex) / NS_PER_SEC);
	default:
		return say(l, why, err, "the connection was lost (%s)", strerror(-err));
	}
}

static int channel_header(struct link *l, uint64_t max_data, struct wire_header *h, struct err *why)
{
	uint8_t raw[WIRE_HEADER_BYTES];
	int err = duplex_receive(l->duplex, raw, sizeof(raw));
	enum wire_fault fault;
	unsigned version = 0;

	if (err)
		return say_lost(l, why, err);
	fault = wire_decode(raw, NULL, max_data, h, &version);
	if (fault == WIRE_BAD_VERSION)
		return say(l, why, -EBADMSG,
			   "the other side speaks version %u of the protocol, this one version %u",
			   version, WIRE_VERSION);
	if (fault)
		return say(l, why, -EBADMSG, "the other side sent %s", wire_fault_text(fault));
	return 0;
}

static int connection_header(struct link *l, uint64_t max_data, struct wire_header *h,
			     struct err *why)
{
	enum wire_fault fault = WIRE_OK;
	int err;

	do
		err = connection_receive_header(l->connection, l->key, max_data, h, &fault);
	while (err == -EAGAIN);
	if (err == -EBADMSG && fault)
		return say(l, why, err, "the other side sent %s", wire_fault_text(fault));
	return err ? say_lost(l, why, err) : 0;
}

/* True: this link may carry `h`. */
static bool belongs(const struct link *l, uint64_t max_data, const struct wire_header *h)
{
	/* Blocks have a part of their id in it. */
	if (h->target && h->type != WIRE_COPY_BLOCK)
		return false;
	if (h->connection == l->number)
		return true;
	return l->duplex && max_data && h->connection == 0;
}

int link_receive(struct link *l, uint64_t max_data, struct wire_header *h, struct err *why)
{
	do {
		int err = l->duplex ? channel_header(l, max_data, h, why) :
				      connection_header(l, max_data, h, why);

		if (err)
			return err;
		if (!belongs(l, max_data, h))
			return say(l, why, -EBADMSG, "the other side sent %s",
				   wire_fault_text(WIRE_BAD_FIELD));
		if (h->sequence != l->received)
			return say(l, why, -EBADMSG,
				   "the other side sent message %" PRIu64 ", not %" PRIu64,
				   h->sequence, l->received);
		l->received++;
		if (h->type == WIRE_ALIVE && l->deadline_ns && clock_now_ns() > l->deadline_ns)
			return say(l, why, -ETIMEDOUT,
				   "only signs of life came from the other side");
	} while (h->type == WIRE_ALIVE);
	return 0;
}

static int receive_bytes(void *link, void *buf, size_t size)
{
	const struct link *l = link;

	return l->duplex ? duplex_receive(l->duplex, buf, size) :
			   connection_receive(l->connection, buf, size);
}

int link_receive_body(struct link *l, const struct wire_header *h, void *buf, uint64_t ns[2],
		      struct err *why)
{
	struct digest digest;
	int err = stream_receive_body(receive_bytes, l, l->received_sum, buf, (size_t)h->length,
				      &digest, ns);

	if (err)
		return say_lost(l, why, err);
	if (!digest_equal(digest, h->digest))
		return say(l, why, -EBADMSG, "the other side sent %s",
			   wire_fault_text(WIRE_BAD_DATA));
	return 0;
}

int link_receive_message(struct link *l, uint64_t max_data, struct wire_header *h, uint8_t **body,
			 size_t *room, struct err *why)
{
	int err = link_receive(l, max_data, h, why);
	uint8_t *more;

	if (!err && h->length > *room) {
		more = realloc(*body, h->length);
		if (!more)
			return -ENOMEM;
		*body = more;
		*room = h->length;
	}
	return err ? err : link_receive_body(l, h, *body, NULL, why);
}
