/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data connections, and connections that the listener offers. Each data connection belongs to its
 * QThread; there is no lock and no allocation per block. What the listener offers is taken in its
 * thread, which waits for nothing here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/session_internal.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/*
 * Something is wrong with a data connection. The cause may be that the peer ended the session: its
 * words, or the loss of the control connection, say more, so wait a little for them. Returns -errno
 * of the cause, or 0: there is no other.
 */
static int known_cause(struct session *s)
{
	uint64_t until_ns = clock_kernel_ns() + s->grace_ns;
	int known;

	hold(HOLD_CAUSE_AWAITED);
	session_lock(s);
	while (!(known = session_error(s)) && session_sleep(s, until_ns) != -ETIMEDOUT)
		continue;
	session_unlock(s);
	return known;
}

/* A data connection has failed with `err`; with -EBADMSG because of `fault`. Returns -errno. */
static int session_link_broke(struct link *link, int err, enum wire_fault fault)
{
	struct session *s = link->session;
	const char *at = connection_peer(link->connection);
	int known = 0;

	/* The listener of a destination that refuses has no key for a code. */
	if (err != -EBADMSG || (fault == WIRE_BAD_CODE && s->source))
		known = known_cause(s);
	if (known)
		return known;
	if (err == -EBADMSG)
		return session_broke(s, BLAME_PEER, err, "the %s at %s sent %s on connection %u",
				     s->peer_name, at, wire_fault_text(fault), link->number);
	if (err == -ECONNRESET)
		return session_broke(s, BLAME_PEER, err,
				     "connection %u to the %s at %s was closed before the end",
				     link->number, s->peer_name, at);
	if (err == -ETIMEDOUT)
		return session_broke(s, BLAME_PEER, err,
				     "connection %u to the %s at %s: no data moved for %s",
				     link->number, s->peer_name, at, s->time_text);
	return session_broke(s, BLAME_PEER, err, "connection %u to the %s at %s was lost: %s",
			     link->number, s->peer_name, at, strerror(-err));
}

/* ---- join and leave ---- */

static int send_hello(struct link *link, enum wire_type type)
{
	const struct stream_terms t = session_streams(link->session);
	int r = stream_send_hello(link->connection, type, &t, link->number, link->key);

	return r < 0 ? session_link_broke(link, r, WIRE_OK) : 0;
}

/* Source: wait for the answer. */
static int receive_welcome(struct link *link)
{
	const struct stream_terms t = session_streams(link->session);
	struct wire_error refusal;
	enum wire_fault fault;
	int known, r = stream_receive_welcome(link->connection, &t, link->number, link->key,
					      &refusal, &fault);

	if (r <= 0)
		return r < 0 ? session_link_broke(link, r, fault) : 0;
	known = known_cause(link->session);
	if (known)
		return known;
	return session_broke(link->session, BLAME_PEER, -ECONNREFUSED, "connection %u: %s",
			     link->number, refusal.text);
}

/* Source: connect. */
static int connect_link(struct link *link)
{
	struct session *s = link->session;
	const struct endtoend_options *o = s->params.options;
	struct err why = { 0 };
	uint16_t port;
	const struct endtoend_address *a = endtoend_address_of(o, link->number, &port);
	int r = connection_open(&link->connection, a->host, port, &s->socket,
				s->keyed && o->encrypt ? s->params.key : NULL, &s->halt,
				clock_now_ns() + s->timeout_ns, &why);

	if (r < 0)
		return session_broke(s, BLAME_PEER, r, "connection %u: %s", link->number, why.text);
	session_lock(s);
	s->data[link->number].connection = link->connection;
	r = session_error(s);
	session_unlock(s);
	if (r == 0)
		r = send_hello(link, WIRE_HELLO);
	return r < 0 ? r : receive_welcome(link);
}

/* Destination: wait for the connection. */
static int await_link(struct link *link)
{
	struct session *s = link->session;
	struct stream_slot *slot = &s->data[link->number];
	uint64_t until_ns = clock_kernel_ns() + s->timeout_ns;
	bool late = false;
	int r;

	session_lock(s);
	while (!(r = session_error(s)) && !slot->connection && !late)
		late = session_sleep(s, until_ns) == -ETIMEDOUT;
	link->connection = slot->connection;
	link->key = slot->key;
	slot->key = NULL;
	session_unlock(s);
	if (r < 0)
		return r;
	if (!link->connection)
		return session_broke(s, BLAME_PEER, -ETIMEDOUT,
				     "the source did not open connection %u within %s",
				     link->number, s->time_text);
	return send_hello(link, WIRE_WELCOME);
}

