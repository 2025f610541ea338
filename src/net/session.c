/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a session, its end in every way, the waits of its threads, and its steps. The run
 * creates it; the other files of the session build on it.
 *
 * The steps stand in the order in which the threads of a target call them. They change the state,
 * post the message that goes with the change, and wait for the peer's.
 */
#include "xdd/net/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "config.h"
#include "net/session_internal.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

void session_lock(struct session *s)
{
	pthread_mutex_lock(&s->lock);
}

void session_unlock(struct session *s)
{
	pthread_mutex_unlock(&s->lock);
}

void session_notify(struct session *s)
{
	uint64_t one = 1;

	pthread_cond_broadcast(&s->changed);
	/* It fails only where the thread has enough to wake for already. */
	if (write(s->wake_fd, &one, sizeof(one)) < 0)
		return;
}

int session_error(const struct session *s)
{
	if (s->failed.no)
		return s->failed.no;
	return s->stopped ? -ECANCELED : 0;
}

int session_sleep(struct session *s, uint64_t until_ns)
{
	return cond_wait(&s->changed, &s->lock, until_ns);
}

/*
 * Wait until the state is one of `states`. Returns 0, or -errno when the session ends before. With
 * the lock.
 */
static int session_await(struct session *s, unsigned states)
{
	int err;

	while (!(err = session_error(s)) && !(s->state & states))
		session_sleep(s, UINT64_MAX);
	return err;
}

void session_post(struct session *s, enum wire_type type)
{
	s->pending |= 1u << type;
	session_notify(s);
}

/* End all calls. With the lock. */
static void end_calls(struct session *s)
{
	stop_request(&s->halt, STOP_ERROR, 0);
	for (uint32_t i = 0; s->data && i < s->own.connections; i++)
		if (s->data[i].connection)
			connection_abort(s->data[i].connection);
	session_notify(s);
}

/* The reason that this side gave, or `otherwise`. With the lock. */
static void explain(const struct session *s, struct wire_error *words, const char *otherwise)
{
	if (*s->reason)
		snprintf(words->text, sizeof(words->text), "the %s: %s", s->own_name, s->reason);
	else
		snprintf(words->text, sizeof(words->text), "the %s %s", s->own_name, otherwise);
}

/* The words for the peer when this run stops. With the lock. */
static void stop_words(const struct session *s, struct wire_error *words)
{
	const struct stop *stop = s->params.stop;
	int detail;

	words->status = XDD_CANCELED;
	switch (stop_why(stop)) {
	case STOP_SIGNAL:
		detail = atomic_load(&stop->detail);
		snprintf(words->text, sizeof(words->text), "the %s was interrupted by signal %d",
			 s->own_name, detail);
		break;
	case STOP_START:
		words->status = XDD_TARGET_FAILED;
		explain(s, words, "could not start");
		break;
	default:
		words->status = XDD_IO_ERROR;
		explain(s, words, "stopped after an error");
	}
}

/* The run stops, or the session is freed before its end. Any thread. */
static void session_cancel(void *arg)
{
	struct session *s = arg;

	session_lock(s);
	if (s->state != SESSION_OVER && !session_error(s)) {
		stop_words(s, &s->last_words);
		s->stopped = true;
		end_calls(s);
	}
	session_unlock(s);
}

/* Keep the first cause. True: this is the first. */
static bool set_failed(struct session *s, enum session_blame blame, int err, enum xdd_status status,
		       const char *text)
{
	bool first;

	session_lock(s);
	first = !session_error(s) && s->state != SESSION_OVER;
	if (first) {
		err_set(&s->failed, err, "%s", text);
		if (blame != BLAME_PEER_SILENTLY) {
			s->last_words.status = status;
			snprintf(s->last_words.text, sizeof(s->last_words.text), "%s", text);
		}
		end_calls(s);
	}
	session_unlock(s);
	return first;
}

