/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control thread of a session: it alone uses the control connection. It connects, sends what
 * other threads have posted, receives, and watches for signs of life.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/session_internal.h"
#include "xdd/base/err.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/*
 * Plans and results of both sides compared, in words that make sense on either side. Also called
 * by session_finish(). Pure functions.
 */

/* Amounts fit if they are equal, or one side leaves them open. */
static bool amounts_fit(uint64_t a, uint64_t b)
{
	return a == b || a == WIRE_NO_SIZE || b == WIRE_NO_SIZE;
}

/* True if the plans fit; else `why` says in one line what to change. */
static bool session_plans_fit(const struct wire_plan *source, const struct wire_plan *destination,
			      struct err *why)
{
	const struct wire_plan *s = source, *d = destination;

	if (s->req_bytes != d->req_bytes)
		err_set(why, -EINVAL,
			"the source sends requests of %" PRIu64
			" bytes, the destination expects %" PRIu64
			": give both the same -reqsize and -blocksize",
			s->req_bytes, d->req_bytes);
	else if (!amounts_fit(s->bytes, d->bytes))
		err_set(why, -EINVAL,
			"the source copies %" PRIu64
			" bytes per pass, the destination expects %" PRIu64
			": give both the same amount, or the destination none",
			s->bytes, d->bytes);
	else if (!amounts_fit(s->ops, d->ops))
		err_set(why, -EINVAL,
			"the source copies %" PRIu64
			" requests per pass, the destination expects %" PRIu64
			": give both the same amount, or the destination none",
			s->ops, d->ops);
	else if (s->passes != d->passes)
		err_set(why, -EINVAL,
			"the number of passes is %" PRIu64 " on the source and %" PRIu64
			" on the destination: give both the same -passes",
			s->passes, d->passes);
	else if (s->connections != d->connections)
		err_set(why, -EINVAL,
			"the number of data connections is %" PRIu32 " on the source and %" PRIu32
			" on the destination: give both the same ports, or the same -queuedepth",
			s->connections, d->connections);
	else
		return true;
	return false;
}

/* True if all ranges that the destination asks for lie within the operations of the source. */
static bool session_ranges_fit(const struct wire_plan *source, const struct wire_plan *destination,
			       const struct wire_range *ranges, size_t n)
{
	if (n && !(destination->flags & WIRE_RESUMES))
		return false;
	for (size_t i = 0; i < n; i++)
		if (ranges[i].first > source->ops ||
		    ranges[i].count > source->ops - ranges[i].first)
			return false;
	return true;
}

bool session_results_fit(const struct wire_pass *source, const struct wire_pass *destination,
			 struct err *why)
{
	const struct wire_pass *s = source, *d = destination;
	char sent[DIGEST_TEXT_SIZE], written[DIGEST_TEXT_SIZE];

	if (s->ops != d->ops + d->failed)
		err_set(why, -EBADMSG,
			"the source sent %" PRIu64 " blocks, the destination wrote %" PRIu64,
			s->ops, d->ops);
	else if (d->failed)
		/* It reports failed writes itself; the rest cannot agree then. */
		return true;
	else if (s->bytes != d->bytes)
		err_set(why, -EBADMSG,
			"the source sent %" PRIu64 " bytes, the destination wrote %" PRIu64,
			s->bytes, d->bytes);
	else if (!digest_equal(s->digest, d->digest))
		err_set(why, -EBADMSG,
			"the source sent data with the digest %s, the destination wrote %s",
			digest_text(s->digest, sent), digest_text(d->digest, written));
	else
		return true;
	return false;
}

/*
 * Received messages of the control connection: one table of the messages that each side may get in
 * each state.
 */

#define ANY_STATE (~0u)

/* "between passes": completes "the peer sent X, which is not allowed ...". */
static const char *session_state_text(enum session_state state)
{
	switch (state) {
	case SESSION_NEW:
		return "before the sides have met";
	case SESSION_GREETING:
		return "before the answer to the first message";
	case SESSION_PLANNING:
		return "before the plans are exchanged";
	case SESSION_JUDGING:
		return "before the plan is accepted";
	case SESSION_OPENING:
		return "while the destination opens its file";
	case SESSION_IDLE:
		return "between passes";
	case SESSION_PASS:
		return "during a pass";
	case SESSION_ENDING:
		return "at the end of a pass";
	case SESSION_LEAVING:
		return "after the end of the session";
	case SESSION_OVER:
		break;
	}
	return "after the session";
}

