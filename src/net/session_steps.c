/*
 * The steps of a session, in the order in which the threads of a target call them. They change the
 * state, post the message that goes with the change, and wait for the peer's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "config.h"
#include "net/session_internal.h"
#include "xdd/base/status.h"
#include "xdd/sync/thread.h"

#define KEY_LABEL "EXPORTER-xdd-end-to-end"

static uint32_t own_flags(const struct session *s)
{
	return (s->keyed ? WIRE_CAN_KEY : 0) | (s->params.options->encrypt ? WIRE_CAN_ENCRYPT : 0);
}

void session_hello(const struct session *s, enum wire_purpose purpose, struct wire_hello *hello)
{
	*hello = (struct wire_hello){
		.purpose = purpose,
		.flags = own_flags(s),
		.software = PACKAGE_STRING,
	};
	memcpy(hello->session, s->id, sizeof(s->id));
}

/* A sentence about options that only one side has, or NULL. */
static const char *flags_differ(uint32_t source, uint32_t destination)
{
	uint32_t more = source & ~destination;
	uint32_t less = destination & ~source;

	if (more & WIRE_CAN_KEY)
		return "the source has a key, the destination has none: give both the same -e2e key";
	if (less & WIRE_CAN_KEY)
		return "the destination has a key, the source has none: give both the same -e2e key";
	if (more & WIRE_CAN_ENCRYPT)
		return "the source has -e2e encrypt, the destination has not: give it to both";
	if (less & WIRE_CAN_ENCRYPT)
		return "the destination has -e2e encrypt, the source has not: give it to both";
	return NULL;
}

int session_take_key(struct session *s)
{
	uint32_t own = own_flags(s), peer;
	const char *differ;
	int r;

	session_lock(s);
	peer = s->peer_hello.flags & (WIRE_CAN_KEY | WIRE_CAN_ENCRYPT);
	session_unlock(s);
	differ = s->source ? flags_differ(own, peer) : flags_differ(peer, own);
	if (differ)
		return session_broke(s, BLAME_PEER, -EINVAL, "%s", differ);
	if (!s->keyed)
		return 0;
	session_lock(s);
	r = connection_export_key(s->control, KEY_LABEL, s->key);
	s->have_key = r == 0;
	session_unlock(s);
	if (r < 0)
		return session_broke(s, BLAME_PEER, r, "the %s has no key for the data: %s",
				     s->own_name, strerror(-r));
	return 0;
}

/* ---- the plans ---- */

/* Start the control thread; also of a session that has ended, whose peer may wait already. */
static int start(struct session *s, const struct wire_plan *own)
{
	struct session_data *data = calloc(own->connections, sizeof(*data));
	int r = data ? 0 : -ENOMEM;

	session_lock(s);
	s->own = *own;
	s->own.flags |= own_flags(s);
	s->data = data;
	session_unlock(s);
	if (r == 0 && s->source && getrandom(s->id, sizeof(s->id), 0) != sizeof(s->id))
		r = -EIO;
	if (r == 0)
		r = thread_start(&s->thread, session_control, s);
	s->has_thread = r == 0;
	if (r == 0)
		return 0;
	return session_broke(s, BLAME_SELF, r, "the control thread cannot start: %s", strerror(-r));
}

/* Destination: the caller judges the plan of the source, and says what is missing. */
static int judge(struct session *s, struct wire_range *ranges, size_t *n, session_accept *accept,
		 void *arg)
{
	char why[SESSION_WHY_SIZE] = "";
	struct wire_range *copy = NULL;
	int r = 0;

	*n = 0;
	if (accept)
		r = accept(arg, &s->own, &s->peer, ranges, n, why, sizeof(why));
	if (r > 0 && *n) {
		copy = malloc(*n * sizeof(*copy));
		if (!copy)
			r = -ENOMEM;
		else
			memcpy(copy, ranges, *n * sizeof(*copy));
	}
	if (r < 0) {
		session_fail(s, XDD_TARGET_FAILED, why[0] ? why : strerror(-r));
		return r;
	}
	session_lock(s);
	s->ranges = copy;
	s->n_ranges = r > 0 ? *n : 0;
	s->own.flags |= r > 0 ? WIRE_RESUMES : 0;
	s->state = SESSION_OPENING;
	session_post(s, WIRE_ACCEPT);
	session_unlock(s);
	return 0;
}