int session_broke(struct session *s, enum session_blame blame, int err, const char *fmt, ...)
{
	struct err why;
	va_list ap;
	int r;

	va_start(ap, fmt);
	err_vset(&why, err, fmt, ap);
	va_end(ap);

	if (set_failed(s, blame, err, XDD_IO_ERROR, why.text) && blame != BLAME_SELF &&
	    s->params.failed)
		s->params.failed(s->params.arg);

	session_lock(s);
	r = session_error(s);
	session_unlock(s);
	return r ? r : err;
}

void session_fail(struct session *s, enum xdd_status status, const char *text)
{
	char *safe = printable_dup(text, false);

	set_failed(s, BLAME_SELF, -ECANCELED, status, safe ? safe : "out of memory");
	free(safe);
}

void session_explain(struct session *s, const char *text)
{
	char *safe = printable_dup(text, false);

	session_lock(s);
	if (!*s->reason)
		snprintf(s->reason, sizeof(s->reason), "%s", safe ? safe : "out of memory");
	session_unlock(s);
	free(safe);
}

const char *session_why(const struct session *s)
{
	struct session *own = (struct session *)s;
	bool failed;

	session_lock(own);
	failed = own->failed.no != 0;
	session_unlock(own);
	/* The text is const from then on. */
	return failed ? s->failed.text : "";
}

bool session_info(struct session *s, uint32_t connection, struct connection_info *info)
{
	struct connection *c = NULL;

	session_lock(s);
	if (connection == WIRE_NO_CONNECTION)
		c = s->control;
	else if (s->data && connection < s->own.connections)
		c = s->data[connection].connection;
	if (c)
		connection_info(c, info);
	session_unlock(s);
	return c != NULL;
}

static int init_sync(struct session *s)
{
	stop_init(&s->halt);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->wake_fd < 0 ? -errno : 0;
}

struct connection_options session_sockets(const struct endtoend_options *o)
{
	return (struct connection_options){
		.timeout_ns = o->timeout_ns,
		.congestion = o->congestion,
		.send_buffer_bytes = o->send_buffer_bytes,
		.receive_buffer_bytes = o->receive_buffer_bytes,
	};
}

struct session *session_new(const struct session_params *params)
{
	const struct endtoend_options *o = params->options;
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->params = *params;
	s->source = o->role == E2E_SOURCE;
	s->own_name = s->source ? "source" : "destination";
	s->peer_name = s->source ? "destination" : "source";
	s->keyed = params->key && params->key->present;
	s->timeout_ns = o->timeout_ns;
	s->alive_ns = ns_earlier(SESSION_ALIVE_NS, s->timeout_ns / 4);
	s->grace_ns = ns_earlier(SESSION_GRACE_NS, s->timeout_ns);
	snprintf(s->time_text, sizeof(s->time_text), "%g s", (double)s->timeout_ns / NS_PER_SEC);
	s->socket = session_sockets(o);
	s->state = SESSION_NEW;
	s->body = malloc(WIRE_MAX_BODY_BYTES);
	if (init_sync(s) < 0 || !s->body || stop_on_request(params->stop, session_cancel, s) < 0) {
		session_free(s);
		return NULL;
	}
	return s;
}

/* End the control thread; the peer gets a limited time for the last message. */
static void join_control(struct session *s)
{
	uint64_t until_ns = clock_kernel_ns() + SESSION_GRACE_NS;

	session_lock(s);
	while (!s->thread_over && session_sleep(s, until_ns) != -ETIMEDOUT)
		continue;
	if (!s->thread_over && s->control)
		connection_abort(s->control);
	session_unlock(s);
	pthread_join(s->thread, NULL);
}

static void session_proof_free(struct session_proof *p);

void session_free(struct session *s)
{
	if (!s)
		return;
	session_cancel(s);
	if (s->has_thread)
		join_control(s);
	for (uint32_t i = 0; s->data && i < s->own.connections; i++) {
		connection_close(s->data[i].connection);
		wire_key_free(s->data[i].key);
	}
	connection_close(s->control);
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	stop_destroy(&s->halt);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	explicit_bzero(s->key, sizeof(s->key));
	session_proof_free(&s->proof);
	free(s->data);
	free(s->ranges);
	free(s->body);
	free(s);
}