/* True: this destination has no plan of the peer, which may be a stranger that failed. */
static bool is_stranger(struct session *s)
{
	bool stranger;

	session_lock(s);
	stranger = !s->source && s->state == SESSION_PLANNING && !session_error(s);
	session_unlock(s);
	return stranger;
}

/*
 * True: this source has no answer of a destination, and time is left for another attempt. A port
 * forwarder closes connections until there is a destination.
 */
static bool may_retry(struct session *s)
{
	bool retry;

	session_lock(s);
	retry = s->source && s->state == SESSION_GREETING && !session_error(s) &&
		clock_now_ns() + SESSION_PAUSE_NS < s->meet_ns;
	session_unlock(s);
	return retry;
}

int session_lost(struct session *s, int err, enum wire_fault fault)
{
	const char *at = connection_peer(s->control);
	const char *peer = s->peer_name;

	if (is_stranger(s))
		return SESSION_STRANGER_GONE;
	if ((err == -ECONNRESET || err == -EPIPE) && may_retry(s))
		return SESSION_RETRY;
	if (err == -ETIMEDOUT || err == -EAGAIN)
		return session_broke(
			s, BLAME_PEER, -ETIMEDOUT,
			"the connection to the %s at %s was lost: no sign of life for %s", peer, at,
			s->time_text);
	if (err == -ECONNRESET)
		return session_broke(
			s, BLAME_PEER_SILENTLY, err,
			"the connection to the %s at %s was closed by the %s before the end", peer,
			at, peer);
	if (err == -EBADMSG)
		return session_broke(s, BLAME_PEER, err, "the %s at %s sent %s", peer, at,
				     wire_fault_text(fault));
	return session_broke(s, BLAME_PEER, err, "the connection to the %s at %s was lost: %s",
			     peer, at, strerror(-err));
}

/* ---- the messages ---- */

/* Put the session into `state`, and wake the threads that wait for it. */
static int session_message_enter(struct session *s, enum session_state state)
{
	session_lock(s);
	s->state = state;
	pthread_cond_broadcast(&s->changed);
	session_unlock(s);
	return 0;
}

static int take_alive(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	(void)s, (void)h, (void)body;
	return 0;
}

static int take_error(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	struct wire_error e;

	if (wire_decode_error(body, h->length, &e) != WIRE_OK)
		return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
	if (is_stranger(s))
		return SESSION_STRANGER_GONE;
	if (strcmp(e.text, SESSION_BUSY) == 0 && may_retry(s))
		return SESSION_RETRY;
	return session_broke(s, BLAME_PEER_SILENTLY, -EREMOTEIO, "%s", e.text);
}

static int take_welcome(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	struct wire_hello hello;
	int r;

	if (wire_decode_hello(body, h->length, &hello) != WIRE_OK ||
	    hello.purpose != WIRE_CONTROL || memcmp(hello.session, s->id, sizeof(s->id)) != 0)
		return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
	session_lock(s);
	s->peer_hello = hello;
	session_unlock(s);
	r = session_take_key(s);
	if (r)
		return r;
	session_lock(s);
	s->state = SESSION_PLANNING;
	session_post(s, WIRE_PLAN);
	session_unlock(s);
	return 0;
}

/* The plan of the source, at the destination. */
static int take_plan(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	struct err why;
	size_t n = 0;

	if (wire_decode_plan(body, h->length, &s->peer, NULL, &n) != WIRE_OK)
		return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
	if (!session_plans_fit(&s->peer, &s->own, &why))
		return session_broke(s, BLAME_PEER, -EINVAL, "%s", why.text);
	s->silence_ns = s->timeout_ns;
	return session_message_enter(s, SESSION_JUDGING);
}

/* The plan of the destination, at the source. */
static int take_accept(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	struct err why;

	s->ranges = calloc(WIRE_MAX_RANGES, sizeof(*s->ranges));
	if (!s->ranges)
		return session_broke(s, BLAME_SELF, -ENOMEM, "out of memory");
	if (wire_decode_plan(body, h->length, &s->peer, s->ranges, &s->n_ranges) != WIRE_OK ||
	    !session_ranges_fit(&s->own, &s->peer, s->ranges, s->n_ranges))
		return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
	if (!session_plans_fit(&s->own, &s->peer, &why))
		return session_broke(s, BLAME_PEER, -EINVAL, "%s", why.text);
	return session_message_enter(s, SESSION_OPENING);
}

static int take_ready(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	(void)h, (void)body;
	return session_message_enter(s, SESSION_IDLE);
}

