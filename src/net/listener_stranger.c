/*
 * The limits of a peer before a session knows it: a TLS handshake, one message of limited size, and
 * nothing else. Called by listener.c, in its thread; nothing here waits.
 */
#include "net/listener_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "xdd/base/status.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define NO_KEY "the destination has a key, the source has none: give both sides the same -e2e key"

/* A step: 0: the state has changed; -EAGAIN: wait; anything else ends the connection. */
typedef int step(struct listener *l, struct stranger *s, short *events);

/* Have the peer get `why` as an ERROR, or close without a word. */
static int refuse(struct listener *l, struct stranger *s, const char *why)
{
	struct wire_header h = {
		.type = WIRE_ERROR,
		.target = s->header.target,
		.connection = s->header.connection,
	};
	struct wire_error e = { .status = XDD_IO_ERROR };

	atomic_fetch_add(&l->refused, 1);
	s->until_ns = ns_earlier(s->until_ns, clock_now_ns() + LISTENER_LAST_WORDS_NS);
	s->done = 0;
	s->size = 0;
	s->state = STRANGER_DRAIN;
	if (!*why)
		return shutdown(s->c->fd, SHUT_WR) == 0 ? 0 : -errno;
	snprintf(e.text, sizeof(e.text), "%s", why);
	h.length = wire_encode_error(&e, s->message + WIRE_HEADER_BYTES);
	h.digest = digest_data(s->message + WIRE_HEADER_BYTES, (size_t)h.length);
	wire_encode(&h, NULL, s->message);
	s->size = WIRE_HEADER_BYTES + (size_t)h.length;
	s->state = STRANGER_ANSWER;
	return 0;
}

static int first_byte(struct listener *l, struct stranger *s, short *events)
{
	uint8_t byte;
	ssize_t n = recv(s->c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	*events = POLLIN;
	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	s->size = WIRE_HEADER_BYTES;
	s->state = STRANGER_HEADER;
	if (byte != TLS_FIRST_BYTE)
		return 0;
	if (!l->tls)
		return refuse(l, s, "");
	s->c->tls = tls_new(l->tls, s->c->fd);
	s->state = STRANGER_HANDSHAKE;
	s->tls = true;
	return s->c->tls ? 0 : -ENOMEM;
}

static int handshake(struct listener *l, struct stranger *s, short *events)
{
	int err = tls_handshake(s->c->tls, events);

	if (err == -EACCES || err == -EBADMSG)
		return refuse(l, s, "");
	if (!err)
		s->state = STRANGER_HEADER;
	return err;
}

/* Receive up to `s->size` bytes of the message. */
static int receive(struct stranger *s, short *events)
{
	while (s->done < s->size) {
		ssize_t n = connection_try_receive(s->c, s->message + s->done, s->size - s->done,
						   events);

		if (n < 0)
			return (int)n;
		s->done += (size_t)n;
	}
	return 0;
}

static int header(struct listener *l, struct stranger *s, short *events)
{
	int err = receive(s, events);
	unsigned version = 0;
	enum wire_fault fault;
	char why[128];

	if (err)
		return err;
	s->header.connection = WIRE_NO_CONNECTION;
	fault = wire_decode_first(s->message, &s->header, &version);
	if (fault == WIRE_BAD_VERSION) {
		snprintf(why, sizeof(why),
			 "the source speaks version %u of the protocol, the destination version %u",
			 version, WIRE_VERSION);
		return refuse(l, s, why);
	}
	if (fault != WIRE_OK || s->header.length > WIRE_MAX_HELLO_BYTES)
		return refuse(l, s, "");
	s->size += (size_t)s->header.length;
	s->state = STRANGER_BODY;
	return 0;
}

/* Offer the connection to the sessions. Returns 0: it is theirs. */
static int offer(struct listener *l, struct stranger *s, const struct wire_hello *hello, char *why,
		 size_t size)
{
	struct listener_guest guest = {
		.connection = s->c,
		.tls = s->tls,
		.header = s->header,
		.hello = *hello,
	};

	memcpy(guest.raw, s->message, sizeof(guest.raw));
	if (l->tls && !s->tls && hello->purpose == WIRE_CONTROL) {
		snprintf(why, size, "%s", NO_KEY);
		return -EACCES;
	}
	/* From here on it is watched by the session. */
	if (epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->c->fd, NULL) != 0 ||
	    connection_set_blocking(s->c, true) != 0)
		return -EIO;
	if (l->offer(l->arg, &guest, why, size))
		return 0;
	connection_set_blocking(s->c, false);
	epoll_ctl(l->epoll, EPOLL_CTL_ADD, s->c->fd,
		  &(struct epoll_event){ .data.u64 = (uint64_t)(s - l->strangers) });
	return -EACCES;
}

static int body(struct listener *l, struct stranger *s, short *events)
{
	const uint8_t *data = s->message + WIRE_HEADER_BYTES;
	char why[WIRE_MAX_TEXT_BYTES] = "";
	struct wire_hello hello;
	int err = receive(s, events);

	if (err)
		return err;
	if (wire_check_body(&s->header, data) != WIRE_OK ||
	    wire_decode_hello(data, (size_t)s->header.length, &hello) != WIRE_OK)
		return refuse(l, s, "");
	if ((hello.purpose == WIRE_CONTROL) != (s->header.connection == WIRE_NO_CONNECTION))
		return refuse(l, s, "");
	if (offer(l, s, &hello, why, sizeof(why)) != 0)
		return refuse(l, s, why);
	s->c = NULL;
	return 0;
}

static int answer(struct listener *l, struct stranger *s, short *events)
{
	(void)l;
	while (s->done < s->size) {
		ssize_t n =
			connection_try_send(s->c, s->message + s->done, s->size - s->done, events);

		if (n < 0)
			return (int)n;
		s->done += (size_t)n;
	}
	s->state = STRANGER_DRAIN;
	return shutdown(s->c->fd, SHUT_WR) == 0 ? 0 : -errno;
}

/*
 * Closing a socket with unread bytes resets the connection, and the peer may lose the answer: read
 * and discard, below TLS.
 */
static int drain(struct listener *l, struct stranger *s, short *events)
{
	(void)l;
	for (unsigned i = 0; i < 4; i++) {
		ssize_t n = recv(s->c->fd, s->message, sizeof(s->message), MSG_DONTWAIT);

		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR) {
			*events = POLLIN;
			return -errno;
		}
	}
	/* Others first. */
	*events = POLLIN;
	return -EAGAIN;
}

enum stranger_end stranger_step(struct listener *l, struct stranger *s, short *events)
{
	static step *const steps[] = {
		[STRANGER_FIRST_BYTE] = first_byte, [STRANGER_HANDSHAKE] = handshake,
		[STRANGER_HEADER] = header,	    [STRANGER_BODY] = body,
		[STRANGER_ANSWER] = answer,	    [STRANGER_DRAIN] = drain,
	};

	for (;;) {
		int err = steps[s->state](l, s, events);

		if (err == -EAGAIN)
			return STRANGER_WAITS;
		if (err)
			return STRANGER_GONE;
		if (!s->c)
			return STRANGER_TAKEN;
	}
}