int session_join(struct session *s, uint32_t connection, struct link **out)
{
	struct link *link = calloc(1, sizeof(*link));
	int r = 0;

	*out = NULL;
	if (!link)
		return -ENOMEM;
	link->session = s;
	link->number = connection;
	if (!s->source)
		link->stream = digest_stream_new();
	else if (s->have_key)
		link->key = wire_key_new(s->key);
	if (s->source ? s->have_key && !link->key : !link->stream)
		r = -ENOMEM;
	if (r == 0)
		r = s->source ? connect_link(link) : await_link(link);
	if (r < 0) {
		session_leave(link);
		return r;
	}
	*out = link;
	return 0;
}

void session_leave(struct link *link)
{
	struct session *s;

	if (!link)
		return;
	s = link->session;
	session_lock(s);
	if (link->connection)
		s->data[link->number].connection = NULL;
	session_unlock(s);
	connection_close(link->connection);
	wire_key_free(link->key);
	digest_stream_free(link->stream);
	free(link);
}

/* ---- source ---- */

/* Begin to count messages at the first of pass `pass`. */
static void session_link_follow(struct link *link, uint32_t pass)
{
	if (link->pass == pass)
		return;
	link->pass = pass;
	link->count = 0;
	link->next_op = 0;
}

static int send_header(struct link *link, struct wire_header *h, uint32_t pass, const void *data)
{
	int r;

	session_link_follow(link, pass);
	h->target = link->session->params.target;
	h->connection = link->number;
	h->pass = pass;
	r = connection_send_message(link->connection, h, link->key, data);
	return r < 0 ? session_link_broke(link, r, WIRE_OK) : 0;
}

int session_send(struct link *link, uint32_t pass, const struct net_block *b, const void *data)
{
	struct wire_header h = { .type = WIRE_SKIP, .sequence = b->op };
	int r;

	if (!b->failed) {
		h.type = WIRE_DATA;
		h.offset = b->offset;
		h.length = b->length;
		h.digest = b->digest;
	}
	r = send_header(link, &h, pass, data);
	link->count++;
	return r;
}

int session_last(struct link *link, uint32_t pass)
{
	struct wire_header h = { .type = WIRE_PASS_LAST };

	session_link_follow(link, pass);
	h.sequence = link->count;
	return send_header(link, &h, pass, NULL);
}

/* ---- destination ---- */

int session_wait(struct link *link, uint64_t timeout_ns)
{
	int r = connection_wait(link->connection, -1, timeout_ns);

	return r < 0 ? session_link_broke(link, r, WIRE_OK) : r;
}

/*
 * Receive the next header. There is no limit of its own while the source may have nothing to send:
 * the control connection tells whether it lives. Once the source has sent everything, all of it has
 * to arrive.
 */
static int receive_header(struct link *link, uint32_t pass, struct wire_header *h)
{
	struct session *s = link->session;
	enum wire_fault fault = WIRE_OK;
	bool ended;
	int r;

	do {
		ended = atomic_load(&s->ended_pass) == pass;
		r = connection_receive_header(link->connection, link->key, s->own.req_bytes, h,
					      &fault);
	} while (r == -EAGAIN && !ended);
	if (r == -EAGAIN)
		r = -ETIMEDOUT;
	return r < 0 ? session_link_broke(link, r, fault) : 0;
}

/* True if DATA or SKIP lies within `plan`. An amount that is not known is greater than any. */
static bool lies_within(const struct wire_plan *plan, const struct wire_header *h)
{
	if (h->sequence >= plan->ops)
		return false;
	return h->type == WIRE_SKIP || (h->length <= plan->req_bytes && h->offset <= plan->bytes &&
					h->length <= plan->bytes - h->offset);
}

/* True if the source may send `h` now. */
static bool allowed(const struct link *link, uint32_t pass, const struct wire_header *h)
{
	const struct session *s = link->session;

	if (h->target != s->params.target || h->connection != link->number || h->pass != pass)
		return false;
	if (h->type == WIRE_PASS_LAST)
		return h->sequence == link->count;
	if (h->type != WIRE_DATA && h->type != WIRE_SKIP)
		return false;
	/* Either side may have left its amount open. */
	return h->sequence >= link->next_op && lies_within(&s->own, h) && lies_within(&s->peer, h);
}