/* The number of a pass that the peer may not name now. */
static int bad_pass(struct session *s, const struct wire_header *h)
{
	return session_broke(s, BLAME_PEER, -EPROTO, "the %s at %s sent %s of pass %u %s %u",
			     s->peer_name, connection_peer(s->control), wire_type_name(h->type),
			     h->pass, h->type == WIRE_PASS_BEGIN ? "after pass" : "in pass",
			     s->now_pass);
}

static int take_pass_begin(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	(void)body;
	if (h->pass != s->now_pass + 1)
		return bad_pass(s, h);
	session_lock(s);
	s->pass = h->pass;
	s->stop_posted = false;
	session_unlock(s);
	return session_message_enter(s, SESSION_PASS);
}

static int take_pass_stop(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	(void)body;
	if (h->pass != s->now_pass)
		return bad_pass(s, h);
	/* It may cross PASS_END on its way. */
	if (s->now_state == SESSION_PASS && s->params.stop_pass)
		s->params.stop_pass(s->params.arg, h->pass);
	return 0;
}

/* PASS_END at the destination, PASS_RESULT at the source. */
static int take_pass(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	struct wire_pass pass;

	if (wire_decode_pass(body, h->length, &pass) != WIRE_OK)
		return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
	if (h->pass != s->now_pass)
		return bad_pass(s, h);
	session_lock(s);
	s->peer_pass = pass;
	session_unlock(s);
	if (!s->source)
		atomic_store(&s->ended_pass, h->pass);
	return session_message_enter(s, s->source ? SESSION_IDLE : SESSION_ENDING);
}

static int take_bye(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	(void)h, (void)body;
	return session_message_enter(s, s->source ? SESSION_OVER : SESSION_LEAVING);
}

enum side {
	SOURCE = 1,
	DESTINATION = 2,
	BOTH = 3,
};

/* The messages that a side may receive, and the states in which it may. */
static const struct rule {
	enum wire_type type;
	enum side side;
	unsigned states;
	int (*take)(struct session *s, const struct wire_header *h, const uint8_t *body);
} rules[] = {
	{ WIRE_ALIVE, BOTH, ANY_STATE, take_alive },
	{ WIRE_ERROR, BOTH, ANY_STATE, take_error },
	{ WIRE_WELCOME, SOURCE, SESSION_GREETING, take_welcome },
	{ WIRE_PLAN, DESTINATION, SESSION_PLANNING, take_plan },
	{ WIRE_PROVE, SOURCE, SESSION_PLANNING, session_take_prove },
	{ WIRE_SUMS, DESTINATION, SESSION_JUDGING, session_take_sums },
	{ WIRE_ACCEPT, SOURCE, SESSION_PLANNING, take_accept },
	{ WIRE_READY, SOURCE, SESSION_OPENING, take_ready },
	{ WIRE_PASS_BEGIN, DESTINATION, SESSION_IDLE, take_pass_begin },
	{ WIRE_PASS_STOP, SOURCE, SESSION_PASS | SESSION_ENDING, take_pass_stop },
	{ WIRE_PASS_END, DESTINATION, SESSION_PASS, take_pass },
	{ WIRE_PASS_RESULT, SOURCE, SESSION_ENDING, take_pass },
	{ WIRE_BYE, DESTINATION, SESSION_IDLE, take_bye },
	{ WIRE_BYE, SOURCE, SESSION_LEAVING, take_bye },
};

static int act(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	session_lock(s);
	s->now_state = s->state;
	s->now_pass = s->pass;
	session_unlock(s);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		if (r->type == h->type && r->side & (s->source ? SOURCE : DESTINATION) &&
		    r->states & s->now_state)
			return r->take(s, h, body);
	}
	if (is_stranger(s))
		return SESSION_STRANGER_GONE;
	return session_broke(s, BLAME_PEER, -EPROTO,
			     "the %s at %s sent %s, which is not allowed %s", s->peer_name,
			     connection_peer(s->control), wire_type_name(h->type),
			     session_state_text(s->now_state));
}

