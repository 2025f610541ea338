/*
 * Received messages of the control connection: one table of the messages that each side may get in
 * each state. Called by the control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/session_internal.h"
#include "xdd/sys/clock.h"

#define ANY_STATE (~0u)

const char *session_state_text(enum session_state state)
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
static int enter(struct session *s, enum session_state state)
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
	char why[SESSION_WHY_SIZE];
	size_t n = 0;

	if (wire_decode_plan(body, h->length, &s->peer, NULL, &n) != WIRE_OK)
		return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
	if (!session_plans_fit(&s->peer, &s->own, why, sizeof(why)))
		return session_broke(s, BLAME_PEER, -EINVAL, "%s", why);
	s->silence_ns = s->timeout_ns;
	return enter(s, SESSION_JUDGING);
}

/* The plan of the destination, at the source. */
static int take_accept(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	char why[SESSION_WHY_SIZE];

	s->ranges = calloc(WIRE_MAX_RANGES, sizeof(*s->ranges));
	if (!s->ranges)
		return session_broke(s, BLAME_SELF, -ENOMEM, "out of memory");
	if (wire_decode_plan(body, h->length, &s->peer, s->ranges, &s->n_ranges) != WIRE_OK ||
	    !session_ranges_fit(&s->own, &s->peer, s->ranges, s->n_ranges))
		return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
	if (!session_plans_fit(&s->own, &s->peer, why, sizeof(why)))
		return session_broke(s, BLAME_PEER, -EINVAL, "%s", why);
	return enter(s, SESSION_OPENING);
}

static int take_ready(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	(void)h, (void)body;
	return enter(s, SESSION_IDLE);
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
	return enter(s, SESSION_PASS);
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
	return enter(s, s->source ? SESSION_IDLE : SESSION_ENDING);
}

static int take_bye(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	(void)h, (void)body;
	return enter(s, s->source ? SESSION_OVER : SESSION_LEAVING);
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

int session_receive_message(struct session *s)
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