int session_meet(struct session *s, const struct wire_plan *own, struct wire_plan *peer,
		 struct wire_range *ranges, size_t *n, session_accept *accept, void *arg)
{
	int r = start(s, own);

	if (r < 0)
		return r;
	session_lock(s);
	r = s->source ? session_await_accept(s) : session_await(s, SESSION_JUDGING);
	if (r == 0)
		*peer = s->peer;
	if (r == 0 && s->source) {
		*n = s->n_ranges;
		if (*n)
			memcpy(ranges, s->ranges, *n * sizeof(*ranges));
	}
	session_unlock(s);
	if (r < 0 || s->source)
		return r;
	return judge(s, ranges, n, accept, arg);
}

int session_ready(struct session *s)
{
	int r;

	session_lock(s);
	if (!s->source && !session_error(s)) {
		s->state = SESSION_IDLE;
		session_post(s, WIRE_READY);
	}
	r = session_await(s, ~(unsigned)SESSION_OPENING);
	session_unlock(s);
	return r;
}

/* ---- passes ---- */

int session_begin(struct session *s, uint32_t pass)
{
	int r;

	session_lock(s);
	if (!session_error(s))
		s->reason[0] = '\0';
	if (s->source) {
		r = session_error(s);
		if (r == 0) {
			s->pass = pass;
			s->state = SESSION_PASS;
			session_post(s, WIRE_PASS_BEGIN);
			r = 1;
		}
	} else {
		r = session_await(s, SESSION_PASS | SESSION_ENDING | SESSION_LEAVING);
		if (r == 0)
			r = s->state == SESSION_LEAVING ? 0 : 1;
	}
	session_unlock(s);
	return r;
}

void session_stop_pass(struct session *s, uint32_t pass)
{
	session_lock(s);
	if (!s->source && s->state == SESSION_PASS && s->pass == pass && !s->stop_posted) {
		s->stop_posted = true;
		session_post(s, WIRE_PASS_STOP);
	}
	session_unlock(s);
}

/* Exchange the results. With the lock. */
static int exchange(struct session *s, const struct wire_pass *own, struct wire_pass *peer)
{
	int r = session_error(s);

	if (r == 0 && !s->source)
		r = session_await(s, SESSION_ENDING);
	if (r < 0)
		return r;
	s->own_pass = *own;
	if (own->failed)
		snprintf(s->own_pass.error, sizeof(s->own_pass.error), "%s", s->reason);
	if (s->source) {
		s->state = SESSION_ENDING;
		session_post(s, WIRE_PASS_END);
		r = session_await(s, SESSION_IDLE);
	}
	*peer = s->peer_pass;
	if (!s->source) {
		s->state = SESSION_IDLE;
		session_post(s, WIRE_PASS_RESULT);
	}
	return r;
}

int session_finish(struct session *s, uint32_t pass, const struct wire_pass *own,
		   struct wire_pass *peer)
{
	char why[SESSION_WHY_SIZE];
	bool fit;
	int r;

	session_lock(s);
	r = exchange(s, own, peer);
	session_unlock(s);
	if (r < 0)
		return r;
	fit = s->source ? session_results_fit(own, peer, why, sizeof(why)) :
			  session_results_fit(peer, own, why, sizeof(why));
	if (fit)
		return 0;
	return session_broke(s, BLAME_PEER, -EBADMSG, "pass %u did not arrive as it was sent: %s",
			     pass, why);
}

int session_close(struct session *s)
{
	int r;

	session_lock(s);
	r = session_error(s);
	if (r == 0 && s->source)
		s->state = SESSION_LEAVING;
	else if (r == 0)
		r = session_await(s, SESSION_LEAVING);
	if (r == 0) {
		session_post(s, WIRE_BYE);
		r = session_await(s, SESSION_OVER);
	}
	session_unlock(s);
	return r;
}