/* Receive a message and act on it. Returns 0 or -errno. Control thread. */
static int session_receive_message(struct session *s)
{
	enum wire_fault fault = WIRE_OK;
	struct wire_header h;
	int r = connection_receive_header(s->control, NULL, 0, &h, &fault);

	if (r < 0)
		return session_lost(s, r, fault);
	if (h.target != s->params.target || h.connection != WIRE_NO_CONNECTION ||
	    h.sequence != s->received || h.length > WIRE_MAX_BODY_BYTES)
		return session_lost(s, -EBADMSG, WIRE_BAD_FIELD);
	if (h.length) {
		r = connection_receive(s->control, s->body, h.length);
		if (r < 0)
			return session_lost(s, r, WIRE_OK);
	}
	fault = wire_check_body(&h, s->body);
	if (fault != WIRE_OK)
		return session_lost(s, -EBADMSG, fault);
	s->received++;
	s->heard_ns = clock_now_ns();
	return act(s, &h, s->body);
}

/* Send a message on the control connection. Control thread. */
static int session_tell(struct session *s, enum wire_type type, uint32_t pass, size_t length)
{
	struct wire_header h = {
		.type = type,
		.target = s->params.target,
		.connection = WIRE_NO_CONNECTION,
		.pass = pass,
		.length = length,
		.sequence = s->sent,
		.digest = digest_data(s->body, length),
	};
	int r = connection_send_message(s->control, &h, NULL, s->body);

	if (r < 0)
		return r;
	s->sent++;
	s->sent_ns = clock_now_ns();
	return 0;
}

/* The body of a message that was posted. Returns its length. */
static size_t encode(struct session *s, enum wire_type type)
{
	struct wire_pass pass;

	switch (type) {
	case WIRE_PLAN:
		return wire_encode_plan(&s->own, NULL, 0, s->body);
	case WIRE_ACCEPT:
		return wire_encode_plan(&s->own, s->ranges, s->n_ranges, s->body);
	case WIRE_PASS_END:
	case WIRE_PASS_RESULT:
		session_lock(s);
		pass = s->own_pass;
		session_unlock(s);
		return wire_encode_pass(&pass, s->body);
	case WIRE_PROVE:
	case WIRE_SUMS:
		return session_proof_encode(s);
	default:
		return 0;
	}
}

/* These carry the number of a pass. */
#define PASS_TYPES                                                            \
	(1u << WIRE_PASS_BEGIN | 1u << WIRE_PASS_STOP | 1u << WIRE_PASS_END | \
	 1u << WIRE_PASS_RESULT)

static int send_posted(struct session *s)
{
	for (;;) {
		enum wire_type type = 0;
		uint32_t pass;
		int r;

		session_lock(s);
		if (!session_error(s) && s->pending)
			type = (enum wire_type)__builtin_ctz(s->pending);
		pass = PASS_TYPES & 1u << type ? s->pass : 0;
		session_unlock(s);
		if (!type)
			return 0;
		r = session_tell(s, type, pass, encode(s, type));
		if (r < 0)
			return session_lost(s, r, WIRE_OK);

		session_lock(s);
		s->pending &= ~(1u << type);
		if (type == WIRE_BYE && !s->source)
			s->state = SESSION_OVER;
		pthread_cond_broadcast(&s->changed);
		session_unlock(s);
	}
}

/* True when the thread has nothing more to do. */
static bool is_over(struct session *s)
{
	bool over;

	session_lock(s);
	over = session_error(s) || s->state == SESSION_OVER;
	session_unlock(s);
	return over;
}

