/*
 * Messages between the two sides of a copy, on a channel and on data connections: link.h. Called by
 * the roles, the server and the side that the user started.
 */
#include "copy/link/link.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/link/duplex.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

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
	duplex_set_timeout(channel->duplex, timeout_ns);
}

void link_set_deadline(struct link *channel, uint64_t deadline_ns)
{
	channel->deadline_ns = deadline_ns;
}

bool link_timed_out(const struct link *channel)
{
	return duplex_timed_out(channel->duplex);
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

static void debug_message(const struct link *l, const char *what, const struct wire_header *h)
{
	const char *peer = l->connection ? connection_peer(l->connection) : "the channel";

	debug_line(DEBUG_E2E,
		   "%s %s %s: number %" PRIu32 ", sequence %" PRIu64 ", offset %" PRIu64
		   ", %" PRIu64 " bytes",
		   wire_type_name(h->type), what, peer, h->connection, h->sequence, h->offset,
		   h->length);
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
static void measure(struct digest_stream *sum, struct wire_header *h, const struct iovec *iov,
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
		measure(to->sent_sum, h, iov, n);
		add_time(ns ? &ns[0] : NULL, &start_ns);
		if (debug_on(DEBUG_E2E))
			debug_message(to, "to", h);
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
__attribute__((format(printf, 4, 5))) static int say(const struct link *l, char *why, int err,
						     const char *fmt, ...)
{
	int n = 0;
	va_list ap;

	if (!why)
		return err;
	if (l->connection)
		n = snprintf(why, WIRE_MAX_TEXT_BYTES,
			     "data connection %" PRIu32 " (%s): ", l->number,
			     connection_peer(l->connection));
	va_start(ap, fmt);
	vsnprintf(why + n, WIRE_MAX_TEXT_BYTES - (size_t)n, fmt, ap);
	va_end(ap);
	return err;
}

/* Explain why nothing more can be received. Returns `err`. */
static int say_lost(const struct link *l, char *why, int err)
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

static int channel_header(struct link *l, uint64_t max_data, struct wire_header *h, char *why)
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

static int connection_header(struct link *l, uint64_t max_data, struct wire_header *h, char *why)
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

int link_receive(struct link *l, uint64_t max_data, struct wire_header *h, char *why)
{
	do {
		int err = l->duplex ? channel_header(l, max_data, h, why) :
				      connection_header(l, max_data, h, why);

		if (err)
			return err;
		if (debug_on(DEBUG_E2E))
			debug_message(l, "from", h);
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

static int receive_bytes(struct link *l, void *buf, size_t size)
{
	return l->duplex ? duplex_receive(l->duplex, buf, size) :
			   connection_receive(l->connection, buf, size);
}

/* Receive in pieces, each of which is added to the digest while it is in the cache. */
static int receive_pieces(struct link *l, uint8_t *buf, size_t size, struct digest *digest,
			  uint64_t ns[2])
{
	uint64_t start_ns = ns ? clock_now_ns() : 0;
	bool single = size <= DIGEST_PIECE_BYTES;

	if (!single)
		digest_stream_start(l->received_sum);
	for (size_t done = 0, n; done < size; done += n) {
		int err;

		n = size - done < DIGEST_PIECE_BYTES ? size - done : DIGEST_PIECE_BYTES;
		err = receive_bytes(l, buf + done, n);
		add_time(ns ? &ns[1] : NULL, &start_ns);
		if (err)
			return err;
		if (!single)
			digest_stream_add(l->received_sum, buf + done, n);
		else
			*digest = digest_data(buf, n);
		add_time(ns ? &ns[0] : NULL, &start_ns);
	}
	if (!single)
		*digest = digest_stream_end(l->received_sum);
	return 0;
}

int link_receive_body(struct link *l, const struct wire_header *h, void *buf, uint64_t ns[2],
		      char *why)
{
	struct digest digest = { 0 };
	int err = receive_pieces(l, buf, (size_t)h->length, &digest, ns);

	if (err)
		return say_lost(l, why, err);
	if (!digest_equal(digest, h->digest))
		return say(l, why, -EBADMSG, "the other side sent %s",
			   wire_fault_text(WIRE_BAD_DATA));
	return 0;
}