/*
 * The proof of what a destination has kept from an interrupted copy: it asks for digests (PROVE),
 * the source answers (SUMS), before the plans are accepted. Called by the target threads of both
 * sides, and by the control thread for received messages.
 */

/* Add `data`, of which the session gets hold, to the queue. With the lock. False: it is full. */
static bool enqueue(struct session_proof *p, void *data, size_t n)
{
	if (p->queued == SESSION_PROOFS)
		return false;
	p->queue[p->queued].data = data;
	p->queue[p->queued].n = n;
	p->queued++;
	return true;
}

/* Take the first entry, which the caller frees. With the lock. */
static struct session_piece session_proof_dequeue(struct session_proof *p)
{
	struct session_piece first = p->queue[0];

	memmove(p->queue, p->queue + 1, --p->queued * sizeof(p->queue[0]));
	return first;
}

/* Have `body`, which the session gets, sent as `type` after the last one. With the lock. */
static int post(struct session *s, enum wire_type type, uint8_t *body, size_t length)
{
	int err;

	while (!(err = session_error(s)) && s->pending & 1u << type)
		session_sleep(s, UINT64_MAX);
	if (err) {
		free(body);
		return err;
	}
	free(s->proof.out.data);
	s->proof.out.data = body;
	s->proof.out.n = length;
	session_post(s, type);
	return 0;
}

size_t session_proof_encode(struct session *s)
{
	size_t n;

	session_lock(s);
	n = s->proof.out.n;
	if (n)
		memcpy(s->body, s->proof.out.data, n);
	session_unlock(s);
	return n;
}

static void session_proof_free(struct session_proof *p)
{
	while (p->queued)
		free(session_proof_dequeue(p).data);
	free(p->out.data);
}

/* ---- destination ---- */

int session_prove(struct session *s, const struct wire_range *ranges, size_t n)
{
	uint8_t *body = malloc(sizeof(uint32_t) + n * sizeof(*ranges));
	int err;

	if (!body)
		return -ENOMEM;
	session_lock(s);
	err = post(s, WIRE_PROVE, body, wire_encode_prove(ranges, n, body));
	if (!err)
		s->proof.unanswered++;
	session_unlock(s);
	return err;
}

int session_sums(struct session *s, uint8_t **body, size_t *length)
{
	struct session_piece answer = { 0 };
	int err;

	session_lock(s);
	while (!(err = session_error(s)) && !s->proof.queued)
		session_sleep(s, UINT64_MAX);
	if (!err)
		answer = session_proof_dequeue(&s->proof);
	session_unlock(s);
	*body = answer.data;
	*length = answer.n;
	return err;
}

int session_take_sums(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	uint8_t *copy = malloc(h->length + 1);
	bool expected;

	if (!copy)
		return session_broke(s, BLAME_SELF, -ENOMEM, "out of memory");
	memcpy(copy, body, h->length);
	session_lock(s);
	expected = s->proof.unanswered && enqueue(&s->proof, copy, h->length);
	s->proof.unanswered -= expected;
	pthread_cond_broadcast(&s->changed);
	session_unlock(s);
	if (expected)
		return 0;
	free(copy);
	return session_broke(s, BLAME_PEER, -EPROTO,
			     "the source at %s sent digests that were not asked for",
			     connection_peer(s->control));
}

/* ---- source ---- */

/* Answer the first question. With the lock, which is released meanwhile. */
static int session_proof_answer(struct session *s)
{
	struct session_piece asked = session_proof_dequeue(&s->proof);
	uint8_t *body = malloc(WIRE_MAX_BODY_BYTES);
	size_t length = 0;

	session_unlock(s);
	if (body)
		length = s->params.prove(s->params.arg, asked.data, asked.n, body);
	free(asked.data);
	session_lock(s);
	return body ? post(s, WIRE_SUMS, body, length) : -ENOMEM;
}