static void session_control_drain(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

/* Send, and then wait for the next message or the next thing to send. */
static int session_control_step(struct session *s)
{
	uint64_t now, due;
	int r = send_posted(s);

	if (r || is_over(s))
		return r;
	now = clock_now_ns();
	if (now >= s->sent_ns + s->alive_ns) {
		r = session_tell(s, WIRE_ALIVE, 0, 0);
		if (r < 0)
			return session_lost(s, r, WIRE_OK);
	}
	due = ns_earlier(s->sent_ns + s->alive_ns, s->heard_ns + s->silence_ns);
	r = connection_wait(s->control, s->wake_fd, due > now ? due - now : 0);
	session_control_drain(s->wake_fd);
	if (r > 0)
		return session_receive_message(s);
	/* Messages of a time in which this thread did not run may lie in the socket. */
	if (r == 0 && now >= s->heard_ns + s->silence_ns)
		r = -ETIMEDOUT;
	return r < 0 ? session_lost(s, r, WIRE_OK) : 0;
}

/* ---- the connection ---- */

static void adopt(struct session *s, struct connection *c, enum session_state state)
{
	session_lock(s);
	s->control = c;
	s->state = state;
	session_unlock(s);
	s->sent = 0;
	s->received = 0;
	s->heard_ns = clock_now_ns();
	s->sent_ns = s->heard_ns;
	s->silence_ns = s->timeout_ns;
}

static int say_hello(struct session *s, enum wire_type type)
{
	const struct stream_terms t = session_streams(s);
	struct wire_hello hello;
	int r;

	stream_hello(&t, WIRE_CONTROL, &hello);
	r = session_tell(s, type, 0, wire_encode_hello(&hello, s->body));
	return r < 0 ? session_lost(s, r, WIRE_OK) : 0;
}

/* Source: connect, and introduce this side. */
static int connect_control(struct session *s)
{
	const struct endtoend_address *a = &s->params.options->addresses[0];
	struct connection *c = NULL;
	struct err why = { 0 };
	int r = connection_open(&c, a->host, a->port, &s->socket, s->keyed ? s->params.key : NULL,
				&s->halt, s->meet_ns, &why);

	if (r < 0)
		return session_broke(s, BLAME_PEER_SILENTLY, r, "%s", why.text);
	adopt(s, c, SESSION_GREETING);
	return say_hello(s, WIRE_HELLO);
}

/* Destination: wait until the listener has a source for this session. With the lock. */
static int await_source(struct session *s, uint64_t until_ns)
{
	int err = session_error(s);

	while (!err && !s->control) {
		if (session_sleep(s, until_ns) == -ETIMEDOUT)
			return -ETIMEDOUT;
		err = session_error(s);
	}
	return err;
}

/* Destination: wait for a source, and answer it. */
static int accept_control(struct session *s)
{
	uint64_t until_ns = UINT64_MAX;
	int r;

	if (s->params.options->timeout_given)
		until_ns = clock_kernel_ns() + s->timeout_ns;
	session_lock(s);
	r = await_source(s, until_ns);
	session_unlock(s);
	if (r == -ETIMEDOUT)
		return session_broke(s, BLAME_PEER_SILENTLY, r,
				     "no source has connected for %s (-e2e timeout)", s->time_text);
	if (r < 0)
		return r;
	adopt(s, s->control, SESSION_PLANNING);
	/* Until its plan has come, it may be a stranger that keeps others out. */
	s->silence_ns = ns_earlier(s->timeout_ns, LISTENER_STRANGER_NS);
	s->received = 1;
	r = session_take_key(s);
	return r ? r : say_hello(s, WIRE_WELCOME);
}

/*
 * Destination: forget a peer that has gone before its plan came, and wait for another. Source:
 * forget a connection without an answer.
 */
static void drop_peer(struct session *s)
{
	struct connection *c;

	session_lock(s);
	c = s->control;
	s->control = NULL;
	s->state = SESSION_NEW;
	session_unlock(s);
	connection_close(c);
}

/* Source: wait before the next attempt; at most until the session ends. */
static void pause_attempts(struct session *s)
{
	uint64_t until_ns = clock_kernel_ns() + SESSION_PAUSE_NS;

	session_lock(s);
	while (!session_error(s) && session_sleep(s, until_ns) != -ETIMEDOUT)
		continue;
	session_unlock(s);
}

/* Tell the peer why this side ends; see that it gets the last message. */
static void last_words(struct session *s)
{
	uint64_t until_ns = clock_now_ns() + ns_earlier(SESSION_LINGER_NS, s->timeout_ns);
	struct wire_error words;
	uint64_t now;
	bool talks;

	session_lock(s);
	words = s->last_words;
	talks = session_error(s) ? words.text[0] : !s->source;
	session_unlock(s);
	if (talks && words.text[0])
		talks = session_tell(s, WIRE_ERROR, 0, wire_encode_error(&words, s->body)) == 0;
	/* The kernel resets a connection that is closed before all of it is read. */
	while (talks && (now = clock_now_ns()) < until_ns) {
		int r = connection_wait(s->control, -1, until_ns - now);

		talks = r == 0 || (r > 0 && connection_receive(s->control, s->body, 1) == 0);
	}
	connection_abort(s->control);
}

static int talk(struct session *s)
{
	int r = s->source ? connect_control(s) : accept_control(s);

	while (r == 0 && !is_over(s))
		r = session_control_step(s);
	return r;
}

void *session_control(void *arg)
{
	struct session *s = arg;
	int r;

	s->meet_ns = clock_now_ns() + s->timeout_ns;
	while ((r = talk(s)) > 0) {
		drop_peer(s);
		if (r == SESSION_RETRY)
			pause_attempts(s);
	}
	if (s->control)
		last_words(s);
	session_lock(s);
	s->thread_over = true;
	pthread_cond_broadcast(&s->changed);
	session_unlock(s);
	return NULL;
}
