/*
 * The control thread of a session: it alone uses the control connection. It connects, sends what
 * other threads have posted, receives, and watches for signs of life.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/session_internal.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

int session_tell(struct session *s, enum wire_type type, uint32_t pass, size_t length)
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

static void drain(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
}

/* Send, and then wait for the next message or the next thing to send. */
static int step(struct session *s)
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
	drain(s->wake_fd);
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
	struct wire_hello hello;
	int r;

	session_hello(s, WIRE_CONTROL, &hello);
	r = session_tell(s, type, 0, wire_encode_hello(&hello, s->body));
	return r < 0 ? session_lost(s, r, WIRE_OK) : 0;
}

/* Source: connect, and introduce this side. */
static int connect_control(struct session *s)
{
	const struct endtoend_address *a = &s->params.options->addresses[0];
	struct connection *c = NULL;
	char why[256] = "";
	int r = connection_open(&c, a->host, a->port, &s->socket, s->keyed ? s->params.key : NULL,
				&s->halt, s->meet_ns, why, sizeof(why));

	if (r < 0)
		return session_broke(s, BLAME_PEER_SILENTLY, r, "%s", why);
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
		until_ns = clock_now_ns() + s->timeout_ns;
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
	uint64_t until_ns = clock_now_ns() + SESSION_PAUSE_NS;

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
		r = step(s);
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