/* Source: wait until the plans are accepted; answer until then. With the lock. Target thread. */
static int session_await_accept(struct session *s)
{
	int err;

	while (!(err = session_error(s)) && !(s->state & (SESSION_OPENING | SESSION_IDLE))) {
		if (!s->proof.queued)
			session_sleep(s, UINT64_MAX);
		else if (session_proof_answer(s) == -ENOMEM)
			return -ENOMEM;
	}
	return err;
}

/* True if the destination may ask for `ranges` now: they ascend over all of its questions. */
static bool may_ask(const struct session *s, const struct wire_range *ranges, size_t n)
{
	const struct wire_range *last = &ranges[n - 1];

	return s->params.prove && s->own.ops != WIRE_NO_SIZE &&
	       ranges[0].first >= s->proof.next_op && last->first + last->count <= s->own.ops;
}

int session_take_prove(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	struct wire_range *ranges = calloc(WIRE_MAX_PROOF_OPS, sizeof(*ranges));
	bool taken = false;
	uint64_t end = 0;
	size_t n;

	if (!ranges)
		return session_broke(s, BLAME_SELF, -ENOMEM, "out of memory");
	if (wire_decode_prove(body, h->length, ranges, &n) == WIRE_OK && may_ask(s, ranges, n)) {
		end = ranges[n - 1].first + ranges[n - 1].count;
		session_lock(s);
		taken = enqueue(&s->proof, ranges, n);
		pthread_cond_broadcast(&s->changed);
		session_unlock(s);
	}
	if (taken) {
		s->proof.next_op = end;
		return 0;
	}
	free(ranges);
	return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
}

#define KEY_LABEL "EXPORTER-xdd-end-to-end"

static uint32_t own_flags(const struct session *s)
{
	return (s->keyed ? WIRE_CAN_KEY : 0) | (s->params.options->encrypt ? WIRE_CAN_ENCRYPT : 0);
}

struct stream_terms session_streams(const struct session *s)
{
	return (struct stream_terms){
		.session = s->id,
		.key = s->have_key ? s->key : NULL,
		.target = s->params.target,
		.flags = own_flags(s),
		.n = s->own.connections,
	};
}

const char *session_flags_differ(uint32_t source, uint32_t destination)
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
	differ = s->source ? session_flags_differ(own, peer) : session_flags_differ(peer, own);
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
static int session_steps_start(struct session *s, const struct wire_plan *own)
{
	struct stream_slot *data = calloc(own->connections, sizeof(*data));
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
static int session_steps_judge(struct session *s, struct wire_range *ranges, size_t *n,
			       session_accept *accept, void *arg)
{
	struct err why = { 0 };
	struct wire_range *copy = NULL;
	int r = 0;

	*n = 0;
	if (accept)
		r = accept(arg, &s->own, &s->peer, ranges, n, &why);
	if (r > 0 && *n) {
		copy = malloc(*n * sizeof(*copy));
		if (!copy)
			r = -ENOMEM;
		else
			memcpy(copy, ranges, *n * sizeof(*copy));
	}
	if (r < 0) {
		session_fail(s, XDD_TARGET_FAILED, err_text(&why, r));
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
	int r = session_steps_start(s, own);

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
	return session_steps_judge(s, ranges, n, accept, arg);
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
static int session_steps_exchange(struct session *s, const struct wire_pass *own,
				  struct wire_pass *peer)
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
	struct err why;
	bool fit;
	int r;

	session_lock(s);
	r = session_steps_exchange(s, own, peer);
	session_unlock(s);
	if (r < 0)
		return r;
	fit = s->source ? session_results_fit(own, peer, &why) :
			  session_results_fit(peer, own, &why);
	if (fit)
		return 0;
	return session_broke(s, BLAME_PEER, -EBADMSG, "pass %u did not arrive as it was sent: %s",
			     pass, why.text);
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