int session_receive(struct link *link, uint32_t pass, struct net_block *b, uint64_t *first_ns)
{
	struct wire_header h;
	int r = receive_header(link, pass, &h);

	if (r < 0)
		return r;
	*first_ns = clock_now_ns();
	session_link_follow(link, pass);
	if (!allowed(link, pass, &h))
		return session_broke(link->session, BLAME_PEER, -EPROTO,
				     "the source at %s sent %s %" PRIu64
				     " of pass %u on connection %u, which is not within its plan",
				     connection_peer(link->connection), wire_type_name(h.type),
				     h.sequence, h.pass, link->number);
	*b = (struct net_block){
		.op = h.sequence,
		.offset = h.offset,
		.length = h.length,
		.digest = h.digest,
		.failed = h.type == WIRE_SKIP,
		.last = h.type == WIRE_PASS_LAST,
	};
	if (!b->last) {
		link->count++;
		link->next_op = h.sequence + 1;
	}
	return 0;
}

static int receive_bytes(void *connection, void *buf, size_t size)
{
	return connection_receive(connection, buf, size);
}

int session_receive_data(struct link *link, const struct net_block *b, void *data,
			 uint64_t *check_ns)
{
	struct digest digest;
	uint64_t ns[2] = { 0, 0 };
	int r = stream_receive_body(receive_bytes, link->connection, link->stream, data, b->length,
				    &digest, ns);

	*check_ns += ns[0];
	if (r < 0)
		return session_link_broke(link, r, WIRE_OK);
	if (digest_equal(digest, b->digest))
		return 0;
	return session_broke(link->session, BLAME_PEER, -EBADMSG,
			     "block at byte %" PRIu64
			     " of the copy arrived damaged (connection %u, from %s)",
			     b->offset, link->number, connection_peer(link->connection));
}

/* Refuse, in words. */
static bool session_offer_refuse(struct err *why, const char *text)
{
	err_set(why, -EACCES, "%s", text);
	return false;
}

static bool offer_control(struct session *s, const struct listener_guest *g, struct err *why)
{
	if (s->keyed && !g->tls)
		return session_offer_refuse(why, session_flags_differ(0, WIRE_CAN_KEY));
	if (s->control || s->state != SESSION_NEW)
		return session_offer_refuse(why, SESSION_BUSY);
	memcpy(s->id, g->hello.session, sizeof(s->id));
	s->peer_hello = g->hello;
	s->control = g->connection;
	session_notify(s);
	return true;
}

/* With the lock. */
static bool offer_data(struct session *s, const struct listener_guest *g, struct err *why)
{
	static const char *const words[STREAM_VERDICTS] = {
		[STREAM_OF_OTHER] = "the destination knows no such session",
		[STREAM_UNPROVEN] = "the first message of a data connection has a wrong code",
		[STREAM_IN_CLEAR] =
			"the destination has -e2e encrypt, the source has not: give it to both",
		[STREAM_EXCESS] = "the destination expects no such data connection",
		[STREAM_TWICE] = "the destination has this data connection already",
		[STREAM_NO_MEMORY] = "the destination has no memory for this data connection",
	};
	const struct stream_terms t = session_streams(s);
	enum stream_verdict verdict = STREAM_OF_OTHER;

	if (s->state >= SESSION_OPENING)
		verdict = stream_take(&t, g, s->data);
	if (verdict != STREAM_GOOD)
		return session_offer_refuse(why, words[verdict]);
	session_notify(s);
	return true;
}

/* True: it may expect more connections. */
static bool incomplete(struct session *s)
{
	bool more;

	session_lock(s);
	more = !s->control || s->state < SESSION_OPENING;
	for (uint32_t i = 0; !more && i < s->own.connections; i++)
		more = !s->data[i].taken;
	more = more && !session_error(s);
	session_unlock(s);
	return more;
}

static bool any_incomplete(const struct session_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (incomplete(t->sessions[i]))
			return true;
	return false;
}

bool session_offer(void *table, const struct listener_guest *g, struct err *why)
{
	const struct session_table *t = table;
	struct session *s;
	bool taken;

	if (g->header.target >= t->n)
		return session_offer_refuse(
			why, "the destination has fewer end-to-end targets than the source: give"
			     " both the same");
	s = t->sessions[g->header.target];
	session_lock(s);
	if (session_error(s)) {
		/* A source that broke may have been opening connections. */
		const bool own = s->state != SESSION_NEW &&
				 memcmp(s->id, g->hello.session, sizeof(s->id)) == 0;

		taken = err_set(why, own ? -ESHUTDOWN : -EACCES,
				"the copy has ended on the destination") == 0;
	} else if (g->header.connection == WIRE_NO_CONNECTION)
		taken = g->hello.purpose == WIRE_CONTROL && offer_control(s, g, why);
	else
		taken = g->hello.purpose == WIRE_TRANSFER && offer_data(s, g, why);
	session_unlock(s);
	if (taken)
		listener_set_quiet(s->params.listener, !any_incomplete(t));
	return taken;
}
